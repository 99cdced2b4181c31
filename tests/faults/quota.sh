#!/bin/bash
# quota.sh RUNNER: a job as nobody on an ext4 image with a quota of that user ends at limit quota; the same job as
# root goes on. In a virtual machine: it has quotas wherever this test runs. Needs quota, e2fsprogs, and what
# machine.sh does.
set -euo pipefail
runner=$(readlink -f "${1:?quota.sh RUNNER}")
. "$(dirname "$(readlink -f "$0")")/machine.sh"

machine_new
machine_programs chown truncate mkfs.ext4 losetup setquota "$runner"
machine_modules loop quota_v2
machine_run 120 768 <<'SCRIPT'
measure() {
    local number=0 user
    modprobe -a loop quota_v2 || return
    truncate -s 64M /tmp/image && mkfs.ext4 -q -F -m 10 -O quota -E quotatype=usrquota -N 8192 /tmp/image || return
    mount -o loop,usrquota /tmp/image /mnt && mkdir /mnt/nobody /mnt/root && chown nobody /mnt/nobody || return
    setquota -u nobody 0 0 0 1000 /mnt || return
    for user in nobody root; do
        number=$((number + 1))
        printf '[target %s]\npath = /mnt/%s\nrun_as = %s\nreserve = 0%%\n' $user $user $user >>/tmp/plimsoll.conf
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
SCRIPT
grep -E '^(nobody|root): ' "$machine/results" || { cat "$machine/console"; exit 1; }

says 'nobody ends at limit quota' '^nobody: .*"record":"limit".*"phase":"create","at":99[0-9],"reason":"quota","errno":122'
says 'and its job succeeds' '^nobody: .*"record":"end".*"outcome":"succeeded"'
says 'and removed what it made' '^nobody: .*"phase":"remove","ops":99[0-9]'
says 'root goes on' '^root: .*"phase":"create","ops":3000,'
silent 'no limit holds root' '^root: .*"record":"limit"'
exit $failed
