# Sourced by the tests of runs that restart the machine: SCRIPT RUNNER LOGIN-MANAGER. A job in ./job on the target
# ./target, by a runner whose restarts come to no more than a line of ./called.
set -uo pipefail
runner=$(realpath "$1") failed=0
folder=$(mktemp -d)
manager=$(realpath "$2")
if [ "$(id -u)" != 0 ]; then
    echo 'only root restarts machines: not tested'
    exit 0
fi
trap 'kill "$manager_pid" 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder" && mkdir target || exit 1
# Never this machine's own.
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$folder/bus
exec 9< <(exec "$manager" "$folder/bus" "$folder/called")
manager_pid=$!
read -r -t 60 -u 9 ready && [ "$ready" = ready ] || { echo 'FAIL: there is no login manager' && exit 1; }

fail() {
    echo "FAIL: $*"
    failed=1
}
is() { # WHAT ACTUAL WANTED
    [[ $2 == "$3" ]] || fail "$1: '$2', wanted '$3'"
}
nothing_called() { rm -f called; }
settings() { # ALLOW_REBOOT [MORE LINES]
    printf '[target scratch]\nkind = directory\npath = %s/target\nallow_reboot = %s\n%s' "$folder" "$1" "${2:-}" >settings
}
spec_of() { # WORKLOAD PARAMS [MORE MEMBERS]
    rm -rf job && mkdir job
    printf '{"job": 7, "nonce": "0123456789abcdef", "workload": "%s", "target": "scratch", "params": %s%s}' \
        "$1" "$2" "${3:-}" >job/spec.json
}
run() { "$runner" run job/spec.json --settings settings 2>said; }
in_boot() { # NUMBER COMMAND…
    printf '%08d-0000-0000-0000-000000000000\n' "$1" >boot_id
    unshare --mount bash -c 'mount --bind boot_id /proc/sys/kernel/random/boot_id && exec "$@"' - "${@:2}"
}
after_boot() { # NUMBER: the same in another boot
    in_boot "$1" "$runner" run job/spec.json --settings settings 2>said
}
records() { jq -rs "[.[] | $1] | join(\" \")" job/journal.ndjson; }
left() { (cd target && find . -mindepth 2 | sort | sed 's:.*/::' | paste -sd' '); }
