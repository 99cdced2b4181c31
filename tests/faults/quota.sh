#!/bin/bash
# quota.sh RUNNER: a job as nobody on an ext4 image with a quota of that user ends at limit quota; the same job as
# root goes on. In a virtual machine without any hardware support, which boots Debian's kernel in seconds: it has
# quotas wherever this test runs. Needs qemu-system-x86, linux-image-cloud-amd64, cpio, kmod, quota, e2fsprogs.
set -euo pipefail
runner=$(readlink -f "${1:?quota.sh RUNNER}")
kernel=$(find /boot -name 'vmlinuz-*-cloud-amd64' | sort -V | tail -n 1)
modules=/lib/modules/${kernel#/boot/vmlinuz-}/kernel
[ -n "$kernel" ] || { echo "quota.sh: there is no kernel of linux-image-cloud-amd64 in /boot"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,sbin,lib,lib64,usr,proc,sys,dev,tmp,etc,m,modules}
for folder in bin sbin lib lib64; do ln -s "../$folder" "$root/usr/$folder"; done

with_libraries() { # PROGRAM…: each with what it is linked to
    local program at library
    for program; do
        at=$(command -v "$program") || { echo "quota.sh: there is no $program here"; exit 1; }
        cp -L "$at" "$root/bin/${program##*/}"
        { ldd "$at" || true; } | { grep -o '/[^ ]*' || true; } | while read -r library; do
            mkdir -p "$root${library%/*}" && cp -nL "$library" "$root$library"
        done
    done
}
PATH=$PATH:/usr/sbin:/sbin
with_libraries bash mount mkdir chown chmod truncate mkfs.ext4 losetup setquota kmod "$runner"
ln -s kmod "$root/bin/insmod"
for module in loop quota_tree quota_v2; do
    find "$modules" -name "$module.ko" -exec cp {} "$root/modules/" \;
    [ -e "$root/modules/$module.ko" ] || { echo "quota.sh: $modules has no $module"; exit 1; }
done
cp /etc/passwd /etc/group /etc/nsswitch.conf "$root/etc/"

cat >"$root/init" <<'INIT'
#!/bin/bash
export PATH=/bin
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev && mount -t tmpfs tmp /tmp
exec >/dev/console 2>&1
measure() {
    local number=0 user
    for module in loop quota_tree quota_v2; do insmod "/modules/$module.ko" || return; done
    truncate -s 64M /tmp/image && mkfs.ext4 -q -F -m 10 -O quota -E quotatype=usrquota -N 8192 /tmp/image || return
    mount -o loop,usrquota /tmp/image /m && mkdir /m/nobody /m/root && chown nobody /m/nobody || return
    setquota -u nobody 0 0 0 1000 /m || return
    for user in nobody root; do
        number=$((number + 1))
        printf '[target %s]\npath = /m/%s\nrun_as = %s\nreserve = 0%%\n' $user $user $user >>/tmp/plimsoll.conf
        mkdir -p /tmp/jobs/$number
        printf '{"job": %d, "nonce": "0123456789abcdef", "workload": "create-scaling", "target": "%s",
            "params": {"files": 3000, "batch": 10, "operations": ["create", "remove"]}}' $number $user >/tmp/jobs/$number/spec.json
        plimsoll-runner run /tmp/jobs/$number/spec.json --settings /tmp/plimsoll.conf
        echo "$user: ended with $?"
        while read -r line; do
            case $line in *'"record":"limit"'* | *'"record":"phase_end"'* | *'"record":"end"'*) echo "$user: ${line%%,\"latency\"*}" ;; esac
        done </tmp/jobs/$number/journal.ndjson
    done
}
measure
echo o >/proc/sysrq-trigger
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1 >"$work/initrd")
timeout 120 qemu-system-x86_64 -accel tcg -cpu max -m 768 -smp 1 -kernel "$kernel" -initrd "$work/initrd" \
    -append 'console=ttyS0 quiet panic=1' -nographic -no-reboot -net none </dev/null 2>&1 | tr -d '\r' >"$work/console"
grep -a -E '^(nobody|root): ' "$work/console" || { cat "$work/console"; exit 1; }

failed=0
says() { # SENTENCE PATTERN
    if grep -a -qE "$2" "$work/console"; then echo "ok - $1"; else echo "not ok - $1" && failed=1; fi
}
says 'nobody ends at limit quota' '^nobody: .*"record":"limit".*"phase":"create","at":99[0-9],"reason":"quota","errno":122'
says 'and its job succeeds' '^nobody: .*"record":"end".*"outcome":"succeeded"'
says 'and removed what it made' '^nobody: .*"phase":"remove","ops":99[0-9]'
says 'root goes on' '^root: .*"phase":"create","ops":3000,'
if grep -a -q '^root: .*"record":"limit"' "$work/console"; then echo 'not ok - no limit holds root' && failed=1; fi
exit $failed
