#!/usr/bin/env bash
# Runs test programs under valgrind's memcheck, two PEs each: reads of uninitialised or unmapped
# memory in program and library. usage: dev/conformance/scripts/valgrind.sh [NAME...]; fails on any
# finding.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
bin=${FERROSHMEM_PREFIX:+$FERROSHMEM_PREFIX/bin/}
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names=("$@")
[ $# -gt 0 ] || names=(info globals pointers contexts initialize old_names signal)
bad=0
for name in "${names[@]}"; do
    "${bin}oshcc" -std=gnu11 -O1 -g1 -pthread -I "$here/c" -o "$work/$name" "$here/c/$name.c"
    # Small windows: valgrind's address space is narrower than the machine's. A summary of leaks is an error of no
    # program, and not shown; to find them, it reads all that the job maps: half of the time.
    if SHMEM_SYMMETRIC_SIZE=64m "${bin}oshrun" -n 2 --timeout 300 valgrind --quiet --leak-check=no \
        --error-exitcode=66 "$work/$name" >"$work/output" 2>&1; then
        echo "clean $name"
    else
        echo "FINDING $name"
        head -n 40 "$work/output"
        bad=1
    fi
done
exit $bad
