#!/usr/bin/env bash
# Runs the multi-threaded program as one PE with ThreadSanitizer in program and library: data races
# between threads of a PE (no tool sees races between processes). The library is built by nightly
# Rust with -Zsanitizer=thread; the program by gcc, whose runtime is a shared library: a runtime
# inside of the executable would become part of its symmetric globals.
# usage: dev/conformance/scripts/tsan.sh; fails on any finding.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
source "$here/scripts/without_aslr.sh"
source "$here/scripts/tsan_mutex.sh"
target=$(rustc -vV | sed -n 's/^host: //p')
rustup toolchain list | grep -q '^nightly' || { echo "skipped: no nightly toolchain"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

options=()
flags="-Zsanitizer=thread"
if [ -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library/std" ]; then
    options=(-Zbuild-std=std,panic_abort)
else
    # The precompiled standard library is not instrumented: races inside of it stay unseen.
    flags+=" -Cunsafe-allow-abi-mismatch=sanitizer"
fi
(cd "$here/../.." && RUSTFLAGS=$flags CARGO_TARGET_DIR=$work/target cargo +nightly rustc --quiet \
    -p ferroshmem-libshmem --lib --crate-type staticlib --target "$target" "${options[@]}")
tsan_mutex "$work/mutex.o" rustc +nightly
gcc -O1 -fno-builtin -c -o "$work/names.o" "$here/scripts/tsan_names.c"
gcc -std=gnu11 -O1 -g -fsanitize=thread -pthread -I "$here/../../include" -I "$here/c" \
    -o "$work/threads" "$here/c/threads.c" "$work/names.o" "$mutex" "$work/mutex.o" \
    "$work/target/$target/debug/libshmem.a" -ldl -lm
bad=0
for round in 1 2 3 4 5; do
    if TSAN_OPTIONS=exitcode=66 without_aslr timeout 120 "$work/threads" >"$work/output" 2>&1; then
        echo "clean threads, round $round"
    else
        echo "FINDING threads, round $round"
        head -n 60 "$work/output"
        bad=1
    fi
done
exit $bad
