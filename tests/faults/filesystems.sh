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
mkdir -p "$work/btrfs" "$work/ext4" "$work/state/jobs"
truncate -s 4G "$work/image" "$work/image.ext4"
mkfs.btrfs -q "$work/image" >/dev/null
mkfs.ext4 -q -F -N 200000 "$work/image.ext4"
mount -o loop "$work/image" "$work/btrfs"
mount -o loop "$work/image.ext4" "$work/ext4"
mkdir "$work/ext4/images" "$work/btrfs/folder"
for kind in btrfs:btrfs mkfs:ext4/images directory:btrfs/folder; do
    printf '[target %s]\nkind = %s\npath = %s\n' "${kind%:*}" "${kind%:*}" "$work/${kind#*:}"
done >"$work/settings"
# Beside them stands what has a name of the same kind and is nobody's to remove.
btrfs subvolume create "$work/btrfs/plimsoll-1-1-00000000deadbeef" >/dev/null
mkdir "$work/"{ext4/images,btrfs/folder}/plimsoll-1-1-00000000deadbeef

state() { # of the targets, the mounts below them and the loop devices of their images
    ls -A "$work/btrfs" "$work/btrfs/folder" "$work/ext4/images"
    btrfs subvolume list "$work/btrfs" | awk '{ print $NF }'
    awk -v w="$work/" 'index($2, w) == 1 { print $2 }' /proc/self/mounts
    losetup -a | grep -c "$work/ext4/images" || true
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

begin() { # TARGET PARAMS: starts a job; its directory in $dir, its pid in $pid
    spec "$1" "$2"
    "$runner" run "$file" --settings "$work/settings" >/dev/null 2>&1 &
    pid=$!
    dir=$(sed -n "/target $1]/,/path/s/path = //p" "$work/settings")/plimsoll-$job-1-$(printf '00000000%08x' $job)
}
clean() { # its exit code in $code
    code=0
    "$runner" clean "$file" --settings "$work/settings" >/dev/null 2>&1 || code=$?
}

# A look-alike in the run directory: a subvolume under the name of one that the run made and told.
begin btrfs '{"filesystems":200000,"batch":100}'
until [ -e "$dir/f0000000500" ]; do kill -0 $pid; done
kill -9 $pid
wait $pid 2>/dev/null || true
btrfs subvolume delete "$dir/f0000000007" >/dev/null
btrfs subvolume create "$dir/f0000000007" >/dev/null
clean
expect "a look-alike blocks clean-up" $code 4
expect "and is all that is left" "$(ls "$dir")" f0000000007
btrfs subvolume delete "$dir/f0000000007" >/dev/null
clean
expect "without it, all is as before" "$(state)" "$before"

# Look-alikes in a batch of which nothing has been told yet when the runner dies: under the next name, under one
# that was to come much later, and in the place of one that was made.
look_alikes() { # TARGET PARAMS PREFIX PLANT REMOVE
    local next=0 made planted
    begin "$1" "$2"
    until [ -e "$dir/${3}0000000003" ]; do kill -0 $pid; done
    kill -STOP $pid
    until grep -q '^State:.T' /proc/$pid/status; do :; done
    while made=$dir/$3$(printf '%010d' $next) && [ -e "$made" ]; do next=$((next + 1)); done
    planted=$(printf "$3%010d " 1 $next $((next + 50)))
    $5 "$dir/${3}0000000001" >/dev/null
    for name in $planted; do $4 "$dir/$name" >/dev/null; done
    kill -9 $pid
    wait $pid 2>/dev/null || true
    clean
    expect "$1: look-alikes in a batch under way block clean-up" $code 4
    expect "$1: and are all that is left" "$(echo $(ls "$dir"))" "$(echo $planted)"
    for name in $planted; do $5 "$dir/$name" >/dev/null; done
    clean
    expect "$1: without them, all is as before" "$code $(state)" "0 $before"
}
look_alikes btrfs '{"filesystems":200000,"batch":200000}' f "btrfs subvolume create" "btrfs subvolume delete"
look_alikes directory '{"filesystems":9000000,"batch":1000000}' f mkdir rmdir
look_alikes mkfs '{"filesystems":100000,"batch":100000,"image_bytes":2097152,"mounted":false}' i "truncate -s 512M" rm

# Tools that are missing or fail: told in their own words, and nothing is left.
hand() { # TARGET ARGUMENT...: by hand; what was told in $words
    words=$("$runner" run filesystem-scaling --on "$@" 2>&1)
}
mkdir "$work/bin"
ln -s "$(command -v mount)" "$work/bin/mount"
PATH=$work/bin hand "mkfs:$work/ext4/images" filesystems=2 && failed=1
expect "a missing tool is named" "$(grep -c 'cannot start mkfs.ext4: No such file' <<<"$words")" 1
hand "mkfs:$work/ext4/images" filesystems=2 filesystem=xfs image_bytes=1MiB && failed=1
expect "a tool's own words are told" "$(grep -c 'mkfs.xfs ended with status' <<<"$words")" 1
as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
words=$("${as_nobody[@]}" "$runner" run filesystem-scaling --on "mkfs:$work/ext4/images" filesystems=2 2>&1) && failed=1
expect "nobody may not, and it is told why" "$(grep -c "Permission denied" <<<"$words")" 1
chmod 777 "$work/ext4/images" "$work/btrfs"
chmod 755 "$work"
words=$("${as_nobody[@]}" "$runner" run filesystem-scaling --on "mkfs:$work/ext4/images" filesystems=2 2>&1) && failed=1
expect "mounting takes root" "$(grep -c 'mounting loop images takes root' <<<"$words")" 1
words=$("${as_nobody[@]}" "$runner" run filesystem-scaling --on "btrfs:$work/btrfs" cycle=remount filesystems=2 2>&1) && failed=1
expect "so does mounting subvolumes" "$(grep -c 'mounting subvolumes takes root' <<<"$words")" 1

# Limits that are reached: results, in the words of whoever told them.
small() { # MKFS... : a filesystem of its own, at $work/small
    umount "$work/small" 2>/dev/null || mkdir -p "$work/small"
    rm -f "$work/image.small"
    truncate -s 300M "$work/image.small"
    "$@" -q "$work/image.small" >/dev/null
    mount -o loop "$work/image.small" "$work/small"
}
small mkfs.ext4 -F -b 4096 -N 1000
dd if=/dev/zero of="$work/small/fill" bs=1M count=230 status=none
hand "mkfs:$work/small" --reserve 0% filesystems=200 batch=5 mounted=false || failed=1
expect "a full folder of images: limit space, in mkfs's words" "$(grep -c '^Limit space: .*mkfs.ext4 ended with status 1: .*No space left on device' <<<"$words")" 1
expect "and nothing is left" "$(ls "$work/small")" "$(printf '%s\n' fill lost+found)"
small mkfs.btrfs
btrfs quota enable "$work/small"
btrfs subvolume create "$work/small/limited" >/dev/null
btrfs qgroup limit 20M "$work/small/limited"
hand "mkfs:$work/small/limited" filesystems=100 batch=5 || failed=1
expect "a quota: limit quota, in mkfs's words" "$(grep -c '^Limit quota: .*mkfs.ext4 ended with status 1: .*Disk quota exceeded' <<<"$words")" 1
expect "and nothing is left" "$(ls "$work/small/limited")" ''
btrfs quota disable "$work/small"
dd if=/dev/zero of="$work/small/fill" bs=1M status=none 2>/dev/null || true
hand "btrfs:$work/small/limited" --reserve 0% filesystems=100000 batch=500 || failed=1
expect "a full btrfs: limit space" "$(grep -c '^Limit space: phase create ended at' <<<"$words")" 1
expect "and nothing is left" "$(ls "$work/small/limited")" ''
if [ -n "${PLIMSOLL_FULL:-}" ]; then
    small mkfs.ext4 -F -O ^dir_nlink -N 80000
    hand "$work/small" --reserve 0% filesystems=70000 batch=1000 || failed=1
    expect "as many folders as a link count can tell: limit links" "$(grep -c '^Limit links: phase create ended at 64,998' <<<"$words")" 1
    expect "and nothing is left" "$(ls "$work/small")" lost+found
fi
umount "$work/small"
rmdir "$work/small"

if [ -n "${PLIMSOLL_FULL:-}" ]; then # the sizes
    sized() { # WHAT TARGET N ARGUMENT...
        local what=$1 target=$2 n=$3 totals
        totals=$("$runner" run filesystem-scaling --on "$target" --json filesystems="$n" "${@:4}" 2>"$work/log") || failed=1
        expect "$what: created, listed and destroyed" "$(jq -c '[.phases[] | select(.name == "create" or .name == "list" or .name == "destroy") | .ops]' <<<"$totals")" "[$n,$n,$n]"
        jq -r '.phases[] | "       \(.name): \(.ops) in \(.seconds) s"' <<<"$totals"
        expect "$what: all is as before" "$(state)" "$before"
    }
    sized "10,000 subvolumes, all mounted again after each 500" "btrfs:$work/btrfs" 10000 batch=500 cycle=remount
    sized "100 images of ext4, all mounted again after each 20" "mkfs:$work/ext4/images" 100 batch=20 cycle=remount
    sized "100,000 directories" "$work/btrfs/folder" 100000 batch=1000
fi
expect "nothing is left of any" "$(state)" "$before"
exit $failed
