#!/bin/bash
# Kills the runner, the daemon, or both, at random moments of filesystem-scaling on every kind of target: tests/faults/kills.mjs
# in a mount namespace of its own, with a ZFS of its own.
#
#     tests/faults/kills.sh [--kills N] [--seed S] [--on KIND,...] [--build release]
#
# N kills on each kind (1). The seed is told, and makes the same choices again.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
source "$here/zfs_pool.sh"
zfs_inside "$0" "$@"
work=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-kills.XXXXXX") zfs_daemon=
tidy() {
    zfs_stop
    awk -v w="$work/" 'index($2, w) == 1 { print $2 }' /proc/self/mounts | sort -r | xargs -r -n1 umount -l
    rm -rf --one-file-system "$work"
}
trap tidy EXIT
kinds=btrfs,mkfs,directory
if zfs_possible; then
    zfs_start 2G
    zfs create plimsoll/bench
    kinds=$kinds,zfs
fi
node "$here/kills.mjs" --work "$work" --possible "$kinds" "$@"
