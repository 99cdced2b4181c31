#!/bin/bash
# Whoever is the daemon's user, with a shell, leads no runner of root's elsewhere: each attempt is refused, and
# the places that it aimed at stay as they were.
#   tests/systemd/trust.sh [plimsoll.deb]     (default: built from this tree)
. "$(dirname "$(readlink -f "$0")")/machine.sh"
deb=${1:-}
[ -n "$deb" ] || deb=$("$project/packaging/build-deb.sh" "$project/build/deb" | grep '/plimsoll_' | tail -n 1)

state=/var/lib/plimsoll
as_plimsoll() { inside setpriv --reuid=plimsoll --regid=plimsoll --init-groups "$@"; }
# What the daemon could ask of systemd, asked by its user; the answer is kept in $work/answer.
ask() { as_plimsoll "$@" >"$work/answer" 2>&1; }
refused() { # SENTENCE COMMAND…: systemd says no
    local sentence=$1
    shift
    if ask "$@"; then echo "not ok - $sentence: $* was done" && exit 1; fi
    check "$sentence" grep -qiE 'access denied|authentication required|interactive authentication|not permitted|permission denied' "$work/answer"
}
# Everything outside of the state folder, the log and the runtime folders, by name, owner, mode and content.
world() {
    inside find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/tmp -o -path /var/log -o -path "$state" -o \
        -path /var/lib/postgresql -o -path /var/lib/systemd -o -path /root/.lesshst \) -prune -o \
        -type d -printf '%p %u %m\n' -o -printf '%p %u %m %y %s %T@\n' | sort
}
untouched() { # SENTENCE
    world >"$work/now"
    diff "$work/before" "$work/now" >"$work/diff" || { cat "$work/diff" && echo "not ok - $1" && exit 1; }
    ok "$1"
}
# A job's folder made by the attacker, with a spec that names `target` and `nonce`.
number=1000
forge() { # TARGET [NONCE [JOB]]
    number=$((number + 1))
    as_plimsoll sh -c "umask 027; mkdir $state/jobs/$number; cat >$state/jobs/$number/spec.json" <<TEXT
{"job": ${3:-$number}, "nonce": "${2:-0123456789abcdef}", "workload": "create-scaling", "target": "$1", "params": {"files": 200}}
TEXT
}
# The unit of that instance is started by the attacker and comes to its end; $said is what it logged last.
launch() { # runner|clean INSTANCE
    local unit=plimsoll-$1@$2.service
    ask systemctl start "$unit" || true
    ended() { [[ "$(inside systemctl is-active "$unit" || true)" =~ ^(inactive|failed)$ ]]; }
    wait_for 60 ended
    inside journalctl --sync
    said=$(inside journalctl -q -o cat -n 1 "PLIMSOLL_JOB=$2")
}
says() { # SENTENCE PATTERN
    grep -qE "$2" <<<"$said" || { printf 'not ok - %s: it said\n%s\n' "$1" "$said" && exit 1; }
    ok "$1"
}

machine_new "$deb"
machine_boot
install_plimsoll
inside install -d -m 0700 /srv/precious
inside install -d -o plimsoll -g plimsoll -m 0755 /srv/theirs /srv/theirs/inner
inside sh -c 'echo keep >/srv/precious/file; cat >>/etc/plimsoll/conf.d/targets.conf' <<'TEXT'
[target asroot]
path = /srv/second
concurrent = yes
[target inner]
path = /srv/theirs/inner
TEXT
world >"$work/before"

# ---- what it may ask of systemd ----
forge scratch
launch runner "$number"
check 'what the settings allow is run' inside grep -q '"outcome":"succeeded"' "$state/jobs/$number/journal.ndjson"
untouched 'and left nothing'
refused 'a foreign unit is not started' systemctl start postgresql.service
refused 'a foreign unit is not stopped' systemctl stop polkit.service
refused 'an instance that is not a number is not started' systemctl start plimsoll-runner@x.service
refused 'an instance with a path in it is not started' systemctl start 'plimsoll-runner@..-..-etc.service'
refused 'an instance that begins with a zero is not started' systemctl start plimsoll-runner@01.service
refused 'its own unit is not stopped' systemctl stop plimsolld.service
refused 'a unit of its own making is not run' systemd-run --wait /bin/true
refused 'properties of a runner are not set' systemctl set-property --runtime plimsoll-runner@1.service CPUQuota=1%
refused 'units are not read again' systemctl daemon-reload
refused 'the machine is not rebooted' systemctl reboot

# ---- what it may write ----
forge nowhere
launch runner "$number"
says 'a target that the settings do not have is refused' 'no target nowhere'
forge scratch '../../../../etc'
launch runner "$number"
says 'a nonce with a path in it is refused' 'nonce'
forge scratch 0123456789abcdef 7
launch runner "$number"
says 'the spec of another job is refused' 'the spec is of job 7'
forge ../../precious
launch runner "$number"
says 'a target with a path for its name is refused' 'no target'
forge scratch
as_plimsoll sh -c "cd $state/jobs/$number && sed -i 's|\"job\"|\"path\": \"/srv/precious\", \"job\"|' spec.json"
launch runner "$number"
says 'a path in the spec is refused' 'path'
forge scratch
as_plimsoll sh -c "cd $state/jobs/$number && mv spec.json ../spec.$number && ln -s ../spec.$number spec.json"
launch runner "$number"
says 'a spec that is a symbolic link is refused' 'symbolic link'
forge scratch
as_plimsoll sh -c "cd $state/jobs/$number && rm spec.json && ln -s /etc/shadow spec.json"
launch runner "$number"
says 'nor does a spec that leads to a secret tell it' 'symbolic link'
check 'not a word of it' test -z "$(grep -F root: <<<"$said")"
forge scratch
as_plimsoll chmod 0666 "$state/jobs/$number/spec.json"
launch runner "$number"
says 'a spec that others may write is refused' 'others may write'
forge scratch
as_plimsoll sh -c "cd $state/jobs && mv $number elsewhere && ln -s elsewhere $number"
launch runner "$number"
says 'a job folder that is a symbolic link is refused' 'symbolic link'
number=$((number + 1))
as_plimsoll ln -s /srv/precious "$state/jobs/$number"
launch runner "$number"
says 'a job folder that leads out of the state folder is refused' 'symbolic link'
forge scratch
as_plimsoll ln -s /srv/precious/journal "$state/jobs/$number/journal.ndjson"
launch runner "$number"
says 'a journal that is a symbolic link is not followed' 'cannot open the journal'
launch clean "$number"
says 'nor when cleaning' 'cannot open the journal'

# ---- journals ----
forge scratch
launch runner "$number"
same 'a journal is root'"'"'s, for the service to read' 'root plimsoll 640' "$(inside stat -c '%U %G %a' "$state/jobs/$number/journal.ndjson")"
if as_plimsoll sh -c "echo x >>$state/jobs/$number/journal.ndjson" 2>/dev/null; then echo 'not ok - the journal was edited' && exit 1; fi
ok 'it is not edited'
# Replaced it can be, since the folder is its own: as if the run had worked in another place.
as_plimsoll sh -c "cd $state/jobs/$number && sed 's|\"workspace\":\"[^\"]*\"|\"workspace\":\"../precious\"|' journal.ndjson >new && mv -f new journal.ndjson"
launch clean "$number"
says 'a journal that was replaced is refused' 'not what a runner of this user made'
forge scratch
as_plimsoll mkfifo -m 0600 "$state/jobs/$number/journal.ndjson"
launch clean "$number"
says 'a pipe in place of the journal is refused' 'not what a runner of this user made'
# What is cleaned is derived from spec and settings, never from what a journal says.
forge asroot fedcba9876543210
inside mkdir "/srv/second/plimsoll-$number-1-fedcba9876543210"
inside sh -c "cd /srv/second/plimsoll-$number-1-fedcba9876543210 && touch f0000000001 mine"
launch clean "$number"
same 'cleaning removes what a run of that job can have made, and nothing else' mine "$(inside ls "/srv/second/plimsoll-$number-1-fedcba9876543210")"
inside rm -r "/srv/second/plimsoll-$number-1-fedcba9876543210"
forge asroot fedcba9876543210
inside ln -s /srv/precious "/srv/second/plimsoll-$number-1-fedcba9876543210"
launch clean "$number"
says 'a link in place of the run directory is refused' 'cannot open the folder'
inside rm "/srv/second/plimsoll-$number-1-fedcba9876543210"

# ---- targets below a folder of its own ----
as_plimsoll sh -c 'cd /srv/theirs && mv inner away && ln -s /srv/precious inner'
forge inner
launch runner "$number"
says 'a target that was turned into a link is refused' 'symbolic link'
as_plimsoll sh -c 'cd /srv/theirs && rm inner && mv away inner'

# ---- settings ----
inside chown plimsoll /etc/plimsoll/conf.d
forge scratch
launch runner "$number"
says 'settings that the service could change are refused' 'must be root'
inside chown root /etc/plimsoll/conf.d
if as_plimsoll sh -c 'echo >/etc/plimsoll/conf.d/x.conf' 2>/dev/null; then echo 'not ok - settings were written' && exit 1; fi
ok 'and it cannot change them'

same 'what it aimed at is as it was' keep "$(inside cat /srv/precious/file)"
same 'and has nothing more in it' file "$(inside ls -A /srv/precious)"
