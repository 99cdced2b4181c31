#!/bin/bash
# What becomes of a run by hand when what is around it fails: it says so and leaves nothing on the target.
# by_hand_cli.sh RUNNER
set -uo pipefail
runner=$1 failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# ends WHAT WANTED STATUS: and nothing is left
ends() {
    local what=$1 wanted=$2 status=$3
    if [[ $status != "$wanted" ]]; then
        echo "FAIL: $what: ended with $status, wanted $wanted"
        failed=1
    fi
    local left
    left=$(ls -A "$folder/target")
    if [[ -n $left ]]; then
        echo "FAIL: $what: left $left on the target"
        failed=1
        rm -rf "$folder/target"/*
    fi
}
mkdir "$folder/target"
create=("$runner" run create-scaling --on "$folder/target" operations=create)

# Whoever reads the progress goes at once; it is told every two seconds.
{ "${create[@]}" files=1000000000 max_seconds=2.5 2>&1 >/dev/null; echo $? >"$folder/status"; } | true
ends "nobody reads the progress" 0 "$(<"$folder/status")"

{ "${create[@]}" files=10 2>/dev/null; echo $? >"$folder/status"; } | true
ends "nobody reads the table" 1 "$(<"$folder/status")"

"${create[@]}" files=10 >/dev/full 2>/dev/null
ends "the table cannot be written" 1 $?
"${create[@]}" files=10 --json >/dev/full 2>/dev/null
ends "the totals cannot be written" 1 $?

errors=$( (ulimit -f 100; "${create[@]}" files=10 file_bytes=1MiB 2>&1 >/dev/null))
ends "a file is larger than the process may write" 1 $?
[[ $errors == *"cannot write f0000000000: File too large"* ]] || { echo "FAIL: it said: $errors"; failed=1; }

errors=$( (ulimit -f 8; "${create[@]}" files=100000 batch=1 --journal "$folder/journal" 2>&1 >"$folder/table"))
ends "the journal cannot be written" 1 $?
[[ $errors == *"cannot write the journal"* ]] || { echo "FAIL: it said: $errors"; failed=1; }
awk '$1 == "create" && $5 $6 $7 == "---" { found = 1 } END { exit !found }' "$folder/table" || {
    echo "FAIL: a phase that broke off has no latencies:"
    cat "$folder/table"
    failed=1
}
# What is wrong is said in the words of a command line, and once.
says() {
    local wanted=$1 said
    shift
    said=$("$runner" run "$@" 2>&1 >/dev/null)
    ends "$*" 2 $?
    [[ $said == "error: $wanted" ]] || { echo "FAIL: $*: it said: $said"; failed=1; }
}
says "files must be a whole number from 1 to 9999999999, not 10k" create-scaling --on "$folder/target" files=10k
says "there is no field fiels; did you mean files?" create-scaling --on "$folder/target" fiels=10
says "operations must have create: the others work on what it made" create-scaling --on "$folder/target" operations=list
says "--on wants a value" create-scaling --on
says "target tank is of kind zfs; create-scaling takes directory, nfs, btrfs" create-scaling --on zfs:tank
says "backend posix does not work on target nfs://filer/x, which is of kind nfs" throughput --on nfs://filer/x

touch "$folder/taken"
errors=$("${create[@]}" files=10 --journal "$folder/taken" 2>&1 >/dev/null)
ends "a journal that is there" 1 $?
[[ $errors == "error: the journal taken is there already; it must be a new file" ]] || { echo "FAIL: it said: $errors"; failed=1; }

[[ $("$runner" run filesystem-scaling --on "$folder/target" filesystems=10 2>/dev/null) == *"These were directories; "* ]] || {
    echo "FAIL: directories are not told from filesystems"
    failed=1
}

# What a user may lock in memory is for the rings of all lanes first.
if [[ $(id -u) == 0 ]] && chmod 755 "$folder" && chmod 777 "$folder/target" && [[ -x /usr/bin/setpriv ]]; then
    uring=(setpriv --reuid 65534 --clear-groups "$runner" run throughput --on "$folder/target" backend=uring queue_depth=32 threads=64
        record_bytes=4KiB file_bytes=128KiB)
    for _ in 1 2 3; do
        errors=$(prlimit --memlock=8388608 "${uring[@]}" 2>&1 >/dev/null)
        ends "64 lanes of a user with a usual limit of locked memory" 0 $?
    done
    errors=$(prlimit --memlock=0 "${uring[@]}" 2>&1 >/dev/null)
    status=$?
    if [[ $errors != *"rings need more memory"* ]]; then # some kernels let everybody have rings
        ends "64 lanes of a user who may lock nothing" 0 $status
    fi
fi
[[ $failed == 0 ]] && echo "all said"
exit $failed
