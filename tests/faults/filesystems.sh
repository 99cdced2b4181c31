#!/bin/bash
# Filesystem-scaling on real filesystems, killed at random moments: clean-up brings the target back as it was,
# and leaves what merely has a name of ours. Works in a folder of its own and removes it.
#
#     tests/faults/filesystems.sh [RUNNER] [KILLS]
#
# Needs root, loop devices, mkfs.btrfs, mkfs.ext4.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
runner=${1:-$root/build/release/bin/plimsoll-runner} kills=${2:-6}
work=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-filesystems.XXXXXX")
failed=0
tidy() {
    awk -v w="$work/" 'index($2, w) == 1 { print $2 }' /proc/self/mounts | sort -r | xargs -r -n1 umount -l
    rm -rf "$work"
}
trap tidy EXIT

expect() { # WHAT IS SHOULD
    if [ "$2" = "$3" ]; then echo "ok     $1"; else
        echo "FAILED $1: $2, not $3"
        failed=1
    fi
}
mkdir -p "$work/btrfs" "$work/images" "$work/state/jobs"
truncate -s 1G "$work/image"
mkfs.btrfs -q "$work/image" >/dev/null
mount -o loop "$work/image" "$work/btrfs"
printf '[target btrfs]\nkind = btrfs\npath = %s\n[target mkfs]\nkind = mkfs\npath = %s\n' \
    "$work/btrfs" "$work/images" >"$work/settings"
# Beside them stands what has a name of the same kind and is nobody's to remove.
btrfs subvolume create "$work/btrfs/plimsoll-1-1-00000000deadbeef" >/dev/null
mkdir "$work/images/plimsoll-1-1-00000000deadbeef"

state() { # of the targets, the mounts below them and the loop devices of their images
    ls -A "$work/btrfs" "$work/images"
    btrfs subvolume list "$work/btrfs" | awk '{ print $NF }'
    awk -v w="$work/" 'index($2, w) == 1 { print $2 }' /proc/self/mounts
    losetup -a | grep -c "$work/images" || true
}
before=$(state)

job=100
spec() { # TARGET PARAMS
    job=$((job + 1))
    mkdir "$work/state/jobs/$job"
    printf '{"job":%d,"nonce":"00000000%08x","workload":"filesystem-scaling","target":"%s","params":%s}\n' \
        $job $job "$1" "$2" >"$work/state/jobs/$job/spec.json"
    file=$work/state/jobs/$job/spec.json
}

for ((i = 0; i < kills; i++)); do
    if ((i % 2)); then
        spec mkfs '{"filesystems":400,"batch":3,"cycle":"remount"}'
    else
        spec btrfs '{"filesystems":20000,"batch":50,"cycle":"remount"}'
    fi
    "$runner" run "$file" --settings "$work/settings" >/dev/null 2>&1 &
    pid=$!
    wait=0.$((RANDOM % 10))$((RANDOM % 10))
    sleep "$wait" # the moment is at random; what is waited for is nothing
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    code=0
    "$runner" clean "$file" --settings "$work/settings" >"$work/log" 2>&1 || code=$?
    expect "kill $i after $wait s: cleaned" "$code $(cat "$work/log")" '0 '
    expect "kill $i: the targets are as before" "$(state)" "$before"
done

# A look-alike in the run directory: a subvolume under the name of one that the run made.
spec btrfs '{"filesystems":200000,"batch":100}'
"$runner" run "$file" --settings "$work/settings" >/dev/null 2>&1 &
pid=$!
dir=$work/btrfs/plimsoll-$job-1-$(printf '00000000%08x' $job)
until [ -e "$dir/f0000000500" ]; do kill -0 $pid; done
kill -9 $pid
wait $pid 2>/dev/null || true
btrfs subvolume delete "$dir/f0000000007" >/dev/null
btrfs subvolume create "$dir/f0000000007" >/dev/null
code=0
"$runner" clean "$file" --settings "$work/settings" >/dev/null 2>&1 || code=$?
expect "a look-alike blocks clean-up" $code 4
expect "and is all that is left" "$(ls "$dir")" f0000000007
btrfs subvolume delete "$dir/f0000000007" >/dev/null
"$runner" clean "$file" --settings "$work/settings" >/dev/null 2>&1 || true
expect "without it, all is as before" "$(state)" "$before"

# Tools that are missing or fail: told in their own words, and nothing is left.
mkdir "$work/bin"
ln -s "$(command -v mount)" "$work/bin/mount"
words=$(PATH=$work/bin "$runner" run filesystem-scaling --on "mkfs:$work/images" filesystems=2 2>&1 >/dev/null) && failed=1
expect "a missing tool is named" "$(grep -c 'cannot start mkfs.ext4: No such file' <<<"$words")" 1
words=$("$runner" run filesystem-scaling --on "mkfs:$work/images" filesystems=2 filesystem=xfs image_bytes=1MiB 2>&1 >/dev/null) && failed=1
expect "a tool's own words are told" "$(grep -c 'mkfs.xfs ended with status' <<<"$words")" 1
expect "nothing is left of either" "$(state)" "$before"
exit $failed
