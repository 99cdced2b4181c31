#!/bin/bash
# Runs the tests of plimsoll, from a clone on a fresh Debian 12, as root.
#
#   tests/run.sh              everything that fits into a quarter of an hour on two cores
#   tests/run.sh --full       also the long ones
#   tests/run.sh --only NAME  one part (may be repeated; --list names them); builds only what that part needs
#
# Each part keeps its output in build/tests/NAME.log. The last line sums all parts up.
set -uo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
cd "$(dirname "$(readlink -f "$0")")/.." || exit 2

parts=(style build unit threads clang analysis store contract e2e faults nfs zfs browser quickstart)
full_parts=(package trust reboot quota kernelnfs) # a booted Debian each: minutes; a kernel of their own: one or two, and 150 MB of packages
only=() export_full=''
while [ $# -gt 0 ]; do
    case $1 in
    --full) export_full=1 ;;
    --only) only+=("${2:?--only wants the name of a part}") && shift ;;
    --list) printf '%s\n' "${parts[@]}" "${full_parts[@]}" && exit 0 ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "run.sh: there is no option $1 (see --help)" >&2 && exit 2 ;;
    esac
    shift
done
export PLIMSOLL_FULL=$export_full
[ -z "$export_full" ] && [[ ! " ${only[*]} " =~ \ (package|trust|reboot|quota|kernelnfs)\  ]] || parts+=("${full_parts[@]}")
for name in "${only[@]}"; do
    [[ " ${parts[*]} " == *" $name "* ]] || { echo "run.sh: there is no part $name; there are: ${parts[*]}" >&2 && exit 2; }
done

logs=$PWD/build/tests
mkdir -p "$logs"
# Temporary files of all tests in one place, so that nothing of them is left, mounts included.
TMPDIR=$(mktemp -d /tmp/plimsoll-tests.XXXXXX)
export TMPDIR
chmod 755 "$TMPDIR" # PostgreSQL runs as another user
tidy() {
    local mounted
    while read -r mounted; do umount -l "$mounted" 2>/dev/null; done \
        < <(awk -v under="$TMPDIR/" 'index($2, under) == 1 { print $2 }' /proc/self/mounts | sort -r)
    [ -n "${PLIMSOLL_KEEP:-}" ] || rm -rf "$TMPDIR"
}
trap tidy EXIT
trap 'exit 130' INT TERM HUP

# ---- tools ----------------------------------------------------------------------------------------

packages=(gcc clang libclang-rt-14-dev libc6-dev cmake ninja-build ccache pkg-config clang-format git curl jq
    libjansson-dev libgsl-dev liburing-dev libbtrfsutil-dev libnfs-dev libinih-dev libcurl4-gnutls-dev libsodium-dev libpq-dev libmicrohttpd-dev libsystemd-dev zlib1g-dev libcmocka-dev libfuse3-dev
    quota
    nfs-ganesha nfs-ganesha-vfs rpcbind dbus-daemon dbus-bin libnfs-utils zfs-fuse iproute2 prometheus-node-exporter
    postgresql util-linux e2fsprogs xfsprogs btrfs-progs procps chromium)
install_tools() {
    local package missing=()
    for package in "${packages[@]}"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    if [[ " ${parts[*]} " == *" ${full_parts[0]} "* ]]; then
        for package in debootstrap systemd-container debhelper lintian qemu-system-x86 linux-image-cloud-amd64 cpio kmod; do
            dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
        done
    fi
    command -v node >/dev/null || missing+=(nodejs)
    command -v npm >/dev/null || missing+=(npm)
    if [ ${#missing[@]} -gt 0 ]; then
        if [ "$(id -u)" != 0 ]; then
            echo "run.sh: these Debian packages are missing; install them, then run this again:" >&2
            echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
            exit 2
        fi
        echo "installing ${missing[*]}"
        # The tests use clusters of their own; none must start by itself.
        if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
            mkdir -p /etc/postgresql-common
            echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
        fi
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$logs/install.log" 2>&1 ||
            { tail -n 20 "$logs/install.log" && echo "run.sh: apt-get failed" >&2 && exit 2; }
    fi
    if [ "$(id -u)" = 0 ] && ! getent passwd plimsoll >/dev/null; then
        useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin plimsoll
    fi
    if [ -e tests/e2e/package.json ] && [ ! -d tests/e2e/node_modules ]; then
        (cd tests/e2e && npm ci --ignore-scripts --no-audit --no-fund --silent) >"$logs/npm.log" 2>&1 ||
            { tail -n 20 "$logs/npm.log" && echo "run.sh: npm failed in tests/e2e" >&2 && exit 2; }
    fi
    bash web/vendor.sh >"$logs/vendor.log" 2>&1 ||
        { tail -n 20 "$logs/vendor.log" && echo "run.sh: web/vendor.sh failed" >&2 && exit 2; }
}

# ---- counting -------------------------------------------------------------------------------------

total_passed=0 total_failed=0 total_skipped=0
summary=()
passed=0 failed=0 skipped=0

# A part is a function that prints and says whether all went well; what it counted it leaves in passed,
# failed and skipped. One that failed without counting a failure counts as one.
part() {
    local name=$1 code log=$logs/$1.log
    shift
    [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $name "* ]] || return 0
    passed=0 failed=0 skipped=0
    printf '== %s\n' "$name"
    local began=$SECONDS
    "part_$name" >"$log" 2>&1
    code=$?
    count "$log"
    [ $code -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    [ $code -ne 0 ] || [ "$failed" -gt 0 ] || [ $((passed + skipped)) -gt 0 ] || failed=1 # ran no test
    if [ "$failed" -gt 0 ]; then
        complain "$log"
    fi
    summary+=("$(printf '%-12s %5d passed %4d failed %4d skipped %6d s' "$name" "$passed" "$failed" "$skipped" $((SECONDS - began)))")
    echo "${summary[-1]}"
    ((total_passed += passed, total_failed += failed, total_skipped += skipped))
    return 0
}

# Each step of a part: a command that must succeed.
step() {
    local what=$1
    shift
    echo "-- $what: $*"
    if "$@"; then echo "STEP ok $what"; else echo "STEP failed $what" && return 1; fi
}

# Counts what a part's log shows: steps, the tests of every cmocka program and every other program as one
# (as ctest -V shows them), node's tests.
count() {
    read -r passed failed skipped < <(awk '
        /^STEP ok /                        { passed++ }
        /^STEP failed /                    { failed++ }
        /\[  PASSED  \] [0-9]+ test\(s\)/  { passed += number("PASSED") }
        /\[  FAILED  \] [0-9]+ test\(s\)/  { failed += number("FAILED"); told[$1] = 1 }
        /\[  SKIPPED \] [0-9]+ test\(s\)/  { skipped += number("SKIPPED") }
        /\[==========\]/                   { cmocka[$1] = 1 }
        / Test +#[0-9]+: /                 { program() }
        /^# pass [0-9]+$/                  { passed += $3 }
        /^# (fail|cancelled) [0-9]+$/      { failed += $3 }
        /^# skipped [0-9]+$/               { skipped += $3 }
        function number(word) { return substr($0, index($0, word) + 9) + 0 }
        function program(  n) { # its line comes after its output, which begins with its number
            n = substr($0, index($0, "#") + 1) + 0 ":"
            if (/Passed/) passed += !(n in cmocka)
            else if (/Skipped/) skipped++
            else if (!/\*\*\*Failed/ || !(n in told)) failed++
        }
        END { print passed + 0, failed + 0, skipped + 0 }' "$1")
}

# What went wrong, short enough to be read in a terminal; the log has it all.
complain() {
    echo "---- $1"
    grep -nE '(^| )not ok |\[  ERROR  \]|\[  FAILED  \]|STEP failed|\*\*\*(Failed|Timeout|Exception)|error:|ERROR: (Address|Leak|Thread)|WARNING: ThreadS|runtime error' "$1" | head -n 40
    # What node's tests say of a failure stands in the lines after it.
    grep -nE -A 40 '^not ok ' "$1" | head -n 120
    echo "---- its end:"
    tail -n 30 "$1"
    echo "----"
}

# ---- parts ----------------------------------------------------------------------------------------

configure() { # PRESET [VARIABLES]
    local preset=$1
    shift
    # Also where the quickstart has configured it before, without tests.
    cmake --preset "$preset" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DPLIMSOLL_TESTS=ON "$@"
}
build() { # PRESET [--target …]
    local preset=$1
    shift
    configure "$preset" && cmake --build "build/$preset" "$@"
}
programs=(--target plimsolld plimsoll-runner)

part_style() {
    local bad=0
    step layering bash tests/layering.sh || bad=1
    step format bash tests/format.sh || bad=1
    return $bad
}

part_build() {
    step asan build asan && step release build release "${programs[@]}"
}

part_unit() {
    build asan && ctest --test-dir build/asan -L '^unit$' -j2 -V --no-tests=error
}

# The same tests under ThreadSanitizer: those with threads show races, the others cost nothing; and the
# whole daemon with its runner, asked by many at once.
part_threads() {
    local bad=0
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
    build tsan || return 1
    ctest --test-dir build/tsan -L '^unit$' -j2 -V --no-tests=error || bad=1
    tests/store/with_postgres.sh ctest --test-dir build/tsan -R '^store/test_(pool|queue)$' -V --no-tests=error || bad=1
    PLIMSOLL_BIN=build/tsan/bin node --test --test-reporter=tap tests/e2e/idempotency.test.mjs tests/e2e/requests.test.mjs || bad=1
    unset TSAN_OPTIONS
    return $bad
}

# The other compiler, and what strangers write against its fuzzers.
part_clang() {
    cmake --preset clang -DCMAKE_C_COMPILER_LAUNCHER=ccache -DPLIMSOLL_FUZZ=ON && step clang build clang &&
        ctest --test-dir build/clang -L '^fuzz$' -j2 -V --no-tests=error
}

# Series in which there is nothing to find: they take the optimised build.
part_analysis() {
    build release --target nulls pairs million check-vectors &&
        step vectors build/release/bin/check-vectors tests/vectors &&
        step nulls build/release/bin/nulls 70 1 &&
        step pairs build/release/bin/pairs 100 1 &&
        step million build/release/bin/million
}

part_store() {
    build asan && tests/store/with_postgres.sh ctest --test-dir build/asan -L '^store$' -V --no-tests=error
}

part_contract() {
    build asan && tests/store/with_postgres.sh ctest --test-dir build/asan -L '^contract$' -V --no-tests=error
}

# Files side by side: they wait most of the time, each for a daemon, a database and targets of its own. 1 where a
# test looks at what the whole machine does.
node_tests() { # HOW-MANY-AT-ONCE FILE…
    [ -e "${2:-}" ] || { echo "no test file" && return 1; }
    build asan && build release "${programs[@]}" && node --test --test-reporter=tap --test-concurrency="$1" "${@:2}"
}
part_e2e() {
    local files=()
    mapfile -t files < <(find tests/e2e -maxdepth 1 -name '*.test.mjs' ! -name 'browser*' ! -name 'quickstart*' | sort)
    node_tests 2 "${files[@]}"
}
part_faults() {
    local files=(tests/faults/*.test.mjs)
    node_tests 1 "${files[@]}"
}
part_nfs() {
    build asan && build release "${programs[@]}" && tests/nfs/inside.sh node --test --test-reporter=tap --test-concurrency=1 tests/nfs/*.test.mjs
}
part_zfs() {
    build release "${programs[@]}" login-manager && tests/faults/zfs.sh ${PLIMSOLL_FULL:+--full}
}
part_browser() {
    local files=(tests/e2e/browser*.test.mjs)
    node_tests 2 "${files[@]}"
}

part_quickstart() {
    node_tests 1 tests/e2e/quickstart.test.mjs
}

# The package, which is built once.
machine_test() { # FILE
    local deb=build/deb/plimsoll.deb built
    if [ ! -e "$deb" ] || [ -n "$(find engine schema api service web packaging -newer "$deb" -print -quit)" ]; then
        built=$(packaging/build-deb.sh | grep '/plimsoll_' | tail -n 1) && cp "$built" "$deb" || return 1
    fi
    bash "$1" "$deb"
}
part_package() {
    machine_test tests/systemd/nspawn.sh && step lintian lintian --fail-on error,warning --no-tag-display-limit build/deb/plimsoll_*.changes
}
part_trust() {
    machine_test tests/systemd/trust.sh
}

part_reboot() {
    machine_test tests/systemd/reboot.sh
}

# A virtual machine each, where this kernel knows no quotas and no NFS.
part_quota() {
    build release "${programs[@]}" && step quota bash tests/faults/quota.sh build/release/bin/plimsoll-runner
}
part_kernelnfs() {
    local bad=0
    build release "${programs[@]}" || return 1
    step mounted bash tests/nfs/kernel.sh build/release/bin/plimsoll-runner || bad=1
    step exported bash tests/nfs/exportfs.sh build/release/bin/plimsoll-runner || bad=1
    return $bad
}

# A function, so that all of this file is read before it runs for minutes.
main() {
    local began=$SECONDS name
    install_tools
    for name in "${parts[@]}"; do part "$name"; done
    echo
    printf '%s\n' "${summary[@]}"
    echo "in $((SECONDS - began)) s; logs in build/tests/"
    echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
    [ "$total_failed" -eq 0 ]
}
main; exit
