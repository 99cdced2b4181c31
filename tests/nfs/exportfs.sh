#!/bin/bash
# exportfs.sh RUNNER: filesystems that a job makes are exported by exportfs to the kernel's own server, one by one, and
# taken back; what others export stays as it is, also when the runner is killed in the middle. In the virtual machine. Needs e2fsprogs, jq, and what machine.sh does.
set -euo pipefail
runner=$(readlink -f "${1:?exportfs.sh RUNNER}")
. "$(dirname "$(readlink -f "$0")")/../faults/machine.sh"

machine_new
machine_nfs
machine_programs mkfs.ext4 ls tail "$runner"
# The tool itself, and a witness before it, who notes its arguments and then how long the list of exports is.
mv "$machine_root/bin/exportfs" "$machine_root/bin/exportfs.itself"
cat >"$machine_root/bin/exportfs" <<'WITNESS'
#!/bin/bash
exportfs.itself "$@"
status=$?
mapfile -t exports </var/lib/nfs/etab
echo "$* -> $status, then ${#exports[@]}" >>/tmp/witness
exit $status
WITNESS
chmod +x "$machine_root/bin/exportfs"

machine_run 600 768 256 <<'SCRIPT'
exports() { give "exports_$1" /var/lib/nfs/etab; } # NAME: all that is exported

start() { # NAME NUMBER PARAMETERS
    mkdir -p "/tmp/$1"
    printf '{"job": %d, "nonce": "0123456789abcdef", "workload": "filesystem-scaling", "target": "there", "params": {"share": "nfs", %s}}' \
        "$2" "$3" >"/tmp/$1/spec.json"
    plimsoll-runner run "/tmp/$1/spec.json" --settings /tmp/plimsoll.conf &
    runner=$!
}
over() { # NAME
    give "$1" "/tmp/$1/journal.ndjson"
    exports "after_$1"
    ls -A /srv/there >/tmp/left && give "left_$1" /tmp/left
}
is_served() { # NAME PATH: whether a client can mount it, which it must then find empty
    nfs_mount "$2" /mnt/client && ls -A /mnt/client && umount /mnt/client
    echo "$1 $?"
}

measure() {
    local first=/srv/there/plimsoll-2-1-0123456789abcdef/f0000000000
    mkfs.ext4 -q -F /dev/vda && mkdir /srv /mnt/client && mount /dev/vda /srv && mkdir /srv/there /srv/own || return
    # Two of the administrator's: one elsewhere, and one of the folder in which jobs work.
    printf '/srv/own 127.0.0.1(ro,sync,no_subtree_check)\n/srv/there 192.0.2.7(rw,sync,no_subtree_check)\n' >/etc/exports
    nfs_serve || return
    printf '[target there]\npath = /srv/there\nshare = exportfs\nshare_clients = 127.0.0.1, 192.0.2.0/24\nshare_options = rw, no_subtree_check, no_root_squash, sync\n' >/tmp/plimsoll.conf
    exports before
    : >/tmp/witness

    start whole 1 '"filesystems": 20, "batch": 5, "operations": ["create", "list", "destroy"]'
    wait "$runner"
    echo "exit_whole $?"
    over whole
    give witness /tmp/witness

    start killed 2 '"filesystems": 500, "batch": 5, "operations": ["create", "list", "destroy"]'
    while read -r line; do
        case $line in *'"record":"samples"'*'"phase":"share"'*) break ;; esac
    done < <(tail --pid "$runner" -n +1 -F /tmp/killed/journal.ndjson)
    kill -STOP "$runner"
    is_served served_killed "$first"
    exportfs.itself -i -o ro,sync,no_subtree_check "198.51.100.7:$first" # of the same folder, to somebody else
    kill -KILL "$runner"
    wait "$runner"
    echo "exit_killed $?"
    plimsoll-runner clean /tmp/killed/spec.json --settings /tmp/plimsoll.conf
    echo "cleaned_killed $?"
    over killed
    is_served unserved_killed "$first"
    is_served served_own /srv/own
}
measure
SCRIPT

phases=$(taken whole | jq -s -r '[.[] | select(.record == "phase_end") | "\(.phase) \(.ops) \(.errors)"] | join(", ")')
same 'each phase does each of them' "$phases" 'create 20 0, share 20 0, list 20 0, unshare 20 0, destroy 20 0'
both=127.0.0.1:/srv/there/plimsoll-1-1-0123456789abcdef/f00000000%02d\ 192.0.2.0/24:/srv/there/plimsoll-1-1-0123456789abcdef/f00000000%02d
for ((number = 0; number < 20; number++)); do # the administrator's two, and two clients of each filesystem
    printf -- "-i -o rw,no_subtree_check,no_root_squash,sync $both -> 0, then %d\n" $number $number $((4 + 2 * number))
done >"$machine/shared"
for ((number = 0; number < 20; number++)); do
    printf -- "-u $both -> 0, then %d\n" $number $number $((40 - 2 * number))
done >"$machine/unshared"
agrees() { # SENTENCE FILE FILE
    if diff "$2" "$3"; then echo "ok - $1"; else echo "not ok - $1" && failed=1; fi
}
agrees 'the tool is told of each once, and each makes the list as much longer' <(taken witness | grep '^-i ') "$machine/shared"
agrees 'and as much shorter' <(taken witness | grep '^-u .* -> 0, ') "$machine/unshared"
agrees 'the exports are as before' <(taken exports_after_whole | sort) <(taken exports_before | sort)
same 'an export serves while the job runs' "$(taken served_killed)" 0
same 'its runner is killed' "$(taken exit_killed)" 137
same 'it is cleaned up' "$(taken cleaned_killed)" 0
agrees 'the exports are as before, and what others exported meanwhile of the same folder is left' \
    <(taken exports_after_killed | cut -d'(' -f1 | sort) \
    <({ taken exports_before | cut -d'(' -f1 && printf '%s\t%s\n' /srv/there/plimsoll-2-1-0123456789abcdef/f0000000000 198.51.100.7; } | sort)
same 'what it exported cannot be mounted any more' "$(taken unserved_killed)" 32
same 'what the administrator exports can' "$(taken served_own)" 0
for name in whole killed; do
    same "$name: all of it is gone" "$(taken "$name" | jq -s -r '[.[] | select(.record == "cleanup")][-1] | "\(.state) \(.foreign | length)"')" 'done 0'
    silent "$name: nothing is left where it worked" "^left_$name "
done
exit $failed
