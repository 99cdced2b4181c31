#!/bin/bash
# Jobs that restart the machine, in a booted Debian: the same job goes on after each boot, with what it measured in
# place, and whoever may not is refused; cancelled meanwhile, restarted by somebody else, cut from power.
#   tests/systemd/reboot.sh [plimsoll.deb]     (default: built from this tree)
. "$(dirname "$(readlink -f "$0")")/machine.sh"
deb=${1:-}
[ -n "$deb" ] || deb=$("$project/packaging/build-deb.sh" "$project/build/deb" | grep '/plimsoll_' | tail -n 1)

# Images are mounted through loop devices, and a btrfs is there at boot, as an fstab would have it.
for device in /dev/loop-control /dev/loop[0-9]*; do [ ! -e "$device" ] || machine_options+=(--bind="$device"); done
btrfs=''
if command -v mkfs.btrfs >/dev/null; then
    mkdir "$work/btrfs"
    truncate -s 300M "$work/btrfs.img"
    if mkfs.btrfs -q "$work/btrfs.img" && mount -o loop "$work/btrfs.img" "$work/btrfs"; then
        btrfs=yes
        machine_options+=(--bind="$work/btrfs:/srv/btrfs")
    fi
fi
work_done() { [ -z "$btrfs" ] || umount "$work/btrfs"; }

cycling() { # PARAMS MORE → of a job with a restart after each batch
    printf '{"cycle": "reboot", %s}' "$1"
}
scaling_add() { # TARGET PARAMS → its number
    request POST /jobs "{\"workload\": \"filesystem-scaling\", \"target\": \"$1\", \"params\": $2}" | jq -r .id
}
boots() { inside journalctl -q --list-boots --no-pager | wc -l; }
restarted() { same "$1" "$2" $(($(boots) - before)); } # SENTENCE HOW-OFTEN, since $before
phase() { job "$1" | jq -r ".phases[] | select(.name == \"$2\") | $3"; } # NUMBER PHASE FILTER
column() { request GET "/jobs/$1/series?phase=$2&format=csv" | awk -F, -v name="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' | paste -sd' '; } # NUMBER PHASE COLUMN
records() { inside cat "/var/lib/plimsoll/jobs/$1/journal.ndjson" | jq -rs "[.[] | $2] | join(\" \")"; } # NUMBER FILTER
empty() { same "$1: nothing is left on the target" '' "$(inside find "$2" -mindepth 1 -name 'plimsoll-*')"; }
refused() { # SENTENCE TOKEN TARGET
    local answer
    answer=$(ask_daemon -sS --max-time 40 -w '\n%{http_code}' -H "Authorization: Bearer $2" -H 'Content-Type: application/json' \
        --data-binary "{\"workload\": \"filesystem-scaling\", \"target\": \"$3\", \"params\": $(cycling '"filesystems": 2, "batch": 1')}" \
        http://127.0.0.1:7117/api/v1/jobs)
    same "$1" 403 "${answer##*$'\n'}"
    said=${answer%$'\n'*}
}
# As a service that has something to finish before the machine goes down does: while it does, the job is `rebooting`.
hold_restarts() {
    inside systemd-run -q --unit=holder systemd-inhibit --what=shutdown --mode=delay --who=test --why=test sleep 600
    wait_for 30 held
}
held() { inside busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager ListInhibitors | grep -q '"shutdown" "test"'; }
let_restart() { inside systemctl stop holder || true; }
up_again() { [ -n "$(leader)" ] && [ "$(leader)" != "$old" ] && machine_is_up && is_ready; }

machine_new "$deb"
mkdir -p "$root/etc/systemd/logind.conf.d"
printf '[Login]\nInhibitDelayMaxSec=10min\n' >"$root/etc/systemd/logind.conf.d/holds.conf"
machine_boot
install_plimsoll
inside install -d /srv/images
inside sh -c 'cat >/etc/plimsoll/conf.d/reboots.conf' <<'TEXT'
[target restarts]
path = /srv/restarts
run_as = nobody
allow_reboot = yes
[target images]
kind = mkfs
path = /srv/images
allow_reboot = yes
TEXT
[ -z "$btrfs" ] || inside sh -c 'printf "[target btrfs]\nkind = btrfs\npath = /srv/btrfs\nallow_reboot = yes\n" >>/etc/plimsoll/conf.d/reboots.conf'
inside install -d -o nobody -g nogroup -m 0755 /srv/restarts
inside plimsolld --check-config >/dev/null
viewer=$(inside plimsolld token add viewer --role viewer) operator=$(inside plimsolld token add operator --role operator)
inside systemctl reload plimsolld
wait_for 20 targets_are $((4 + ${#btrfs} / 3))
before=$(boots)

# ---- who may ----
refused 'a viewer is refused' "$viewer" restarts
refused 'an operator is refused' "$operator" restarts
same 'which says why, and where' '/params/cycle' "$(jq -r '.errors[0].pointer' <<<"$said")"
check 'in words' grep -q "administrator's token" <<<"$said"
refused 'an administrator is, where the target does not allow it' "$token" scratch
same 'which says where, too' '/params/cycle' "$(jq -r '.errors[0].pointer' <<<"$said")"
check 'and names the setting' grep -q allow_reboot <<<"$said"
check 'by hand it is refused' grep -q 'by hand cannot' <(inside plimsoll-runner run filesystem-scaling --on /srv/restarts filesystems=2 batch=1 cycle=reboot 2>&1)
restarted 'none of these restarted the machine' 0
empty 'refused' /srv/restarts

# ---- three batches ----
goes_on() { # KIND TARGET PLACE PARAMS BATCH BROUGHT-BACK
    local kind=$1 target=$2 batch=$5 loads
    loads="$batch $((2 * batch)) $((3 * batch))"
    before=$(boots)
    id=$(scaling_add "$target" "$(cycling "\"filesystems\": $((3 * batch)), \"batch\": $batch, $4")")
    wait_for 400 job_settled "$id"
    job "$id" | jq -c '{state, problem, cleanup, boots}'
    same "$kind: the job is the same one through three restarts" 'succeeded done' "$(job "$id" | jq -r '.state + " " + .cleanup')"
    restarted "$kind: one restart for each batch" 3
    same "$kind: each leg in another boot" '4 4' "$(records "$id" 'select(.record == "begin") | .boot_id' | tr ' ' '\n' | sort | uniq | wc -l) $(records "$id" 'select(.record == "begin").leg' | wc -w)"
    same "$kind: filesystems made, in how many legs" "$((3 * batch)) 3" "$(phase "$id" create '"\(.ops) \(.legs)"')"
    same "$kind: no sample lost or doubled" "$loads" "$(column "$id" create load)"
    same "$kind: a cycle for each batch, at its load" "$loads" "$(column "$id" cycle load)"
    same "$kind: until the daemon was up" "$loads" "$(column "$id" cycle-daemon load)"
    check "$kind: which was before all was in place, and took time" jq -e 'length == 3 and all(.[]; .daemon > 0 and .daemon <= .all)' <<<"$(job "$id" | jq .boots)"
    same "$kind: a container has no boot clock of its own" '[null,null,null]' "$(job "$id" | jq -c '[.boots[].kernel]')"
    same "$kind: what the runner had to bring back" "$6" "$(job "$id" | jq -c '[.boots[].brought_back]')"
    check "$kind: how the clock was kept is told" jq -e 'all(.[]; (.clock_then, .clock_now) | IN("synchronised", "unsynchronised", "unknown"))' <<<"$(job "$id" | jq .boots)"
    same "$kind: all listed and destroyed" "$((3 * batch)) $((3 * batch))" "$(phase "$id" list .ops) $(phase "$id" destroy .ops)"
    empty "$kind" "$3"
}
goes_on directory restarts /srv/restarts '"cycle_every": 1' 100 '[0,0,0]'
[ -z "$btrfs" ] || goes_on btrfs btrfs /srv/btrfs '"cycle_every": 1' 20 '[0,0,0]'
if inside losetup -f >/dev/null 2>&1; then
    goes_on images images /srv/images '"image_bytes": "16MiB"' 2 '[2,4,6]'
    same 'images: no loop device is left with one' '' "$(losetup -nO BACK-FILE | grep -F "/plimsoll-$id-" || true)"
else
    echo '# there are no loop devices in there: images are not tested'
fi

# ---- cancelled while the machine is restarted ----
before=$(boots) old=$(leader)
hold_restarts
id=$(scaling_add restarts "$(cycling '"filesystems": 30, "batch": 10')")
wait_for 60 job_is "$id" '.state == "rebooting"'
same 'while something holds it up the job waits' '10' "$(phase "$id" create .ops)"
check 'it has no progress meanwhile' job_is "$id" '.progress == null and .finished_at == null'
request POST "/jobs/$id/cancel" >/dev/null
let_restart
wait_for 180 up_again
wait_for 120 job_settled "$id"
same 'cancelled while the machine is restarted' 'cancelled done' "$(job "$id" | jq -r '.state + " " + .cleanup')"
restarted 'it is not restarted again' 1
empty cancelled /srv/restarts

# ---- restarted by somebody else, in the middle of a batch ----
before=$(boots)
under_way() { inside sh -c 'test -e /srv/restarts/plimsoll-*/f0000001000'; }
id=$(scaling_add restarts "$(cycling '"filesystems": 2000000, "batch": 1000000')")
wait_for 60 under_way
machine_reboot
wait_for 120 is_ready
wait_for 180 job_settled "$id"
same 'restarted by somebody else it is interrupted, and cleaned up' 'failed interrupted done' "$(job "$id" | jq -r '"\(.state) \(.problem.code) \(.cleanup)"')"
restarted 'nor does the job restart it afterwards' 1
empty 'restarted by somebody else' /srv/restarts

# ---- cut from power between the record and the restart: it comes up, and that is all a restart is ----
before=$(boots) old=$(leader)
hold_restarts
id=$(scaling_add restarts "$(cycling '"filesystems": 20, "batch": 10')")
wait_for 60 job_is "$id" '.state == "rebooting"'
machine_cut
machine_boot
wait_for 120 is_ready
wait_for 240 job_settled "$id"
same 'cut from power while it waits, it goes on' succeeded "$(job "$id" | jq -r .state)"
same 'the batch before is not done again' '20 2' "$(phase "$id" create '"\(.ops) \(.legs)"')"
restarted 'restarted once by the cut, once for the second batch' 2
empty 'cut from power' /srv/restarts
