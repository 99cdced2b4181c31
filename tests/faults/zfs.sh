#!/bin/bash
# filesystem-scaling on a real ZFS pool: zfs-fuse, with a daemon and a mount namespace of its own.
#
#     tests/faults/zfs.sh [RUNNER] [--full]
#
# Datasets are made, listed, taken away and brought back, destroyed; the pool must be as before, compared by
# listing; what stands beside the run survives; a pool that others use too is not exported.
# Needs root, /dev/fuse and the package zfs-fuse. --full: 2,000 without a mount point, 800 mounted (zfs-fuse hangs at
# the 1,000th mounted one).
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
runner=$root/build/release/bin/plimsoll-runner full=no
for argument; do
    case $argument in --full) full=yes ;; *) runner=$(readlink -f "$argument") ;; esac
done
if [ "${PLIMSOLL_ZFS:-}" != yes ]; then
    exec env PLIMSOLL_ZFS=yes unshare --mount --propagation private bash "$0" "$runner" $([ $full = no ] || echo --full)
fi
if [ ! -c /dev/fuse ] || [ "$(id -u)" != 0 ]; then
    echo "ok 1 - zfs # SKIP needs root and /dev/fuse"
    printf '%s\n' "1..1" "# skipped 1"
    exit
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-zfs.XXXXXX")
n=0 failed=0 daemon=
finish() {
    trap - EXIT
    timeout 60 zpool destroy plimsoll 2>/dev/null || true
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        timeout 10 tail --pid="$daemon" -f /dev/null || kill -9 "$daemon" 2>/dev/null || true
    fi
    umount -l /run/zfs /var/lock/zfs /var/lib/zfs 2>/dev/null || true
    rm -rf --one-file-system "$work"
    printf '%s\n' "1..$n" "# pass $((n - failed))" "# fail $failed"
    exit $((failed > 0))
}
trap finish EXIT
check() { # check WORDS COMMAND...
    local words=$1
    shift
    n=$((n + 1))
    if "$@"; then echo "ok $n - $words"; else echo "not ok $n - $words" && failed=$((failed + 1)) && tail -n 5 "$work/errors" | sed 's/^/# /'; fi
}

mkdir -p /run/zfs /var/lock/zfs /var/lib/zfs # the last too: or the pools of another daemon would be imported
for folder in /run/zfs /var/lock/zfs /var/lib/zfs; do mount -t tmpfs tmpfs "$folder"; done
zfs-fuse --no-kstat-mount -p "$work/pid" -m 100
for ((tries = 0; tries < 100; tries++)); do zpool list >/dev/null 2>&1 && break; read -rt 0.1 <> <(:) || true; done
daemon=$(<"$work/pid")
truncate -s 8G "$work/pool.img"
zpool create -m "$work/mounted" plimsoll "$work/pool.img"
zfs create plimsoll/bench
listed() { zfs list -H -o name -t all -r plimsoll | sort; }
before=$(listed)

measure() { # measure ARGUMENT...: totals in $totals, words in $work/errors
    totals=$(timeout 900 "$runner" run filesystem-scaling --on zfs:plimsoll/bench --json "$@" 2>"$work/errors")
}
ops() { jq -e --arg phase "$1" --argjson n "$2" '.phases[] | select(.name == $phase) | .ops == $n' <<<"$totals" >/dev/null; }
same() { [ "$(listed)" = "$before" ]; }

check "40 mounted datasets, exported and imported twice" measure filesystems=40 batch=20 cycle=import operations=create,list,cycle,destroy
check "40 were created" ops create 40
check "40 were listed" ops list 40
check "two cycles" ops cycle 2
check "40 were destroyed" ops destroy 40
check "the pool is as before" same
check "without a mount point, and clean-up instead of destroy" measure filesystems=100 batch=50 mounted=no operations=create
check "the pool is as before" same
if [ $full = yes ]; then
    check "2,000 without a mount point, imported after each 500" measure filesystems=2000 batch=500 mounted=no cycle=import operations=create,list,cycle,destroy
    check "2,000 were created" ops create 2000
    check "four cycles" ops cycle 4
    check "2,000 were destroyed" ops destroy 2000
    check "the pool is as before" same
    check "800 mounted, in batches of 100" measure filesystems=800 batch=100 operations=create,list
    check "800 were created" ops create 800
    check "the pool is as before" same
fi

zfs create plimsoll/home
before=$(listed)
check "a pool that others use is not exported" eval '! measure filesystems=4 batch=2 cycle=import'
check "and the field is named" grep -q 'cycle cannot be import: it takes all of pool plimsoll away, and plimsoll/home' "$work/errors"
check "nothing was made" same
check "it is unmounted and mounted, dataset by dataset" measure filesystems=4 batch=2 cycle=remount operations=create,cycle
check "the neighbour is still there" same
