# A virtual machine for tests that want another kernel than the one they run on: Debian's, booted by qemu without any
# hardware support in seconds, from an initramfs that is made here. To be sourced, under set -euo pipefail, as root.
#
#   machine_new                  an empty machine in folder $machine, which goes when the shell ends
#   machine_programs NAME…       puts programs of this host into its /bin, each with what it is linked to; a bash,
#                                kmod (modprobe, insmod) and mount are there already
#   machine_package NAME…        unpacks Debian packages into $machine/packages, whose programs machine_programs
#                                then knows. Nothing is installed here, so that no service starts
#   machine_modules NAME…        puts modules of the kernel there, with those that they need
#   machine_nfs                  makes it a server and a client of NFSv4.2, and gives its script these:
#                                  nfs_serve            starts the server, with what /etc/exports says
#                                  nfs_mount PATH AT [OPTIONS]  mounts export PATH, over loopback
#                                  nfs_die, nfs_revive  its threads end; they start again
#   machine_run SECONDS MIB [DISK-MIB] <SCRIPT  boots it with so much memory, and an empty disk /dev/vda; runs SCRIPT
#                                with bash. What it prints is then in $machine/results; what it and the kernel
#                                complain of in $machine/console, which is shown if the script did not come to its
#                                end within SECONDS: a failure. SCRIPT has
#                                  give NAME FILE       prints a file, each line behind NAME and a space
#   taken NAME                   what the script gave so
#   says SENTENCE PATTERN        ok if a line of the results matches; silent SENTENCE PATTERN: if none does.
#   same SENTENCE IS SHOULD      ok if they are the same text
#                                $failed is 0 as long as all were
#
# Needs qemu-system-x86, linux-image-cloud-amd64, cpio and kmod; machine_nfs also nfs-common.
PATH=$PATH:/usr/sbin:/sbin
failed=0

machine_new() {
    machine_kernel=$(find /boot -name 'vmlinuz-*-cloud-amd64' | sort -V | tail -n 1)
    [ -n "$machine_kernel" ] || { echo "machine.sh: there is no kernel of linux-image-cloud-amd64 in /boot"; return 1; }
    machine=$(mktemp -d)
    trap 'rm -rf "$machine"' EXIT
    machine_root=$machine/root
    local folder
    mkdir -p "$machine_root"/{bin,lib,lib64,usr,proc,sys,dev,tmp,etc,run,var,parts,mnt}
    ln -s bin "$machine_root/sbin"
    for folder in bin sbin lib lib64; do ln -s "../$folder" "$machine_root/usr/$folder"; done
    cp /etc/passwd /etc/group /etc/nsswitch.conf "$machine_root/etc/"
    machine_programs bash kmod mount umount mkdir ln sleep
    ln -s kmod "$machine_root/bin/modprobe"
}

machine_programs() {
    local program at library
    for program; do
        at=$(PATH=$machine/packages/usr/sbin:$machine/packages/sbin:$PATH command -v "$program") ||
            { echo "machine.sh: there is no $program here"; return 1; }
        cp -L "$at" "$machine_root/bin/${program##*/}"
        { ldd "$at" || true; } | { grep -o '/[^ ]*' || true; } | while read -r library; do
            mkdir -p "$machine_root${library%/*}" && cp -nL "$library" "$machine_root$library"
        done
    done
}

machine_package() {
    mkdir -p "$machine/packages/archives" && chmod 755 "$machine" && chmod 777 "$machine/packages/archives"
    (cd "$machine/packages/archives" &&
        { apt-get download -qq "$@" 2>/dev/null || { apt-get update -qq && apt-get download -qq "$@"; }; }) || return
    local archive
    for archive in "$machine"/packages/archives/*.deb; do dpkg-deb -x "$archive" "$machine/packages"; done
}

machine_modules() {
    local version=${machine_kernel#/boot/vmlinuz-} word file
    local folder=$machine_root/lib/modules/$version
    mkdir -p "$folder"
    cp /lib/modules/"$version"/modules.{builtin,builtin.modinfo,order} "$folder/"
    modprobe --set-version "$version" --ignore-install --show-depends --all "$@" >"$machine/modules" || return
    while read -r word file _; do
        [ "$word" = insmod ] || continue
        mkdir -p "$machine_root${file%/*}" && cp -n "$file" "$machine_root$file"
    done <"$machine/modules"
    depmod --basedir "$machine_root" "$version"
}

machine_nfs() {
    command -v rpc.nfsd >/dev/null || machine_package nfs-kernel-server || return
    machine_programs rpc.nfsd rpc.mountd exportfs mount.nfs4 umount.nfs4 ip rm
    machine_modules nfsd nfs nfsv4
    mkdir -p "$machine_root"/var/lib/nfs/v4recovery
    : >"$machine_root/var/lib/nfs/etab" && : >"$machine_root/var/lib/nfs/rmtab"
    cp /etc/netconfig /etc/protocols /etc/services "$machine_root/etc/"
    cat >"$machine_root/parts/nfs" <<'PART'
nfs_serve() {
    modprobe -a nfsd nfsv4 && ip link set lo up && mount -t nfsd nfsd /proc/fs/nfsd || return
    echo 10 >/proc/fs/nfsd/nfsv4leasetime && echo 10 >/proc/fs/nfsd/nfsv4gracetime
    exportfs -a && nfs_revive && rpc.mountd -N 3
}
nfs_mount() { mount -t nfs4 -o "vers=4.2${3:+,$3}" "127.0.0.1:$1" "$2"; }
nfs_die() { rpc.nfsd 0; }
nfs_revive() {
    rpc.nfsd -N 3 -V 4.2 2 && echo Y >/proc/fs/nfsd/v4_end_grace # nobody has anything to reclaim
}
PART
}

machine_run() {
    local seconds=$1 memory=$2 disk=()
    if [ -n "${3:-}" ]; then
        machine_modules virtio_pci virtio_blk || return
        truncate -s "$3M" "$machine/disk"
        : >"$machine_root/parts/disk"
        disk=(-drive "file=$machine/disk,format=raw,if=virtio,cache=unsafe")
    fi
    cat >"$machine_root/script"
    cat >"$machine_root/init" <<'INIT'
#!/bin/bash
export PATH=/bin
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev && mount -t tmpfs tmp /tmp
ln -s /proc/self/fd /dev/fd
exec >/dev/ttyS1 2>/dev/console
give() { local line; while IFS= read -r line; do echo "$1 $line"; done <"$2"; }
[ ! -e /parts/disk ] || modprobe -a virtio_pci virtio_blk
[ ! -e /parts/nfs ] || . /parts/nfs
. /script
echo "the script ended with $?"
exec >/dev/console # which waits until all of it has been sent
echo o >/proc/sysrq-trigger
exec sleep 60 # until that is done: the first process must not end
INIT
    chmod +x "$machine_root/init"
    (cd "$machine_root" && find . | cpio -o -H newc 2>/dev/null | gzip -1 >"$machine/initrd")
    timeout "$seconds" qemu-system-x86_64 -accel tcg -cpu max -m "$memory" -smp 1 -kernel "$machine_kernel" \
        -initrd "$machine/initrd" "${disk[@]}" -append 'console=ttyS0 quiet panic=1' -display none -no-reboot -net none \
        -serial "file:$machine/console" -serial "file:$machine/sent" </dev/null || true
    tr -d '\r' <"$machine/sent" >"$machine/results"
    grep -q '^the script ended with ' "$machine/results" ||
        { cat "$machine/console" "$machine/results" && echo "machine.sh: the script did not come to its end" && return 1; }
}
taken() { sed -n "s/^$1 //p" "$machine/results"; }

says() {
    if grep -qE "$2" "$machine/results"; then echo "ok - $1"; else echo "not ok - $1" && failed=1; fi
}
silent() {
    if ! grep -qE "$2" "$machine/results"; then echo "ok - $1"; else echo "not ok - $1" && failed=1; fi
}
same() {
    if [ "$2" = "$3" ]; then echo "ok - $1: $2"; else echo "not ok - $1: $2; it should be: $3" && failed=1; fi
}
