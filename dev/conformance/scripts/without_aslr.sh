# To be sourced. `without_aslr COMMAND...` starts it, and all that it starts, at the same addresses
# each time. The sanitizers of gcc 12 and clang 14 need that where the kernel scatters addresses
# over more than 28 bits (vm.mmap_rnd_bits): else what they reserve is taken, and programs end or
# spin before main (https://github.com/google/sanitizers/issues/1614 and 1716). Where it is neither
# needed nor allowed, the command is just started; where it is needed and not allowed, the script
# that sources this is skipped.
if setarch --addr-no-randomize true 2>/dev/null; then
    without_aslr() { setarch --addr-no-randomize "$@"; }
elif [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -le 28 ]; then
    without_aslr() { "$@"; }
else
    echo "skipped: addresses are too random for sanitizers, and setarch is not allowed"
    exit 77
fi
