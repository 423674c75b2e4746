#!/usr/bin/env bash
# Runs test programs with AddressSanitizer and UndefinedBehaviorSanitizer in the program (gcc and
# clang): its own accesses through the inlined fast path, and what the library copies to and from
# the program's memory. usage: dev/conformance/scripts/asan.sh [NAME...]; fails on any finding.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
bin=${FERROSHMEM_PREFIX:+$FERROSHMEM_PREFIX/bin/}
source "$here/scripts/without_aslr.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names=("$@")
# Unoptimised: the compilers take a minute and a half otherwise, and fold accesses that would be checked.
# A type of each size has all that the header does with types, and costs a third of the time of all.
# The header has branches by compiler in what it inlines; what these use most. The other programs call
# the library, whose accesses both compilers' runtimes see alike: one compiler is enough.
inlined=(rma_types rma_sizes globals pointers amo ordering signal wait contexts threads)
calling=(lock teams collectives reduce active_set memory initialize
    algorithms/every algorithms/at_once algorithms/many)
# Leaks are not looked for: the library keeps what it maps until the process ends.
export ASAN_OPTIONS=detect_leaks=0:halt_on_error=1:exitcode=66
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=66

# check COMPILER NAME: compiles and runs one program.
check() {
    local compiler=$1 name=$2 program=$work/$1-${2##*/}
    OSHMEM_CC=$compiler "${bin}oshcc" -std=gnu11 -O0 -g1 -DFEW_TYPES -fsanitize=address,undefined -pthread \
        -I "$here/c" -o "$program" "$here/c/$name.c" || return
    if without_aslr "${bin}oshrun" -n 3 --timeout 120 "$program" >"$program.output" 2>&1; then
        echo "clean $compiler $name"
    else
        printf '%s\n' "FINDING $compiler $name" "$(head -n 30 "$program.output")"
        return 1
    fi
}
export here bin work
export -f check without_aslr

jobs=()
calls_checked=""
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || { echo "skipped: $compiler is not installed"; continue; }
    # The sanitizers' libraries may be a package by themselves.
    if ! echo 'int main(void) { return 0; }' |
        "$compiler" -fsanitize=address,undefined -x c - -o "$work/empty" 2>"$work/why"; then
        echo "skipped: $compiler does not link with sanitizers here: $(head -n 1 "$work/why")"
        continue
    fi
    if [ ${#names[@]} -eq 0 ]; then
        chosen=("${inlined[@]}")
        [ -n "$calls_checked" ] || chosen+=("${calling[@]}")
        calls_checked=yes
    else
        chosen=("${names[@]}")
    fi
    for name in "${chosen[@]}"; do jobs+=("$compiler" "$name"); done
done
[ ${#jobs[@]} -gt 0 ] || exit 77
# Compiling takes most of the time: as many at once as there are cores.
printf '%s\n' "${jobs[@]}" | xargs -n 2 -P "$(nproc)" bash -c 'check "$@"' check
