#!/bin/bash
# From a clone to a chart: builds plimsoll, starts it with a database of its own on loopback, measures how
# fast a scratch directory takes 200,000 files, shows the result and serves the dashboard until Ctrl-C.
set -euo pipefail
umask 022
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
port=7117 files=200000 once=no state='' temporary=no scratch=''

usage() {
    cat <<'TEXT'
packaging/quickstart.sh: build plimsoll, start it, measure, show the result.

  --once          end after the measurement and leave nothing running; the default serves until Ctrl-C
  --files N       how many files the measurement creates (200000)
  --scratch DIR   where it creates them: a directory that exists (default: a folder of the state directory)
  --state DIR     where the database and results are kept (root: /var/lib/plimsoll-quickstart,
                  otherwise ~/.local/state/plimsoll-quickstart); "temporary" for one that is removed again
  --port N        the port on 127.0.0.1 (7117; another one if that is taken)
  --help          this text

As root it installs missing Debian packages and runs plimsoll as the system user "plimsoll", which it
creates. As anyone else it says which packages are missing and runs as you.
Only one measurement runs at a time; Ctrl-C cancels it and waits until its files are removed.
TEXT
}

say() { printf '%s\n' "$*" >&2; }

fail() { # what happened, what to do
    say ''
    say "quickstart: $1"
    [ $# -lt 2 ] || say "  $2"
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --once) once=yes ;;
    --files | --scratch | --state | --port)
        [ $# -gt 1 ] || fail "$1 wants a value" "See packaging/quickstart.sh --help"
        case $1 in
        --files) files=$2 ;;
        --scratch) scratch=$2 ;;
        --state) state=$2 ;;
        --port) port=$2 ;;
        esac
        shift
        ;;
    --help | -h) usage && exit 0 ;;
    *) fail "there is no option $1" "See packaging/quickstart.sh --help" ;;
    esac
    shift
done
[[ $files =~ ^[1-9][0-9]{0,9}$ ]] || fail "--files is \"$files\"" "It must be a number of files, for example 200000"
[[ $port =~ ^[1-9][0-9]{0,4}$ && $port -le 65535 ]] || fail "--port is \"$port\"" "It must be a port from 1 to 65535"

# ---- where things are kept ------------------------------------------------------------------------

me=$(id -un)
if [ "$state" = temporary ]; then
    state=$(mktemp -d /tmp/plimsoll-quickstart.XXXXXX)
    temporary=yes
elif [ -z "$state" ]; then
    if [ "$me" = root ]; then
        state=/var/lib/plimsoll-quickstart
    else
        state=${XDG_STATE_HOME:-${HOME:?"HOME is not set: give --state DIR"}/.local/state}/plimsoll-quickstart
    fi
fi
mkdir -p "$state" 2>/dev/null || fail "cannot create $state" "Choose a directory that you may write to: --state DIR"
state=$(readlink -f "$state")
[ -w "$state" ] || fail "$state is not writable for $me" "Choose another directory: --state DIR"
chmod 755 "$state"
exec 9>"$state/lock"
flock -n 9 || fail "another quickstart is using $state" "End it with Ctrl-C, or give this one its own directory: --state DIR"

service=$me
daemon='' token='' run=''

# ---- the end, however it comes ----------------------------------------------------------------------

request() { # METHOD PATH [BODY] → the answer's body; fails with its problem
    local answer status body
    answer=$(curl -sS --max-time 40 -X "$1" -H "Authorization: Bearer $token" \
        ${3:+-H "Content-Type: application/json" --data-binary "$3"} -w '\n%{http_code}' "$url$2" 2>&1) || {
        printf '%s' "$answer"
        return 1
    }
    status=${answer##*$'\n'} body=${answer%$'\n'*}
    printf '%s' "$body"
    [[ $status == 2* ]]
}

settled() { # the job has ended and nothing of it is being removed any more
    jq -e '(.state | IN("succeeded", "failed", "cancelled")) and (.cleanup | IN("none", "done", "blocked"))' \
        >/dev/null 2>&1 <<<"$1"
}

# Every job that has not ended, or whose files are still being removed: ours, and what was asked for since.
unfinished() {
    request GET '/api/v1/jobs?limit=500' | jq -r '.items[]
        | select((.state | IN("succeeded", "failed", "cancelled") | not) or (.cleanup | IN("pending", "running"))) | .id'
}

cancel_all() {
    local id left now
    left=$(unfinished) || return 0
    [ -n "$left" ] || return 0
    say ''
    for id in $left; do # the newest first, so that none that waits is started meanwhile
        say "Cancelling job $id and removing its files …"
        request POST "/api/v1/jobs/$id/cancel" >/dev/null || true # 409: it has ended, its clean-up goes on
    done
    SECONDS=0
    while [ -n "$left" ] && [ $SECONDS -le 600 ] && kill -0 "$daemon" 2>/dev/null; do
        sleep 0.2
        if now=$(unfinished); then left=$now; fi
    done
    [ -z "$left" ] || say "These jobs did not end in ten minutes: ${left//$'\n'/ }; their files are in $scratch."
}

finish() {
    local code=$?
    trap '' INT TERM HUP
    trap - EXIT
    if [ -n "$token" ] && kill -0 "$daemon" 2>/dev/null; then cancel_all; fi
    if [ -n "$daemon" ] && kill -TERM "$daemon" 2>/dev/null; then
        SECONDS=0
        while kill -0 "$daemon" 2>/dev/null && [ $SECONDS -lt 30 ]; do sleep 0.1; done
        if kill -KILL "$daemon" 2>/dev/null; then
            say "plimsolld did not stop in 30 s and was ended; its log is $state/plimsolld.log"
            code=1
        fi
        wait "$daemon" 2>/dev/null || true
    fi
    [ -z "$run" ] || rm -rf "$run"
    if [ $temporary = yes ] && [ $code -ne 1 ]; then
        rm -rf "$state"
    elif [ $temporary = yes ]; then
        say "Kept for a look: $state"
    fi
    exit $code
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ---- what is needed ---------------------------------------------------------------------------------

packages=(gcc libc6-dev cmake ninja-build pkg-config curl jq util-linux libjansson-dev libgsl-dev liburing-dev libbtrfsutil-dev libnfs-dev libinih-dev
    libsodium-dev libcurl4-gnutls-dev libpq-dev libmicrohttpd-dev libsystemd-dev zlib1g-dev postgresql)
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
command -v npm >/dev/null || [ -e "$root/web/vendor/uPlot.esm.js" ] || missing+=(npm)
if [ ${#missing[@]} -gt 0 ]; then
    [ "$me" = root ] || fail "these Debian packages are missing: ${missing[*]}" \
        "Install them, then run this again:  sudo apt-get install --no-install-recommends ${missing[*]}"
    say "Installing: ${missing[*]}"
    # The database that plimsoll uses is its own: no system-wide cluster is made beside it.
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        mkdir -p /etc/postgresql-common
        echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    fi
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
        >"$state/install.log" 2>&1 9>&- || fail "apt-get could not install ${missing[*]} (log: $state/install.log)" \
        "Last line: $(tail -n 1 "$state/install.log")"
fi

# ---- build ------------------------------------------------------------------------------------------

# A clone that is not ours to write to is built from a copy.
source=$root
if [ ! -w "$root" ]; then
    source=$state/source
    mkdir -p "$source"
    (cd "$root" && tar cf - --exclude=./build --exclude=./.git --exclude=node_modules .) | tar xf - -C "$source"
fi
build=$source/build/release
say "Building in $build"
{
    cd "$source"
    [ -e build/release/build.ninja ] || cmake --preset release -DPLIMSOLL_TESTS=OFF
    cmake --build build/release --target plimsolld plimsoll-runner
} >"$state/build.log" 2>&1 9>&- || {
    grep -m 5 -E 'error|Error|FAILED' "$state/build.log" >&2 || tail -n 5 "$state/build.log" >&2
    fail "the build failed" "The whole of it is in $state/build.log"
}
bash "$source/web/vendor.sh" >"$state/vendor.log" 2>&1 9>&- || fail "cannot fetch the chart library: $(tail -n 1 "$state/vendor.log")" \
    "npm must reach its registry once; after that web/vendor/ is kept"
# What root built in somebody's clone stays theirs.
[ "$me" != root ] || chown -R --reference="$root" "$source/build" "$source/web/vendor"

if [ "$me" = root ]; then
    service=plimsoll
    getent passwd plimsoll >/dev/null ||
        useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin plimsoll ||
        fail "cannot create the system user plimsoll" "Create it with:  useradd --system plimsoll"
fi
as_service() {
    if [ "$me" = root ]; then
        setpriv --reuid=plimsoll --regid=plimsoll --clear-groups --inh-caps=-all --no-new-privs "$@"
    else
        "$@"
    fi
}

# The service's user need not be able to read the clone (it may be in somebody's home).
program=$state/program
rm -rf "$program"
mkdir -p "$program/bin"
cp "$build/bin/plimsolld" "$build/bin/plimsoll-runner" "$program/bin"
cp -r "$source/web" "$program/web"
chmod -R u=rwX,go=rX "$program"

if [ -z "$scratch" ]; then
    scratch=$state/scratch
    install -d -o "$service" -m 0755 "$scratch"
else
    [ -d "$scratch" ] || fail "--scratch: there is no directory $scratch" "Create it first: it must be on the filesystem to be measured"
    scratch=$(readlink -f "$scratch")
    as_service test -w "$scratch" || fail "--scratch: the user $service may not write in $scratch" \
        "Give it a directory of its own there:  install -d -o $service $scratch/plimsoll"
fi
as_service test -x "$state" || fail "the user $service cannot enter $state" "Choose a directory that everyone may enter: --state DIR"

# ---- start ------------------------------------------------------------------------------------------

taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
if taken "$port"; then
    wanted=$port
    for ((port = wanted + 1; port <= wanted + 100 && port <= 65535; port++)); do taken "$port" || break; done
    if [ "$port" -gt 65535 ] || taken "$port"; then
        fail "no port from $wanted upwards is free on 127.0.0.1" "Choose one: --port N"
    fi
    say "Port $wanted is in use; using $port instead."
fi

data=$state/data
install -d -o "$service" -m 0750 "$data"
run=$(mktemp -d /tmp/plimsoll-run.XXXXXX) # sockets: their paths must be short
chown "$service" "$run"
settings=$state/plimsoll.conf
cat >"$settings" <<TEXT
# Written by quickstart.sh at every start.
[service]
state = $data
runtime = $run
listen = 127.0.0.1:$port
database = embedded
web = $program/web
runner = $program/bin/plimsoll-runner

[target scratch]
kind = directory
path = $scratch
TEXT
chmod 644 "$settings"

log=$state/plimsolld.log
: >"$log"
# In a session of its own: Ctrl-C is for this script, which cancels the job before it stops the daemon.
if [ "$me" = root ]; then
    setsid setpriv --reuid=plimsoll --regid=plimsoll --clear-groups --inh-caps=-all --no-new-privs \
        "$program/bin/plimsolld" --settings "$settings" </dev/null >>"$log" 2>&1 9>&- &
else
    setsid "$program/bin/plimsolld" --settings "$settings" </dev/null >>"$log" 2>&1 9>&- &
fi
daemon=$!
url=http://127.0.0.1:$port
SECONDS=0
until curl -sf --max-time 5 "$url/readyz" >/dev/null 2>&1; do
    if ! kill -0 "$daemon" 2>/dev/null; then
        tail -n 8 "$log" >&2
        daemon=''
        fail "plimsolld ended while starting" "Its log is $log"
    fi
    [ $SECONDS -lt 60 ] || fail "plimsolld was not ready after 60 s" "Its log is $log"
    sleep 0.1
done

tool() { as_service "$program/bin/plimsolld" --settings "$settings" "$@" 9>&-; }
tool token remove quickstart >/dev/null 2>&1 || true
token=$(tool token add quickstart --role admin 2>"$state/token.log" | grep -o 'plm_[A-Za-z0-9_-]*') ||
    fail "cannot make a token: $(tail -n 1 "$state/token.log")" "The daemon's log is $log"
(umask 077 && printf '%s\n' "$token" >"$state/token")

# ---- measure ----------------------------------------------------------------------------------------

say "Measuring: $files files in $scratch"
answer=$(request POST /api/v1/jobs "{\"workload\": \"create-scaling\", \"target\": \"scratch\",
    \"params\": {\"files\": $files}, \"note\": \"quickstart\"}") ||
    fail "the job was refused: $(jq -r '.detail // .title // .' 2>/dev/null <<<"$answer" || echo "$answer")" "The daemon's log is $log"
job=$(jq -r .id <<<"$answer")

progress() {
    jq -r 'def grouped: tostring | [while(length > 0; .[:-3]) | .[-3:]] | reverse | join(",");
        if .progress then
            "\(.progress.phase): \(.progress.done | grouped) of \(.progress.total | grouped) \(.progress.unit)"
            + (if .progress.rate then ", \(.progress.rate | round | grouped)/s" else "" end)
        else .state end' <<<"$1"
}
# In a terminal one line that changes; elsewhere a line every few seconds.
show() {
    if [ -t 2 ]; then
        printf '\r\033[K%s' "$1" >&2
    elif [ $SECONDS -ge $next ]; then
        say "$1"
        next=$((SECONDS + 5))
    fi
}
SECONDS=0 next=1
while :; do
    answer=$(request GET "/api/v1/jobs/$job") || fail "the daemon does not answer: $answer" "Its log is $log"
    show "$(progress "$answer")"
    ! jq -e '.state | IN("succeeded", "failed", "cancelled")' >/dev/null <<<"$answer" || break
    # Holds until the state changes; a second is how often the line is worth a new look.
    request GET "/api/v1/jobs/$job?wait=1" >/dev/null || true
done
[ ! -t 2 ] || printf '\r\033[K' >&2
result=$answer
SECONDS=0
until settled "$answer" || [ $SECONDS -gt 600 ]; do
    answer=$(request GET "/api/v1/jobs/$job?wait=1") || fail "the daemon does not answer: $answer" "Its log is $log"
done

jq -r 'def grouped: tostring | [while(length > 0; .[:-3]) | .[-3:]] | reverse | join(",");
    def us: if . == null then "-" else . / 1000 | (. * 10 | round) / 10 | tostring end;
    ["phase", "files", "seconds", "files/s", "p50 µs", "p99 µs", "max µs"],
    (.phases[] | [.name, (.ops | grouped), (.seconds * 1000 | round / 1000 | tostring), (.rate // 0 | round | grouped),
        (.latency_ns.p50 | us), (.latency_ns.p99 | us), (.latency_ns.max | us)]) | @tsv' <<<"$result" |
    awk -F '\t' '{ printf "%-8s %12s %10s %12s %10s %10s %10s\n", $1, $2, $3, $4, $5, $6, $7 }'
echo
jq -r 'def grouped: tostring | [while(length > 0; .[:-3]) | .[-3:]] | reverse | join(",");
    (.phases[] | select(.name == "create") |
        "\(.ops | grouped) files were created in \(.seconds * 100 | round / 100) s: \(.rate // 0 | round | grouped) files/s."),
    (.phases[] | select(.limited_by) | "\(.name) ended at a limit: \(.limited_by.reason) at \(.limited_by.at | grouped).")' <<<"$result"
if [ "$(jq -r .state <<<"$result")" != succeeded ]; then
    fail "job $job $(jq -r '.state + ": " + (.problem.message // .problem.detail // "no reason given")' <<<"$result")" "The daemon's log is $log"
fi
if [ "$(jq -r .cleanup <<<"$answer")" = blocked ]; then
    say "Some entries in $scratch are not this job's and were left: $(jq -c .foreign <<<"$answer")"
fi

[ $once = no ] || exit 0

code=$(tool code --role admin 2>"$state/token.log" | grep -oE '[A-Za-z0-9_-]{8,}' | tail -n 1) ||
    fail "cannot make a one-time code: $(tail -n 1 "$state/token.log")" "The daemon's log is $log"
echo
echo "Dashboard:  $url/#code=$code"
echo "(the address signs in once, within ten minutes; for scripts the token is in $state/token)"
echo "Ctrl-C ends it."
trap 'exit 0' INT TERM HUP
wait "$daemon" || true
if ! kill -0 "$daemon" 2>/dev/null; then
    daemon=''
    fail "plimsolld ended by itself" "Its log is $log"
fi
