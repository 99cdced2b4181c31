#!/bin/bash
# Who may include whom. Prints every violation as FILE:LINE and exits 1.
#   tests/layering.sh [ROOT]        the project at ROOT (default: this one)
#   tests/layering.sh --self-test   plants a violation of each rule in a copy and sees it found
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)

# Calls "$@" with each rule: which files it is about, which includes they may not have, which of
# those they may have all the same, why, and a violation to plant (file, include). The first three
# are extended regular expressions: of a path below the root; of what stands between the quotes or
# angle brackets; of "path include".
rules() {
    "$@" '^engine/' '^(schema|api|service)/' '^$' \
        'engine knows no folder to its right' engine/planted.c schema/store.h
    "$@" '^schema/' '^(api|service)/' '^$' \
        'schema knows no folder to its right' schema/planted.c api/app.h
    "$@" '^api/' '^service/' '^$' \
        'api knows no folder to its right' api/planted.c service/settings.h
    "$@" '.' '^(tests|web|packaging)/' '^$' \
        'the product does not include what stands beside it' service/planted.c tests/unit/folder.h
    "$@" '^engine/base/' '^engine/' ' engine/base/' \
        'base has no domain words, it includes only base' engine/base/planted.c engine/job.h
    "$@" '^(api|service)/' '^schema/' ' schema/store\.h$' \
        'store.h is the only public header of schema' api/planted.c schema/pool.h
    "$@" '^(engine|api|service)/' '^libpq' '^$' \
        'only schema speaks libpq' service/planted.c libpq-fe.h
    "$@" '^schema/store\.h$' '^(libpq|jansson)' '^$' \
        'what schema is made of does not show in its public header' schema/store.h libpq-fe.h
    "$@" '.' '^microhttpd\.h$' '^api/server(_[a-z]+)?\.[ch] ' \
        'only api/server*.c see libmicrohttpd' api/planted.c microhttpd.h
    "$@" '.' '^sodium[./]' '^api/' \
        'only api handles secrets' service/planted.c sodium.h
    "$@" '.' '^(curl|systemd)/' '^(service/|engine/restart\.c |engine/provision/ganesha\.c )' \
        'only service speaks to systemd and to other hosts, what restarts the machine, and what speaks to nfs-ganesha' api/planted.c systemd/sd-daemon.h
    "$@" '.' '^ini\.h$' '^engine/base/ini\.c ' \
        'only engine/base/ini.c sees inih' service/planted.c ini.h
    "$@" '.' '^liburing\.h$' '^engine/io/' \
        'only a backend issues I/O through io_uring' engine/planted.c liburing.h
    "$@" '^engine/(analysis|workload|io|provision)/' '^(jansson\.h|engine/base/field_json\.h)$' '^$' \
        'arithmetic, workloads and backends see structs, not JSON' \
        engine/workload/planted.c engine/base/field_json.h
    "$@" '^engine/analysis/' '^engine/(journal|run|target|io/|provision/|workload/)' '^$' \
        'analysis is pure arithmetic, without I/O' engine/analysis/planted.c engine/journal.h
}

# PATH:LINE:INCLUDE of every include below the current folder.
list_includes() {
    grep -rnE --include='*.c' --include='*.h' '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' \
        engine schema api service |
        sed -E 's/^([^:]+:[0-9]+):[^"<]*["<]([^">]+)[">].*/\1:\2/'
}

apply() {
    local files=$1 banned=$2 allowed=$3 why=$4 path line include
    while IFS=: read -r path line include; do
        if [[ $path =~ $files && $include =~ $banned && ! "$path $include" =~ $allowed ]]; then
            echo "$path:$line: includes $include, but $why"
        fi
    done <<<"$includes"
}

check() {
    local includes found
    cd "$1"
    includes=$(list_includes)
    found=$(rules apply)
    [ -z "$found" ] && return 0
    echo "$found"
    return 1
}

plant() {
    local file=$5 include=$6
    mkdir -p "$copy/$(dirname "$file")"
    printf '#include "%s"\n' "$include" >>"$copy/$file"
}

# Each planted include, in its file, by its own rule.
see() {
    local why=$4 file=$5 include=$6
    grep -F "$file:" <<<"$found" | grep -qF "includes $include, but $why" && return
    echo "not found: $file including $include ($why)"
    missed=1
}

# The copy is the project's own files, in which nothing is found before the planting.
self_test() {
    local found missed=0
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    (cd "$project" && find engine schema api service -name '*.[ch]' -print0 |
        tar --null -T - -cf -) | tar -C "$copy" -xf -
    (check "$copy") || { echo "the project itself violates its layers"; return 1; }
    rules plant
    found=$(check "$copy" || true)
    rules see
    [ $missed -eq 0 ] && echo "every planted violation was found"
    return $missed
}

case ${1:-} in
--self-test) self_test ;;
*) check "${1:-$project}" ;;
esac
