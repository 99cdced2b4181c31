#include "engine/workload/create_scaling.h"
#include "engine/workload/permutation.h"
#include "engine/workload/workload.h"
#include "tests/unit/place.h"

#include <errno.h>
#include <sys/stat.h>

static void names_count_up_as_numbers_do(void **state)
{
    (void)state;
    static const uint64_t starts[] = { 0, 8, 99, 999, 1999999999, 9999999990 };
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        const struct create_scaling with = { .name_length = i % 2 ? 40 : 0 };
        char counted[NAME_ROOM], made[NAME_ROOM];
        file_name_begin(counted, &with);
        file_name_begin(made, &with);
        file_name(counted, PREFIX_MADE, starts[i]);
        for (uint64_t n = starts[i]; n < starts[i] + 9; n++) {
            file_name(made, PREFIX_MADE, n);
            assert_string_equal(counted, made);
            assert_int_equal(strlen(counted), i % 2 ? 40 : NAME_LEAST);
            assert_int_equal(strtoull(counted + 1, NULL, 10), n);
            file_name_next(counted);
        }
    }
}

static void what_exists_is_what_was_claimed_without_the_gaps(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct extent extents[3];
        size_t pieces;
        struct piece expected[4];
    } cases[] = {
        { "nothing", { { 0 } }, 0, { { 0 } } },
        { "all whole", { { .end = 100 }, { .end = 300 }, { .end = 200 } }, 1, { { 0, 300, 0 } } },
        { "the last one ended early",
          { { .end = 100 }, { .end = 300, .gap_first = 250, .gap_end = 300 } },
          1,
          { { 0, 250, 0 } } },
        { "two gaps, told in any order",
          { { .end = 300, .gap_first = 205, .gap_end = 300 },
            { .end = 200, .gap_first = 110, .gap_end = 200 },
            { .end = 400 } },
          3,
          { { 0, 110, 0 }, { 200, 5, 110 }, { 300, 100, 115 } } },
        { "gaps side by side",
          { { .end = 200, .gap_first = 100, .gap_end = 200 },
            { .end = 300, .gap_first = 200, .gap_end = 300 } },
          1,
          { { 0, 100, 0 } } },
        { "nothing of the first batch",
          { { .end = 100, .gap_first = 0, .gap_end = 100 }, { .end = 200 } },
          1,
          { { 100, 100, 0 } } },
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct manifest manifest;
        must(manifest_new(cases[c].extents, 3, &manifest, &unmet));
        uint64_t files = 0;
        if (manifest.n != cases[c].pieces)
            fail_msg("%s: %zu pieces, not %zu", cases[c].name, manifest.n, cases[c].pieces);
        for (size_t i = 0; i < manifest.n; i++) {
            assert_memory_equal(&manifest.pieces[i], &cases[c].expected[i], sizeof(struct piece));
            assert_ptr_equal(manifest_find(&manifest, files), &manifest.pieces[i]);
            files += manifest.pieces[i].n;
            assert_ptr_equal(manifest_find(&manifest, files - 1), &manifest.pieces[i]);
        }
        assert_true(manifest.files == files);
        manifest_done(&manifest);
    }
}

static void a_random_order_has_every_number_once_and_depends_on_its_seed(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 100, 4096, 4097, 100000 };
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        struct permutation one, other;
        uint64_t n = sizes[s], same = 0, in_place = 0;
        permutation_init(&one, n, 1);
        permutation_init(&other, n, 2);
        bool *seen = calloc(n, sizeof *seen);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at = permutation_of(&one, i);
            if (at >= n || seen[at])
                fail_msg("of %llu: number %llu gives %llu", (unsigned long long)n,
                         (unsigned long long)i, (unsigned long long)at);
            seen[at] = true;
            assert_true(permutation_of(&one, i) == at);
            same += permutation_of(&other, i) == at;
            in_place += at == i;
        }
        free(seen);
        if (n >= 100) /* one of each is expected by chance */
            assert_true(same < 12 && in_place < 12);
    }
}

static void a_random_order_leaves_no_trend(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct permutation permutation;
    double sum = 0, apart = 0, before = 0;
    permutation_init(&permutation, N, 7);
    for (uint64_t i = 0; i < N; i++) {
        double at = (double)permutation_of(&permutation, i);
        sum += at * (double)i;
        apart += i ? (at > before ? at - before : before - at) : 0;
        before = at;
    }
    /* means of two independent uniform orders: N^3 / 4, and N / 3 from one to the next */
    assert_true(sum > 0.248 * N * N * (double)N && sum < 0.252 * N * N * (double)N);
    assert_true(apart / N > 0.32 * N && apart / N < 0.35 * N);
}

static void refuses_rules_that_span_fields(void **state)
{
    (void)state;
    static const struct {
        struct create_scaling with;
        const char *field; /* NULL: allowed */
    } cases[] = {
        { { .files = 1, .threads = 1, .operations = OPERATION_CREATE }, NULL },
        { { .files = 10, .threads = 11, .operations = OPERATION_CREATE }, "/params/threads" },
        { { .files = 10, .threads = 1, .operations = OPERATION_STAT }, "/params/operations" },
        { { .files = 10, .threads = 1, .operations = 0 }, "/params/operations" },
        { { .files = 10,
            .threads = 1,
            .operations = OPERATION_CREATE,
            .create_call = CREATE_BY_MKNOD },
          NULL },
        { { .files = 10,
            .threads = 1,
            .operations = OPERATION_CREATE,
            .create_call = CREATE_BY_MKNOD,
            .file_bytes = 1 },
          "/params/file_bytes" },
        { { .files = 10,
            .threads = 1,
            .operations = OPERATION_CREATE,
            .create_call = CREATE_BY_MKNOD,
            .sync = SYNC_FSYNC },
          "/params/sync" },
        { { .files = 10,
            .threads = 1,
            .operations = OPERATION_CREATE,
            .stop_when_slower_than = 0.5 },
          "/params/stop_when_slower_than" },
        { { .files = 10,
            .threads = 1,
            .operations = OPERATION_CREATE | OPERATION_REMOVE,
            .keep_files = true },
          "/params/keep_files" },
        { { .files = 10, .threads = 1, .operations = OPERATION_CREATE, .keep_files = true }, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem why = { 0 };
        int result = workload_find("create-scaling")->check(&cases[i].with, NULL, &why);
        assert_int_equal(result, cases[i].field ? -1 : 0);
        assert_string_equal(why.field, cases[i].field ? cases[i].field : "");
    }
}

static void refuses_a_cold_cache_that_the_target_does_not_allow(void **state)
{
    (void)state;
    static char scratch[] = "scratch", nobody[] = "nobody", root[] = "root";
    static const struct {
        struct target target;
        const char *message; /* a part of it; NULL: allowed */
    } cases[] = {
        { { .name = scratch, .cold = COLD_DROP_CACHES }, NULL },
        { { .name = scratch, .cold = COLD_DROP_CACHES | COLD_FADVISE, .run_as = root }, NULL },
        { { .name = scratch, .cold = COLD_FADVISE }, "does not allow drop-caches" },
        { { .name = scratch, .cold = COLD_REMOUNT }, "a plain directory cannot be remounted" },
        { { .name = scratch, .cold = COLD_DROP_CACHES, .run_as = nobody }, "runs as nobody" },
    };
    const struct create_scaling with = {
        .files = 10, .threads = 1, .operations = OPERATION_CREATE, .cache = CACHE_COLD
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem why = { 0 };
        int result = workload_find("create-scaling")->check(&with, &cases[i].target, &why);
        assert_int_equal(result, cases[i].message ? -1 : 0);
        if (cases[i].message && !strstr(why.message, cases[i].message))
            fail_msg("case %zu: %s", i, why.message);
        assert_string_equal(why.field, cases[i].message ? "/params/cache" : "");
    }
}

static void refuses_what_has_no_meaning_on_an_nfs_server(void **state)
{
    (void)state;
    static char filer[] = "filer";
    static const struct target target = { .name = filer,
                                          .kind = TARGET_NFS,
                                          .cold = COLD_DROP_CACHES };
    static const struct {
        struct create_scaling with;
        const char *field; /* NULL: allowed */
    } cases[] = {
        { { .sync = SYNC_NONE }, NULL },
        { { .sync = SYNC_FSYNC, .file_bytes = 10, .layout = LAYOUT_FANOUT }, NULL },
        { { .sync = SYNC_OPEN, .keep_files = true }, NULL },
        { { .sync = SYNC_DIRECTORY }, "/params/sync" },
        { { .create_call = CREATE_BY_MKNOD }, "/params/create_call" },
        { { .cache = CACHE_COLD }, "/params/cache" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct create_scaling with = cases[i].with;
        struct problem why = { 0 };
        with.files = with.threads = 1;
        with.operations = OPERATION_CREATE;
        int result = workload_find("create-scaling")->check(&with, &target, &why);
        assert_int_equal(result, cases[i].field ? -1 : 0);
        assert_string_equal(why.field, cases[i].field ? cases[i].field : "");
        if (cases[i].field && !strstr(why.message, "on an NFS server"))
            fail_msg("case %zu: %s", i, why.message);
    }
}

/* --- whole runs in a real folder --- */

static enum job_state execute(struct place *place, struct create_scaling with, struct problem *why)
{
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    return run_execute(place_run(place, -1), workload_find("create-scaling"), &with, why);
}

static enum cleanup_state clean(struct place *place, struct create_scaling with)
{
    enum cleanup_state state = CLEANUP_NONE;
    must(run_clean(place->run, workload_find("create-scaling"), &with, &state, &unmet));
    return state;
}

static void assert_phases(const struct place *place, uint64_t files, uint64_t bytes)
{
    static const char *const names[] = { "create", "list", "stat", "open", "rename", "remove" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        scoped_series struct series series;
        series_read(place, names[i], &series);
        series_holds(&series);
        if (series.total.ops != files)
            fail_msg("%s: %llu of %llu", names[i], (unsigned long long)series.total.ops,
                     (unsigned long long)files);
        assert_true(series.total.bytes == (i == 0 ? bytes : 0));
    }
}

static void goes_through_its_phases_and_leaves_nothing(void **state)
{
    (void)state;
    static const struct create_scaling cases[] = {
        { .files = 2050, .batch = 100, .threads = 1 },
        { .files = 2050, .batch = 7, .threads = 3 },
        { .files = 2050, .batch = 100, .threads = 3, .layout = LAYOUT_PRIVATE },
        { .files = 300, .batch = 10, .threads = 2, .file_bytes = 200000, .sync = SYNC_FSYNC },
        { .files = 50, .batch = 10, .threads = 2, .file_bytes = 1, .sync = SYNC_OPEN },
        { .files = 50, .batch = 10, .threads = 1, .file_bytes = 5000, .sync = SYNC_DIRECTORY },
        { .files = 1, .batch = 1000000, .threads = 1 },
        { .files = 1500, .batch = 100, .threads = 2, .create_call = CREATE_BY_MKNOD },
        { .files = 300, .batch = 7, .threads = 2, .name_length = 255, .order = ORDER_RANDOM },
        { .files = 1500, .batch = 300, .threads = 2, .order = ORDER_RANDOM, .seed = 3 },
        { .files = 1500,
          .batch = 100,
          .threads = 3,
          .layout = LAYOUT_PRIVATE,
          .order = ORDER_RANDOM },
        { .files = 2050, .batch = 100, .threads = 2, .layout = LAYOUT_FANOUT, .directories = 7 },
        { .files = 50, .batch = 100, .threads = 1, .layout = LAYOUT_FANOUT, .directories = 3 },
        { .files = 1500,
          .batch = 10,
          .threads = 3,
          .layout = LAYOUT_FANOUT,
          .directories = 2,
          .name_length = 100,
          .order = ORDER_RANDOM },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct create_scaling with = cases[i];
        struct problem why = { 0 };
        void *own = NULL;
        assert_int_equal(place_setup(&own), 0);
        struct place *place = own;
        with.operations = OPERATION_CREATE | OPERATION_LIST | OPERATION_STAT | OPERATION_OPEN |
                          OPERATION_RENAME | OPERATION_REMOVE;
        if (execute(place, with, &why) != JOB_SUCCEEDED)
            fail_msg("case %zu: %s", i, why.message);
        assert_phases(place, with.files, with.files * with.file_bytes);
        assert_int_equal(clean(place, with), CLEANUP_DONE);
        assert_int_equal(faccessat(place->folder, "run", F_OK, 0), -1);
        place_teardown(&own);
    }
}

static void what_is_not_removed_by_a_phase_is_removed_by_clean_up(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    const struct create_scaling with = {
        .files = 3000, .batch = 100, .threads = 2, .operations = OPERATION_CREATE
    };
    assert_int_equal(execute(place, with, &why), JOB_SUCCEEDED);
    assert_int_equal(clean(place, with), CLEANUP_DONE);
    assert_int_equal(run_removed_count(place->run), 3000);
    assert_int_equal(clean(place, with), CLEANUP_DONE); /* and once more */
}

static void clean_up_knows_every_name_that_parameters_may_make(void **state)
{
    (void)state;
    static const struct create_scaling cases[] = {
        { .name_length = 255 },
        { .name_length = 200, .layout = LAYOUT_PRIVATE },
        { .layout = LAYOUT_FANOUT, .directories = 5 },
        { .layout = LAYOUT_FANOUT, .directories = 1000, .name_length = 30 },
    };
    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        struct create_scaling with = cases[i / 2];
        struct problem why = { 0 };
        void *own = NULL;
        with.files = 700;
        with.batch = 10;
        with.threads = 2;
        with.operations = OPERATION_CREATE | (i % 2 ? OPERATION_RENAME : 0);
        assert_int_equal(place_setup(&own), 0);
        struct place *place = own;
        if (execute(place, with, &why) != JOB_SUCCEEDED)
            fail_msg("case %zu: %s", i, why.message);
        if (clean(place, with) != CLEANUP_DONE)
            fail_msg("case %zu: clean-up left something", i);
        assert_int_equal(faccessat(place->folder, "run", F_OK, 0), -1);
        place_teardown(&own);
    }
}

static void touch(struct place *place, const char *name)
{
    scoped_fd int fd = openat(workspace_fd(place->workspace), name, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
}

static void assert_foreign(const struct place *place, const char *const *names, size_t n)
{
    size_t told_n;
    const char *const *told = run_foreign_names(place->run, &told_n);
    assert_int_equal(told_n, n);
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < told_n && strcmp(told[at], names[i]) != 0)
            at++;
        if (at == told_n)
            fail_msg("%s is not listed", names[i]);
        struct stat facts;
        assert_int_equal(
            fstatat(workspace_fd(place->workspace), names[i], &facts, AT_SYMLINK_NOFOLLOW), 0);
    }
}

static void a_file_that_was_there_before_fails_the_run_and_stays(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    const struct create_scaling with = {
        .files = 1000, .batch = 100, .threads = 1, .operations = OPERATION_CREATE
    };
    static const char *const names[] = { "f0000000345" };
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    touch(place, names[0]);
    assert_int_equal(
        run_execute(place_run(place, -1), workload_find("create-scaling"), &with, &why),
        JOB_FAILED);
    assert_string_equal(why.message,
                        "phase create: operation 345: cannot create f0000000345: File exists");
    assert_int_equal(clean(place, with), CLEANUP_BLOCKED);
    assert_foreign(place, names, 1);
    assert_int_equal(run_removed_count(place->run), 345);
    /* once somebody has taken it away, a repeated clean-up gets through */
    unlinkat(workspace_fd(place->workspace), names[0], 0);
    assert_int_equal(clean(place, with), CLEANUP_DONE);
}

static void a_rename_never_replaces_what_it_finds(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    const struct create_scaling with = {
        .files = 1000, .batch = 100, .threads = 1, .operations = OPERATION_CREATE | OPERATION_RENAME
    };
    static const char *const names[] = { "r0000000345" };
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    touch(place, names[0]);
    assert_int_equal(
        run_execute(place_run(place, -1), workload_find("create-scaling"), &with, &why),
        JOB_FAILED);
    assert_string_equal(why.message,
                        "phase rename: operation 345: cannot rename f0000000345: File exists");
    assert_int_equal(clean(place, with), CLEANUP_BLOCKED);
    assert_foreign(place, names, 1);
    assert_int_equal(run_removed_count(place->run), 1000);
    unlinkat(workspace_fd(place->workspace), names[0], 0);
    assert_int_equal(clean(place, with), CLEANUP_DONE);
}

static void files_are_removed_by_either_name_after_a_rename_that_ended_early(void **state)
{
    struct place *place = *state;
    bool limited;
    const struct create_scaling with = { .files = 100, .batch = 10, .threads = 1 };
    struct extent extent = { .end = 100, .made = 100 };
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    for (uint64_t i = 0; i < 100; i++) {
        char name[NAME_ROOM];
        file_name_begin(name, &with);
        file_name(name, i < 55 ? PREFIX_RENAMED : PREFIX_MADE, i);
        touch(place, name);
    }
    struct site site = { .with = &with,
                         .folder = workspace_fd(place->workspace),
                         .extents = &extent,
                         .prefix = PREFIX_RENAMED,
                         .visit = VISIT_REMOVE_EITHER };
    must(manifest_new(&extent, 1, &site.exist, &unmet));
    const struct phase remove = { .name = "remove",
                                  .unit = "files",
                                  .lanes = 1,
                                  .total = 100,
                                  .batch = 10,
                                  .body = visit_lane,
                                  .arg = &site };
    must(run_phase(place_run(place, -1), &remove, &limited, &unmet));
    manifest_done(&site.exist);
    assert_int_equal(workspace_remove(place->workspace, &(struct problem){ 0 }), 0);
}

static void a_null_target_goes_through_every_operation(void **state)
{
    (void)state;
    for (int order = ORDER_CREATED; order <= ORDER_RANDOM; order++) {
        struct problem why = { 0 };
        void *own = NULL;
        assert_int_equal(place_setup(&own), 0);
        struct place *place = own;
        const struct create_scaling with = { .files = 1000,
                                             .batch = 100,
                                             .threads = 2,
                                             .layout = LAYOUT_FANOUT,
                                             .directories = 4,
                                             .order = order,
                                             .operations = 63 };
        assert_int_equal(
            run_execute(place_run(place, -1), workload_find("create-scaling"), &with, &why),
            JOB_SUCCEEDED);
        size_t n;
        run_phases(place->run, &n);
        assert_int_equal(n, 5); /* there is nothing to list */
        place_teardown(&own);
    }
}

static void clean_up_leaves_and_lists_what_is_not_the_runs(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    const struct create_scaling with = { .files = 500,
                                         .batch = 100,
                                         .threads = 2,
                                         .layout = LAYOUT_PRIVATE,
                                         .operations = OPERATION_CREATE };
    static const char *const names[] = { "notes",       "d0000/notes",       "d0000/f0000000500",
                                         "d0001/f12",   "d0001/f000000000x", "d0002",
                                         "f0000000001", "d0000/f0000000400" };
    char strange[64];
    assert_int_equal(execute(place, with, &why), JOB_SUCCEEDED);
    int folder = workspace_fd(place->workspace);
    for (size_t i = 0; i < 5; i++)
        touch(place, names[i]);
    assert_int_equal(mkdirat(folder, "d0002", 0700), 0);
    assert_int_equal(symlinkat("/etc/passwd", folder, "f0000000001"), 0);
    unlinkat(folder, "d0000/f0000000400", 0); /* may have been made by the run, or not */
    assert_int_equal(symlinkat("/etc", folder, "d0000/f0000000400"), 0);
    assert_int_equal(clean(place, with), CLEANUP_BLOCKED);
    assert_foreign(place, names, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unlinkat(folder, names[i], strcmp(names[i], "d0002") == 0 ? AT_REMOVEDIR : 0);

    touch(place, "a\nb\xff"); /* any bytes, told as text */
    assert_int_equal(clean(place, with), CLEANUP_BLOCKED);
    size_t n;
    snprintf(strange, sizeof strange, "%s", run_foreign_names(place->run, &n)[0]);
    assert_int_equal(n, 1);
    assert_string_equal(strange, "a\\x0ab\\xff");
    unlinkat(folder, "a\nb\xff", 0);
    assert_int_equal(clean(place, with), CLEANUP_DONE);
}

static void a_name_that_the_run_never_came_to_is_not_its_own(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    struct create_scaling with = {
        .files = 100000, .batch = 10, .threads = 2, .operations = OPERATION_CREATE, .max_seconds = 1
    };
    static const char *const names[] = { "f0000099999", "f0000050000" };
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        touch(place, names[i]);
    assert_int_equal(
        run_execute(place_run(place, -1), workload_find("create-scaling"), &with, &why),
        JOB_SUCCEEDED);
    assert_int_equal(clean(place, with), CLEANUP_BLOCKED);
    assert_foreign(place, names, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unlinkat(workspace_fd(place->workspace), names[i], 0);
}

static void a_folder_in_the_place_of_the_run_directory_is_not_removed(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    assert_int_equal(renameat(place->folder, "run", place->folder, "moved"), 0);
    assert_int_equal(mkdirat(place->folder, "run", 0700), 0);
    assert_int_equal(workspace_remove(place->workspace, &why), -1);
    assert_int_equal(why.code, PROBLEM_CONFLICT);
    assert_int_equal(unlinkat(place->folder, "run", AT_REMOVEDIR), 0);
    assert_int_equal(workspace_remove(place->workspace, &why), 0); /* nothing has its name */
    assert_int_equal(renameat(place->folder, "moved", place->folder, "run"), 0);
    assert_int_equal(workspace_remove(place->workspace, &why), 0);
    assert_int_equal(faccessat(place->folder, "run", F_OK, 0), -1);
}

static void a_link_in_the_place_of_the_run_directory_is_not_followed(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    struct workspace *workspace = NULL;
    assert_int_equal(symlinkat("/etc", place->folder, "run"), 0);
    assert_int_equal(workspace_make(place->path, "run", &workspace, &why), -1);
    assert_int_equal(why.code, PROBLEM_CONFLICT);
    memset(&why, 0, sizeof why);
    assert_int_equal(workspace_find(place->path, "run", "", &workspace, &why), -1);
    assert_null(workspace);
    assert_int_equal(unlinkat(place->folder, "run", 0), 0);
    assert_int_equal(workspace_find(place->path, "run", "", &workspace, &why), 0);
}

static void nothing_left_is_good_news_only_where_the_run_worked(void **state)
{
    struct place *place = *state;
    char text[WORKSPACE_PLACE], elsewhere[96];
    struct workspace *workspace = NULL;
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    must(workspace_place(place->workspace, text, &unmet));
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", place->path);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    const struct {
        const char *name, *where, *run, *place;
        int result;
    } cases[] = {
        { "it stands where it was made", place->path, "run", text, 1 },
        { "it was removed from there", place->path, "gone", text, 0 },
        { "another folder", elsewhere, "run", text, -1 },
        { "another filesystem", "/proc", "run", text, -1 },
        { "not known where it worked", elsewhere, "run", "", 0 },
        { "moved by somebody, and found", place->path, "run", "0000000000000000:1", 1 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem why = { 0 };
        int result = workspace_find(cases[i].where, cases[i].run, cases[i].place, &workspace, &why);
        if (result != cases[i].result)
            fail_msg("%s: %d, not %d: %s", cases[i].name, result, cases[i].result, why.message);
        if (result < 0 && why.code != PROBLEM_CONFLICT)
            fail_msg("%s: %s", cases[i].name, why.message);
        workspace = workspace_close(workspace);
    }
    rmdir(elsewhere);
    assert_int_equal(unlinkat(place->folder, "run", AT_REMOVEDIR), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_count_up_as_numbers_do),
        cmocka_unit_test(what_exists_is_what_was_claimed_without_the_gaps),
        cmocka_unit_test(a_random_order_has_every_number_once_and_depends_on_its_seed),
        cmocka_unit_test(a_random_order_leaves_no_trend),
        cmocka_unit_test(refuses_rules_that_span_fields),
        cmocka_unit_test(refuses_a_cold_cache_that_the_target_does_not_allow),
        cmocka_unit_test(refuses_what_has_no_meaning_on_an_nfs_server),
        cmocka_unit_test(clean_up_knows_every_name_that_parameters_may_make),
        cmocka_unit_test(a_null_target_goes_through_every_operation),
        at_a_place(a_rename_never_replaces_what_it_finds),
        at_a_place(files_are_removed_by_either_name_after_a_rename_that_ended_early),
        cmocka_unit_test(goes_through_its_phases_and_leaves_nothing),
        at_a_place(what_is_not_removed_by_a_phase_is_removed_by_clean_up),
        at_a_place(a_file_that_was_there_before_fails_the_run_and_stays),
        at_a_place(clean_up_leaves_and_lists_what_is_not_the_runs),
        at_a_place(a_link_in_the_place_of_the_run_directory_is_not_followed),
        at_a_place(a_name_that_the_run_never_came_to_is_not_its_own),
        at_a_place(a_folder_in_the_place_of_the_run_directory_is_not_removed),
        at_a_place(nothing_left_is_good_news_only_where_the_run_worked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
