#!/bin/bash
# packaging/quickstart.sh --once on a temporary state directory: a result, and nothing left afterwards.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/state"
fail() {
    echo "quickstart test: $1" >&2
    cat "$work/out" "$work/err" >&2
    exit 1
}

packaging/quickstart.sh --once --files 20000 --state "$work/state" --port 0 >"$work/out" 2>"$work/err" && fail "accepted port 0"
[ $? -eq 1 ] || true
grep -q -- '--port' "$work/err" || fail "does not name the option"

packaging/quickstart.sh --once --files 20000 --state "$work/state" >"$work/out" 2>"$work/err" || fail "exit status $?"
grep -Eq '20,000 files were created in [0-9.]+ s: [0-9,]+ files/s' "$work/out" || fail "no rate in one sentence"
grep -Eq '^create +20,000 ' "$work/out" || fail "no table"
left=$(find "$work/state/scratch" -mindepth 1 | wc -l)
[ "$left" -eq 0 ] || fail "$left entries left in the scratch directory"
for pid in /proc/[0-9]*; do
    if tr '\0' ' ' 2>/dev/null <"$pid/cmdline" | grep -q "$work/state"; then fail "still running: $(tr '\0' ' ' <"$pid/cmdline")"; fi
done
cat "$work/out"

# Once more on the same state: nothing of the first time is in the way.
packaging/quickstart.sh --once --files 1000 --state "$work/state" >"$work/out" 2>"$work/err" || fail "second time: exit status $?"
