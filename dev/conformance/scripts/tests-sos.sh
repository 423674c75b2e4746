#!/usr/bin/env bash
# Runs the unit tests and the standard's examples of the public suite openshmem-org/tests-sos.
# usage: dev/conformance/scripts/tests-sos.sh DIR [NAME...]
#   DIR   a checkout of https://github.com/openshmem-org/tests-sos (nothing of it is kept here)
#   NAME  only programs whose name contains NAME
# The installation is $FERROSHMEM_PREFIX, or else that of the oshcc on the PATH. $LAUNCHER starts
# a program in place of "oshrun -n": a command whose next argument is the number of PEs; $PES are
# those numbers in place of "2 3 4 8". With $FERROSHMEM_EMULATED (aarch64, riscv64), the installation
# is one for that processor, whose programs an emulator runs. Prints one line per program, then what
# was left out and why; the status is 0 if all programs passed at all numbers.
set -euo pipefail

if [ $# -lt 1 ] || [ ! -d "$1/test/unit" ]; then
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
suite=$(cd "$1" && pwd)
shift
bin=${FERROSHMEM_PREFIX:+$FERROSHMEM_PREFIX/bin/}
wrapper=$bin emulator=
if [ -n "${FERROSHMEM_EMULATED:-}" ]; then
    wrapper+=$FERROSHMEM_EMULATED-linux-gnu- emulator="qemu-$FERROSHMEM_EMULATED -L /usr/$FERROSHMEM_EMULATED-linux-gnu"
fi
launcher=${LAUNCHER:-${bin}oshrun --timeout 60 -n}
for command in "${wrapper}oshcc" "${wrapper}oshc++" "${launcher%% *}"; do
    command -v "$command" >/dev/null || { echo "cannot find $command: set FERROSHMEM_PREFIX" >&2; exit 2; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

left_out() {
    case $1 in
    unit/mt_lock) echo "part of unit/mt_lock_test, not a program" ;;
    spec-example/hybrid_mpi_*) echo "needs MPI" ;;
    *) return 1 ;;
    esac
}

# Flags and further sources, as the suite's Makefile.am gives them.
flags_of() {
    case $1 in
    unit/mt_lock_test) echo "-pthread $suite/test/unit/mt_lock.c" ;;
    unit/mt_* | unit/threading | unit/web | unit/thread_wait) echo "-pthread" ;;
    spec-example/shmem_ctx) echo "-fopenmp" ;;
    esac
}

passed=0 failed=0
notes=()

# run NAME PROGRAM: at every number of PEs; the first failure's last lines are shown.
run() {
    local name=$1 program=$2 pes status bad=""
    for pes in ${PES:-2 3 4 8}; do
        status=0
        # shellcheck disable=SC2086
        timeout -k 5 120 $launcher "$pes" $emulator "$program" >"$work/output" 2>&1 </dev/null || status=$?
        if [ "$status" -ne 0 ]; then
            bad+=" $pes PEs: status $status;"
            [ -s "$work/first" ] || tail -n 8 "$work/output" >"$work/first"
        fi
    done
    if [ -z "$bad" ]; then
        echo "pass $name"
        passed=$((passed + 1))
    else
        echo "FAIL $name:$bad"
        sed 's/^/     | /' "$work/first"
        failed=$((failed + 1))
    fi
    : >"$work/first"
}

# build NAME SOURCE FLAGS...: compiles to $work/program.
build() {
    local name=$1 source=$2
    shift 2
    local compiler="oshcc -std=gnu11"
    [[ $source == *.cpp ]] && compiler="oshc++"
    # shellcheck disable=SC2086,SC2046
    if ! "$wrapper"$compiler -O2 "$@" -I "$suite/test/include" -o "$work/program" "$source" \
        $(flags_of "${name%% *}") -lm >"$work/output" 2>&1; then
        echo "FAIL $name: does not compile"
        grep -m 4 -E 'error|undefined' "$work/output" | sed 's/^/     | /' || true
        failed=$((failed + 1))
        return 1
    fi
}

: >"$work/first"
for source in "$suite"/test/unit/*.c "$suite"/test/unit/*.cpp "$suite"/test/spec-example/*.c; do
    name=${source#"$suite/test/"}
    name=${name%.*}
    chosen=$((!$#))
    for wanted in "$@"; do
        [[ $name == *$wanted* ]] && chosen=1
    done
    ((chosen)) || continue
    if reason=$(left_out "$name"); then
        notes+=("$name: $reason")
        continue
    fi
    if build "$name" "$source"; then run "$name" "$work/program"; fi
    if grep -q ENABLE_DEPRECATED_TESTS "$source" &&
        build "$name (deprecated)" "$source" -DENABLE_DEPRECATED_TESTS; then
        run "$name (deprecated)" "$work/program"
    fi
    if grep -q TEST_PSHMEM "$source" && build "$name (pshmem)" "$source" -DTEST_PSHMEM; then
        run "$name (pshmem)" "$work/program"
    fi
    if grep -q 'defined(ENABLE_THREADS)' "$source" &&
        build "$name (threads)" "$source" -DENABLE_THREADS; then
        run "$name (threads)" "$work/program"
    fi
done
fortran=$(find "$suite/test/unit" -name '*.f90' | wc -l)
notes+=("$fortran Fortran programs: the standard has no Fortran interface since 1.5")

echo
for note in "${notes[@]}"; do echo "left out: $note"; done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
