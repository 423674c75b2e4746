# To be sourced: crates of this workspace compiled with a sanitizer, by stable Rust. The precompiled standard library is
# not instrumented.
host=$(rustc -vV | sed -n 's/^host: //p')
# In the folder of all builds, which has what the host runs: build scripts and macros are a fifth of the time.
target=$(realpath "${CARGO_TARGET_DIR:-$here/../../target}")
sanitized=$target/$host/debug
mkdir -p "$sanitized"

# sanitized_cargo SANITIZER LINK COMMAND ARGUMENTS...: cargo, with more words for the linker. What is known is found by
# the names of functions and files of this workspace, which need debug information, though not that of types. Where
# clippy's driver compiles what runs on the host, it is the plain compiler for the rest.
sanitized_cargo() {
    local sanitizer=$1 link=$2 command=$3
    shift 3
    local flags="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer --cfg sanitized --cap-lints=allow $link"
    (cd "$here/../.." &&
        CARGO_PROFILE_DEV_DEBUG=limited RUSTC_WRAPPER=$here/scripts/unstable.sh RUSTFLAGS=$flags \
            cargo "$command" --quiet --config 'profile.dev.package."*".debug=false' \
            --config profile.dev.build-override.debug=false --target "$host" --target-dir "$target" "$@")
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
