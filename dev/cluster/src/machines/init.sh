#!/bin/busybox sh
# The first program of a virtual machine: gives it this machine's files, read-only with a layer
# of its own above them, and becomes the cluster's agent.
PATH=/bin
busybox mkdir /proc /low /high /new
busybox mount -t proc none /proc
busybox --install -s /bin

give_up() {
    echo "init: $1"
    exec poweroff -f
}

for module in /modules/*; do
    insmod "$module" || give_up "cannot load $module"
done
# Files do not change while machines run, so what was read may be kept.
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144 root /low ||
    give_up "cannot see the files of the machine outside"
mount -t tmpfs none /high
mkdir /high/files /high/work
mount -t overlay -o lowerdir=/low,upperdir=/high/files,workdir=/high/work none /new ||
    give_up "cannot lay own files over those of the machine outside"
mkdir -p /new/proc /new/sys /new/dev /new/run/cluster
mount -t proc none /new/proc
mount -t sysfs none /new/sys
mount -t devtmpfs none /new/dev
# Libfabric's verbs provider reads all of this when it is loaded, for graphics cards.
mount -o bind /new/dev/null /new/proc/kallsyms
mkdir -p /new/dev/shm /new/dev/pts
mount -t tmpfs none /new/dev/shm
mount -t devpts none /new/dev/pts
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 jobs /new/run/cluster ||
    give_up "cannot see the folder of the jobs"
agent=$(cat /agent)
exec switch_root /new "$agent" machine-agent || give_up "cannot run $agent"
