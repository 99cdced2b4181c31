# shellcheck shell=bash disable=SC2154
# create, create-2, list, stat, remove and null; sourced by run.sh. What the engine costs is told by `alternate`,
# a job and the bare calls by turns in one process; peers, and the wall-clock rate of two lanes, by processes
# in turn: the raw loop, the runner by hand, each peer. Every tool works in a fresh directory of the same
# filesystem: over files that are there already some report nearly twice the rate.

# --- filesystems of our own ---
images_here=""
place_images() {
    [ -z "$images_here" ] || return 0
    local room
    room=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1 || true)
    if [ -z "$images" ]; then
        images=$work
        [ "${room:-0}" -gt $((10 * 1024 * 1024)) ] && images=/dev/shm
    fi
    images_here=$(mktemp -d "$images/plimsoll-bench.XXXXXX")
}
mount_fresh() { # mount_fresh KIND DIR
    local image=$images_here/$1.img
    mkdir -p "$2"
    if [ "$1" = tmpfs ]; then
        mount -t tmpfs -o size=4g,nr_inodes=0 plimsoll-bench "$2"
    else
        rm -f "$image"
        truncate -s 6G "$image"
        case $1 in
        # Its tables made at once: lazily, a kernel thread would write them beside the first rounds.
        ext4) mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 -N $((files * 3 + 100000)) "$image" ;;
        xfs) mkfs.xfs -q -f "$image" ;;
        btrfs) mkfs.btrfs -q -f "$image" >/dev/null 2>&1 ;;
        esac
        mount -o loop "$image" "$2"
    fi
    mounts+=("$2")
}
unmount() {
    umount "$1"
    local kept=() mount
    for mount in "${mounts[@]}"; do [ "$mount" = "$1" ] || kept+=("$mount"); done
    mounts=(${kept[@]+"${kept[@]}"})
    rm -f "$images_here"/*.img
}

# --- alternating blocks ---
# A round is one process. Its ratio is the median of those of its pairs of blocks, of which there are a hundred
# for 200,000 files; what ours costs is told as the bare calls' median over that ratio. In every other round
# the bare calls have the directory that was made first, which some filesystems place by.
alternate_once() { # alternate_once DIR ROUND ARGUMENT...: leaves lines in $work/pairs
    local dir=$1 round=$2 first=() served=()
    shift 2
    ((round % 2)) || first=(--first bare)
    [[ " $* " != *" threads=1 "* ]] || served=(${first_served[@]+"${first_served[@]}"})
    sync -f "$dir"
    ${served[@]+"${served[@]}"} "$bin/alternate" "$dir" ${first[@]+"${first[@]}"} "$@" >"$work/pairs" 2>"$work/plimsoll.err" ||
        { say "alternate failed on $dir:"; tail -n 5 "$work/plimsoll.err" >&2; exit 1; }
}
note_pairs() { # note_pairs PHASE BENCH CASE ROUND
    local cpu bare rate bare_rate
    read -r cpu bare rate bare_rate < <(awk -v phase="$1" -f "$here/pairs.awk" "$work/pairs")
    record "$2" "$3" raw "$4" "$bare" "cpu_ns/op" "$bare_rate"
    record "$2" "$3" plimsoll "$4" "$cpu" "cpu_ns/op" "$rate"
}
alternate_on() { # alternate_on KIND THREADS LAYOUT OPERATIONS BENCHES SUFFIX
    local kind=$1 threads=$2 layout=$3 operations=$4 benches=$5 suffix=$6 round name
    local dir=$work/$kind with=(files="$files" batch=100 threads="$threads" layout="$layout" operations="$operations")
    mount_fresh "$kind" "$dir"
    for ((round = 1; round <= rounds; round++)); do
        say "$kind$suffix: round $round of $rounds, alternating"
        alternate_once "$dir" $round "${with[@]}"
        for name in $benches; do
            note_pairs "$name" "$name$([ "$threads" = 1 ] || echo "-$threads")" "$name-$kind$suffix" $round
        done
        [ $direct = yes ] || continue
        alternate_once "$dir" $round --direct "${with[@]}"
        for name in $benches; do note_pairs "$name" direct "$name-$kind$suffix-direct" $round; done
    done
    unmount "$dir"
}

# --- tools, each in a process of its own; each prints lines `PHASE OPS CPU_NS_PER_OP OPS_PER_SECOND` ---
run_raw() { # run_raw DIR THREADS LAYOUT OPERATIONS
    "$bin/raw_metadata" "$1" files="$files" threads="$2" layout="$3" operations="$4"
}
run_plimsoll() {
    rm -f "$work/journal.ndjson"
    "$bin/plimsoll-runner" run create-scaling --on "$1" --reserve 1% --json --journal "$work/journal.ndjson" \
        files="$files" batch=100 threads="$2" layout="$3" operations="$4" 2>"$work/plimsoll.err" |
        jq -er '.phases[] | "\(.name) \(.ops) \(.cpu_ns_per_op) \(.rate)"'
}
peer_fs_mark() { fs_mark -d "$1" -n "$2" -s 0 -S 0 -k -L 1 -t 1 -l "$work/fs_mark.log"; }
peer_smallfile() {
    "$smallfile" --operation create --threads 1 --files "$2" --file-size 0 --files-per-dir "$2" --top "$1"
}
peer_fio() { # its default choice of the next file is quadratic
    fio --name=create --directory="$1" --ioengine=filecreate --nrfiles="$2" --filesize=4k --openfiles=1 \
        --file_service_type=sequential --thread
}
peer_mdtest() { mdtest -a POSIX -C -F -n "$2" -d "$1"; }
peer_elbencho() { elbencho -w -d -t 1 -n 1 -N "$2" -s 0 "$1"; }
smallfile=$(command -v smallfile_cli.py || command -v smallfile || true)
peers_installed() {
    local peer
    [ $peers = yes ] || return 0
    for peer in mdtest elbencho fs_mark fio; do command -v "$peer" >/dev/null && echo "$peer"; done
    [ -z "$smallfile" ] || echo smallfile
}
# The CPU and wall seconds of a whole peer.
cost_of_peer() { # cost_of_peer PEER DIR FILES
    local TIMEFORMAT='%U %S %R'
    local ok=yes
    mkdir "$2"
    { time "peer_$1" "$2" "$3" >"$work/peer.log" 2>&1 || ok=no; } 2>"$work/peer.time"
    rm -rf "$2"
    [ $ok = yes ] || return 1
    awk '{ print $1 + $2, $3 }' "$work/peer.time"
}
run_peer() { # run_peer PEER DIR: less what the same command takes for one file
    local cpu wall start_cpu start_wall
    read -r start_cpu start_wall < <(cost_of_peer "$1" "$2/peer" 1) || return 1
    read -r cpu wall < <(cost_of_peer "$1" "$2/peer" "$files") || return 1
    awk -v f="$files" -v c="$cpu" -v w="$wall" -v sc="$start_cpu" -v sw="$start_wall" \
        'BEGIN { printf "create %d %.2f %.1f\n", f, (c - sc) / f * 1e9, f / (w - sw > 0 ? w - sw : w) }'
}

# --- rounds of processes ---
# One filesystem, one number of lanes, one layout: the tools in turn, each round beginning with another.
rounds_on() { # rounds_on KIND THREADS LAYOUT OPERATIONS BENCHES SUFFIX TOOL...
    local kind=$1 threads=$2 layout=$3 operations=$4 benches=$5 suffix=$6
    shift 6
    local tools=("$@") failed=" " round i tool name cpu rate dir=$work/$kind
    mount_fresh "$kind" "$dir"
    for ((round = 1; round <= rounds; round++)); do
        say "$kind$suffix: round $round of $rounds"
        # Not counted: fills caches and tables, and the memory that it frees is there for the first tool as
        # the first tool's is for the next. A virtual machine that gives idle memory back to its host pays
        # dearly for touching it again.
        run_raw "$dir" "$threads" "$layout" "$operations" >"$work/out"
        for ((i = 0; i < ${#tools[@]}; i++)); do
            tool=${tools[$(((i + round - 1) % ${#tools[@]}))]}
            [[ $failed != *" $tool "* ]] || continue
            sync -f "$dir"
            case $tool in
            *-process) "run_${tool%-process}" "$dir" "$threads" "$layout" "$operations" >"$work/out" ||
                { say "$tool failed on $kind:"; tail -n 5 "$work/plimsoll.err" >&2; exit 1; } ;;
            *) run_peer "$tool" "$dir" >"$work/out" || {
                say "$tool failed on $kind and is left out from here on:"; tail -n 5 "$work/peer.log" >&2
                failed+="$tool "
                continue; } ;;
            esac
            while read -r name _ cpu rate; do
                case " $benches " in *" $name "*) ;; *) continue ;; esac
                record "$name$([ "$threads" = 1 ] || echo "-$threads")" "$name-$kind$suffix" "$tool" $round "$cpu" "cpu_ns/op" "$rate"
            done <"$work/out"
        done
    done
    unmount "$dir"
}

bench_metadata() {
    [ "$(id -u)" = 0 ] || fail "needs root, to mount filesystems of its own"
    local kind name installed=() operations=create benches=
    place_images
    files=$(((files + 3999) / 4000 * 4000)) # whole pairs of blocks
    say "files $files, rounds $rounds, images in $images_here"
    for name in create list stat remove; do
        asked "$name" || continue
        benches+=" $name"
        [ "$name" = create ] || operations+=,$name
    done
    ! asked create || mapfile -t installed < <(peers_installed)
    for kind in ${on//,/ }; do
        if [ -n "$benches" ]; then
            alternate_on "$kind" 1 shared "$operations" "$benches" ""
            [ ${#installed[@]} = 0 ] ||
                rounds_on "$kind" 1 shared create create "" raw-process plimsoll-process "${installed[@]}"
        fi
        if asked create-2; then
            alternate_on "$kind" 2 shared create create -2
            rounds_on "$kind" 2 shared create create -2 raw-process plimsoll-process
            alternate_on "$kind" 2 private create create -2-private
            rounds_on "$kind" 2 private create create -2-private raw-process plimsoll-process
        fi
    done
}

# Two million files on a target whose operations return at once: all that is left is our own cost, which
# must not depend on how many files there are. The median batch of the last tenth of the samples against
# that of the first, in CPU time.
bench_null() {
    local round first last journal=$work/null.ndjson null_files=2000000
    for ((round = 1; round <= rounds; round++)); do
        say "null: round $round of $rounds"
        rm -f "$journal"
        "$bin/plimsoll-runner" run create-scaling --null --json --journal "$journal" files=$null_files \
            batch=100 operations=create >"$work/out" 2>"$work/plimsoll.err" ||
            { say "the runner failed on the null target:"; tail -n 5 "$work/plimsoll.err" >&2; exit 1; }
        read -r first last < <(jq -rn '
            def cost: map(.[0] / .[1]) | sort | .[length / 2 | floor];
            [inputs | select(.record == "samples" and .phase == "create") | [.cpu, .ops] | transpose[]]
            | (length / 10 | floor) as $tenth | "\(.[:$tenth] | cost) \(.[-$tenth:] | cost)"' "$journal")
        record null null first-tenth $round "$first" "cpu_ns/op"
        record null null plimsoll $round "$last" "cpu_ns/op"
    done
}
