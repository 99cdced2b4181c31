# shellcheck shell=bash disable=SC2154
# filesystems: what the runner itself adds for each filesystem that it makes, knows again, mounts and destroys; sourced by
# run.sh. Counted is the CPU of its process, system calls included, and not that of the tools that it starts: the
# difference between a run of many and a run of one, over how many more there were. The bare calls and tools, in a loop
# that knows and tells nothing (raw_filesystems.c), take turns with it: most of what a process spends there is the
# kernel's work on the filesystem itself.

source "$root/tests/faults/zfs_pool.sh"

own_cpu() { # own_cpu TARGET N ARGUMENT...: ns of the whole run, and its rate of creation
    "$bin/plimsoll-runner" run filesystem-scaling --on "$1" --reserve 0% --json filesystems="$2" batch="$2" "${@:3}" 2>"$work/plimsoll.err" |
        jq -er --argjson n "$2" 'select(.cleanup == "done") | [.phases[] | select(.name == "create")][0] as $create
            | select($create.ops == $n) | "\(.cpu_ns) \($create.rate)"' ||
        { say "the runner failed on $1:"; tail -n 5 "$work/plimsoll.err" >&2; exit 1; }
}
provision_on() { # provision_on CASE TARGET N RAW'S-ARGUMENTS ARGUMENT...
    local round one many rate kind=${2%%:*} raw
    [ "$kind" != "$2" ] || kind=directory
    for ((round = 1; round <= (rounds < 5 ? rounds : 5); round++)); do
        say "filesystems, $1: round $round"
        # shellcheck disable=SC2086
        raw=$("$bin/raw_filesystems" "$kind" "${2#*:}" "$3" $4) || exit 1
        record filesystems "$1" raw $round "${raw% *}" "cpu_us/filesystem" "${raw#* }"
        read -r one _ < <(own_cpu "$2" 1 "${@:5}")
        read -r many rate < <(own_cpu "$2" "$3" "${@:5}")
        record filesystems "$1" plimsoll $round "$(bc -l <<<"scale = 3; ($many - $one) / ($3 - 1) / 1000")" "cpu_us/filesystem" "$rate"
    done
}
bench_filesystems() {
    [ "$(id -u)" = 0 ] || fail "needs root, to mount filesystems of its own"
    place_images
    mount_fresh ext4 "$work/ext4"
    provision_on directory "$work/ext4" 20000 ''
    provision_on mkfs-ext4 "mkfs:$work/ext4" 200 mounted
    provision_on mkfs-xfs "mkfs:$work/ext4" 50 'mounted xfs' filesystem=xfs
    provision_on mkfs-remount "mkfs:$work/ext4" 200 'mounted remount' cycle=remount
    unmount "$work/ext4"
    mount_fresh btrfs "$work/btrfs"
    provision_on btrfs "btrfs:$work/btrfs" 2000 ''
    provision_on btrfs-remount "btrfs:$work/btrfs" 1000 'mounted remount' cycle=remount
    unmount "$work/btrfs"
    if [ "${PLIMSOLL_ZFS:-}" = yes ]; then
        zfs_start 4G
        zfs create -o mountpoint=none plimsoll/bench # what zfs mounts costs the runner nothing
        provision_on zfs zfs:plimsoll/bench 200 '' mounted=no
        zfs_stop
    fi
}
