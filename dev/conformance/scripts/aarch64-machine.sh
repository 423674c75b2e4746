#!/usr/bin/env bash
# Runs the conformance programs for aarch64 in a virtual machine, by that machine's own oshrun: where a kernel's pages
# have 16 or 64 KiB, and where PEs are looked at by the kernel's own means.
# usage: dev/conformance/scripts/aarch64-machine.sh INSTALLATION KERNEL BUSYBOX [PROGRAM...]
#   INSTALLATION  of cargo xtask install --target aarch64-unknown-linux-gnu --prefix INSTALLATION
#   KERNEL        a kernel image, as that of Debian's package linux-image-arm64-16k, or a build of linux-source
#   BUSYBOX       the program of Debian's package busybox-static for arm64
#   PROGRAM       a program of dev/conformance/c, without its ending; all, if none is named
# $PES are the numbers of PEs in place of "2 4". It needs qemu-system-arm, gcc-aarch64-linux-gnu and cpio. Prints one
# line per program; the status is 0 if all passed.
set -euo pipefail

if [ $# -lt 3 ]; then
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
installation=$(cd "$1" && pwd) kernel=$2 busybox=$3
shift 3
programs=$(cd "$(dirname "$0")/../c" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,lib,dev,proc,sys,tmp,t} "$root/i/bin" "$root/i/lib"
cp "$busybox" "$root/bin/busybox"
cp -L /usr/aarch64-linux-gnu/lib/{ld-linux-aarch64,libc,libm,libgcc_s,libgomp}.so* "$root/lib"
cp -a "$installation"/lib/*.so* "$root/i/lib"
cp "$installation/bin/oshrun" "$root/i/bin"
aarch64-linux-gnu-strip -g "$root"/i/bin/* "$root"/i/lib/*.so*

# What needs more memory or time than the machine has, or is no program by itself.
left_out="huge_bss huge_pages large_copies spaces global_exit teams_many"
compile() {
    "$installation/bin/aarch64-linux-gnu-oshcc" -O2 -g -fopenmp -DBRIEF -DFEW_TYPES -I "$programs" "$@" -lm
}
for source in "$programs"/*.c; do
    name=$(basename "$source" .c)
    [[ " ${*:-$name} " == *" $name "* && " $left_out " != *" $name "* ]] && compile "$source" -o "$root/t/$name"
done
compile -mbranch-protection=standard "$programs/faults/inlined.c" -o "$root/faulty"
compile -DHIGH "$programs/emulated/tagged.c" -o "$root/high"

cat >"$root/init" <<END
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/i/bin LD_LIBRARY_PATH=/i/lib TERM=dumb
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; ifconfig lo up
mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp
grep -m 1 KernelPageSize /proc/self/smaps
for pes in ${PES:-2 4}; do for program in /t/*; do
    timeout 300 oshrun -n \$pes \$program >/tmp/out 2>&1 && echo "pass \$program \$pes" && continue
    echo "FAIL \$program \$pes"; tail -n 8 /tmp/out
done; done
for fault in null:_p:write get:_g:read member:_atomic_inc:write copy:shmem_putmem:read; do
    line=\$(oshrun -n 2 /faulty \${fault%%:*} 2>&1) words=\${fault#*:}
    case \$line in
    *\${words%:*}:*"(\${words#*:}):"*inlined.c:*"(\${fault%%:*})") echo "pass fault \$fault" ;;
    *) echo "FAIL fault \$fault: \$line" ;;
    esac
done
oshrun -n 2 /high >/tmp/out 2>&1
case \$? in
0) echo "pass addresses of 52 bits" ;;
77) echo "no addresses of 52 bits here" ;;
*) echo "FAIL addresses of 52 bits"; tail -n 8 /tmp/out ;;
esac
echo all have run
poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) >"$work/files"
qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -smp 2 -m 3G -nographic -no-reboot -kernel "$kernel" \
    -initrd "$work/files" -append "console=ttyAMA0 quiet panic=-1 rdinit=/init" </dev/null | tr -d '\r' |
    tee "$work/log"
grep -q '^all have run' "$work/log" && ! grep '^FAIL' "$work/log"
