#!/bin/bash
# kernel.sh RUNNER: runs over a mount of the kernel's NFSv4.2, which its own server serves from an ext4: what is moved
# is moved to the byte, what a cold read reads comes from the server, and a server that is gone ends a run. In a
# virtual machine: neither this kernel nor user-mode Linux on every CPU can. Needs e2fsprogs, jq, and what machine.sh
# does.
set -euo pipefail
runner=$(readlink -f "${1:?kernel.sh RUNNER}")
. "$(dirname "$(readlink -f "$0")")/../faults/machine.sh"

machine_new
machine_nfs
machine_programs mkfs.ext4 ls tail "$runner"
machine_run 600 1536 1024 <<'SCRIPT'
from_server() { # NAME: bytes that the client has read from the server and written to it, since it was mounted
    local word read written rest
    while read -r word _ _ _ _ read written rest; do
        [ "$word" != bytes: ] || echo "$1 $read $written"
    done </proc/self/mountstats
}
left() { ls -A /srv/runs >/tmp/left && give "$1" /tmp/left; }

by_hand() { # NAME WORKLOAD PARAMETERS…
    local name=$1 workload=$2
    shift 2
    from_server "before_$name"
    plimsoll-runner run "$workload" --on /mnt/nfs --journal "/tmp/$name" "$@" >"/tmp/$name.table"
    echo "exit_$name $?"
    from_server "after_$name"
    give "$name" "/tmp/$name"
    left "left_$name"
}

job() { # NAME NUMBER TARGET: starts one that reads from the server for long; returns when it does
    mkdir -p "/tmp/$1"
    printf '{"job": %d, "nonce": "0123456789abcdef", "workload": "throughput", "target": "%s", "params": {
        "operations": ["write", "read", "reread", "random-read", "stride-read", "backward-read"],
        "file_bytes": 8388608, "record_bytes": 8192, "direct": true, "rate_limit": 2097152}}' "$2" "$3" >"/tmp/$1/spec.json"
    plimsoll-runner run "/tmp/$1/spec.json" --settings /tmp/plimsoll.conf &
    runner=$!
    while read -r line; do
        case $line in *'"record":"samples"'*'"phase":"read"'*) break ;; esac
    done < <(tail --pid "$runner" -n +1 -F "/tmp/$1/journal.ndjson")
}
over() { # NAME: that job is, or ends now; with the server back, what it left goes
    wait "$runner"
    echo "exit_$1 $?"
    nfs_revive
    plimsoll-runner clean "/tmp/$1/spec.json" --settings /tmp/plimsoll.conf
    echo "cleaned_$1 $?"
    give "$1" "/tmp/$1/journal.ndjson"
    left "left_$1"
}

measure() {
    mkfs.ext4 -q -F /dev/vda && mkdir /srv /mnt/nfs /mnt/soft && mount /dev/vda /srv && mkdir /srv/runs || return
    echo '/srv/runs 127.0.0.1(rw,sync,fsid=0,no_root_squash,no_subtree_check)' >/etc/exports
    nfs_serve && nfs_mount / /mnt/nfs || return
    by_hand bytes throughput file_bytes=200MiB record_bytes=8KiB operations=write,read
    by_hand files create-scaling files=300 batch=100
    by_hand cold throughput file_bytes=16MiB record_bytes=8KiB operations=write,read cache=cold verify=yes

    nfs_mount / /mnt/soft soft,timeo=10,retrans=1 || return
    printf '[target soft]\npath = /mnt/soft\n[target hard]\npath = /mnt/nfs\n' >/tmp/plimsoll.conf
    job soft 1 soft
    nfs_die
    over soft
    job cancelled 2 hard
    nfs_die
    kill "$runner"
    nfs_revive
    over cancelled
    job killed 3 hard
    nfs_die
    kill "$runner"
    kill -KILL "$runner"
    over killed
}
measure
SCRIPT

holds() { # SENTENCE NAME CONDITION: of journal NAME, whose records jq has as an array
    if taken "$2" | jq -s -e "$3" >/dev/null; then echo "ok - $1"; else
        echo "not ok - $1" && failed=1
        taken "$2" | jq -c 'del(.latency.buckets)'
    fi
}
phases() { # NAME: what has been done in its phases, as "phase operations bytes errors"
    taken "$1" | jq -s -r '[.[] | select(.record == "phase_end") | "\(.phase) \(.ops) \(.bytes) \(.errors)"] | join(", ")'
}
moved() { # NAME: bytes that its run has read from the server and written to it
    local read_before written_before read written
    read -r read_before written_before < <(taken "before_$1") && read -r read written < <(taken "after_$1") || return
    echo "read $((read - read_before)), written $((written - written_before))"
}
samples='[.[] | select(.record == "samples")] | group_by(.phase) | map({ (.[0].phase): [map(.ops | add), map(.bytes | add)] | map(add) }) | add'
totals='[.[] | select(.record == "phase_end") | { (.phase): [.ops, .bytes] }] | add'
ended='(.[] | select(.record == "end").outcome) == "succeeded" and any(.[]; .record == "cleanup" and .state == "done" and .foreign == [])'

for name in bytes files cold; do
    same "$name: the runner ends with" "$(taken "exit_$name")" 0
    holds "$name: it succeeds, and cleans up" "$name" "$ended"
    holds "$name: its samples make its totals" "$name" "($samples) == ($totals)"
    silent "$name: nothing is left in the export" "^left_$name "
    holds "$name: the environment tells of NFSv4.2 and its options" "$name" \
        '.[0].environment.filesystem | .type == "nfs4" and .source == "127.0.0.1:/" and (.mount_options | test("(^|,)vers=4[.]2,.*,addr=127[.]0[.]0[.]1(,|$)"))'
done
same '200 MiB in 8 KiB' "$(phases bytes)" 'write 25600 209715200 0, read 25600 209715200 0'
same 'what has gone to the server' "$(moved bytes | sed 's/.*, //')" 'written 209715200'
same '300 files' "$(phases files)" 'create 300 0 0, list 300 0 0, stat 300 0 0, remove 300 0 0'
same '16 MiB, read cold' "$(phases cold)" 'write 2048 16777216 0, read 2048 16777216 0'
holds 'it is recorded what made it cold' cold 'any(.[]; .record == "phase" and .phase == "read" and .cache == "fadvise" and .resident == null)'
same 'all of it has come from the server' "$(moved cold)" 'read 16777216, written 16777216'

# A server that is gone.
same 'soft: the job fails by itself' "$(taken exit_soft)" 1
holds 'soft: with what could not be read, and all the samples before that' soft \
    '(.[] | select(.record == "end")) | .outcome == "failed" and .problem.code == "io-failed" and
     (.problem.message | test("^phase [a-z-]*read: operation [0-9]+: cannot read f0000000000: "))'
same 'hard: a job that is told to stop is cancelled when the server is back' "$(taken exit_cancelled)" 3
holds 'hard: and says so' cancelled '(.[] | select(.record == "end").outcome) == "cancelled"'
same 'hard: killed, it ends without the server' "$(taken exit_killed)" 137
for name in soft cancelled killed; do
    same "$name: its runner cleans up, when the server is back" "$(taken "cleaned_$name")" 0
    holds "$name: all of it" "$name" '[.[] | select(.record == "cleanup")][-1] | .state == "done" and .foreign == []'
    holds "$name: its samples make its totals" "$name" "($totals) as \$all | ($samples) | to_entries | all(.key as \$phase | \$all[\$phase] == null or \$all[\$phase] == .value)"
    silent "$name: nothing is left in the export" "^left_$name "
done
exit $failed
