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
manager=$(dirname "$runner")/login-manager # what answers in place of the machine's own
source "$root/tests/faults/zfs_pool.sh"
zfs_inside "$0" "$runner" $([ $full = no ] || echo --full)
if ! zfs_possible; then
    echo "ok 1 - zfs # SKIP needs root, /dev/fuse and zfs-fuse"
    printf '%s\n' "1..1" "# skipped 1"
    exit
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-zfs.XXXXXX")
n=0 failed=0 zfs_daemon=
finish() {
    local code=$?
    trap - EXIT
    [ $code = 0 ] || { failed=$((failed + 1)) n=$((n + 1)) && echo "not ok $n - the script comes to its end"; }
    kill ${manager_pid:-} 2>/dev/null || true
    zfs_stop
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

zfs_start 8G
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

zfs create -o mountpoint=none plimsoll/home
before=$(listed)
check "a pool that others use is not exported" eval '! measure filesystems=4 batch=2 cycle=import'
check "and the field is named" grep -q 'cycle cannot be import: it takes all of pool plimsoll away, and plimsoll/home' "$work/errors"
check "nothing was made" same
check "it is unmounted and mounted, dataset by dataset" measure filesystems=4 batch=2 cycle=remount operations=create,cycle
check "the neighbour is still there" same

# --- jobs that are killed, and tools that fail ---
zfs destroy plimsoll/home
before=$(listed)
mkdir -p "$work/state/jobs"
printf '[target pool]\nkind = zfs\ndataset = plimsoll/bench\n' >"$work/settings"
job=100
begin() { # begin PARAMS: a job, its pid in $pid, the dataset that it makes in $parent
    job=$((job + 1))
    file=$work/state/jobs/$job/spec.json journal=$work/state/jobs/$job/journal.ndjson parent=plimsoll/bench/plimsoll-$job-1-$(printf '%016d' $job)
    mkdir "$work/state/jobs/$job"
    printf '{"job":%d,"nonce":"%016d","workload":"filesystem-scaling","target":"pool","params":%s}\n' $job $job "$1" >"$file"
    "$runner" run "$file" --settings "$work/settings" >"$work/errors" 2>&1 &
    pid=$!
}
clean() { # clean CODE
    local code=0
    "$runner" clean "$file" --settings "$work/settings" >"$work/errors" 2>&1 || code=$?
    [ $code = "$1" ] || { echo "ended with $code" >>"$work/errors" && false; }
}
until_is() { # until_is COMMAND...: asks again until it is so, or the runner has ended
    until "$@" >/dev/null 2>&1; do kill -0 $pid 2>/dev/null || return 1; done
}
foreign() { grep '"record":"cleanup"' "$journal" | tail -n 1 | jq -c '.foreign | sort'; }
told() { grep "\"record\":\"$1\"" "$journal" | tail -n 1 | jq -e "$2" >/dev/null; } # told RECORD EXPRESSION: of the last one
full_pool() { jq -e '.phases[] | select(.name == "create") | .limit | .reason == "space" and (.detail | test("cannot create .*: out of space"))' <<<"$totals" >/dev/null; }

begin '{"filesystems":100000,"batch":100000,"mounted":false}'
until_is zfs list "$parent/f0000000003"
kill -STOP $pid
while pgrep -P $pid -x zfs -r R,S,D >/dev/null; do :; done # what it has started comes to its end
next=4
while zfs list "$parent/$(printf 'f%010d' $next)" >/dev/null 2>&1; do next=$((next + 1)); done
planted=$(printf 'f%010d' $next)
zfs destroy "$parent/f0000000001"
for name in f0000000001 "$planted" f0000090000 f0000000002/theirs; do zfs create -o mountpoint=none "$parent/$name"; done
zfs snapshot "$parent/f0000000000@theirs"
kill -9 $pid
wait $pid 2>/dev/null || true
check "look-alikes, what lies below ours, and snapshots block clean-up" clean 4
check "each is listed" [ "$(foreign)" = "$(jq -nc --arg planted "$planted" '["f0000000000", "f0000000000@theirs", "f0000000001", "f0000000002", "f0000000002/theirs", $planted, "f0000090000"] | sort')" ]
check "and they are all that is left" [ "$(zfs list -H -o name -t all -r "$parent" | wc -l)" = 8 ]
zfs destroy -r "$parent/f0000000000" && zfs destroy -r "$parent/f0000000002"
for name in f0000000001 "$planted" f0000090000; do zfs destroy "$parent/$name"; done
check "without them, clean-up comes to its end" clean 0
check "the pool is as before" same

available=$(zfs get -H -p -o value available plimsoll)
zfs create -o mountpoint=none -o reservation=$((available - 1500000)) plimsoll/bench/reserved
check "a full pool is a limit" measure filesystems=4000 batch=10 mounted=no operations=create
check "in zfs's words" full_pool
zfs destroy plimsoll/bench/reserved
check "the pool is as before" same
check "nobody may not" eval '! setpriv --reuid=nobody --regid=nogroup --clear-groups "$runner" run filesystem-scaling --on zfs:plimsoll/bench filesystems=4 2>"$work/errors" >/dev/null'
check "in zfs's words" grep -q 'error: zfs ended with status 1: connect: Permission denied' "$work/errors"
mkdir "$work/bin"
check "without zfs nothing is made" eval '! PATH=$work/bin "$runner" run filesystem-scaling --on zfs:plimsoll/bench filesystems=4 2>"$work/errors" >/dev/null'
check "which is told" grep -q 'cannot start zfs: No such file or directory' "$work/errors"

# --- the machine is restarted: what its services do at boot with the pool, and what the runner does where they do not ---
exec 9< <(exec "$manager" "$work/bus" "$work/called")
manager_pid=$!
read -r -t 60 -u 9 ready
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/bus # never this machine's own
echo 'allow_reboot = yes' >>"$work/settings"
boots=0
boot() { # boot CODE: the job goes on in another boot
    local code=0
    boots=$((boots + 1))
    printf '%08d-0000-0000-0000-000000000000\n' $boots >"$work/boot_id"
    mount --bind "$work/boot_id" /proc/sys/kernel/random/boot_id
    "$runner" run "$file" --settings "$work/settings" >"$work/errors" 2>&1 || code=$?
    umount /proc/sys/kernel/random/boot_id
    [ $code = "$1" ] || { echo "ended with $code" >>"$work/errors" && false; }
}
begin '{"filesystems":12,"batch":4,"cycle":"reboot"}'
code=0
wait $pid || code=$?
check "a batch, and the machine is to be restarted" [ "$ready $code $(<"$work/called")" = "ready 5 reboot" ]
zpool export plimsoll
check "nobody imported the pool at boot" boot 5
check "so the runner did, with all in it" told boot '.load == 4 and .brought_back == 4'
zfs unmount "$parent/f0000000003"
check "one was not mounted at boot" boot 5
check "so the runner did" told boot '.load == 8 and .brought_back == 1'
check "all came back by themselves" boot 0
check "which is told" told boot '.load == 12 and .brought_back == 0'
check "12 in all, in three legs" [ "$(jq -r 'select(.record == "phase_end" and .phase == "create").ops' "$journal" | paste -sd' ')" = "4 4 4" ]
check "12 were destroyed" [ "$(jq -r 'select(.record == "phase_end" and .phase == "destroy").ops' "$journal")" = 12 ]
check "the pool is as before" same
kill "$manager_pid"

# The file system's daemon stands still, so zfs hangs.
ended() { grep -q '"record":"end"' "$journal"; }
begin '{"filesystems":100000,"batch":100000,"mounted":false}'
until_is zfs list "$parent/f0000000003"
kill -STOP "$zfs_daemon"
kill -TERM $pid
until_is ended
check "a hanging zfs does not keep a job from being cancelled" told end '.outcome == "cancelled"'
kill -CONT "$zfs_daemon"
wait $pid || true
check "and it cleans up when zfs works again" same
if [ $full = yes ]; then
    begin '{"filesystems":100000,"batch":100000,"mounted":false}'
    until_is zfs list "$parent/f0000000003"
    kill -STOP "$zfs_daemon"
    wait $pid || true
    check "a zfs that hangs on is killed, and the job fails by it" told end '.problem.message | test("zfs did not end within 60 s and was killed")'
    check "its clean-up is blocked by it" told cleanup '.state == "blocked" and (.reason | test("did not end within 60 s"))'
    kill -CONT "$zfs_daemon"
    check "and comes to its end when zfs works again" clean 0
    check "the pool is as before" same
fi
