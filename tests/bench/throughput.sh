# shellcheck shell=bash disable=SC2154
# throughput: files on tmpfs; sourced by run.sh. What the engine costs is told by `alternate_data`, a job
# and the bare calls by turns in one process; peers by processes in turn: the raw loop, the runner by hand, fio with
# psync, and with 32 operations in flight the runner and fio, both by io_uring with registered buffers and file.
# Every tool writes a file of its own before what is measured, with the same records.

data_bytes=$((2 << 30)) block_bytes=$((1 << 30)) # of a process' file, and of those that blocks alternate on
data_phases="write1m:1048576:write read1m:1048576:read read4k:4096:random-read write4k:4096:random-write"

# A virtual machine that gives idle memory back to its host pays dearly for touching it again: let nobody's
# measurement do so.
warm_memory() { # warm_memory DIR
    head -c $((2 * block_bytes)) /dev/zero >"$1/warm"
    rm "$1/warm"
}

# --- alternating blocks ---
alternate_data_once() { # alternate_data_once DIR ROUND ARGUMENT...: leaves lines in $work/pairs
    local dir=$1 round=$2 first=()
    shift 2
    ((round % 2)) || first=(--first bare)
    warm_memory "$dir"
    "$bin/alternate_data" "$dir" ${first[@]+"${first[@]}"} file_bytes=$block_bytes "$@" >"$work/pairs" 2>"$work/plimsoll.err" ||
        { say "alternate_data failed:"; tail -n 5 "$work/plimsoll.err" >&2; exit 1; }
}
data_alternating() { # data_alternating DIR ROUND BENCH SUFFIX ARGUMENT...
    local dir=$1 round=$2 bench=$3 suffix=$4 record operation name last=
    shift 4
    for what in $data_phases; do
        IFS=: read -r name record operation <<<"$what"
        if [ "$record" != "$last" ]; then
            local operations=write,read
            [ "$record" -gt 4096 ] || operations=write,random-read,random-write
            alternate_data_once "$dir" "$round" record_bytes="$record" operations=$operations "$@"
            last=$record
        fi
        note_pairs "$operation" "$bench" "$name-tmpfs$suffix" "$round"
    done
}

# --- tools, each in a process of its own; each prints lines `PHASE OPS CPU_NS_PER_OP OPS_PER_SECOND` ---
data_raw() { # data_raw DIR RECORD OPERATIONS
    "$bin/raw_data" "$1" file_bytes=$data_bytes record_bytes="$2" operations="$3"
}
data_plimsoll() { # data_plimsoll DIR RECORD OPERATIONS [PARAMETER...]
    local dir=$1 record=$2 operations=$3
    shift 3
    "$bin/plimsoll-runner" run throughput --on "$dir" --reserve 0.1% --json file_bytes=$data_bytes record_bytes="$record" \
        operations="$operations" "$@" 2>"$work/plimsoll.err" |
        jq -er '.phases[] | "\(.name) \(.ops) \(.cpu_ns_per_op) \(.ops / .seconds)"'
}
# CPU is that of the whole process, less what it takes for a single record; the rate is what fio says itself.
data_fio() { # data_fio DIR RECORD OPERATION ENGINE DEPTH
    local dir=$1 record=$2 operation=$3 engine=$4 depth=$5 cpu start rate kind there=1 file=$1/fio
    case $operation in
    read) kind=read ;;
    write) kind=write there=0 ;;
    random-read) kind=randread ;;
    random-write) kind=randwrite ;;
    esac
    fio_once() { # fio_once BYTES
        local TIMEFORMAT='%U %S'
        { time fio --name=data --filename="$file" --rw=$kind --bs="$record" --size=$data_bytes --io_size="$1" \
            --ioengine="$engine" --iodepth="$depth" --thread --output-format=json --output="$work/fio.json" \
            --fallocate=none --overwrite=$there --invalidate=0 --norandommap=1 --randrepeat=1 \
            $([ "$engine" = io_uring ] && echo --fixedbufs=1 --registerfiles=1) >"$work/fio.log" 2>&1; } 2>&1 | tail -n 1 |
            awk '{ print $1 + $2 }'
    }
    [ $there = 0 ] || fio_once "$record" >/dev/null # which lays the file out first
    start=$(fio_once "$record")
    [ $there = 1 ] || rm -f "$file"
    cpu=$(fio_once "$data_bytes")
    rate=$(jq -er '.jobs[0] | [.read.iops, .write.iops] | max' "$work/fio.json") || return 1
    rm -f "$file"
    awk -v p="$operation" -v n=$((data_bytes / record)) -v c="$cpu" -v s="$start" -v r="$rate" \
        'BEGIN { printf "%s %d %.2f %.1f\n", p, n, (c - s) / n * 1e9, r }'
}

data_note() { # data_note CASE TOOL ROUND OPERATION: of what stands in $work/out
    local cpu rate
    read -r _ _ cpu rate < <(grep "^$4 " "$work/out") || fail "$2 said nothing of $4"
    record throughput "$1" "$2" "$3" "$cpu" "cpu_ns/op" "$rate"
}
data_in_turn() { # data_in_turn DIR ROUND NAME RECORD OPERATION TOOL...
    local dir=$1 round=$2 name=$3 record=$4 operation=$5 i tool operations=$5
    shift 5
    local tools=("$@")
    [ "$operation" = write ] || operations=write,$operation
    for ((i = 0; i < ${#tools[@]}; i++)); do
        tool=${tools[$(((i + round - 1) % ${#tools[@]}))]}
        case $tool in
        raw-process) data_raw "$dir" "$record" "$operations" ;;
        plimsoll-process) data_plimsoll "$dir" "$record" "$operations" ;;
        plimsoll) data_plimsoll "$dir" "$record" "$operations" backend=uring queue_depth=32 ;;
        fio) data_fio "$dir" "$record" "$operation" psync 1 ;;
        fio-uring) data_fio "$dir" "$record" "$operation" io_uring 32 ;;
        esac >"$work/out"
        data_note "$name" "$tool" "$round" "$operation"
    done
}

bench_throughput() {
    [ "$(id -u)" = 0 ] || fail "needs root, to mount filesystems of its own"
    local round dir=$work/data what name record operation
    place_images
    mount_fresh tmpfs "$dir"
    for ((round = 1; round <= rounds; round++)); do
        say "throughput: round $round of $rounds"
        data_alternating "$dir" $round throughput ""
        [ $direct = no ] || data_alternating "$dir" $round direct -direct --direct
        command -v fio >/dev/null || continue
        for what in $data_phases; do
            IFS=: read -r name record operation <<<"$what"
            data_in_turn "$dir" $round "$name-tmpfs" "$record" "$operation" raw-process plimsoll-process fio
            [ "$record" -gt 4096 ] ||
                data_in_turn "$dir" $round "$name-tmpfs-32" "$record" "$operation" fio-uring plimsoll
        done
    done
    unmount "$dir"
}
