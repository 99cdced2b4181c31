#!/bin/bash
# The package in a booted Debian: installed, hardened, restarted and upgraded while a job runs, rebooted,
# cut from power, purged.
#   tests/systemd/nspawn.sh [plimsoll.deb]     (default: built from this tree)
. "$(dirname "$(readlink -f "$0")")/machine.sh"
deb=${1:-}
[ -n "$deb" ] || deb=$("$project/packaging/build-deb.sh" "$project/build/deb" | grep '/plimsoll_' | tail -n 1)

# Each file is brought to the disk, so that a job lasts. How long a second is in files the first one tells.
short='{"files": 2000, "sync": "fsync"}'
lasting() { # SECONDS → parameters; their files in $files
    files=$(jq -n "[($rate * $1 / 100 | floor) * 100, 5000] | max")
    params="{\"files\": $files, \"sync\": \"fsync\"}"
}

# A package of a higher version, with the same files.
repack() {
    dpkg-deb -R "$deb" "$work/higher"
    sed -i 's/^Version: .*/&+higher1/' "$work/higher/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$work/higher" "$root/var/tmp/higher.deb" >/dev/null
}

under_way() { job_is "$1" '.state == "running" and (.progress.done // 0) > 0'; }
# The batches of a phase as the API has them: how many, and whether each is there once.
loads() { series "$1" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "load") c = i; next } { n++; if ($c != n * 100) bad++ } END { print n + 0, bad + 0 }'; }
whole() { # NUMBER FILES
    same "job $1: no sample lost or doubled" "$(($2 / 100)) 0" "$(loads "$1")"
}
# Not found anywhere, except in what apt and the log keep.
leftovers() {
    inside find / -xdev \( -path /proc -o -path /sys -o -path /var/cache/apt -o -path /var/log -o -path /var/tmp -o -path /var/lib/apt \) -prune -o \
        -iname '*plimsoll*' -print
    inside grep -l plimsoll /etc/passwd /etc/group /etc/shadow /etc/gshadow || true
    inside systemctl list-units --all --plain --no-legend '*plimsoll*'
}

machine_new "$deb"
repack
machine_boot
install_plimsoll
check 'the service is active once installed' inside systemctl is-active -q plimsolld
check 'it runs by itself at the next boot' inside systemctl is-enabled -q plimsolld
same 'the daemon has no privileges' plimsoll "$(inside systemctl show -P User plimsolld)"
exposure=$(inside systemd-analyze security --no-pager plimsolld | sed -nE 's/.*Overall exposure level.*: ([0-9.]+).*/\1/p')
echo "# systemd-analyze security plimsolld: $exposure"
check 'its exposure is at most 2.5' jq -en "$exposure <= 2.5"
check 'the settings are right' inside plimsolld --check-config
same 'the manual pages are there' 3 "$(inside sh -c 'ls /usr/share/man/man8/plimsolld.8.gz /usr/share/man/man1/plimsoll-runner.1.gz /usr/share/man/man5/plimsoll.conf.5.gz' | wc -l)"

same 'a target is seen as the machine has it, not as the sandbox' true "$(request GET /targets | jq '.items[0] | .usable and (.mount_options | split(",") | index("ro") == null)')"

id=$(job_add scratch "$short")
wait_for 120 job_settled "$id"
same 'a job by curl succeeds' succeeded "$(job "$id" | jq -r .state)"
whole "$id" 2000
check 'its log lines carry its number' test "$(inside journalctl -q -o cat "PLIMSOLL_JOB=$id" | wc -l)" -gt 0

rate=$(job "$id" | jq '.phases[] | select(.name == "create").rate')
echo "# $rate files/s"

lasting 60
id=$(job_add scratch "$params")
wait_for 60 under_way "$id"
runner=$(runner_pid "$id")
check 'its runner is a unit of its own' test "$runner" -gt 0
same 'its runner has become run_as' nobody "$(inside ps -o user= -p "$runner")"
inside systemctl restart plimsolld
wait_for 60 is_ready
same 'a restart leaves the runner alone' "$runner" "$(runner_pid "$id")"
inside apt-get install -qq -y /var/tmp/higher.deb >"$work/upgrade.log" 2>&1 || { cat "$work/upgrade.log" && exit 1; }
check 'the package is upgraded' grep -q 'higher1$' <(inside dpkg-query -W plimsoll)
wait_for 60 is_ready
same 'an upgrade leaves the runner alone' "$runner" "$(runner_pid "$id")"
check 'the job still runs' under_way "$id"
inside systemctl kill -s KILL --kill-whom=main plimsolld
wait_for 60 is_ready
same 'a daemon that was killed is back, the runner untouched' "$runner" "$(runner_pid "$id")"
check 'and the job runs on' under_way "$id"
inside sh -c 'mkdir -p /run/systemd/system/plimsolld.service.d && printf "[Service]\nWatchdogSec=2s\n" >/run/systemd/system/plimsolld.service.d/watchdog.conf
    systemctl daemon-reload && systemctl restart plimsolld'
wait_for 60 is_ready
hung=$(inside systemctl show -P MainPID plimsolld)
inside kill -STOP "$hung"
replaced() { local now && now=$(inside systemctl show -P MainPID plimsolld) && [ "$now" != 0 ] && [ "$now" != "$hung" ] && is_ready; }
wait_for 90 replaced
ok 'a daemon that hangs is noticed and replaced'
same 'the runner still untouched' "$runner" "$(runner_pid "$id")"
wait_for 300 job_settled "$id"
same 'the job succeeds' succeeded "$(job "$id" | jq -r .state)"
whole "$id" "$files"
same 'its files are gone' '' "$(inside ls -A /srv/scratch)"

lasting 30
id=$(job_add scratch "$params")
wait_for 60 under_way "$id"
request POST "/jobs/$id/cancel" >/dev/null
wait_for 60 job_settled "$id"
same 'a job is cancelled' 'cancelled done' "$(job "$id" | jq -r '.state + " " + .cleanup')"
same 'its files are gone' '' "$(inside ls -A /srv/scratch)"

for way in reboot 'power cut'; do
    id=$(job_add scratch "$params")
    queued=$(job_add scratch "$short")
    wait_for 60 under_way "$id"
    if [ "$way" = reboot ]; then machine_reboot; else machine_cut && machine_boot; fi
    wait_for 120 is_ready
    wait_for 120 job_settled "$id"
    same "$way: the job is interrupted, what it left removed" 'failed interrupted done' "$(job "$id" | jq -r '"\(.state) \(.problem.code) \(.cleanup)"')"
    read -r kept bad <<<"$(loads "$id")"
    check "$way: its samples are kept" test "$kept" -gt 0 -a "$bad" = 0
    wait_for 120 job_settled "$queued"
    same "$way: the job that was queued has run" succeeded "$(job "$queued" | jq -r .state)"
    same "$way: nothing is left on the target" '' "$(inside ls -A /srv/scratch)"
done

id=$(job_add scratch "$params")
wait_for 60 under_way "$id"
inside apt-get purge -qq -y plimsoll >"$work/purge.log" 2>&1 || { cat "$work/purge.log" && exit 1; }
same 'purged in the middle of a job, the target is empty' '' "$(inside ls -A /srv/scratch)"
same 'and nothing of it is left' '' "$(leftovers)"
