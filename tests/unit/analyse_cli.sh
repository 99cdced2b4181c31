#!/bin/bash
# The runner's analyse, compare and history on files. analyse_cli.sh RUNNER VECTORS
set -euo pipefail
runner=$1 vectors=$2 failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# says EXIT PATTERN COMMAND...: the command ends so and prints that.
says() {
    local wanted=$1 pattern=$2 status=0 output
    shift 2
    output=$("$@" 2>&1) || status=$?
    if [[ $status != "$wanted" ]] || ! grep -qE -- "$pattern" <<<"$output"; then
        echo "FAIL: $* ended with $status (wanted $wanted), and did not say: $pattern"
        echo "$output" | head -20
        failed=1
    fi
}

says 0 'up to 1,6[12][0-9],[0-9]+ operations and grows by 1\.89 ms per further' "$runner" analyse --batch 100 "$vectors/P01.csv"
says 0 'grows with the square.*low confidence' "$runner" analyse "$vectors/P03.csv"
says 0 '"kind": "knee"' "$runner" analyse --json --batch 100 "$vectors/P09.csv"
says 0 'slower\. B costs 1\.12 times' "$runner" compare --batch 100 "$vectors/P14a.csv" "$vectors/P14b.csv"
says 0 'same\.' "$runner" compare --batch 100 "$vectors/P15a.csv" "$vectors/P15b.csv"
says 0 '"verdict": "same"' "$runner" compare --json --batch 100 "$vectors/P15a.csv" "$vectors/P15b.csv"

{ seq 1 40 | awk '{ print 1000 + $1 % 7 }'; seq 1 40 | awk '{ print 900 + $1 % 7 }'; } >"$folder/history"
says 0 'From value 41 on it is (9|10).* % less' "$runner" history "$folder/history"
seq 1 40 | awk '{ print 1000 + $1 * 7 % 11 }' >"$folder/steady"
says 0 'No change in 40 values' "$runner" history "$folder/steady"

printf 'load,seconds\n100,1\n50,2\n' >"$folder/falls.csv"
says 1 'line 3, column 1: the load must not fall: 50 follows 100' "$runner" analyse "$folder/falls.csv"
printf 'load,seconds\n100,x\n' >"$folder/word.csv"
says 1 'line 2, column 2: a number from 0 up is wanted, not x' "$runner" analyse "$folder/word.csv"
printf 'files\n100\n' >"$folder/nothing.csv"
says 1 'one column must be seconds' "$runner" analyse "$folder/nothing.csv"
says 1 'batch must say how many' "$runner" analyse "$vectors/P01.csv"
says 2 'there is no option --bach' "$runner" analyse --bach 3 x
says 2 'files are wanted' "$runner" compare "$vectors/P01.csv"
says 1 'cannot read' "$runner" analyse "$folder/absent"

cat >"$folder/import.json" <<'JSON'
{"workload": "create-scaling", "phases": [{"name": "create", "samples": {"load": [100, 200, 300], "elapsed": [1, 1, 2]}}]}
JSON
says 0 'Creating 300 files ran at 75\.0 per second' "$runner" analyse "$folder/import.json"
head -c 90 "$folder/import.json" >"$folder/half.json"
says 1 'half.json, line 1, column 91: .* is wanted, not the end' "$runner" analyse "$folder/half.json"

mkdir "$folder/target"
"$runner" run create-scaling --on "$folder/target" --journal "$folder/journal" files=2000 >/dev/null 2>&1
says 0 'Creating 2,000 files ran at .* per second; 100 of them take' "$runner" analyse "$folder/journal"
says 0 '"phase": "create"' "$runner" compare --json "$folder/journal" "$folder/journal"
[[ $failed == 0 ]] && echo "all said"
exit $failed
