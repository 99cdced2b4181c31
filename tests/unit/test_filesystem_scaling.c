#include "engine/base/spawn.h"
#include "engine/lane.h"
#include "engine/ledger.h"
#include "engine/provision/provisioner.h"
#include "engine/workload/workload.h"
#include "tests/unit/place.h"

#include <sys/stat.h>
#include <sys/wait.h>

static void tools_words_tell_a_limit_from_a_failure(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        bool is;
        int reason;
    } cases[] = {
        { "zfs ended with status 1: cannot create 'p/f': out of space", true, LIMIT_SPACE },
        { "zfs ended with status 1: cannot create 'p/f': disk quota exceeded", true, LIMIT_QUOTA },
        { "mount ended with status 32: mount: /m: No space left on device", true, LIMIT_SPACE },
        { "mkdir: Too many links", true, LIMIT_LINKS },
        { "zfs ended with status 1: cannot create 'p/f': permission denied", false, 0 },
        { "zfs did not end within 60 s and was killed", false, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem words = { 0 };
        struct limit limit = { 0 };
        problem_set(&words, PROBLEM_IO_FAILED, "%s", cases[i].words);
        if (provision_limit(&words, &limit) != cases[i].is || limit.reason != cases[i].reason)
            fail_msg("%s: limit %d, reason %d", cases[i].words, limit.reached, limit.reason);
        if (cases[i].is)
            assert_string_equal(limit.detail, cases[i].words);
    }
}

static void what_was_told_of_what_was_made_is_read_back(void **state)
{
    struct place *place = *state;
    struct ledger *made = run_made(place_run(place, -1)), read = { 0 };
    struct journal_reader *reader = NULL;
    const struct journal_record *record;
    struct problem why = { 0 };
    char identity[IDENTITY];
    made->mark = UINT64_C(0xfedcba9876543210);
    made->group = 0x7fffffff;
    snprintf(made->parent, sizeof made->parent, "guid of the parent");
    snprintf(made->search, sizeof made->search, "/srv/pools");
    for (unsigned batch = 0; batch < 4; batch++) {
        made->claimed = 10 * (batch + 1);
        must(run_made_tell(place->run, &unmet)); /* before the batch is made */
        for (unsigned i = 0; i < 10; i++) {
            snprintf(identity, sizeof identity, "uuid %u", 10 * batch + i);
            must(ledger_add(made, identity, &unmet));
        }
    }
    must(journal_reader_open(place->file, 0, &reader, &unmet));
    while (journal_next(reader, &record, &why) > 0)
        if (record->kind == RECORD_MADE)
            must(journal_read_made(record, &read, &unmet));
    journal_reader_close(reader);
    assert_true(read.claimed == 40 && read.n == 30); /* the last batch died untold */
    assert_true(read.mark == UINT64_C(0xfedcba9876543210) && read.group == 0x7fffffff);
    assert_string_equal(read.parent, "guid of the parent");
    assert_string_equal(read.search, "/srv/pools");
    assert_string_equal(ledger_identity(&read, 29), "uuid 29");
    assert_string_equal(ledger_identity(&read, 30), "");
    ledger_done(&read);
}

/* Only root can make entries under a group that it has not. */
static void what_bears_another_mark_is_not_ours(void **state)
{
    struct place *place = *state;
    struct ledger *made;
    struct stat own, other;
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    made = run_made(place_run(place, -1));
    must(provision_begin(place->run, workspace_fd(place->workspace), &unmet));
    assert_true(made->mark != 0);
    assert_true(made->group == 0 || made->group >= 0x40000000);
    assert_int_equal(workspace_remove(place->workspace, &(struct problem){ 0 }), 0); /* empty */

    must(mkdirat(place->folder, "other", 0700));
    must(fstatat(place->folder, "other", &other, 0));
    must(unlinkat(place->folder, "other", AT_REMOVEDIR));
    provision_enter(made); /* this thread, which is the test's last */
    must(mkdirat(place->folder, "own", 0700));
    must(fstatat(place->folder, "own", &own, 0));
    must(unlinkat(place->folder, "own", AT_REMOVEDIR));
    assert_true(provision_owns(made, &own));
    assert_true(provision_owns(made, &other) == (made->group == 0));
    own.st_uid++;
    assert_false(provision_owns(made, &own));
}

/* Root's tools go by path only where nobody else can lead that path elsewhere. */
static void a_path_that_others_may_change_is_not_trusted(void **state)
{
    struct place *place = *state;
    char below[96];
    struct problem why = { 0 };
    if (geteuid() != 0)
        skip();
    snprintf(below, sizeof below, "%s/below", place->path);
    must(mkdir(below, 0755));
    must(provision_trusts(below, &unmet));
    assert_int_equal(provision_trusts("/dev/null/below", &why), -1);
    static const struct {
        uid_t owner;
        mode_t mode;
        bool trusted;
    } rows[] = {
        { 0, 0700, true },  { 0, 01777, true },     { 0, 0777, false },
        { 0, 0775, false }, { 65534, 0755, false }, { 65534, 01755, false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        must(chown(place->path, rows[i].owner, 0));
        must(chmod(place->path, rows[i].mode));
        why = (struct problem){ 0 };
        if ((provision_trusts(below, &why) == 0) != rows[i].trusted)
            fail_msg("owner %u, mode %o: %s", rows[i].owner, rows[i].mode, why.message);
        if (!rows[i].trusted) {
            assert_int_equal(why.code, PROBLEM_FORBIDDEN);
            assert_memory_equal(why.message, place->path, strlen(place->path));
        }
    }
    const struct target target = { .kind = TARGET_MKFS, .path = below };
    struct target_facts facts;
    must(target_probe(&target, &facts, &unmet)); /* nobody's still */
    assert_false(facts.usable);
    assert_non_null(strstr(facts.reason, place->path));
    must(chown(place->path, 0, 0));
    must(rmdir(below));
}

/* A program that a runner has started, and that works on after it: told to end, it still does something. */
static void a_tool_that_outlived_its_runner_is_waited_for(void **state)
{
    (void)state;
    const char *const argv[] = { "sh", "-c", "read word; sleep 0.2; echo done", NULL };
    const char *const env[] = { "PATH=/usr/bin:/bin", "PLIMSOLL_RUN=plimsoll-7-1-77", NULL };
    int in[2], out[2], status;
    char told[8] = { 0 };
    pid_t pid;
    must(pipe2(in, O_CLOEXEC));
    must(pipe2(out, O_CLOEXEC | O_NONBLOCK));
    const struct spawn spawn = { .argv = argv, .env = env, .in = in[0], .out = out[1] };
    must(spawn_start(&spawn, &pid, &unmet));
    must(provision_outlived("plimsoll-7-1-7", &unmet)); /* another run's */
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    close(in[0]);
    close(in[1]);
    must(provision_outlived("plimsoll-7-1-77", &unmet));
    assert_int_equal(read(out[0], told, sizeof told), strlen("done\n"));
    assert_string_equal(told, "done\n");
    must(spawn_wait(pid, 20 * NSEC_PER_SEC, &status,
                    &unmet)); /* its memory is gone before it can be waited for */
    assert_int_equal(status, 0);
    close(out[0]);
    close(out[1]);
}

/* Bodies of two phases that take turns. */
static int each_of_them(struct lane *lane, const void *arg, struct problem *why)
{
    uint64_t first, n;
    (void)arg;
    (void)why;
    while ((n = lane_claim(lane, &first)) > 0)
        for (; n > 0; n--)
            if (!lane_note(lane, 0))
                return 0;
    return 0;
}

static int one_at_a_load(struct lane *lane, const void *arg, struct problem *why)
{
    uint64_t first;
    (void)why;
    lane->load = *(const uint64_t *)arg;
    if (lane_claim(lane, &first))
        lane_note(lane, 0);
    return 0;
}

static void phases_that_take_turns_keep_their_own_sums_and_time(void **state)
{
    struct place *place = *state;
    struct run *run = place_run(place, -1);
    struct stage *create = NULL, *cycle = NULL;
    uint64_t in_place = 0;
    bool limited;
    const struct phase creating = { .name = "create",
                                    .unit = "filesystems",
                                    .lanes = 1,
                                    .total = 95,
                                    .batch = 10,
                                    .body = each_of_them };
    const struct phase cycling = { .name = "cycle",
                                   .unit = "cycles",
                                   .lanes = 1,
                                   .total = 3,
                                   .batch = 1,
                                   .at_load = true,
                                   .body = one_at_a_load,
                                   .arg = &in_place };
    must(stage_open(run, &creating, &create, &unmet));
    must(stage_open(run, &cycling, &cycle, &unmet));
    for (unsigned i = 1; i <= 3; i++) {
        in_place = 30 * i < 95 ? 30 * i : 95;
        must(stage_work(create, in_place, &unmet));
        must(stage_work(cycle, i, &unmet));
    }
    must(stage_work(create, 95, &unmet));
    must(stage_end(create, &limited, &unmet));
    must(stage_end(cycle, &limited, &unmet));
    stage_free(create);
    stage_free(cycle);

    scoped_series struct series of_create, of_cycle;
    series_read(place, "create", &of_create);
    series_read(place, "cycle", &of_cycle);
    series_holds(&of_create);
    assert_int_equal(of_create.total.ops, 95);
    assert_int_equal(of_create.n, 10);
    assert_true(of_create.total.paused > 0);
    assert_true(phase_seconds(&of_create.total) > 0);
    nsec busy = 0, wall = of_create.total.last_done - of_create.total.first_start;
    for (size_t i = 0; i < of_create.n; i++)
        busy += of_create.samples[i].elapsed;
    assert_true(busy <= wall - of_create.total.paused + 10 * NSEC_PER_USEC);
    assert_int_equal(of_cycle.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(of_cycle.samples[i].load, 30 * (i + 1));
    assert_int_equal(of_cycle.total.ops, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_words_tell_a_limit_from_a_failure),
        at_a_place(what_was_told_of_what_was_made_is_read_back),
        at_a_place(a_path_that_others_may_change_is_not_trusted),
        cmocka_unit_test(a_tool_that_outlived_its_runner_is_waited_for),
        at_a_place(phases_that_take_turns_keep_their_own_sums_and_time),
        at_a_place(what_bears_another_mark_is_not_ours), /* the last: the thread keeps the group */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
