#include "engine/base/matrix.h"
#include "engine/workload/throughput.h"
#include "engine/workload/workload.h"
#include "tests/unit/place.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum { ALL_OPERATIONS = (1 << DO_COUNT) - 1 };
static const char *const phases[] = { "write",  "rewrite",       "read",
                                      "reread", "random-read",   "random-write",
                                      "mixed",  "backward-read", "stride-read" };

/* Presets, and then "name=value name=value". */
static struct throughput params_of(const char *text)
{
    struct throughput with = { 0 };
    const struct field *table = workload_find("throughput")->params;
    char words[256], *rest = words;
    must(fields_preset(table, &with, &unmet));
    snprintf(words, sizeof words, "%s", text);
    for (char *word; (word = strsep(&rest, " "));) {
        char *value = strchr(word, '=');
        *value++ = 0;
        must(field_parse(field_named(table, word), value, word, &with, &unmet));
    }
    return with;
}

static enum job_state execute(struct place *place, const struct throughput *with,
                              struct problem *why)
{
    const struct workload *workload = workload_find("throughput");
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    if (workload->check(with, NULL, why))
        return JOB_FAILED;
    return run_execute(place_run(place, -1), workload, with, why);
}

static enum cleanup_state clean(struct place *place, const struct throughput *with)
{
    enum cleanup_state state = CLEANUP_BLOCKED;
    must(run_clean(place->run, workload_find("throughput"), with, &state, &unmet));
    return state;
}

static const struct phase_total *phase_named(const struct place *place, const char *name)
{
    size_t n;
    const struct phase_total *all = run_phases(place->run, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    fail_msg("there was no phase %s", name);
    return NULL;
}

/* The samples of a phase add up to what it says, each follows on its lane's last one, and the load is the
 * bytes so far. */
static void assert_adds_up(const struct place *place, const char *phase, uint64_t ops,
                           uint64_t bytes)
{
    scoped_series struct series series;
    uint64_t sum_ops = 0, sum_bytes = 0;
    nsec ends[1024] = { 0 }, at = -1;
    series_read(place, phase, &series);
    for (size_t i = 0; i < series.n; i++) {
        const struct sample *s = &series.samples[i];
        sum_ops += s->ops;
        sum_bytes += s->bytes;
        if (s->load != sum_bytes || s->at < at || s->ops == 0 || s->elapsed <= 0 ||
            s->at - s->elapsed < ends[s->lane] || s->p50 > s->p99 || s->p99 > s->max)
            fail_msg("%s: sample %zu of lane %u: load %llu of %llu, from %lld to %lld", phase, i,
                     s->lane, (unsigned long long)s->load, (unsigned long long)sum_bytes,
                     (long long)(s->at - s->elapsed), (long long)s->at);
        ends[s->lane] = at = s->at;
    }
    const struct phase_total *total = &series.total;
    if (sum_ops != total->ops || sum_bytes != total->bytes || total->latency.count != total->ops ||
        total->ops != ops || total->bytes != bytes)
        fail_msg("%s: samples have %llu operations and %llu bytes, the phase %llu and %llu, and "
                 "%llu and %llu were asked for",
                 phase, (unsigned long long)sum_ops, (unsigned long long)sum_bytes,
                 (unsigned long long)total->ops, (unsigned long long)total->bytes,
                 (unsigned long long)ops, (unsigned long long)bytes);
    assert_true(total->first_start >= 0 && total->first_start < total->first_done);
    assert_true(total->first_done <= total->last_done && total->last_done == at);
    assert_true(total->first_ops > 0 && total->first_ops <= ops && total->first_bytes <= bytes);
}

static void assert_whole_run(const char *text)
{
    struct throughput with = params_of(text);
    struct problem why = { 0 };
    void *own = NULL;
    with.operations = ALL_OPERATIONS;
    assert_int_equal(place_setup(&own), 0);
    struct place *place = own;
    if (execute(place, &with, &why) != JOB_SUCCEEDED)
        fail_msg("%s: %s", text, why.message);
    uint64_t ops = data_records(&with) * with.threads;
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        assert_adds_up(place, phases[i], ops, ops * with.record_bytes);
    assert_int_equal(clean(place, &with), CLEANUP_DONE);
    assert_int_equal(faccessat(place->folder, "run", F_OK, 0), -1);
    place_teardown(&own);
}

static bool have_uring(void)
{
    const struct throughput with = params_of("backend=uring");
    const struct io_backend *uring = io_backend_at(with.backend);
    const struct io_options options = { .folder = -1, .depth = 1 };
    struct io_session *session = NULL;
    struct problem why = { 0 };
    int result = uring->open(&options, &session, &why);
    if (result)
        print_message("skipped: %s\n", why.message);
    else
        uring->close(session);
    return result == 0;
}

static void samples_add_up_for_every_operation_and_backend(void **state)
{
    (void)state;
    static const char *const layouts[] = { "private", "shared-segments", "shared-interleaved" };
    static const char *const backends[] = {
        "backend=posix",
        "backend=posix verify=yes threads=1",
        "backend=posix sync=data sync_at=record",
        "backend=posix sync=full compressible_percent=50",
        "backend=uring queue_depth=8 verify=yes",
        "backend=uring queue_depth=1 sync=data",
        "backend=uring queue_depth=5 sync=full sync_at=record verify=yes",
    };
    bool uring = have_uring();
    for (size_t layout = 0; layout < COUNT_OF(layouts); layout++)
        for (size_t i = 0; i < COUNT_OF(backends); i++) {
            char text[256];
            snprintf(text, sizeof text,
                     "file_bytes=768KiB record_bytes=4KiB threads=3 interval=0.01 layout=%s %s",
                     layouts[layout], backends[i]);
            if (uring || !strstr(text, "uring"))
                assert_whole_run(text);
        }
}

static void samples_add_up_with_64_lanes_of_32_operations_each(void **state)
{
    (void)state;
    if (have_uring())
        assert_whole_run("file_bytes=256KiB record_bytes=4KiB threads=64 queue_depth=32 "
                         "backend=uring interval=0.01 verify=yes");
}

static void a_null_target_goes_through_every_operation(void **state)
{
    struct place *place = *state;
    struct throughput with = params_of("file_bytes=64MiB threads=2 verify=yes");
    struct problem why = { 0 };
    with.operations = ALL_OPERATIONS;
    if (run_execute(place_run(place, -1), workload_find("throughput"), &with, &why) !=
        JOB_SUCCEEDED)
        fail_msg("%s", why.message);
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        assert_adds_up(place, phases[i], 128, 128 << 20);
}

static void every_order_has_each_record_once(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 1, 2, 3, 7, 8, 9, 100, 4097 };
    struct throughput with = params_of("stride=8");
    for (int operation = 0; operation < DO_COUNT; operation++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            struct order order;
            uint64_t n = sizes[s], in_place = 0;
            scoped_free bool *seen = calloc(n, sizeof *seen);
            order_init(&order, &with, (enum throughput_operation)operation, 0, n);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t at = order_next(&order);
                if (at >= n || seen[at])
                    fail_msg("%s of %llu: number %llu is %llu", phases[operation],
                             (unsigned long long)n, (unsigned long long)i, (unsigned long long)at);
                seen[at] = true;
                in_place += at == i;
            }
            assert_true(order_left(&order) == 0);
            if (operation == DO_RANDOM_READ && n > 1000)
                assert_true(in_place < 12); /* one is expected by chance */
        }
}

static void a_random_order_leaves_no_trend(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct scatter scatter;
    double sum = 0, apart = 0, before = 0;
    scatter_init(&scatter, N, 7);
    for (uint64_t i = 0; i < N; i++) {
        double at = (double)scatter_of(&scatter, i);
        sum += at * (double)i;
        apart += i ? (at > before ? at - before : before - at) : 0;
        before = at;
    }
    /* means of two independent uniform orders: N^3 / 4, and N / 3 from one to the next */
    assert_true(sum > 0.245 * N * N * (double)N && sum < 0.255 * N * N * (double)N);
    assert_true(apart / N > 0.31 * N && apart / N < 0.36 * N);
}

static void every_layout_covers_the_file_once(void **state)
{
    (void)state;
    static const char *const layouts[] = { "shared-segments", "shared-interleaved" };
    for (size_t layout = 0; layout < COUNT_OF(layouts); layout++) {
        char text[128];
        snprintf(text, sizeof text, "file_bytes=96KiB record_bytes=4KiB threads=3 layout=%s",
                 layouts[layout]);
        const struct throughput with = params_of(text);
        bool seen[24] = { false };
        assert_true(data_records(&with) == 8 && data_files(&with) == 1);
        for (unsigned lane = 0; lane < 3; lane++)
            for (uint64_t i = 0; i < 8; i++) {
                uint64_t at = data_offset(&with, lane, i) / 4096;
                assert_true(at < 24 && !seen[at]);
                seen[at] = true;
            }
    }
}

/* --- verify --- */

static void a_flipped_byte_is_found_at_its_offset(void **state)
{
    (void)state;
    static const size_t lengths[] = { 512, 4096, 8192, 12800, 65536 };
    static const char *const shares[] = { "compressible_percent=0", "compressible_percent=50",
                                          "compressible_percent=100" };
    static char data[65536];
    for (size_t share = 0; share < COUNT_OF(shares); share++)
        for (size_t l = 0; l < COUNT_OF(lengths); l++) {
            const struct throughput with = params_of(shares[share]);
            struct content content;
            struct mismatch wrong;
            size_t n = lengths[l];
            uint64_t offset = 17 * n;
            content_init(&content, &with, 3);
            content_fill(&content, data, n, offset, DO_REWRITE);
            assert_true(content_check(&content, data, n, offset, &wrong));
            for (size_t i = 0; i < n; i += i < 40 ? 1 : 61) {
                uint8_t was = (uint8_t)data[i];
                data[i] = (char)(was ^ 0x10);
                if (content_check(&content, data, n, offset, &wrong))
                    fail_msg("byte %zu of %zu was wrong and not seen", i, n);
                if (wrong.offset != offset + i || wrong.expected != was ||
                    wrong.found != (was ^ 0x10))
                    fail_msg("byte %zu of %zu: told %llu, %02x for %02x", i, n,
                             (unsigned long long)wrong.offset, wrong.found, wrong.expected);
                data[i] = (char)was;
            }
            /* what belongs elsewhere is wrong although it is whole */
            if (content.random)
                assert_false(content_check(&content, data, n, offset + n, &wrong));
        }
}

static void noise_is_incompressible_as_far_as_it_is_asked_to_be(void **state)
{
    (void)state;
    static char data[65536];
    for (uint64_t percent = 0; percent <= 100; percent += 25) {
        struct throughput with = params_of("seed=5");
        struct content content;
        size_t zeros = 0, per_value[256] = { 0 };
        with.compressible_percent = percent;
        content_init(&content, &with, 0);
        content_noise(&content, data, sizeof data, 1);
        for (size_t i = 0; i < sizeof data; i++)
            per_value[(uint8_t)data[i]]++;
        zeros = per_value[0];
        double expected =
            (double)sizeof data * ((double)percent / 100 + (1 - (double)percent / 100) / 256);
        assert_true((double)zeros > 0.97 * expected - 100 && (double)zeros < 1.03 * expected + 100);
    }
}

/* A rate that leaves time to change the file while it is read. */
static void a_byte_that_changed_on_the_target_fails_the_run(void **state)
{
    struct place *place = *state;
    struct throughput with = params_of("file_bytes=64KiB record_bytes=4KiB verify=yes");
    struct problem why = { 0 };
    with.operations = 1 << DO_WRITE;
    assert_int_equal(execute(place, &with, &why), JOB_SUCCEEDED);
    int folder = workspace_fd(place->workspace);
    scoped_fd int fd = openat(folder, "f0000000000", O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, 40000), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, 40000), 1);
    uint64_t made = 16;
    const struct io_backend *backend = io_backend_at(with.backend);
    struct site site = { .with = &with,
                         .backend = backend,
                         .options = { .folder = folder, .depth = 1, .patience = NSEC_PER_SEC },
                         .made = &made,
                         .operation = DO_READ };
    const struct phase read = { .name = "read",
                                .unit = "bytes",
                                .lanes = 1,
                                .total = 65536,
                                .batch = 1,
                                .interval = NSEC_PER_SEC,
                                .stride = 1,
                                .body = throughput_lane,
                                .arg = &site };
    char expected[200];
    bool limited;
    assert_int_equal(run_phase(place->run, &read, &limited, &why), -1);
    snprintf(expected, sizeof expected,
             "phase read: operation 9: f0000000000 has a wrong byte at offset 40000: expected "
             "0x%02x, found 0x%02x",
             byte ^ 1, byte);
    assert_string_equal(why.message, expected);
    assert_int_equal(clean(place, &with), CLEANUP_DONE);
}

/* --- rates, limits --- */

static void a_bounded_rate_is_kept_and_waiting_counts_as_latency(void **state)
{
    (void)state;
    static const char *const backends[] = { "backend=posix", "backend=uring queue_depth=4" };
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        char text[200];
        struct problem why = { 0 };
        void *own = NULL;
        snprintf(text, sizeof text,
                 "file_bytes=256KiB record_bytes=4KiB threads=2 rate_limit=1MiB %s", backends[i]);
        const struct throughput with = params_of(text);
        if (i && !have_uring())
            return;
        assert_int_equal(place_setup(&own), 0);
        struct place *place = own;
        if (execute(place, &with, &why) != JOB_SUCCEEDED)
            fail_msg("%s: %s", text, why.message);
        const struct phase_total *read = phase_named(place, "read");
        /* 512 KiB at 1 MiB/s: the last operation is due after all but one's share of half a second */
        assert_true(read->paced && phase_seconds(read) > 0.48);
        assert_true(read->latency.min > 0 && read->latency.max < NSEC_PER_SEC);
        assert_int_equal(clean(place, &with), CLEANUP_DONE);
        place_teardown(&own);
    }
}

static void a_deadline_is_a_limit_with_what_was_done_and_later_phases_go_over_that(void **state)
{
    struct place *place = *state;
    const struct throughput with =
        params_of("file_bytes=64MiB record_bytes=64KiB threads=2 rate_limit=20MiB "
                  "max_seconds=0.3 interval=0.1 verify=yes");
    struct problem why = { 0 };
    if (execute(place, &with, &why) != JOB_SUCCEEDED)
        fail_msg("%s", why.message);
    const struct phase_total *write = phase_named(place, "write"),
                             *read = phase_named(place, "read");
    assert_true(write->limit.reached && write->limit.reason == LIMIT_DEADLINE);
    assert_true(write->bytes > 0 && write->bytes < write->total);
    assert_true(write->limit.at == write->bytes);
    assert_true(read->total == write->bytes);
    assert_adds_up(place, "write", write->ops, write->bytes);
    assert_int_equal(clean(place, &with), CLEANUP_DONE);
}

static void the_flush_is_within_the_time_and_also_told_apart(void **state)
{
    struct place *place = *state;
    const struct throughput with = params_of("file_bytes=4MiB record_bytes=64KiB sync=full");
    struct problem why = { 0 };
    if (execute(place, &with, &why) != JOB_SUCCEEDED)
        fail_msg("%s", why.message);
    const struct phase_total *write = phase_named(place, "write");
    assert_true(write->sync > 0 && write->sync < write->last_done - write->first_start);
    assert_true(phase_named(place, "read")->sync == 0);
    assert_int_equal(clean(place, &with), CLEANUP_DONE);
}

/* --- caches --- */

static void what_is_cold_is_not_in_memory(void **state)
{
    struct place *place = *state;
    struct throughput with = params_of("file_bytes=4MiB record_bytes=64KiB cache=cold");
    struct problem why = { 0 };
    struct statfs facts;
    with.operations = 1 << DO_WRITE | 1 << DO_READ | 1 << DO_REREAD;
    assert_int_equal(fstatfs(place->folder, &facts), 0);
    enum job_state outcome = execute(place, &with, &why);
    if (facts.f_type == TMPFS_MAGIC) {
        assert_int_equal(outcome, JOB_FAILED);
        assert_string_equal(why.message, "cache cannot be cold: this filesystem lives in memory");
    } else {
        if (outcome != JOB_SUCCEEDED)
            fail_msg("%s", why.message);
        assert_true(phase_named(place, "read")->resident == 0);
        assert_string_equal(phase_named(place, "read")->cache, "fadvise");
        assert_true(phase_named(place, "reread")->resident == 4 << 20);
        assert_string_equal(phase_named(place, "reread")->cache, "warm");
    }
    assert_int_equal(clean(place, &with), CLEANUP_DONE);
}

static void a_file_in_memory_is_told_byte_for_byte(void **state)
{
    struct place *place = *state;
    const struct throughput with = params_of("file_bytes=1MiB record_bytes=4KiB threads=3");
    struct problem why = { 0 };
    if (execute(place, &with, &why) != JOB_SUCCEEDED)
        fail_msg("%s", why.message);
    assert_true(phase_named(place, "read")->resident == 3 << 20);
    assert_true(phase_named(place, "write")->resident == 0);
    assert_int_equal(clean(place, &with), CLEANUP_DONE);
}

/* --- what is refused --- */

static void refuses_rules_that_span_fields(void **state)
{
    (void)state;
    static char name[] = "t", nobody[] = "nobody";
    static const struct target nothing = { .name = name, .run_as = nobody };
    static const struct target fadvise = { .name = name, .cold = COLD_FADVISE };
    static const struct target remount = { .name = name, .cold = COLD_REMOUNT };
    static const struct {
        const char *params;
        const struct target *target;
        const char *field; /* NULL: allowed */
    } cases[] = {
        { "seed=1", NULL, NULL },
        { "operations=read", NULL, "/params/operations" },
        { "record_bytes=1000", NULL, "/params/record_bytes" },
        { "file_bytes=1MiB record_bytes=768KiB", NULL, "/params/file_bytes" },
        { "file_bytes=1MiB record_bytes=512KiB threads=3", NULL, NULL },
        { "file_bytes=1MiB record_bytes=512KiB threads=3 layout=shared-segments", NULL,
          "/params/file_bytes" },
        { "queue_depth=2", NULL, "/params/queue_depth" },
        { "queue_depth=2 backend=uring", NULL, NULL },
        { "record_bytes=64MiB file_bytes=64MiB threads=32", NULL, "/params/record_bytes" },
        { "cache=cold", NULL, NULL },
        { "cache=cold", &fadvise, NULL },
        { "cache=cold", &nothing, "/params/cache" },
        { "cache=cold", &remount, "/params/cache" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct throughput with = params_of(cases[i].params);
        struct problem why = { 0 };
        int result = workload_find("throughput")->check(&with, cases[i].target, &why);
        if (result != (cases[i].field ? -1 : 0) ||
            strcmp(why.field, cases[i].field ? cases[i].field : "") != 0)
            fail_msg("%s: %d, %s: %s", cases[i].params, result, why.field, why.message);
    }
}

static void what_was_not_made_by_the_run_is_left(void **state)
{
    struct place *place = *state;
    const struct throughput with = params_of("file_bytes=64KiB record_bytes=4KiB threads=2");
    struct problem why = { 0 };
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    close(openat(workspace_fd(place->workspace), "f0000000001", O_CREAT | O_WRONLY, 0600));
    close(openat(workspace_fd(place->workspace), "letter", O_CREAT | O_WRONLY, 0600));
    assert_int_equal(run_execute(place_run(place, -1), workload_find("throughput"), &with, &why),
                     JOB_FAILED);
    assert_string_equal(why.message, "f0000000001 is there already");
    assert_int_equal(clean(place, &with), CLEANUP_BLOCKED);
    size_t n;
    run_foreign_names(place->run, &n);
    assert_int_equal(n, 2);
    assert_int_equal(run_removed_count(place->run), 1);
    unlinkat(workspace_fd(place->workspace), "f0000000001", 0);
    unlinkat(workspace_fd(place->workspace), "letter", 0);
    assert_int_equal(clean(place, &with), CLEANUP_DONE);
}

static void a_ladder_has_the_powers_of_two_up_to_the_value(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        uint64_t points;
    } cases[] = {
        { "ladder=none threads=4", 1 },
        { "ladder=threads threads=4", 3 },
        { "ladder=threads threads=6", 4 },
        { "ladder=threads threads=1", 1 },
        { "ladder=record_bytes record_bytes=64KiB", 5 },
        { "ladder=both threads=2 record_bytes=16KiB", 6 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct throughput with = params_of(cases[i].params);
        const struct workload *workload = workload_find("throughput");
        scoped(matrix_done) struct matrix matrix = { .table = workload->params,
                                                     .object_size = workload->params_size };
        must(workload->ladder(&with, &matrix, &unmet));
        if (matrix_points(&matrix) != cases[i].points)
            fail_msg("%s: %llu points", cases[i].params,
                     (unsigned long long)matrix_points(&matrix));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_add_up_for_every_operation_and_backend),
        cmocka_unit_test(samples_add_up_with_64_lanes_of_32_operations_each),
        at_a_place(a_null_target_goes_through_every_operation),
        cmocka_unit_test(every_order_has_each_record_once),
        cmocka_unit_test(a_random_order_leaves_no_trend),
        cmocka_unit_test(every_layout_covers_the_file_once),
        cmocka_unit_test(a_flipped_byte_is_found_at_its_offset),
        cmocka_unit_test(noise_is_incompressible_as_far_as_it_is_asked_to_be),
        at_a_place(a_byte_that_changed_on_the_target_fails_the_run),
        cmocka_unit_test(a_bounded_rate_is_kept_and_waiting_counts_as_latency),
        at_a_place(a_deadline_is_a_limit_with_what_was_done_and_later_phases_go_over_that),
        at_a_place(the_flush_is_within_the_time_and_also_told_apart),
        at_a_place(what_is_cold_is_not_in_memory),
        at_a_place(a_file_in_memory_is_told_byte_for_byte),
        cmocka_unit_test(refuses_rules_that_span_fields),
        at_a_place(what_was_not_made_by_the_run_is_left),
        cmocka_unit_test(a_ladder_has_the_powers_of_two_up_to_the_value),
    };
    return cmocka_run_group_tests_name("throughput", tests, NULL, NULL);
}
