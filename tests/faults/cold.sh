#!/bin/bash
# cold.sh RUNNER: a cold stat takes measurably longer than a warm one on an ext4 image (a cold list reads so few
# blocks that its figures are shown, not judged); what a phase leaves
# to be written does not fall into the next one; and what cannot be cold is refused. Needs root; 77: skipped.
set -euo pipefail
runner=${1:-build/release/bin/plimsoll-runner} files=20000 failed=0
[ "$(id -u)" = 0 ] || { echo "cold.sh: needs root"; exit 77; }
[ -w /proc/sys/vm/drop_caches ] || { echo "cold.sh: this host does not let caches be dropped"; exit 77; }

folder=$(mktemp -d)
mounted=()
finish() {
    local at
    for at in "${mounted[@]}"; do umount "$at"; done
    rm -rf --one-file-system "$folder"
}
trap finish EXIT
fail() { echo "FAIL: $*"; failed=1; }

mkdir "$folder/ext4" "$folder/tmpfs"
truncate -s 512M "$folder/image"
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$folder/image"
# Direct I/O to the image: its blocks must not be warm in the page cache of the filesystem below.
device=$(losetup --find --show --direct-io=on "$folder/image")
mount "$device" "$folder/ext4" || { losetup -d "$device"; exit 1; }
losetup -d "$device" # goes with the mount
mounted+=("$folder/ext4")
mount -t tmpfs tmpfs "$folder/tmpfs"
mounted+=("$folder/tmpfs")

measure() { # measure CACHE: the totals as JSON
    "$runner" run create-scaling --on "$folder/ext4" --json --journal "$folder/$1.ndjson" files=$files file_bytes=100 cache="$1" \
        2>"$folder/$1.log" || { cat "$folder/$1.log"; exit 1; }
}
seconds() { jq -r --arg phase "$1" '.phases[] | select(.name == $phase) | .seconds' "$2"; }

measure warm >"$folder/warm"
measure cold >"$folder/cold"
for phase in list stat; do
    warm=$(seconds $phase "$folder/warm") cold=$(seconds $phase "$folder/cold")
    echo "$phase: warm $warm s, cold $cold s"
    [ $phase = list ] || awk -v warm="$warm" -v cold="$cold" 'BEGIN { exit !(cold > 1.3 * warm) }' || fail "$phase: cold does not differ from warm"
    for cache in warm cold; do
        way=$(jq -r --arg phase $phase 'select(.record == "phase" and .phase == $phase) | .cache' "$folder/$cache.ndjson")
        [ "$way" = "$([ $cache = cold ] && echo drop-caches || echo warm)" ] || fail "$phase: recorded as $way, not $cache"
    done
done
# The image is written around the cache, so what waits after a flush is other programs' only.
jq -r '.phases[1:][] | "\(.name): flush \(.flush_seconds) s, \(.dirty_before) bytes waited before"' "$folder/cold"
written=$((files * 4096))
jq -e --argjson written $written '[.phases[1:][].dirty_before] | min < $written / 4' "$folder/cold" >/dev/null ||
    fail "a phase's write-back falls into the next"
jq -e 'all(.phases[]; .flush_seconds > 0)' "$folder/cold" >/dev/null || fail "a flush was not timed"

status=0
"$runner" run create-scaling --on "$folder/tmpfs" files=100 cache=cold >"$folder/out" 2>&1 || status=$?
[ $status = 1 ] || fail "tmpfs ended with $status"
grep -q 'lives in memory' "$folder/out" || { fail "tmpfs: the reason is not told"; cat "$folder/out"; }
[ -z "$(ls -A "$folder/tmpfs")" ] || fail "something was left on the tmpfs"
exit $failed
