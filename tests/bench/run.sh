#!/bin/bash
# Benches: ours, the limit, and each peer that is installed, in turn, in one run.
#
#     tests/bench/run.sh [NAME...] [--csv] [--rounds N] [--files N] [--on FS,...] [--images DIR] [--series N]
#                         [--direct] [--no-peers]
#
# NAME   create create-2 list stat remove null throughput ingest series api startup overhead
#        filesystems; all of them by default
#        nulls pairs: how often a knee or a difference is found where there is none; only when named
# --csv      lines `bench,case,tool,value,unit,ratio_to_raw` instead of the table for people
# --rounds   paired rounds (11); every tool runs once in each, the order turns
# --files    files in a metadata round (200000)
# --on       filesystems: tmpfs,ext4,xfs,btrfs by default
# --direct   of metadata also rounds against inlined system calls, cases *-direct, for which there is no mark
# --no-peers only ours and the limit, also where peers are installed
# --series   of each family of nulls (2000); a quarter as many pairs
# --images   where the loop images lie: /dev/shm if there is room, so that no disk takes part
#
# The figure of a metadata tool is CPU time per operation, user and system, of all threads. Ours is held against
# the bare calls in blocks of some milliseconds that follow one another in one process (alternate.c): whatever
# else the machine does falls on both, so the ratio stands within 1 % even while others work; one lane then comes
# before them (chrt), lest what is done by the clock grow with the waiting. Those calls are
# what a small C program makes, of the C library (bare.h); of the 1 to 2 % that the engine gains by inlining its
# own, --direct shows the rest. Names are made within the time measured on both sides. Peers, and
# wall-clock rates of two lanes, are compared by processes in turn (raw-process, plimsoll-process, peers; of a
# peer the whole process counts, less what it takes for one file): those ratios scatter by 20 % on a virtual
# machine. Ratios are taken within a round. What is judged rests on the medians of rounds: the median of
# them, and its lower 95 % bound, which is the order statistic that the binomial distribution gives (of 7 rounds
# the least, of 11 the third); with fewer than 5 rounds there is none.
# Everything is made in a folder of its own, unmounted and removed at the end. Needs root for mounts.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${PLIMSOLL_BUILD:-$root/build/release}
csv=no direct=no peers=yes rounds=11 files=200000 on=tmpfs,ext4,xfs,btrfs images="" series=2000 names=()

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
say() { printf '%s\n' "$*" >&2; }
fail() { say "run.sh: $*"; exit 2; }

arguments=("$@")
while [ $# -gt 0 ]; do
    case $1 in
    --csv) csv=yes ;;
    --direct) direct=yes ;;
    --no-peers) peers=no ;;
    --rounds | --files | --on | --images | --series)
        [ $# -gt 1 ] || fail "$1 wants a value"
        declare "${1#--}=$2"
        shift ;;
    -h | --help) usage; exit 0 ;;
    create | create-2 | list | stat | remove | null | throughput | ingest | series | api | startup | overhead | filesystems | nulls | pairs) names+=("$1") ;;
    *) fail "unknown argument $1; see --help" ;;
    esac
    shift
done
[[ $rounds =~ ^[1-9][0-9]*$ ]] || fail "--rounds $rounds: a number above 0 is wanted"
[[ $series =~ ^[1-9][0-9]*$ ]] || fail "--series $series: a number above 0 is wanted"
[[ $files =~ ^[1-9][0-9]*$ ]] || fail "--files $files: a number above 0 is wanted"
for kind in ${on//,/ }; do
    case $kind in tmpfs | ext4 | xfs | btrfs) ;; *) fail "--on $kind: one of tmpfs, ext4, xfs, btrfs" ;; esac
done
[ ${#names[@]} -gt 0 ] || names=(create create-2 list stat remove null throughput ingest series api startup overhead filesystems)

asked() { # asked NAME...: is one of these benches to be run?
    local name wanted
    for name in "${names[@]}"; do for wanted in "$@"; do [ "$name" = "$wanted" ] && return 0; done; done
    return 1
}
record() { # record BENCH CASE TOOL ROUND VALUE UNIT [OPS_PER_SECOND]
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" "$6" "${7:-}" >>"$work/results"
}

# A ZFS of our own wants a mount namespace of its own.
if asked filesystems && [ "$(id -u)" = 0 ]; then
    source "$root/tests/faults/zfs_pool.sh"
    ! zfs_possible || zfs_inside "${BASH_SOURCE[0]}" ${arguments[@]+"${arguments[@]}"}
fi

# --- a place of our own, which goes away whatever happens ---
work=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-bench.XXXXXX")
chmod 755 "$work"
mounts=() pids=()
tidy() {
    local pid mount
    ! asked filesystems || zfs_stop
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
    for mount in "${mounts[@]}"; do umount "$mount" || say "run.sh: $mount stays mounted"; done
    rm -rf --one-file-system "$work" ${images_here:+"$images_here"}
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
: >"$work/results"

# --- what is measured ---
if [ -z "${PLIMSOLL_BUILD:-}" ]; then
    say "building the release preset"
    { [ -f "$build/build.ninja" ] || cmake -S "$root" --preset release
      cmake --build "$build"; } >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; exit 1; }
fi
bin=$build/bin
load=$(cut -d' ' -f1 /proc/loadavg)
first_served=()
if awk -v l="$load" 'BEGIN { exit !(l > 0.5) }'; then
    say "the machine is not quiet (load average $load): wall-clock rates are off, and CPU figures scatter."
    say "Stop what else runs here before a figure is quoted; more rounds help a little."
    # One lane takes one CPU; two would leave none to the kernel's threads that work for them.
    ! chrt -f 1 true 2>/dev/null || first_served=(chrt -f 1)
fi

source "$here/metadata.sh"
source "$here/throughput.sh"
source "$here/service.sh"
source "$here/filesystems.sh"
if asked create create-2 list stat remove; then bench_metadata; fi
if asked null; then bench_null; fi
if asked throughput; then bench_throughput; fi
if asked ingest series; then bench_store; fi
if asked api startup overhead; then bench_service; fi
if asked filesystems; then bench_filesystems; fi
# They count, and print for themselves.
wrong=0
if asked nulls; then "$bin/nulls" "$series" || wrong=1; fi
if asked pairs; then "$bin/pairs" $(((series + 3) / 4)) || wrong=1; fi
[ -s "$work/results" ] || exit $wrong

awk -v csv=$csv -v marks="$here/marks" -f "$here/report.awk" "$work/results"
