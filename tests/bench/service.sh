# shellcheck shell=bash disable=SC2154
# ingest, series, api, startup and overhead: the store and the whole service; sourced by run.sh. The
# daemon is started as the end-to-end tests start it (tests/e2e/daemon.mjs), from the release build.

# `ingest` prints lines `NAME VALUE UNIT`; the bench is the part before a dash. Its database writes to disk
# as the product's does.
bench_store() {
    local round name value unit
    for ((round = 1; round <= (rounds < 5 ? rounds : 5); round++)); do
        say "store: round $round"
        PLIMSOLL_TEST_FSYNC=on "$root/tests/store/with_postgres.sh" "$bin/ingest" >"$work/out"
        while read -r name value unit; do
            if asked "${name%%-*}"; then record "${name%%-*}" "$name" plimsoll $round "$value" "$unit"; fi
        done <"$work/out"
    done
}

bench_service() {
    local wanted=() name
    for name in api startup overhead; do asked $name && wanted+=("$name"); done
    ! asked api || command -v wrk >/dev/null || fail "api needs wrk (apt-get install wrk)"
    mkdir -p "$work/scratch"
    ! asked overhead || { place_images; mount_fresh tmpfs "$work/scratch"; }
    PLIMSOLL_RELEASE_BIN=$bin node "$here/service.mjs" --bin "$bin" --scratch "$work/scratch" \
        --rounds "$rounds" --files "$files" "${wanted[@]}" >>"$work/results"
    ! asked overhead || unmount "$work/scratch"
}
