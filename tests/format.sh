#!/bin/bash
# Whether every C file is formatted as .clang-format says. Exits 1 naming those that are not, and
# 77 (skipped) where there is no clang-format. To format them: clang-format -i FILE...
set -euo pipefail
cd "$(dirname "$0")/.."

command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
mapfile -d '' files < <(find engine schema api service tests -path '*/node_modules' -prune -o \
    -name '*.[ch]' -print0)
[ ${#files[@]} -gt 0 ] || { echo "there are no C files"; exit 1; }
clang-format --dry-run -Werror "${files[@]}"
