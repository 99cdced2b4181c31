# shellcheck shell=bash disable=SC2154
# throughput: one file of 2 GiB on tmpfs, by the runner, by the raw loop and by fio (psync and io_uring), in turn;
# sourced by run.sh. Every tool writes a file of its own before what is measured, with the same records.

data_bytes=$((2 << 30))

# Each prints lines `PHASE OPS CPU_NS_PER_OP OPS_PER_SECOND`.
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
    local dir=$1 record=$2 operation=$3 engine=$4 depth=$5 cpu start rate kind file=$1/fio
    case $operation in read) kind=read ;; write) kind=write ;; random-read) kind=randread ;; random-write) kind=randwrite ;; esac
    fio_once() { # fio_once BYTES
        local TIMEFORMAT='%U %S'
        { time fio --name=data --filename="$file" --rw=$kind --bs="$record" --size=$data_bytes --io_size="$1" \
            --ioengine="$engine" --iodepth="$depth" --thread --output-format=json --output="$work/fio.json" \
            --fallocate=none --overwrite=0 --invalidate=0 --norandommap=1 --randrepeat=1 \
            $([ "$engine" = io_uring ] && echo --fixedbufs=1 --registerfiles=1) >"$work/fio.log" 2>&1; } 2>&1 | tail -n 1 |
            awk '{ print $1 + $2 }'
    }
    [ "$operation" = write ] || dd if=/dev/urandom of="$file" bs=1M count=$((data_bytes >> 20)) status=none
    start=$(fio_once "$record")
    [ "$operation" != write ] || rm -f "$file"
    cpu=$(fio_once "$data_bytes")
    rate=$(jq -er '.jobs[0] | [.read.iops, .write.iops] | max' "$work/fio.json") || return 1
    rm -f "$file"
    awk -v p="$operation" -v n=$((data_bytes / record)) -v c="$cpu" -v s="$start" -v r="$rate" \
        'BEGIN { printf "%s %d %.2f %.1f\n", p, n, (c - s) / n * 1e9, r }'
}

data_note() { # data_note BENCH CASE TOOL ROUND OPERATION: of what stands in $work/out
    local cpu rate
    read -r _ _ cpu rate < <(grep "^$5 " "$work/out") || fail "$3 said nothing of $5"
    record "$1" "$2" "$3" "$4" "$cpu" "cpu_ns/op" "$rate"
}

bench_throughput() {
    [ "$(id -u)" = 0 ] || fail "needs root, to mount filesystems of its own"
    local round dir=$work/data record operation what tool i peers=no
    local cases=("write1m 1048576 write" "read1m 1048576 read" "read4k 4096 random-read" "write4k 4096 random-write")
    local tools=(raw plimsoll)
    ! command -v fio >/dev/null || { peers=yes; tools+=(fio); }
    place_images
    mount_fresh tmpfs "$dir"
    for ((round = 1; round <= rounds; round++)); do
        say "throughput: round $round of $rounds"
        for what in "${cases[@]}"; do
            read -r name record operation <<<"$what"
            for ((i = 0; i < ${#tools[@]}; i++)); do
                tool=${tools[$(((i + round - 1) % ${#tools[@]}))]}
                local operations=$operation
                [ "$operation" = write ] || operations=write,$operation
                case $tool in
                raw) data_raw "$dir" "$record" "$operations" ;;
                plimsoll) data_plimsoll "$dir" "$record" "$operations" ;;
                fio) data_fio "$dir" "$record" "$operation" psync 1 ;;
                esac >"$work/out"
                data_note throughput "$name-tmpfs" "$tool" $round "$operation"
            done
        done
        [ $peers = yes ] || continue
        tools_32=(fio-uring plimsoll)
        for what in "read4k 4096 random-read" "write4k 4096 random-write"; do
            read -r name record operation <<<"$what"
            for ((i = 0; i < 2; i++)); do
                tool=${tools_32[$(((i + round - 1) % 2))]}
                case $tool in
                fio-uring) data_fio "$dir" "$record" "$operation" io_uring 32 ;;
                plimsoll) data_plimsoll "$dir" "$record" "write,$operation" backend=uring queue_depth=32 ;;
                esac >"$work/out"
                data_note throughput "$name-tmpfs-32" "$tool" $round "$operation"
            done
        done
    done
    unmount "$dir"
}
