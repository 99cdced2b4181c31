/* A job of several runs: what was asked for, what its journal makes of it, and what becomes of the rest. */
#include "tests/store/journals.h"

static const char RUNS[] =
    "[{\"point\":1,\"params\":{\"threads\":2}},{\"point\":0,\"params\":{\"threads\":1}},"
    "{\"point\":0,\"params\":{\"threads\":1}},{\"point\":1,\"params\":{\"threads\":2}}]";

static job_id add_runs(const char *target)
{
    const struct job_new new = { .workload = "create-scaling",
                                 .target = target,
                                 .host = "here",
                                 .nonce = "abc",
                                 .params = "{\"files\": 1000}",
                                 .matrix = "{\"threads\": [1, 2]}",
                                 .runs = RUNS,
                                 .repeat = 2,
                                 .seed = 4711 };
    job_id id = 0;
    scoped_free char *answer = NULL;
    works(store_job_add(fixture.store, &new, NULL, render_id, NULL, &id, &answer, why));
    return id;
}

static job_id running(const char *target)
{
    job_id id = add_runs(target);
    assert_int_equal(claim(target), id);
    return id;
}

/* What the runs are, in short: "succeeded done, running pending, queued none, ...". */
static const char *runs_of(job_id id)
{
    return sql(
        "SELECT string_agg(state || ' ' || cleanup, ', ' ORDER BY run) FROM run WHERE job = %lld",
        (long long)id);
}
static const char *job_of(job_id id)
{
    return sql(
        "SELECT concat_ws(' ', state, cleanup, removed, foreign_entries) FROM job WHERE id = %lld",
        (long long)id);
}

/* --- a journal, record by record --- */

struct writing {
    struct journal *journal;
    job_id job;
};

static void begins(struct writing *writing, unsigned run)
{
    json_t *environment = run == 1 ? json_pack("{s:s}", "kernel", "6.1.0") : NULL;
    const struct journal_begin begin = { .job = writing->job,
                                         .run = run,
                                         .leg = 1,
                                         .workload = "create-scaling",
                                         .target = "t",
                                         .workspace = "plimsoll-1-1-abc",
                                         .environment = environment,
                                         .runs = 4,
                                         .used_bytes = 1000 * run,
                                         .used_inodes = 10 * run };
    works(journal_begin(writing->journal, &begin, why));
    json_decref(environment);
}

/* One batch in one second, each operation of which took `latency`. */
static void measures_in(struct writing *writing, unsigned run, unsigned leg, uint64_t ops,
                        uint64_t load, nsec latency)
{
    struct histogram histogram = { 0 };
    struct phase_total phase = { .name = "create",
                                 .unit = "files",
                                 .run = run,
                                 .leg = leg,
                                 .lanes = 1,
                                 .batch = 100,
                                 .total = ops };
    struct sample sample = {
        .load = load, .at = NSEC_PER_SEC, .elapsed = NSEC_PER_SEC, .ops = ops
    };
    histogram_note(&histogram, latency, ops);
    works(journal_phase(writing->journal, &phase, why));
    works(journal_samples(writing->journal, run, leg, "create", &sample, 1, why));
    phase.ops = ops;
    phase.last_done = phase.first_done = NSEC_PER_SEC;
    phase.latency = histogram_latency(&histogram);
    works(journal_phase_end(writing->journal, &phase, &histogram, why));
}

static void measures(struct writing *writing, unsigned run, uint64_t ops)
{
    measures_in(writing, run, 1, ops, ops, 1);
}

static void cleans(struct writing *writing, unsigned run, enum cleanup_state state,
                   uint64_t removed, const char *foreign)
{
    works(
        journal_cleanup(writing->journal, run, 1, state, removed, &foreign, foreign != NULL, why));
}

static void ends(struct writing *writing, unsigned run, enum job_state outcome)
{
    struct problem problem = { 0 };
    if (outcome != JOB_SUCCEEDED)
        problem_set(&problem, PROBLEM_IO_FAILED, "so it was");
    works(journal_end(writing->journal, run, 1, outcome, &problem, NULL, 0, why));
}

/* A run and its clean-up; others follow. */
static void passes(struct writing *writing, unsigned run, uint64_t ops, enum cleanup_state state,
                   const char *foreign)
{
    begins(writing, run);
    measures(writing, run, ops);
    works(journal_run_end(writing->journal, run, 1, NULL, 0, why));
    cleans(writing, run, CLEANUP_RUNNING, 1, NULL);
    cleans(writing, run, state, 1000, foreign);
}

static struct writing start(const char *target)
{
    char path[128];
    journal_path(path);
    unlink(path);
    struct writing writing = { .job = running(target) };
    scoped_fd int folder = open(fixture.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    works(journal_create(folder, JOURNAL_FILE, &writing.journal, why));
    return writing;
}

static void take(struct writing *writing)
{
    works(ingest_from(writing->job, STORED, ALL, 3, why));
}

static void finish(struct writing *writing)
{
    writing->journal = journal_close(writing->journal);
}

/* The samples of all legs as one: "LOAD at SECONDS s, ...". */
static const char *samples_of(job_id id)
{
    static char text[200];
    struct samples_cursor *cursor = NULL;
    const struct sample *samples;
    const char *name;
    unsigned run, leg;
    size_t n, used = 0;
    int more;
    works(samples_open_whole(fixture.store, id, NULL, &cursor, why));
    do {
        works(more = samples_next(cursor, &name, &run, &leg, &samples, &n, why));
        for (size_t i = 0; more && i < n && used < sizeof text; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%llu at %g s",
                                     used ? ", " : "", (unsigned long long)samples[i].load,
                                     seconds_of(samples[i].at));
        assert_true(!more || leg == 1);
    } while (more);
    samples_close(cursor);
    return text;
}

/* --- tests --- */

static void runs_are_there_from_the_beginning(void **state)
{
    (void)state;
    job_id id = add_runs("asked");
    scoped(job_done) struct job job = job_now(id);
    assert_string_equal(job.matrix, "{\"threads\": [1, 2]}");
    assert_int_equal(job.repeat, 2);
    assert_int_equal(job.seed, 4711);
    assert_int_equal(job.runs_n, 4);
    assert_int_equal(job.runs[0].run, 1);
    assert_int_equal(job.runs[0].point, 1);
    assert_string_equal(job.runs[0].params, "{\"threads\":2}");
    assert_int_equal(job.runs[3].state, RUN_QUEUED);
    int ended;
    works(store_job_cancel(fixture.store, id, &ended, why));
    assert_string_equal(runs_of(id), "skipped none, skipped none, skipped none, skipped none");
}

static void each_run_has_its_own_fate_and_the_job_the_sum(void **state)
{
    (void)state;
    struct writing writing = start("sum");
    passes(&writing, 1, 100, CLEANUP_DONE, NULL);
    take(&writing);
    assert_string_equal(runs_of(writing.job),
                        "succeeded done, queued none, queued none, queued none");
    assert_string_equal(job_of(writing.job),
                        "running none 1000 []"); /* it goes on, so nothing is due */
    passes(&writing, 2, 200, CLEANUP_DONE, NULL);
    passes(&writing, 3, 300, CLEANUP_DONE, NULL);
    begins(&writing, 4);
    measures(&writing, 4, 400);
    ends(&writing, 4, JOB_SUCCEEDED);
    take(&writing);
    assert_string_equal(job_of(writing.job), "succeeded pending 3000 []");
    cleans(&writing, 4, CLEANUP_DONE, 1000, NULL);
    finish(&writing);
    take(&writing);
    assert_string_equal(runs_of(writing.job),
                        "succeeded done, succeeded done, succeeded done, succeeded done");
    assert_string_equal(job_of(writing.job), "succeeded done 4000 []");

    scoped(job_done) struct job job = job_now(writing.job);
    assert_int_equal(job.phases_n, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct run_rates rates = job_run_rates(&job, &job.runs[i]);
        assert_int_equal(rates.phases_n, 1);
        assert_int_equal(rates.phases[0].ops, 100 * (i + 1));
        assert_true(job.runs[i].used_bytes == 1000.0 * (double)(i + 1));
        assert_true(job.runs[i].used_inodes == 10.0 * (double)(i + 1));
        assert_true(job.runs[i].started_at > 0 &&
                    job.runs[i].finished_at >= job.runs[i].started_at);
    }
    assert_string_equal(job.environment, "{\"kernel\":\"6.1.0\"}"); /* told once */
    struct series series = { 0 };
    const struct series_query query = { .job = writing.job,
                                        .run = 3,
                                        .phase = "create",
                                        .x = "load",
                                        .y = "ops",
                                        .from = NAN,
                                        .to = NAN,
                                        .points = 10 };
    works(store_series(fixture.store, &query, &series, why));
    assert_int_equal(series.n, 1);
    assert_true(series.mean[0] == 300);
    series_done(&series);
}

static void what_one_run_could_not_remove_blocks_the_job(void **state)
{
    (void)state;
    struct writing writing = start("blocked");
    passes(&writing, 1, 100, CLEANUP_BLOCKED, "notes.txt");
    begins(&writing, 2);
    ends(&writing, 2, JOB_FAILED);
    cleans(&writing, 2, CLEANUP_DONE, 7, NULL);
    take(&writing);
    assert_string_equal(runs_of(writing.job),
                        "succeeded blocked, failed done, skipped none, skipped none");
    assert_string_equal(job_of(writing.job), "failed blocked 1007 [\"1/notes.txt\"]");
    /* Somebody took it away, and the clean-up was tried again. */
    cleans(&writing, 1, CLEANUP_RUNNING, 0, NULL);
    take(&writing);
    assert_string_equal(job_of(writing.job), "failed running 1007 []");
    cleans(&writing, 1, CLEANUP_DONE, 1, NULL);
    finish(&writing);
    take(&writing);
    assert_string_equal(job_of(writing.job), "failed done 1007 []");
}

static void stopped_between_two_runs_it_is_over_before_it_is_clean(void **state)
{
    (void)state;
    struct writing writing = start("between");
    begins(&writing, 1);
    measures(&writing, 1, 100);
    works(journal_run_end(writing.journal, 1, 1, NULL, 0, why));
    cleans(&writing, 1, CLEANUP_RUNNING, 1, NULL);
    ends(&writing, 1, JOB_CANCELLED);
    take(&writing);
    assert_string_equal(runs_of(writing.job),
                        "succeeded running, skipped none, skipped none, skipped none");
    assert_string_equal(job_of(writing.job), "cancelled pending 1 []");
    cleans(&writing, 1, CLEANUP_DONE, 100, NULL);
    finish(&writing);
    take(&writing);
    assert_string_equal(job_of(writing.job), "cancelled done 100 []");
}

static void a_killed_runner_leaves_one_run_to_clean(void **state)
{
    (void)state;
    struct writing writing = start("killed");
    passes(&writing, 1, 100, CLEANUP_DONE, NULL);
    passes(&writing, 2, 100, CLEANUP_DONE, NULL);
    begins(&writing, 3);
    take(&writing);
    struct problem problem = { 0 };
    problem_set(&problem, PROBLEM_INTERRUPTED, "the runner was killed");
    works(store_job_finish(fixture.store, writing.job, JOB_FAILED, CLEANUP_PENDING, &problem, why));
    assert_string_equal(runs_of(writing.job),
                        "succeeded done, succeeded done, failed pending, skipped none");
    cleans(&writing, 3, CLEANUP_DONE, 50, NULL);
    take(&writing);
    assert_string_equal(job_of(writing.job), "failed done 2050 []");
    /* Of the fourth only the directory was there. */
    cleans(&writing, 4, CLEANUP_DONE, 0, NULL);
    finish(&writing);
    take(&writing);
    assert_string_equal(runs_of(writing.job),
                        "succeeded done, succeeded done, failed done, skipped done");
    assert_string_equal(job_of(writing.job), "failed done 2050 []");
}

static void a_leg_ends_in_a_reboot_and_the_next_goes_on(void **state)
{
    (void)state;
    struct writing writing = start("reboots");
    begins(&writing, 1);
    measures(&writing, 1, 100);
    works(journal_reboot(writing.journal, 1, 1, &(struct reboot){ "100", 1, 60 * NSEC_PER_SEC },
                         why));
    take(&writing);
    {
        scoped(job_done) struct job job = job_now(writing.job);
        assert_int_equal(job.state, JOB_REBOOTING);
        nsec left = job.reboot_by - clock_wall();
        assert_true(left > 30 * NSEC_PER_SEC && left <= 60 * NSEC_PER_SEC);
        assert_int_equal(job.runs[0].state, RUN_RUNNING);
    }
    assert_int_equal(claim("reboots"), 0); /* its target is busy */
    job_id beside = add_runs("beside");
    assert_int_equal(claim("beside"), 0); /* the machine goes down */
    const struct journal_begin second = { .job = writing.job,
                                          .run = 1,
                                          .leg = 2,
                                          .workload = "create-scaling",
                                          .target = "t",
                                          .workspace = "plimsoll-1-1-abc",
                                          .runs = 4 };
    works(journal_begin(writing.journal, &second, why));
    take(&writing);
    {
        scoped(job_done) struct job job = job_now(writing.job);
        assert_int_equal(job.state, JOB_RUNNING);
        assert_true(job.reboot_by == 0);
        assert_true(job.runs[0].used_bytes == 1000); /* when the run began, not the leg */
    }
    assert_int_equal(claim("beside"), beside);
    /* What it measures there goes on from the first leg, in time and in its sums. */
    const struct boot boot = { .load = 100,
                               .daemon = 2 * NSEC_PER_SEC,
                               .all = 3 * NSEC_PER_SEC,
                               .clock_now = CLOCK_SYNCHRONISED };
    works(journal_boot(writing.journal, 1, 2, &boot, why));
    measures_in(&writing, 1, 2, 300, 400, 1000);
    take(&writing);
    {
        scoped(job_done) struct job job = job_now(writing.job);
        assert_true(job.parts_n == 2 && job.phases_n == 1);
        const struct phase_total *whole = job.phases;
        assert_int_equal(whole->legs, 2);
        assert_int_equal(whole->ops, 400);
        assert_true(phase_seconds(whole) == 2);
        const struct latency *latency = &whole->latency;
        assert_true(latency->count == 400 && latency->min == 1 && latency->max == 1000);
        assert_true(latency->p50 > 900 &&
                    latency->p50 <= 1000); /* of the larger leg's operations */
        assert_string_equal(
            sql("SELECT concat_ws(' ', run, leg, load, kernel IS NULL, daemon, \"all\") "
                "FROM json_to_recordset('%s') AS x(run int, leg int, load int, "
                "kernel float, daemon float, \"all\" float)",
                job.boots),
            "1 2 100 t 2 3");
    }
    assert_string_equal(samples_of(writing.job), "100 at 1 s, 400 at 2 s");
    /* Cancelled just before a reboot: it stays cancelled. */
    int now;
    works(store_job_cancel(fixture.store, writing.job, &now, why));
    works(journal_reboot(writing.journal, 1, 2, &(struct reboot){ "200", 2, 60 * NSEC_PER_SEC },
                         why));
    finish(&writing);
    take(&writing);
    assert_string_equal(job_of(writing.job), "cancelling none 0 []");
    works(store_job_finish(fixture.store, writing.job, JOB_CANCELLED, CLEANUP_DONE, NULL, why));
}

static int setup(void **state)
{
    (void)state;
    return fixture_open(4);
}
static int teardown(void **state)
{
    (void)state;
    return fixture_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_there_from_the_beginning),
        cmocka_unit_test(each_run_has_its_own_fate_and_the_job_the_sum),
        cmocka_unit_test(what_one_run_could_not_remove_blocks_the_job),
        cmocka_unit_test(stopped_between_two_runs_it_is_over_before_it_is_clean),
        cmocka_unit_test(a_killed_runner_leaves_one_run_to_clean),
        cmocka_unit_test(a_leg_ends_in_a_reboot_and_the_next_goes_on),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
