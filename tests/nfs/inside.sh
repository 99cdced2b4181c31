#!/bin/bash
# Runs a command where nobody else's NFS server is: in network and mount namespaces of its own, with a
# loopback, and with the folders empty in which rpcbind and nfs-ganesha keep their state.
#
#     tests/nfs/inside.sh COMMAND...
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
if [ "${PLIMSOLL_INSIDE:-}" != yes ]; then
    exec env PLIMSOLL_INSIDE=yes unshare --net --mount --propagation private bash "$0" "$@"
fi
ip link set lo up
for folder in /run/rpcbind /run/ganesha /var/lib/nfs/ganesha; do
    mkdir -p "$folder"
    mount -t tmpfs tmpfs "$folder"
done
# Another rpcbind of this machine, in whatever namespace, holds this lock.
: >/run/rpcbind/lock
[ -e /run/rpcbind.lock ] || : >/run/rpcbind.lock
mount --bind /run/rpcbind/lock /run/rpcbind.lock
exec "$@"
