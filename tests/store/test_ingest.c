/* From the journal into rows, exactly once: whatever is cut, repeated, killed or raced. */
#include "tests/store/journals.h"

static const struct phase_plan PLANS[] = {
    { "create", 2600, 37, 1 },
    { "list", 3, 3, 1 },
    { "stat", 1300, 512, 2 },
    { "remove", 700, 1, 2 },
};
static const char *const SAMPLES = "4603";
static const size_t RECORDS = 2 + 4 * 3 + 71 + 1 + 3 + 700; /* begin and end; per phase; lines */

/* A job of the plans, ingested at once: what every other way must come to. */
static void reference(char ret[64])
{
    job_id job = running_job("reference");
    write_journal(job, PLANS, COUNT_OF(PLANS));
    works(ingest_from(job, 0, ALL, ALL, why));
    snprintf(ret, 64, "%s", digest(job));
    works(store_job_cleanup(fixture.store, job, CLEANUP_DONE, why));
}

static void retire(job_id job)
{
    works(store_job_finish(fixture.store, job, JOB_FAILED, CLEANUP_NONE, NULL, why));
    works(store_job_cleanup(fixture.store, job, CLEANUP_DONE, why));
}

static void every_sample_is_stored_as_written(void **state)
{
    (void)state;
    job_id id = running_job("whole");
    write_journal(id, PLANS, COUNT_OF(PLANS));
    works(ingest_from(id, 0, ALL, 10, why));
    scoped(job_done) struct job job = job_now(id);
    assert_int_equal(job.state, JOB_SUCCEEDED);
    assert_int_equal(job.cleanup, CLEANUP_PENDING);
    assert_string_equal(job.environment, "{\"kernel\":\"6.1.0\"}");
    assert_int_equal(job.pid, getpid());
    assert_true(job.pid_start > 0 && strlen(job.boot_id) == 36);
    assert_int_equal(job.phases_n, COUNT_OF(PLANS));
    for (size_t i = 0; i < COUNT_OF(PLANS); i++) {
        const struct phase_total *phase = &job.phases[i];
        assert_string_equal(phase->name, PLANS[i].name);
        assert_string_equal(phase->unit, "files");
        assert_int_equal(phase->ops, PLANS[i].samples * 100);
        assert_int_equal(phase->lanes, PLANS[i].lanes);
        assert_true(phase->finished);
        assert_true(phase->flush == 7 * NSEC_PER_MSEC && phase->dirty_before == 4096);
        assert_int_equal(phase->latency.count, 2);
        assert_string_equal(
            sql("SELECT p.ops = sum(s.ops) FROM phase p JOIN sample s ON s.job = p.job "
                "AND s.phase = p.name WHERE p.job = %lld AND p.name = '%s' GROUP BY p.ops",
                (long long)id, phase->name),
            "t");

        struct samples_cursor *cursor = NULL;
        works(samples_open(fixture.store, id, PLANS[i].name, &cursor, why));
        size_t seen = 0, n;
        const struct sample *samples;
        const char *name;
        unsigned run, leg;
        int r = 0;
        for (;;) {
            works(r = samples_next(cursor, &name, &run, &leg, &samples, &n, why));
            if (r == 0)
                break;
            assert_string_equal(name, PLANS[i].name);
            for (size_t k = 0; k < n; k++, seen++) {
                struct sample expected = sample_at(seen, PLANS[i].lanes);
                assert_memory_equal(&samples[k], &expected, sizeof expected);
            }
        }
        samples_close(cursor);
        assert_int_equal(seen, PLANS[i].samples);
    }
    assert_string_equal(sql("SELECT histogram FROM phase WHERE job = %lld LIMIT 1", (long long)id),
                        "[[1, 1], [2, 1]]");
    struct host_sample *host;
    size_t hosts;
    works(store_host(fixture.store, &(struct host_query){ .job = id, .points = 100 }, &host, &hosts,
                     why));
    assert_int_equal(hosts, COUNT_OF(PLANS));
    assert_true(host[0].load1 == 0.5 && isnan(host[0].cpu_iowait));
    free(host);
    works(store_host(fixture.store, &(struct host_query){ .job = id, .points = 2 }, &host, &hosts,
                     why));
    assert_int_equal(hosts, 2);
    free(host);
    works(store_host(fixture.store,
                     &(struct host_query){ .job = id, .of = HOST_SERVER, .points = 100 }, &host,
                     &hosts, why));
    assert_int_equal(hosts, 0);
    free(host);
    retire(id);
}

static void full_chunks_replace_small_ones(void **state)
{
    (void)state;
    job_id id = running_job("chunks");
    write_journal(id, PLANS, COUNT_OF(PLANS));
    works(
        ingest_from(id, 0, 2 + 20, 5, why)); /* 20 lines of 37, a commit after every five records */
    assert_string_equal(sql("SELECT count(*) FROM chunk WHERE job = %lld AND small", (long long)id),
                        "2");
    assert_string_equal(sql("SELECT string_agg(count::text, ',' ORDER BY seq) FROM chunk "
                            "WHERE job = %lld",
                            (long long)id),
                        "481,185,74");
    works(ingest_from(id, STORED, ALL, 5, why));
    assert_string_equal(sql("SELECT count(*) FROM chunk WHERE job = %lld AND small", (long long)id),
                        "0");
    assert_string_equal(sql("SELECT string_agg(count::text, ',' ORDER BY seq) FROM chunk "
                            "WHERE job = %lld AND phase = 'create'",
                            (long long)id),
                        "481,481,481,481,481,195");
    assert_string_equal(sql("SELECT string_agg(count::text, ',' ORDER BY seq) FROM chunk "
                            "WHERE job = %lld AND phase = 'remove'",
                            (long long)id),
                        "512,188");
    retire(id);
}

static void plain_columns_agree_with_the_arrays(void **state)
{
    (void)state;
    job_id id = running_job("plain");
    write_journal(id, PLANS, COUNT_OF(PLANS));
    works(ingest_from(id, 0, ALL, 100, why));
    static const char *const series[] = { "load", "elapsed",  "ops", "bytes", "errors",
                                          "cpu",  "switches", "p50", "p99",   "max" };
    for (size_t i = 0; i < COUNT_OF(series); i++) {
        const char *s = series[i];
        assert_string_equal(
            sql("SELECT count(*) FROM chunk c CROSS JOIN LATERAL (SELECT min(v) AS low, "
                "max(v) AS high, sum(v)::float8 AS sum FROM unnest(c.%s) AS v) AS s WHERE "
                "job = %lld AND (%s_min, %s_max, %s_sum) IS DISTINCT FROM (s.low, s.high, s.sum)",
                s, (long long)id, s, s, s),
            "0");
    }
    assert_string_equal(sql("SELECT count(*) FROM chunk WHERE job = %lld AND (at_first, at_last, "
                            "load_first, load_last,"
                            " elapsed_first, elapsed_last) IS DISTINCT FROM (at[1], at[count], "
                            "load[1], load[count],"
                            " elapsed[1], elapsed[count])",
                            (long long)id),
                        "0");
    retire(id);
}

static void twice_from_any_cut_is_the_same_as_once(void **state)
{
    (void)state;
    char expected[64];
    reference(expected);
    /* Cuts are records; the second reading begins at the start, so all before are repeated. */
    const size_t cuts[] = {
        1, 2, 3, 15, 16, 17, 40, 73, 74, 77, 78, 80, 200, RECORDS - 1, RECORDS
    };
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        job_id job = running_job("cut");
        write_journal(job, PLANS, COUNT_OF(PLANS));
        works(ingest_from(job, 0, cuts[i], 1 + i % 7, why));
        works(ingest_from(job, i % 2 ? 0 : STORED, ALL, 1 + i % 5 * 20, why));
        works(ingest_from(job, 0, ALL, 50, why));
        assert_string_equal(digest(job), expected);
        assert_string_equal(sql("SELECT count(*) FROM sample WHERE job = %lld", (long long)job),
                            SAMPLES);
        works(store_job_cleanup(fixture.store, job, CLEANUP_DONE, why));
    }
}

/* Another connection is ended at random moments until all is in. */
static void a_killed_connection_loses_and_doubles_nothing(void **state)
{
    (void)state;
    char expected[64];
    reference(expected);
    job_id job = running_job("killed");
    write_journal(job, PLANS, COUNT_OF(PLANS));
    char path[128];
    journal_path(path);
    unsigned kills = 0;
    for (bool whole = false; !whole;) {
        struct ingest *ingest = NULL;
        struct journal_reader *reader = NULL;
        off_t offset;
        works(ingest_open(fixture.store, job, &ingest, &offset, why));
        works(journal_reader_open(path, offset, &reader, why));
        const struct journal_record *record;
        struct problem why = { 0 };
        int r = 0;
        for (size_t n = 1; (r = journal_next(reader, &record, &why)) > 0; n++) {
            if (n % 90 == 0) { /* between two records of an open transaction */
                end_connections();
                kills++;
            }
            if ((r = ingest_add(ingest, record, &why)) < 0)
                break;
            if (n % 25 == 0 && (r = ingest_commit(ingest, &why)) < 0)
                break;
        }
        if (r >= 0)
            r = ingest_commit(ingest, &why);
        if (r < 0) {
            assert_int_equal(why.code, PROBLEM_STORE_FAILED);
            struct problem again = { 0 };
            assert_int_equal(ingest_commit(ingest, &again), -1);
        }
        whole = r == 0;
        journal_reader_close(reader);
        ingest_close(ingest);
    }
    assert_true(kills >= 5);
    assert_string_equal(digest(job), expected);
    works(store_job_cleanup(fixture.store, job, CLEANUP_DONE, why));
}

static void two_ingesters_store_once(void **state)
{
    (void)state;
    job_id job = running_job("raced");
    write_journal(job, PLANS, COUNT_OF(PLANS));
    char path[128];
    journal_path(path);
    struct ingest *slow = NULL;
    struct journal_reader *reader = NULL;
    off_t offset;
    const struct journal_record *record;
    works(ingest_from(job, 0, 2, ALL, why));
    works(ingest_open(fixture.store, job, &slow, &offset, why));
    works(journal_reader_open(path, offset, &reader, why));
    for (int i = 0; i < 10; i++) {
        works(journal_next(reader, &record, why));
        works(ingest_add(slow, record, why));
    }
    works(ingest_from(job, STORED, 5, ALL, why));
    refuses(PROBLEM_CONFLICT, ingest_commit(slow, why));
    ingest_close(slow);
    journal_reader_close(reader);
    works(ingest_from(job, STORED, ALL, ALL, why));
    assert_string_equal(sql("SELECT count(*) FROM sample WHERE job = %lld", (long long)job),
                        SAMPLES);
    works(store_job_cleanup(fixture.store, job, CLEANUP_DONE, why));
}

static void a_running_phase_shows_its_progress(void **state)
{
    (void)state;
    job_id id = running_job("progress");
    write_journal(id, PLANS, COUNT_OF(PLANS));
    int64_t before = 0, after = 0;
    int now;
    works(ingest_from(id, 0, 2 + 30, ALL, why));
    works(store_job_revision(fixture.store, id, &before, &now, why));
    {
        scoped(job_done) struct job job = job_now(id);
        assert_int_equal(job.state, JOB_RUNNING);
        assert_int_equal(job.phases_n, 1);
        assert_int_equal(job.phases[0].ops, 30 * 37 * 100);
        assert_int_equal(job.phases[0].total, 260000);
        assert_false(job.phases[0].finished);
        assert_int_equal(job.phases[0].last_done, sample_at(30 * 37 - 1, 1).at);
        assert_int_equal(job.phases[0].first_start, sample_at(0, 1).at - sample_at(0, 1).elapsed);
    }
    works(ingest_from(id, STORED, 1, ALL, why));
    works(store_job_revision(fixture.store, id, &after, &now, why));
    assert_true(after > before);
    retire(id);
}

/* ---- how jobs end ---- */

static struct journal *journal_of(job_id job)
{
    char path[128];
    journal_path(path);
    unlink(path);
    scoped_fd int folder = open(fixture.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct journal *journal = NULL;
    works(journal_create(folder, JOURNAL_FILE, &journal, why));
    write_begin(journal, job);
    return journal;
}

static void the_end_record_decides_the_final_state(void **state)
{
    (void)state;
    const struct problem broken = { PROBLEM_IO_FAILED, "", "operation 17: Input/output error" };
    const struct {
        bool cancel;
        enum job_state outcome;
        const struct problem *problem;
        enum job_state expected;
    } cases[] = {
        { false, JOB_SUCCEEDED, NULL, JOB_SUCCEEDED },
        { false, JOB_FAILED, &broken, JOB_FAILED },
        { true, JOB_CANCELLED, NULL, JOB_CANCELLED },
        { true, JOB_SUCCEEDED, NULL, JOB_SUCCEEDED },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        job_id id = running_job("ends");
        struct journal *journal = journal_of(id);
        works(journal_end(journal, 1, 1, cases[i].outcome, cases[i].problem, NULL, 0, why));
        journal_close(journal);
        int now;
        if (cases[i].cancel)
            works(store_job_cancel(fixture.store, id, &now, why));
        works(ingest_from(id, 0, ALL, ALL, why));
        scoped(job_done) struct job job = job_now(id);
        assert_int_equal(job.state, cases[i].expected);
        assert_int_equal(job.cleanup, CLEANUP_PENDING);
        assert_true(job.finished_at > 0);
        if (cases[i].problem) {
            assert_int_equal(job.problem.code, broken.code);
            assert_string_equal(job.problem.message, broken.message);
        }
        works(store_job_cleanup(fixture.store, id, CLEANUP_DONE, why));
    }
}

static void an_end_after_a_final_state_changes_nothing(void **state)
{
    (void)state;
    job_id id = running_job("late");
    struct journal *journal = journal_of(id);
    works(journal_end(journal, 1, 1, JOB_SUCCEEDED, NULL, NULL, 0, why));
    journal_close(journal);
    works(store_job_finish(fixture.store, id, JOB_FAILED, CLEANUP_NONE,
                           &(struct problem){ PROBLEM_INTERRUPTED, "", "it died" }, why));
    works(ingest_from(id, 0, ALL, ALL, why));
    scoped(job_done) struct job job = job_now(id);
    assert_int_equal(job.state, JOB_FAILED);
    assert_int_equal(job.cleanup, CLEANUP_NONE);
}

static void cleanup_records_tell_what_was_removed_and_left(void **state)
{
    (void)state;
    job_id id = running_job("cleans");
    struct journal *journal = journal_of(id);
    works(journal_end(journal, 1, 1, JOB_SUCCEEDED, NULL, NULL, 0, why));
    works(journal_cleanup(journal, 1, 1, CLEANUP_RUNNING, 5, NULL, 0, why));
    works(ingest_from(id, 0, ALL, ALL, why));
    {
        scoped(job_done) struct job job = job_now(id);
        assert_int_equal(job.state, JOB_SUCCEEDED);
        assert_int_equal(job.cleanup, CLEANUP_RUNNING);
        assert_int_equal(job.removed, 5);
    }
    assert_int_equal(add_job("cleans", 0) != 0 && claim("cleans"), 0);
    const char *const foreign[] = { "somebody's", "böse\"" };
    works(journal_cleanup(journal, 1, 1, CLEANUP_BLOCKED, 9, foreign, 2, why));
    journal_close(journal);
    works(ingest_from(id, STORED, ALL, ALL, why));
    scoped(job_done) struct job job = job_now(id);
    assert_int_equal(job.cleanup, CLEANUP_BLOCKED);
    assert_int_equal(job.removed, 9);
    json_t *names = json_loads(job.foreign_entries, 0, NULL);
    assert_int_equal(json_array_size(names), 2);
    assert_string_equal(json_string_value(json_array_get(names, 1)), foreign[1]);
    json_decref(names);
    assert_int_equal(claim("cleans"), 0);
    works(store_job_cleanup(fixture.store, id, CLEANUP_DONE, why));
    assert_int_not_equal(claim("cleans"), 0);
}

static void a_blocked_cleanup_tells_its_reason(void **state)
{
    (void)state;
    job_id id = running_job("reason");
    struct journal *journal = journal_of(id);
    struct problem reason = { 0 };
    problem_set(&reason, PROBLEM_CONFLICT, "/srv/x is not the folder in which the run worked");
    works(journal_hide(journal, "/srv/x", "scratch", why));
    works(journal_end(journal, 1, 1, JOB_FAILED, &reason, NULL, 0, why));
    works(journal_cleanup_blocked(journal, 1, 1, 0, NULL, 0, &reason, why));
    works(ingest_from(id, 0, ALL, ALL, why));
    {
        scoped(job_done) struct job job = job_now(id);
        assert_int_equal(job.cleanup, CLEANUP_BLOCKED);
        assert_string_equal(job.cleanup_reason,
                            "scratch is not the folder in which the run worked");
        assert_string_equal(job.problem.message, job.cleanup_reason);
    }
    works(journal_cleanup(journal, 1, 1, CLEANUP_DONE, 0, NULL, 0, why));
    journal_close(journal);
    works(ingest_from(id, STORED, ALL, ALL, why));
    scoped(job_done) struct job job = job_now(id);
    assert_int_equal(job.cleanup, CLEANUP_DONE);
    assert_null(job.cleanup_reason);
}

static int note_kept(void *arg, const char *target, uint64_t jobs, uint64_t files, uint64_t bytes,
                     struct problem *why)
{
    (void)why;
    char *text = arg;
    if (strcmp(target, "keeps") == 0)
        snprintf(text, 64, "%llu %llu %llu", (unsigned long long)jobs, (unsigned long long)files,
                 (unsigned long long)bytes);
    return 0;
}

static int not_yet(void *arg, job_id id, struct problem *why)
{
    (void)arg, (void)why;
    fail_msg("job %lld was deleted before its files", (long long)id);
    return 0;
}
static int gone(void *arg, job_id id, struct problem *why)
{
    (void)why;
    *(job_id *)arg = id;
    return 0;
}

static void kept_files_leave_the_target_free_and_go_before_their_job(void **state)
{
    (void)state;
    char text[64] = "";
    job_id id = running_job("keeps"), forgotten = 0;
    struct journal *journal = journal_of(id);
    const struct kept_files kept = { .workspace = "plimsoll-1-1-n", .files = 120, .bytes = 4096 };
    works(journal_kept(journal, 1, 1, &kept, why));
    works(journal_end(journal, 1, 1, JOB_SUCCEEDED, NULL, NULL, 0, why));
    journal_close(journal);
    works(ingest_from(id, 0, ALL, ALL, why));
    {
        scoped(job_done) struct job job = job_now(id);
        assert_int_equal(job.state, JOB_SUCCEEDED);
        assert_int_equal(job.cleanup, CLEANUP_KEPT);
        assert_string_equal(job.kept_workspace, "plimsoll-1-1-n");
        assert_true(job.kept_files == 120 && job.kept_bytes == 4096 && !job.deleting);
    }
    works(store_kept(fixture.store, "here", note_kept, text, why));
    assert_string_equal(text, "1 120 4096");

    /* another job runs there meanwhile: what is to be deleted waits for it */
    job_id next = add_job("keeps", 0);
    assert_int_equal(claim("keeps"), next);
    for (int again = 0; again < 2; again++)
        assert_int_equal(store_job_delete(fixture.store, id, not_yet, NULL, &(struct problem){ 0 }),
                         1);
    refuses(PROBLEM_CONFLICT, store_job_cleanup(fixture.store, id, CLEANUP_PENDING, why));
    works(store_job_finish(fixture.store, next, JOB_SUCCEEDED, CLEANUP_NONE, NULL, why));
    works(store_job_cleanup(fixture.store, id, CLEANUP_PENDING, why));
    assert_int_equal(store_job_delete(fixture.store, id, not_yet, NULL, &(struct problem){ 0 }), 1);

    /* it could not be done: kept as before, and not to be deleted */
    works(store_job_cleanup_because(fixture.store, id, CLEANUP_KEPT, "it is not mounted", why));
    {
        scoped(job_done) struct job job = job_now(id);
        assert_true(job.cleanup == CLEANUP_KEPT && !job.deleting && job.kept_files == 120);
        assert_string_equal(job.cleanup_reason, "it is not mounted");
    }
    assert_int_equal(store_job_delete(fixture.store, id, not_yet, NULL, &(struct problem){ 0 }), 1);
    works(store_job_cleanup(fixture.store, id, CLEANUP_RUNNING, why));
    sql("UPDATE job SET cleanup = 'done' WHERE id = %lld", (long long)id);
    works(store_job_delete(fixture.store, id, gone, &forgotten, why));
    assert_int_equal(forgotten, id);
}

static void a_limit_is_kept_with_its_phase(void **state)
{
    (void)state;
    job_id id = running_job("limit");
    struct journal *journal = journal_of(id);
    const struct phase_plan plan = { "create", 10, 10, 1 };
    struct phase_total phase = planned(&plan);
    works(journal_phase(journal, &phase, why));
    phase.limit = (struct limit){ .reached = true,
                                  .at = 31998,
                                  .reason = LIMIT_LINKS,
                                  .error = EMLINK,
                                  .detail = "no more than 31998 links" };
    works(journal_limit(journal, &phase, why));
    journal_close(journal);
    works(ingest_from(id, 0, ALL, ALL, why));
    scoped(job_done) struct job job = job_now(id);
    assert_int_equal(job.phases_n, 1);
    assert_true(job.phases[0].limit.reached);
    assert_int_equal(job.phases[0].limit.at, 31998);
    assert_int_equal(job.phases[0].limit.reason, LIMIT_LINKS);
    assert_int_equal(job.phases[0].limit.error, EMLINK);
    assert_string_equal(job.phases[0].limit.detail, "no more than 31998 links");
    retire(id);
}

static void how_a_phase_found_the_caches_is_kept(void **state)
{
    (void)state;
    job_id id = running_job("caches");
    struct journal *journal = journal_of(id);
    const struct phase_plan plans[] = { { "create", 10, 10, 1 }, { "list", 10, 10, 1 } };
    for (size_t i = 0; i < COUNT_OF(plans); i++) {
        struct phase_total phase = planned(&plans[i]);
        if (i)
            snprintf(phase.cache, sizeof phase.cache, "drop-caches");
        works(journal_phase(journal, &phase, why));
    }
    journal_close(journal);
    works(ingest_from(id, 0, ALL, ALL, why));
    scoped(job_done) struct job job = job_now(id);
    assert_int_equal(job.phases_n, 2);
    assert_string_equal(job.phases[0].cache, "");
    assert_string_equal(job.phases[1].cache, "drop-caches");
    retire(id);
}

static void every_reason_of_a_limit_can_be_kept(void **state)
{
    (void)state;
    job_id id = running_job("limits");
    struct journal *journal = journal_of(id);
    const struct phase_plan plan = { "create", 10, 10, 1 };
    struct phase_total phase = planned(&plan);
    for (int reason = 0; limit_reasons[reason]; reason++) {
        snprintf(phase.name, sizeof phase.name, "%s", limit_reasons[reason]);
        works(journal_phase(journal, &phase, why));
        phase.limit = (struct limit){ .reached = true, .reason = reason, .detail = "so it is" };
        works(journal_limit(journal, &phase, why));
    }
    journal_close(journal);
    works(ingest_from(id, 0, ALL, ALL, why));
    scoped(job_done) struct job job = job_now(id);
    assert_int_equal(job.phases_n, LIMIT_SLOWER + 1);
    for (size_t i = 0; i < job.phases_n; i++)
        assert_string_equal(limit_reasons[job.phases[i].limit.reason], job.phases[i].name);
    retire(id);
}

static void skips_unknown_records_and_refuses_another_jobs_journal(void **state)
{
    (void)state;
    job_id id = running_job("unknown");
    struct journal *journal = journal_of(id);
    works(journal_append(journal, json_pack("{s:s,s:i}", "record", "weather", "degrees", 21), why));
    works(journal_end(journal, 1, 1, JOB_SUCCEEDED, NULL, NULL, 0, why));
    journal_close(journal);
    works(ingest_from(id, 0, ALL, ALL, why));
    assert_string_equal(sql("SELECT journal_seq FROM job WHERE id = %lld", (long long)id), "3");
    works(store_job_cleanup(fixture.store, id, CLEANUP_DONE, why));

    job_id other = running_job("unknown");
    refuses(PROBLEM_BAD_FIELD, ingest_from(other, 0, ALL, ALL, why));
    assert_string_equal(sql("SELECT journal_seq FROM job WHERE id = %lld", (long long)other), "0");
    struct ingest *ingest = NULL;
    off_t offset;
    refuses(PROBLEM_NOT_FOUND, ingest_open(fixture.store, 1000000, &ingest, &offset, why));
    retire(other);
}

static int open_all(void **state)
{
    (void)state;
    return fixture_open(3);
}
static int close_all(void **state)
{
    (void)state;
    return fixture_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_is_stored_as_written),
        cmocka_unit_test(full_chunks_replace_small_ones),
        cmocka_unit_test(plain_columns_agree_with_the_arrays),
        cmocka_unit_test(twice_from_any_cut_is_the_same_as_once),
        cmocka_unit_test(a_killed_connection_loses_and_doubles_nothing),
        cmocka_unit_test(two_ingesters_store_once),
        cmocka_unit_test(a_running_phase_shows_its_progress),
        cmocka_unit_test(the_end_record_decides_the_final_state),
        cmocka_unit_test(an_end_after_a_final_state_changes_nothing),
        cmocka_unit_test(a_blocked_cleanup_tells_its_reason),
        cmocka_unit_test(kept_files_leave_the_target_free_and_go_before_their_job),
        cmocka_unit_test(cleanup_records_tell_what_was_removed_and_left),
        cmocka_unit_test(a_limit_is_kept_with_its_phase),
        cmocka_unit_test(how_a_phase_found_the_caches_is_kept),
        cmocka_unit_test(every_reason_of_a_limit_can_be_kept),
        cmocka_unit_test(skips_unknown_records_and_refuses_another_jobs_journal),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
