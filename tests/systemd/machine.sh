# Sourced by the tests of this folder: a throw-away Debian 12 with systemd as its first process, in
# systemd-nspawn, with loopback alone as its network. Needs root, debootstrap and systemd-container.
#
# What it needs beyond that is in machine_options. machine_new DEB makes one in $work, ready to install DEB without a network; machine_boot, machine_cut and
# inside do what they say. The Debian it is copied from is kept in PLIMSOLL_MACHINE_CACHE (build/machine).
set -euo pipefail
export LC_ALL=C.UTF-8
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${PLIMSOLL_MACHINE_CACHE:-$project/build/machine}

for tool in debootstrap systemd-nspawn nsenter curl jq; do
    command -v "$tool" >/dev/null || { printf 'there is no %s here\n# skipped 1\n' "$tool" && exit 0; }
done
[ "$(id -u)" = 0 ] || { printf 'only root can boot a machine\n# skipped 1\n' && exit 0; }

work=$(mktemp -d) root=$work/root name=plimsoll-$$ loop='' nspawn_mounted=''
machine_options=() # of systemd-nspawn

machine_base() { # once: a Debian with what the package depends on in apt's cache
    local deb=$1
    mkdir -p "$cache"
    exec 8>"$cache/lock" && flock 8
    if [ ! -d "$cache/base" ]; then
        rm -rf "$cache/part"
        debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,udev,iproute2,ca-certificates,procps,curl,jq \
            bookworm "$cache/part" >"$cache/debootstrap.log" 2>&1 || { tail -n 5 "$cache/debootstrap.log" && return 1; }
        cp /etc/apt/sources.list.d/debian.sources "$cache/part/etc/apt/sources.list.d/" 2>/dev/null &&
            rm -f "$cache/part/etc/apt/sources.list" || cp /etc/apt/sources.list "$cache/part/etc/apt/"
        cp /etc/resolv.conf "$cache/part/etc/resolv.conf"
        echo force-unsafe-io >"$cache/part/etc/dpkg/dpkg.cfg.d/throw-away"
        chroot "$cache/part" apt-get update -qq
        mv "$cache/part" "$cache/base"
    fi
    cp "$deb" "$cache/base/var/tmp/plimsoll.deb"
    chroot "$cache/base" apt-get install -qq -y --download-only --no-install-recommends /var/tmp/plimsoll.deb >"$cache/download.log" 2>&1 ||
        { tail -n 5 "$cache/download.log" && return 1; }
    rm "$cache/base/var/tmp/plimsoll.deb"
    exec 8>&-
}

machine_new() {
    machine_base "$1"
    cp -a --reflink=auto "$cache/base" "$root"
    mkdir -p "$root/var/log/journal" /run/systemd/nspawn # its log outlives a reboot
    if ! mountpoint -q /run/systemd/nspawn; then
        mount -t tmpfs tmpfs /run/systemd/nspawn && nspawn_mounted=yes
    fi
    cp "$1" "$root/var/tmp/plimsoll.deb"
    trap machine_end EXIT
    trap 'exit 130' INT TERM HUP
}

# A reboot inside ends systemd-nspawn with 133; it is then started again.
machine_boot() {
    (
        while :; do
            rc=0
            systemd-nspawn --register=no --keep-unit -q --console=pipe --link-journal=no --resolv-conf=off --private-network \
                "${machine_options[@]}" --kill-signal=SIGRTMIN+3 -M "$name" -D "$root" -b </dev/null >>"$work/console.log" 2>&1 &
            echo $! >"$work/nspawn.pid"
            wait $! || rc=$?
            [ $rc = 133 ] || exit $rc
        done
    ) &
    loop=$!
    disown "$loop" # so that the shell does not report its end
    wait_for 60 machine_is_up
}
leader() { # the pid, out here, of its systemd
    local nspawn child
    nspawn=$(cat "$work/nspawn.pid" 2>/dev/null) || return 0
    for child in $(cat /proc/"$nspawn"/task/*/children 2>/dev/null); do
        if [ "$(cat "/proc/$child/comm" 2>/dev/null)" = systemd ]; then echo "$child"; fi
    done | tail -n 1
}
inside() {
    local pid
    pid=$(leader)
    [ -n "$pid" ] && nsenter -t "$pid" -m -u -i -n -p -C -r -w env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
machine_is_up() { [[ "$(inside systemctl is-system-running 2>/dev/null)" =~ ^(running|degraded)$ ]]; }
machine_reboot() {
    local before
    before=$(leader)
    inside systemctl reboot || true
    another() { local now && now=$(leader) && [ -n "$now" ] && [ "$now" != "$before" ]; }
    wait_for 180 another
    wait_for 60 machine_is_up
}
# As when the power fails: all its processes at once, nothing said to any of them.
machine_cut() {
    [ -n "$loop" ] || return 0
    kill -KILL "$loop" 2>/dev/null || true
    local pid
    pid=$(leader)
    kill -KILL "$(cat "$work/nspawn.pid")" ${pid:+"$pid"} 2>/dev/null || true
    gone() { [ ! -e "/proc/$loop" ] && { [ -z "$pid" ] || [ ! -e "/proc/$pid" ]; }; }
    wait_for 20 gone
    loop=''
}
machine_end() {
    local code=$?
    trap - EXIT
    printf '# pass %s\n# fail %s\n' "$passed" $((code != 0))
    if [ $code != 0 ] && [ -n "$loop" ]; then
        inside journalctl --no-pager -q -n 60 -o short-monotonic || true
    fi
    machine_cut || true
    ! declare -F work_done >/dev/null || work_done || true # what the test has mounted below $work
    [ -z "$nspawn_mounted" ] || umount /run/systemd/nspawn || true
    if [ -n "${PLIMSOLL_KEEP:-}" ]; then echo "kept: $work"; else rm -rf "$work"; fi
    exit $code
}

# Asks again, ten times a second, until it is so.
wait_for() { # SECONDS COMMAND…
    local until=$((SECONDS + $1)) what="${*:2}"
    shift
    until "$@"; do
        [ $SECONDS -lt $until ] || { echo "waited in vain: $what" && return 1; }
        sleep 0.1
    done
}

# ---- checks: each says what it is about, and fails the script ----

passed=0
ok() {
    passed=$((passed + 1))
    echo "ok $passed - $1"
}
check() { # SENTENCE COMMAND…
    local sentence=$1
    shift
    "$@" >/dev/null || { echo "not ok - $sentence: $*" && exit 1; }
    ok "$sentence"
}
same() { # SENTENCE EXPECTED FOUND
    [ "$2" = "$3" ] || { printf 'not ok - %s: expected "%s", found "%s"\n' "$1" "$2" "$3" && exit 1; }
    ok "$1"
}

# ---- plimsoll in it ----

install_plimsoll() {
    inside apt-get install -qq -y --no-install-recommends /var/tmp/plimsoll.deb >"$work/install.log" 2>&1 ||
        { tail -n 20 "$work/install.log" && return 1; }
    wait_for 120 is_ready
    inside install -d -o nobody -g nogroup -m 0755 /srv/scratch /srv/second
    inside sh -c 'cat >/etc/plimsoll/conf.d/targets.conf' <<'TEXT'
[target scratch]
path = /srv/scratch
run_as = nobody
[target second]
path = /srv/second
run_as = nobody
concurrent = yes
TEXT
    token=$(inside plimsolld token add test --role admin)
    inside systemctl reload plimsolld
    wait_for 20 targets_are 2
}
# By its loopback, from a process out here: one in there would be stopped as it goes down, and nsenter with it.
ask_daemon() { # WHAT CURL TAKES
    local pid
    pid=$(leader)
    [ -n "$pid" ] && nsenter -t "$pid" -n curl "$@"
}
is_ready() { ask_daemon -sf --max-time 5 http://127.0.0.1:7117/readyz >/dev/null; }
targets_are() { [ "$(request GET /targets | jq '.items | map(select(.usable)) | length')" = "$1" ]; } # HOW MANY
request() { # METHOD PATH [BODY]
    ask_daemon -sS --fail-with-body --max-time 40 -X "$1" -H "Authorization: Bearer $token" \
        ${3:+-H "Content-Type: application/json" --data-binary "$3"} "http://127.0.0.1:7117/api/v1$2"
}
job_add() { # TARGET PARAMS → its number
    request POST /jobs "{\"workload\": \"create-scaling\", \"target\": \"$1\", \"params\": $2}" | jq -r .id
}
job() { request GET "/jobs/$1"; } # NUMBER
job_is() { job "$1" | jq -e "$2" >/dev/null; } # NUMBER FILTER
job_settled() { job_is "$1" '(.state | IN("succeeded", "failed", "cancelled")) and (.cleanup | IN("none", "done", "blocked"))'; }
runner_pid() { inside systemctl show -P MainPID "plimsoll-runner@$1.service"; }
# All samples of a phase, as CSV.
series() { request GET "/jobs/$1/series?phase=create&format=csv"; }
