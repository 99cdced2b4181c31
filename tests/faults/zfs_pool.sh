# shellcheck shell=bash disable=SC2154
# Sourced: a ZFS of one's own. zfs-fuse, with a daemon, its sockets and its cache of pools in a mount namespace that
# nobody else sees, and a pool named plimsoll on a file in $work.

zfs_possible() { [ -c /dev/fuse ] && [ "$(id -u)" = 0 ] && command -v zfs-fuse >/dev/null; }
zfs_inside() { # zfs_inside SCRIPT ARGUMENT...: starts the script again, in a namespace of its own
    [ "${PLIMSOLL_ZFS:-}" = yes ] || exec env PLIMSOLL_ZFS=yes unshare --mount --propagation private bash "$@"
}
zfs_start() { # zfs_start SIZE [zpool's arguments]: its pid in $zfs_daemon
    local folder tries size=$1
    mkdir -p /run/zfs /var/lock/zfs /var/lib/zfs # the last too: or the pools of another daemon would be imported
    for folder in /run/zfs /var/lock/zfs /var/lib/zfs; do mount -t tmpfs tmpfs "$folder"; done
    zfs-fuse --no-kstat-mount -p "$work/pid" -m 100
    for ((tries = 0; tries < 600; tries++)); do zpool list >/dev/null 2>&1 && break; read -rt 0.1 <> <(:) || true; done
    zfs_daemon=$(<"$work/pid")
    truncate -s "$size" "$work/pool.img"
    zpool create -m "$work/mounted" "${@:2}" plimsoll "$work/pool.img" 2>/dev/null
}
zfs_stop() {
    [ -n "${zfs_daemon:-}" ] || return 0
    kill -CONT "$zfs_daemon" 2>/dev/null || true
    timeout 60 zpool destroy -f plimsoll 2>/dev/null || true
    kill "$zfs_daemon" 2>/dev/null || true
    timeout 10 tail -s 0.1 --pid="$zfs_daemon" -f /dev/null || kill -9 "$zfs_daemon" 2>/dev/null || true
    umount -l /run/zfs /var/lock/zfs /var/lib/zfs 2>/dev/null || true
    zfs_daemon=
}
