#!/usr/bin/env bash
# tests/vectors.sh [DIR]: builds check-vectors and runs it over a folder of vectors (default: ours).
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
dir=$(cd "${1:-$top/tests/vectors}" && pwd)
build=${PLIMSOLL_BUILD:-$top/build/release}
[ -f "$build/build.ninja" ] || cmake -S "$top" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
cmake --build "$build" --target check-vectors >/dev/null
exec "$build/bin/check-vectors" "$dir"
