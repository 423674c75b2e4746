#!/usr/bin/env bash
# Runs the multi-threaded program as one PE with ThreadSanitizer in program and library: data races
# between threads of a PE (no tool sees races between processes). The program is compiled by gcc, whose
# runtime is a shared library: a runtime inside of the executable would become part of its symmetric globals.
# usage: dev/conformance/scripts/tsan.sh; fails on any finding.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
source "$here/scripts/without_aslr.sh"
source "$here/scripts/sanitized.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tsan_mutex
# The flags of rust-sanitizers.sh, and the features, by building its package, too: its crates are then these.
sanitized_cargo thread "${mutex[*]/#/-Clink-arg=}" build --package ferroshmem-libshmem --package ferroshmem --lib
gcc -O1 -fno-builtin -c -o "$work/names.o" "$here/scripts/tsan_names.c"
gcc -std=gnu11 -O1 -g -fsanitize=thread -pthread -I "$here/../../include" -I "$here/c" \
    -o "$work/threads" "$here/c/threads.c" "$work/names.o" "${mutex[@]}" "$sanitized/libshmem.a" \
    -ldl -lm
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
