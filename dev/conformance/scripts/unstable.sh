#!/bin/sh
# The RUSTC_WRAPPER of sanitized.sh: the compiler takes unstable options where it gets a sanitizer. Set for all of
# cargo, RUSTC_BOOTSTRAP would change what build scripts find for the host: syn and all macros would be built again.
case "$*" in
*-Zsanitizer=*) export RUSTC_BOOTSTRAP=1 ;;
esac
exec "$@"
