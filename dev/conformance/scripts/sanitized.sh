# To be sourced: crates of this workspace compiled with a sanitizer, by stable Rust. The precompiled standard library is
# not instrumented.
host=$(rustc -vV | sed -n 's/^host: //p')
# At the same place each time, else cargo would build all again; the scripts share what they build with the same sanitizer.
sanitized=$(realpath "${CARGO_TARGET_DIR:-$here/../../target}")/sanitizers
mkdir -p "$sanitized"

# sanitized_cargo SANITIZER LINK COMMAND ARGUMENTS...: cargo, with more words for the linker. What is known is found by
# the names of functions and files of this workspace, which need debug information, though not that of types.
sanitized_cargo() {
    local sanitizer=$1 link=$2 command=$3
    shift 3
    (cd "$here/../.." && CARGO_PROFILE_DEV_DEBUG=limited RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=$sanitizer
        -Cunsafe-allow-abi-mismatch=sanitizer --cfg sanitized $link" cargo "$command" --quiet \
        --config 'profile.dev.package."*".debug=false' --target "$host" --target-dir "$sanitized" "$@")
}

# Compiles tsan_mutex.c for the standard library and sets `mutex` to the words for the linker that go with it.
tsan_mutex() {
    local object=$sanitized/mutex.o name
    name=$(nm -D "$(rustc --print sysroot)/lib/rustlib/$host/lib/"libstd-*.so |
        sed -n 's/.* T \(.*futex.*5Mutex14lock_contended\)$/\1/p')
    [ -n "$name" ] || { echo "the standard library has no Mutex::lock_contended any more" >&2; return 1; }
    gcc -O1 -c -DMUTEX="\"$name\"" -o "$object" "$here/scripts/tsan_mutex.c"
    mutex=("-Wl,--wrap=$name" "$object")
}
