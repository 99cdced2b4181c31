#!/bin/bash
# The limits of real filesystems, by hand and without the service: each small image is filled until it or
# its reserve ends the phase, and what is left must be above the floor and within one batch a lane of it.
#
#     tests/faults/limits.sh [RUNNER]
#
# Needs root, loop devices, mkfs.ext4, mkfs.btrfs and jq. Works in a folder of its own and removes it.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
runner=${1:-$root/build/release/bin/plimsoll-runner}
work=$(mktemp -d /tmp/plimsoll-limits.XXXXXX)
failed=0

clean_up() {
    for mount in "$work"/*/; do umount "$mount" 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean_up EXIT

# image NAME SIZE MKFS ARGUMENT...: a filesystem at $work/NAME
image() {
    local name=$1 size=$2 mkfs=$3
    shift 3
    truncate -s "$size" "$work/$name.img"
    "$mkfs" "$@" "$work/$name.img" >/dev/null 2>&1
    mkdir "$work/$name"
    mount -o loop "$work/$name.img" "$work/$name"
}

# measure NAME ARGUMENT...: leaves the totals in $totals, and how many inodes and bytes were free before
measure() {
    local name=$1
    shift
    read -r blocks block inodes < <(stat -f -c '%b %S %c' "$work/$name")
    read -r inodes_before blocks_before < <(stat -f -c '%d %a' "$work/$name")
    totals=$("$runner" run create-scaling --on "$work/$name" --json "$@" 2>"$work/errors") || {
        echo "FAILED $name: exit $?: $(cat "$work/errors")"
        failed=1
    }
    left=$(ls -A "$work/$name" | grep -v '^lost+found$' || true)
    expect "$name leaves nothing" "$left" ''
}

get() { jq -r "$1" <<<"$totals"; }

expect() { # WHAT IS SHOULD
    if [ "$2" = "$3" ]; then echo "ok     $1: $2"; else
        echo "FAILED $1: $2, not $3"
        failed=1
    fi
}

within() { # WHAT VALUE LEAST MOST
    if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then echo "ok     $1: $2 ($3 to $4)"; else
        echo "FAILED $1: $2, not $3 to $4"
        failed=1
    fi
}

went_on() { # later phases go over exactly what exists
    expect "$1: outcome" "$(get .outcome)" succeeded
    expect "$1: phases agree" "$(get '[.phases[].ops] | unique | length')" 1
}

image few 64M mkfs.ext4 -N 4096
for lanes in 1 2; do
    measure few files=100000 batch=10 threads=$lanes
    went_on "few inodes, $lanes lanes"
    expect "few inodes, $lanes lanes: reason" "$(get '.phases[0].limit | "\(.reason) \(.errno)"')" 'inodes 0'
    floor=$(((inodes * 5 + 99) / 100))
    within "few inodes, $lanes lanes: left above the floor" \
        $((inodes_before - 1 - $(get '.phases[0].ops') - floor)) 0 $((lanes * 10))
done
measure few --reserve 0 files=100000 batch=10
expect "few inodes, no reserve" "$(get '.phases[0].limit | "\(.reason) \(.errno)"')" 'inodes 28'

image space 64M mkfs.ext4 -m 0
for lanes in 1 2; do
    measure space files=100000 batch=10 threads=$lanes file_bytes=64KiB
    went_on "little space, $lanes lanes"
    expect "little space, $lanes lanes: reason" "$(get '.phases[0].limit | "\(.reason) \(.errno)"')" 'space 0'
    floor=$(((blocks * block * 5 + 99) / 100))
    within "little space, $lanes lanes: left above the floor" \
        $((blocks_before * block - $(get '.phases[0].bytes') - floor)) 0 $((lanes * 10 * (65536 + 4096) + 65536))
done

image butter 256M mkfs.btrfs
expect "btrfs counts inodes" "$(stat -f -c %c "$work/butter")" 0
measure butter files=30000
went_on btrfs
expect "btrfs: no limit of inodes" "$(get '.phases[0] | "\(.ops) \(.limit)"')" '30000 null'
measure butter files=100000 file_bytes=256KiB
went_on "btrfs, space"
expect "btrfs: limit" "$(get '.phases[0].limit.reason')" space

image index 1G mkfs.ext4 -b 1024 -N 420000
measure index files=400000
went_on "directory index"
expect "directory index: reason" "$(get '.phases[0].limit | "\(.reason) \(.errno)"')" 'directory-index 28'
within "directory index: files" "$(get '.phases[0].ops')" 200000 340000
echo "       $(get '.phases[0].limit.detail')"

exit $failed
