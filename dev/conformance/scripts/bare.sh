#!/usr/bin/env bash
# Runs a command as on a machine that has a Rust toolchain and gcc alone: the search path leads to these and the
# system's own commands, and libfabric and the terminals of /dev/pts are hidden. Without a command, runs README's, with the
# installation that FERROSHMEM_PREFIX names and test programs that are built already, if it is set.
# usage: dev/conformance/scripts/bare.sh [COMMAND...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

rust=(cargo cargo-clippy cargo-fmt clippy-driver rustc rustdoc rustfmt rustup)
gcc=(ar as cc gcc ld nm objcopy objdump ranlib readelf strip)
system=(
  basename bash cat chmod chrt cp cut date diff dirname echo env expr false find getconf grep gzip head hostname id
  install kill ldconfig ldd ln ls mkdir mkfifo mktemp mount mv nice nohup nproc od printenv printf ps pwd readlink
  realpath rm rmdir sed seq setsid sh sha256sum sleep sort stat stty tail tar taskset tee test timeout touch tr true
  uname uniq wc which xargs yes
)
bin=${CARGO_TARGET_DIR:-target}/bare
rm -rf "$bin"
mkdir -p "$bin"
bin=$(realpath "$bin")
for tool in "${rust[@]}" "${gcc[@]}" "${system[@]}"; do
  path=$(type -P "$tool") && ln -s "$path" "$bin/"
done

own=() # another user's rights are those of the root of a namespace of its own, and given back within
back=()
if ((EUID != 0)); then
  own=(--map-root-user)
  back=("$(type -P unshare)" "--map-user=$(id -u)" "--map-group=$(id -g)")
fi
unshare "${own[@]}" --mount true 2>/dev/null || { echo "skipped: mount namespaces are not allowed here"; exit 0; }
# Where clippy's driver has compiled the test programs, crates that the demo needs are not built again.
if [[ -n ${FERROSHMEM_PREFIX:-} ]] && cargo clippy --version >/dev/null 2>&1; then
  export RUSTC_WORKSPACE_WRAPPER=$PWD/dev/conformance/scripts/lint.sh
fi
# Unit tests that compute alone find here what they find elsewhere, and are left to the machine as it is. So are
# formatting and the examples of the documentation, if they are steps of the same run.
computing=(abi core collective layout runtime simd)
[[ $# -gt 0 ]] || set -- sh -ec "cargo xtask demo ${FERROSHMEM_PREFIX:+--built 20}
  cargo xtask test --fast $(printf -- "--without %s/unit " "${computing[@]}") \
    ${FERROSHMEM_PREFIX:+--without formatting --without doc-tests '--built=$FERROSHMEM_PREFIX'}"
exec unshare "${own[@]}" --mount bash -ec '
  mkdir -p "$0/none"
  [[ ! -d /dev/pts ]] || mount --bind "$0/none" /dev/pts
  for library in $(/sbin/ldconfig -p | sed -n "s/.*libfabric\.so.* => //p"); do
    mount --bind /dev/null "$library"
  done
  PATH=$0 exec "$@"' "$bin" "${back[@]}" "$@"
