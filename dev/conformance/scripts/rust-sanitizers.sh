#!/usr/bin/env bash
# Runs programs of the Rust API (tests/pes) with AddressSanitizer as three PEs, and those with
# several threads with ThreadSanitizer as one: rustc instruments API, runtime and program alike.
# usage: dev/conformance/scripts/rust-sanitizers.sh [address|thread]; fails on any finding.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
source "$here/scripts/without_aslr.sh"
source "$here/scripts/sanitized.sh"
bin=${FERROSHMEM_PREFIX:+$FERROSHMEM_PREFIX/bin/}
# ThreadSanitizer tells known findings by names of functions and files, which one of two programs reads.
if [ "${1:-thread}" = thread ] && ! type -P llvm-symbolizer >/dev/null && ! type -P addr2line >/dev/null; then
    echo "skipped: neither llvm-symbolizer nor addr2line is installed (package binutils)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Leaks are not looked for: the library keeps what it maps until the process ends.
export ASAN_OPTIONS=detect_leaks=0:exitcode=66
export TSAN_OPTIONS=exitcode=66:suppressions=$work/known
# Copies of many bytes between windows are memcpy, which is not known to be meant as atomic; the
# precompiled standard library frees what threads share after a fence, which is not seen.
printf '%s\n' race:src/memory/copy.rs 'race:Arc<std::thread' >"$work/known"
everywhere=(arrays/every_type arrays/transitions arrays/of_nothing arrays/churn atomics/every_operation
    windows/every_length windows/bounds strided/against_a_model strided/far_out locks/several
    teams/rows_and_columns teams/of_others reductions/integers reductions/parts scans/every_type
    exchanges/collect exchanges/alltoalls values/gather values/broadcast worlds/what_is_forgotten)
threaded=(atomics/threads locks/threads waits/conditions windows/threads windows/nonblocking
    windows/signals worlds/one_after_another worlds/on_any_thread threads/lend)
bad=0

# Runs programs built with a sanitizer and more words for its linker, as so many PEs.
check() {
    local sanitizer=$1 pes=$2 link=$3 program name variables
    shift 3
    # What starts jobs is not instrumented: with `sanitized`, the test has its programs alone.
    program=$(sanitized_cargo "$sanitizer" "$link" test --test pes --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\/pes-[^"]*\)".*/\1/p')
    for name in "$@"; do
        variables=()
        # A worker and a thread of the program share all that is copied.
        [[ $name != threads/* ]] || variables=(SHMEM_WORKERS=1 SHMEM_SHARE_THRESHOLD=1)
        if without_aslr env "${variables[@]}" "${bin}oshrun" -n "$pes" --timeout 200 "$program" --as-pe "$name" >"$work/output" 2>&1; then
            echo "clean $sanitizer $name"
        else
            echo "FINDING $sanitizer $name"
            head -n 40 "$work/output"
            bad=1
        fi
    done
}

[ "${1:-address}" != address ] || check address 3 "" "${everywhere[@]}" "${threaded[@]}"
if [ "${1:-thread}" = thread ]; then
    tsan_mutex
    check thread 1 "${mutex[*]/#/-Clink-arg=}" "${threaded[@]}"
fi
exit $bad
