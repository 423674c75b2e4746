#!/usr/bin/env bash
# Measures the same C programs with Open MPI's OpenSHMEM beside this library, 2 PEs.
# usage: benches/peers.sh [ROUNDS]     FERROSHMEM_PREFIX names an installation, else one is made
# PEER_OSHCC and PEER_OSHRUN name the other implementation's commands.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

rounds=${1:-200}
peer_oshcc=${PEER_OSHCC:-/usr/bin/oshcc}
peer_oshrun=${PEER_OSHRUN:-/usr/bin/oshrun}
if ! "$peer_oshcc" --showme:version 2>&1 | grep -qE "Open (MPI|SHMEM) [0-9]"; then
  echo "skipped: $peer_oshcc is not Open MPI's (Debian: apt-get install openmpi-bin libopenmpi-dev)"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=${FERROSHMEM_PREFIX:-}
if [[ -z $prefix ]]; then
  prefix=$work/prefix
  (cd .. && cargo xtask install --prefix "$prefix")
fi

# Its heap's default is too small, and without these options its programs refuse to start where
# cores are few or the user is root, or end with a segmentation fault.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 SHMEM_SYMMETRIC_HEAP_SIZE=256M
ours=("$prefix/bin/oshrun" --timeout 120 -n 2 --bind-to core)
peer=(timeout 120 "$peer_oshrun" --oversubscribe --bind-to core --mca osc '^rdma' -n 2)
flags=(-std=gnu11 -O2 -pthread)
element_wise=(-fno-tree-vectorize -fno-tree-slp-vectorize -fno-tree-loop-distribute-patterns)

# build OSHCC FOLDER: every program with that wrapper
build() {
  mkdir -p "$2"
  "$1" "${flags[@]}" "${element_wise[@]}" -c c/bare.c -o "$2/bare.o"
  "$1" "${flags[@]}" c/scalars.c c/kernels.c "$2/bare.o" -o "$2/scalars"
  for program in blocks exchange atomics latency; do
    "$1" "${flags[@]}" "c/$program.c" -o "$2/$program"
  done
}

# median COLUMN FILE
median() {
  sort -g -k "$1,$1" "$2" | awk -v column="$1" '
    { value[NR] = $column }
    END { print value[int((NR + 1) / 2)] }'
}

build "$prefix/bin/oshcc" "$work/ours"
build "$peer_oshcc" "$work/peer"
printf '%-22s %12s %12s %12s %12s\n' "ns" "bare" "FerroSHMEM" "bare" "Open MPI"
while read -r program names; do
  for name in $names; do
    echo "$name $rounds" | "${ours[@]}" "$work/ours/$program" >"$work/ours.txt"
    echo "$name $rounds" | "${peer[@]}" "$work/peer/$program" >"$work/peer.txt"
    printf '%-22s %12s %12s %12s %12s\n' "$name" \
      "$(median 1 "$work/ours.txt")" "$(median 2 "$work/ours.txt")" \
      "$(median 1 "$work/peer.txt")" "$(median 2 "$work/peer.txt")"
  done
done <<'PROGRAMS'
scalars p/heap g/heap put/heap get/heap get64/heap p/global g/global put/global get/global
blocks put/4KiB get/4KiB put/64KiB get/64KiB put/1024KiB get/1024KiB put/8192KiB get/8192KiB put/65536KiB get/65536KiB
exchange put_signal/64KiB put_signal/1024KiB isx/8192KiB isx/32768KiB
atomics fetch_add/long add/long compare_swap/long swap/long set/long fetch/long
latency barrier_all p+wait_until lock+unlock
PROGRAMS
