# To be sourced. `tsan_mutex OBJECT RUSTC...` compiles tsan_mutex.c for that rustc's standard library
# and sets `mutex` to the linker's option that goes with OBJECT.
tsan_mutex() {
    local object=$1 name host
    shift
    host=$("$@" -vV | sed -n 's/^host: //p')
    name=$(nm -D "$("$@" --print sysroot)/lib/rustlib/$host/lib/"libstd-*.so |
        sed -n 's/.* T \(.*futex.*5Mutex14lock_contended\)$/\1/p')
    [ -n "$name" ] || { echo "the standard library has no Mutex::lock_contended any more" >&2; return 1; }
    gcc -O1 -c -DMUTEX="\"$name\"" -o "$object" "$here/scripts/tsan_mutex.c"
    mutex=-Wl,--wrap=$name
}
