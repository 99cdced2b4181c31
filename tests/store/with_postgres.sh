#!/bin/bash
# with_postgres.sh COMMAND...: runs COMMAND beside a PostgreSQL of its own, made in a temporary folder
# and listening on a Unix socket only. The command finds it in PLIMSOLL_TEST_DB (a connection string)
# and may stop it through PLIMSOLL_TEST_POSTMASTER (its pid). Afterwards nothing is left.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }

bin=${POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)}
[ -x "${bin:-/nonexistent}/initdb" ] || { echo "with_postgres.sh: PostgreSQL is not installed" >&2; exit 1; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-db.XXXXXX")
postmaster=
finish() {
    if [ -n "$postmaster" ] && kill -0 "$postmaster" 2>/dev/null; then
        kill -INT "$postmaster" || true
        wait "$postmaster" || true
    fi
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# PostgreSQL refuses to run as root.
as=()
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups --inh-caps=-all)
fi
in_folder=(env -C "$folder" HOME="$folder" LC_ALL=C.UTF-8)

"${as[@]}" "${in_folder[@]}" "$bin/initdb" -D "$folder/db" -U plimsoll --auth=trust -E UTF8 --no-locale \
    --no-sync --no-instructions >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
cat >>"$folder/db/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$folder'
max_connections = 50
shared_buffers = 128MB
fsync = ${PLIMSOLL_TEST_FSYNC:-off}
CONF
"${as[@]}" "${in_folder[@]}" "$bin/postgres" -D "$folder/db" >>"$folder/log" 2>&1 &
postmaster=$!

export PLIMSOLL_TEST_DB="host=$folder user=plimsoll dbname=postgres" PLIMSOLL_TEST_POSTMASTER=$postmaster
# pg_isready has no wait of its own that ends with the server.
for _ in $(seq 200); do
    "$bin/pg_isready" -q -h "$folder" -U plimsoll -d postgres && break
    kill -0 "$postmaster" 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
    sleep 0.05
done
status=0
"$@" || status=$?
[ "$status" = 0 ] || [ -z "${PLIMSOLL_TEST_LOG:-}" ] || tail -50 "$folder/log" >&2
exit "$status"
