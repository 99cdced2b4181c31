/* The job row as the queue: claiming, cancelling, ending, idempotency, and what the database holds. */
#include "tests/store/fixture.h"

static void migrating_twice_changes_nothing(void **state)
{
    (void)state;
    char before[32];
    snprintf(before, sizeof before, "%s", sql("SELECT max(version) FROM schema_version"));
    works(store_migrate(fixture.store, why));
    assert_string_equal(sql("SELECT max(version) FROM schema_version"), before);
}

static void refuses_a_newer_schema(void **state)
{
    (void)state;
    sql("INSERT INTO schema_version (version, name) VALUES (9999, 'of the future')");
    refuses(PROBLEM_CONFLICT, store_migrate(fixture.store, why));
    assert_non_null(strstr(refused.message, "9999"));
    sql("DELETE FROM schema_version WHERE version = 9999");
}

static void an_added_job_is_read_back_whole(void **state)
{
    (void)state;
    const struct job_new new = { .workload = "create-scaling",
                                 .target = "whole",
                                 .host = "here",
                                 .nonce = "n0nce",
                                 .params = "{\"files\":1750000,\"batch\":100}",
                                 .labels = "{\"kernel\": \"6.1\"}",
                                 .note = "süß \"quoted\"",
                                 .external_ref = "OPS-1207",
                                 .created_by = "ci",
                                 .priority = -3 };
    job_id id;
    scoped_free char *answer = NULL;
    nsec before = clock_wall();
    works(store_job_add(fixture.store, &new, NULL, render_id, NULL, &id, &answer, why));
    scoped(job_done) struct job job = job_now(id);
    assert_string_equal(job.workload, new.workload);
    assert_string_equal(job.target, new.target);
    assert_string_equal(job.nonce, new.nonce);
    assert_string_equal(job.params, new.params);
    assert_string_equal(job.labels, new.labels);
    assert_string_equal(job.note, new.note);
    assert_string_equal(job.external_ref, new.external_ref);
    assert_string_equal(job.created_by, new.created_by);
    assert_string_equal(job.foreign_entries, "[]");
    assert_int_equal(job.priority, new.priority);
    assert_int_equal(job.state, JOB_QUEUED);
    assert_int_equal(job.cleanup, CLEANUP_NONE);
    assert_null(job.environment);
    assert_int_equal(job.started_at, 0);
    assert_true(job.created_at > before - NSEC_PER_SEC &&
                job.created_at < before + 60 * NSEC_PER_SEC);
    int ended;
    works(store_job_cancel(fixture.store, id, &ended, why));
}

static void claims_by_priority_then_age_one_at_a_time_per_target(void **state)
{
    (void)state;
    job_id old = add_job("order", 0), young = add_job("order", 0), urgent = add_job("order", 5);
    job_id other = add_job("elsewhere", 0);
    assert_int_equal(claim("nothing,of,this"), 0);
    assert_int_equal(claim("order"), urgent);
    assert_int_equal(claim("order"), 0);
    assert_int_equal(claim("order,elsewhere"), other);
    works(store_job_finish(fixture.store, urgent, JOB_FAILED, CLEANUP_PENDING,
                           &(struct problem){ PROBLEM_INTERRUPTED, "", "it died" }, why));
    assert_int_equal(claim("order"), 0);
    works(store_job_cleanup(fixture.store, urgent, CLEANUP_RUNNING, why));
    assert_int_equal(claim("order"), 0);
    works(store_job_cleanup(fixture.store, urgent, CLEANUP_DONE, why));
    assert_int_equal(claim("order"), old);
    works(store_job_finish(fixture.store, old, JOB_SUCCEEDED, CLEANUP_BLOCKED, NULL, why));
    assert_int_equal(claim("order"), 0);
    works(store_job_cleanup(fixture.store, old, CLEANUP_DONE, why));
    assert_int_equal(claim("order"), young);
    refuses(PROBLEM_CONFLICT, store_job_cleanup(fixture.store, old, CLEANUP_RUNNING, why));
    works(store_job_finish(fixture.store, young, JOB_SUCCEEDED, CLEANUP_NONE, NULL, why));
    works(store_job_finish(fixture.store, other, JOB_SUCCEEDED, CLEANUP_NONE, NULL, why));
}

/* Claimers that all want the same few targets, and free them again: at no time two on one target. */
enum { CLAIMERS = 6, TARGETS = 3, JOBS_EACH = 20 };
struct claimers {
    atomic_int on[TARGETS], most, done;
};

static char failed;

static void *claim_until_none(void *arg)
{
    struct claimers *claimers = arg;
    while (atomic_load(&claimers->done) < TARGETS * JOBS_EACH) {
        struct problem why = { 0 };
        struct job job = { 0 };
        int r = store_job_claim(fixture.store, "here", "c0,c1,c2", &job, &why);
        if (r < 0) {
            fprintf(stderr, "claim: %s\n", why.message);
            return &failed;
        }
        if (r == 0)
            continue;
        int target = job.target[1] - '0';
        int together = atomic_fetch_add(&claimers->on[target], 1) + 1;
        if (together > atomic_load(&claimers->most))
            atomic_store(&claimers->most, together);
        atomic_fetch_sub(&claimers->on[target], 1);
        r = store_job_finish(fixture.store, job.id, JOB_SUCCEEDED, CLEANUP_NONE, NULL, &why);
        job_done(&job);
        if (r < 0)
            return &failed;
        atomic_fetch_add(&claimers->done, 1);
    }
    return NULL;
}

static void concurrent_claimers_never_share_a_target_or_a_job(void **state)
{
    (void)state;
    struct claimers claimers = { 0 };
    for (int i = 0; i < TARGETS * JOBS_EACH; i++) {
        char target[] = "c0";
        target[1] = (char)('0' + i % TARGETS);
        add_job(target, 0);
    }
    pthread_t threads[CLAIMERS];
    for (int i = 0; i < CLAIMERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_until_none, &claimers), 0);
    for (int i = 0; i < CLAIMERS; i++) {
        void *outcome;
        pthread_join(threads[i], &outcome);
        assert_null(outcome);
    }
    assert_int_equal(claimers.most, 1);
    assert_int_equal(claimers.done, TARGETS * JOBS_EACH);
    assert_string_equal(sql("SELECT count(*) FROM job WHERE target IN ('c0', 'c1', 'c2') AND "
                            "state = 'succeeded'"),
                        "60");
}

static void cancelling_is_immediate_for_queued_and_asked_of_running(void **state)
{
    (void)state;
    int now;
    job_id queued = add_job("cancel", 0);
    works(store_job_cancel(fixture.store, queued, &now, why));
    assert_int_equal(now, JOB_CANCELLED);
    works(store_job_cancel(fixture.store, queued, &now, why));
    assert_int_equal(now, JOB_CANCELLED);

    job_id running = running_job("cancel");
    works(store_job_cancel(fixture.store, running, &now, why));
    assert_int_equal(now, JOB_CANCELLING);
    works(store_job_cancel(fixture.store, running, &now, why));
    assert_int_equal(now, JOB_CANCELLING);
    works(store_job_stuck(fixture.store, running, true, why));
    {
        scoped(job_done) struct job job = job_now(running);
        assert_true(job.stuck);
    }
    assert_int_equal(add_job("cancel", 0) != 0 && claim("cancel"), 0);
    works(store_job_finish(fixture.store, running, JOB_SUCCEEDED, CLEANUP_NONE, NULL, why));
    refuses(PROBLEM_CONFLICT, store_job_cancel(fixture.store, running, &now, why));
    refuses(PROBLEM_NOT_FOUND, store_job_cancel(fixture.store, 1000000, &now, why));
    sql("DELETE FROM job WHERE target = 'cancel'");
}

static void a_final_state_never_changes(void **state)
{
    (void)state;
    job_id id = running_job("final");
    const struct problem first = { PROBLEM_IO_FAILED, "/x", "broken \xc3" };
    works(store_job_finish(fixture.store, id, JOB_FAILED, CLEANUP_NONE, &first, why));
    works(store_job_finish(fixture.store, id, JOB_SUCCEEDED, CLEANUP_PENDING, NULL, why));
    scoped(job_done) struct job job = job_now(id);
    assert_int_equal(job.state, JOB_FAILED);
    assert_int_equal(job.cleanup, CLEANUP_NONE);
    assert_int_equal(job.problem.code, PROBLEM_IO_FAILED);
    assert_string_equal(job.problem.field, "/x");
    assert_string_equal(job.problem.message, "broken ?");
    assert_true(job.finished_at >= job.started_at && job.started_at > 0);
    refuses(PROBLEM_NOT_FOUND,
            store_job_finish(fixture.store, 1000000, JOB_FAILED, CLEANUP_NONE, NULL, why));
}

static void every_visible_change_raises_the_revision(void **state)
{
    (void)state;
    job_id id = add_job("revision", 0);
    int64_t before = 0, after = 0;
    int now;
    works(store_job_revision(fixture.store, id, &before, &now, why));
    assert_int_equal(now, JOB_QUEUED);
    assert_int_equal(claim("revision"), id);
    works(store_job_revision(fixture.store, id, &after, &now, why));
    assert_true(after > before);
    assert_int_equal(now, JOB_RUNNING);
    before = after;
    works(store_job_finish(fixture.store, id, JOB_SUCCEEDED, CLEANUP_PENDING, NULL, why));
    works(store_job_revision(fixture.store, id, &after, &now, why));
    assert_true(after > before);
    before = after;
    works(store_job_cleanup(fixture.store, id, CLEANUP_DONE, why));
    works(store_job_revision(fixture.store, id, &after, &now, why));
    assert_true(after > before);
    before = after;
    works(store_job_cleanup(fixture.store, id, CLEANUP_DONE, why));
    works(store_job_revision(fixture.store, id, &after, &now, why));
    assert_int_equal(after, before);
    refuses(PROBLEM_NOT_FOUND, store_job_revision(fixture.store, 1000000, &after, &now, why));
}

struct seen {
    size_t n;
    job_id ids[64];
};
static int note(void *arg, const struct job *job, struct problem *why)
{
    (void)why;
    struct seen *seen = arg;
    seen->ids[seen->n++] = job->id;
    return 0;
}

static void lists_by_filter_newest_first_from_a_cursor(void **state)
{
    (void)state;
    job_id a = add_job("list-a", 0), b = add_job("list-b", 0), c = add_job("list-a", 0);
    assert_int_equal(claim("list-b"), b);
    const struct {
        struct job_filter filter;
        size_t n;
        job_id ids[3];
    } cases[] = {
        { { .target = "list-a,list-b", .limit = 50 }, 3, { c, b, a } },
        { { .target = "list-a", .limit = 50 }, 2, { c, a } },
        { { .target = "list-a,list-b", .limit = 2 }, 2, { c, b } },
        { { .target = "list-a,list-b", .before = b, .limit = 50 }, 1, { a } },
        { { .target = "list-a,list-b", .states = 1 << JOB_RUNNING, .limit = 50 }, 1, { b } },
        { { .target = "list-a,list-b", .states = 1 << JOB_RUNNING | 1 << JOB_QUEUED, .limit = 50 },
          3,
          { c, b, a } },
        { { .target = "list-a", .workload = "throughput", .limit = 50 }, 0, { 0 } },
        { { .target = "list-a", .workload = "throughput,create-scaling", .limit = 50 },
          2,
          { c, a } },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct seen seen = { 0 };
        works(store_job_list(fixture.store, &cases[i].filter, note, &seen, why));
        assert_int_equal(seen.n, cases[i].n);
        assert_memory_equal(seen.ids, cases[i].ids, seen.n * sizeof seen.ids[0]);
    }
    struct seen open = { 0 };
    works(store_job_open(fixture.store, "here", note, &open, why));
    assert_true(open.n >= 3);
    open.n = 0;
    works(store_job_open(fixture.store, "another host", note, &open, why));
    assert_int_equal(open.n, 0);
    sql("DELETE FROM job WHERE target LIKE 'list-%%'");
}

/* ---- idempotency ---- */

static int64_t some_token(const char *name)
{
    struct principal principal = { .role = ROLE_OPERATOR };
    snprintf(principal.name, sizeof principal.name, "%s", name);
    unsigned char hash[SECRET_HASH] = { 0 };
    memcpy(hash, name, strlen(name));
    int64_t id = 0;
    works(store_token_add(fixture.store, &principal, hash, &id, why));
    return id;
}

static const struct job_new wanted = { .workload = "create-scaling",
                                       .target = "once",
                                       .host = "here",
                                       .nonce = "abc",
                                       .params = "{}",
                                       .labels = "{}" };

static void the_same_key_and_body_give_the_first_answer(void **state)
{
    (void)state;
    struct idempotency key = { "k1", some_token("first"), "body" };
    job_id id, again = 0;
    scoped_free char *answer = NULL, *repeated = NULL;
    works(store_job_add(fixture.store, &wanted, &key, render_id, NULL, &id, &answer, why));
    int r = 0;
    works(r = store_job_add(fixture.store, &wanted, &key, render_id, NULL, &again, &repeated, why));
    assert_int_equal(r, 1);
    assert_int_equal(again, id);
    assert_string_equal(repeated, answer);
    assert_string_equal(sql("SELECT count(*) FROM job WHERE target = 'once'"), "1");

    key.body_hash[0] ^= 1;
    refuses(PROBLEM_BAD_FIELD,
            store_job_add(fixture.store, &wanted, &key, render_id, NULL, &again, &repeated, why));
    assert_string_equal(refused.field, "/Idempotency-Key");
    assert_string_equal(sql("SELECT count(*) FROM job WHERE target = 'once'"), "1");

    struct idempotency other = { "k1", some_token("second"), "body" };
    scoped_free char *separate = NULL;
    works(
        r = store_job_add(fixture.store, &wanted, &other, render_id, NULL, &again, &separate, why));
    assert_int_equal(r, 0);
    assert_int_not_equal(again, id);

    sql("UPDATE idempotency SET created_at = now() - interval '25 hours'");
    scoped_free char *fresh = NULL;
    key.body_hash[0] ^= 1;
    works(r = store_job_add(fixture.store, &wanted, &key, render_id, NULL, &again, &fresh, why));
    assert_int_equal(r, 0);
    assert_string_equal(sql("SELECT count(*) FROM idempotency"), "1");
    sql("DELETE FROM job WHERE target = 'once'");
}

/* While the answer is being rendered the same request comes again. */
static void ask_again(const struct idempotency *key)
{
    job_id id;
    scoped_free char *answer = NULL;
    refuses(PROBLEM_CONFLICT,
            store_job_add(fixture.store, &wanted, key, render_id, NULL, &id, &answer, why));
}

static int render_and_ask_again(void *arg, const struct job *job, char **ret, struct problem *why)
{
    ask_again(arg);
    return render_id(NULL, job, ret, why);
}

static void the_same_key_in_flight_is_a_conflict(void **state)
{
    (void)state;
    struct idempotency key = { "flight", some_token("flight"), "body" };
    job_id id;
    scoped_free char *answer = NULL;
    works(
        store_job_add(fixture.store, &wanted, &key, render_and_ask_again, &key, &id, &answer, why));
    assert_string_equal(sql("SELECT count(*) FROM job WHERE target = 'once'"), "1");
    sql("DELETE FROM job WHERE target = 'once'");
}

static int render_fails(void *arg, const struct job *job, char **ret, struct problem *why)
{
    (void)arg;
    (void)job;
    (void)ret;
    return problem_set(why, PROBLEM_INTERNAL, "no words");
}

static void a_failed_answer_adds_no_job(void **state)
{
    (void)state;
    struct idempotency key = { "lost", some_token("lost"), "body" };
    job_id id;
    scoped_free char *answer = NULL;
    refuses(PROBLEM_INTERNAL,
            store_job_add(fixture.store, &wanted, &key, render_fails, NULL, &id, &answer, why));
    assert_string_equal(sql("SELECT count(*) FROM job WHERE target = 'once'"), "0");
    works(store_job_add(fixture.store, &wanted, &key, render_id, NULL, &id, &answer, why));
    sql("DELETE FROM job WHERE target = 'once'");
}

/* ---- what the database itself refuses ---- */

/* A chunk of two samples in a phase of job 1; one of its columns is to be replaced by a wrong one. */
#define CHUNK                                                                                 \
    "INSERT INTO chunk SELECT (jsonb_populate_record(NULL::chunk, (SELECT jsonb_object_agg("  \
    "attname, CASE WHEN format_type(atttypid, NULL) LIKE '%[]' THEN to_jsonb(ARRAY[1, 2]) "   \
    "WHEN attname IN ('count', 'run', 'leg') THEN to_jsonb(CASE attname WHEN 'count' THEN 2 " \
    "ELSE 1 END) WHEN attname = 'phase' THEN to_jsonb('create'::text) "                       \
    "WHEN attname = 'small' THEN to_jsonb(false) ELSE to_jsonb(1) END) FROM pg_attribute "    \
    "WHERE attrelid = 'chunk'::regclass AND attnum > 0) || "

static void the_database_refuses_what_cannot_be(void **state)
{
    (void)state;
    sql("INSERT INTO job (id, workload, target, host, nonce) OVERRIDING SYSTEM VALUE "
        "VALUES (900001, 'w', 'holds', 'h', 'n')");
    sql("INSERT INTO phase SELECT (jsonb_populate_record(NULL::phase, (SELECT jsonb_object_agg("
        "attname, CASE WHEN attname = 'job' THEN to_jsonb(900001) WHEN attname IN ('name', 'unit') "
        "THEN to_jsonb('create'::text) WHEN attname LIKE 'limit%%' OR attname = 'histogram' THEN "
        "NULL WHEN attname = 'finished' THEN to_jsonb(false) ELSE to_jsonb(1) END) FROM "
        "pg_attribute "
        "WHERE attrelid = 'phase'::regclass AND attnum > 0))).*");
    sql("%s%s", CHUNK, "'{\"job\": 900001}')).*");
    const char *const statements[] = {
        "INSERT INTO job (workload, target, host, nonce) VALUES ('', 't', 'h', 'n')",
        "INSERT INTO job (workload, target, host, nonce, state) VALUES ('w', 't', 'h', 'n', "
        "'lost')",
        "INSERT INTO job (workload, target, host, nonce, state) VALUES ('w', 't', 'h', 'n', "
        "'running')",
        "INSERT INTO job (workload, target, host, nonce, finished_at) VALUES ('w', 't', 'h', 'n', "
        "now())",
        "INSERT INTO job (workload, target, host, nonce, params) VALUES ('w', 't', 'h', 'n', '[]')",
        "INSERT INTO token (name, role, hash) VALUES ('n', 'king', decode(repeat('00', 32), "
        "'hex'))",
        "INSERT INTO token (name, role, hash) VALUES ('n', 'admin', 'short')",
        CHUNK "'{\"job\": 900001}')).*",
        CHUNK "'{\"job\": 900001, \"seq\": 2, \"seq_last\": 2, \"p99\": [1]}')).*",
        CHUNK "'{\"job\": 900001, \"seq\": 2, \"seq_last\": 2, \"count\": 513}')).*",
        CHUNK "'{\"job\": 900001, \"seq\": 2, \"seq_last\": 1}')).*",
        CHUNK "'{\"job\": 900001, \"seq\": 2, \"seq_last\": 2, \"phase\": \"list\"}')).*",
        "INSERT INTO session (token, hash, expires_at) VALUES (-1, decode(repeat('00', 32), "
        "'hex'), now())",
    };
    for (size_t i = 0; i < COUNT_OF(statements); i++) {
        PGresult *result = PQexec(fixture.pg, statements[i]);
        const char *state_ = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        if (!state_ || strncmp(state_, "23", 2) != 0)
            fail_msg("%s: %s", statements[i], PQresultErrorMessage(result));
        PQclear(result);
    }
}

static int open_all(void **state)
{
    (void)state;
    return fixture_open(CLAIMERS);
}
static int close_all(void **state)
{
    (void)state;
    return fixture_close();
}

/* The states that a job went through, as words. */
static void expect_events(job_id id, int64_t after, const char *expected)
{
    struct job_event events[16];
    char text[512] = "";
    size_t n = 0, used = 0;
    works(store_job_events(fixture.store, id, after, events, COUNT_OF(events), &n, why));
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 ? events[i].revision > after
                           : events[i].revision > events[i - 1].revision);
        assert_true(events[i].at > 0);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s/%s%s ",
                                 job_states[events[i].state], cleanup_states[events[i].cleanup],
                                 events[i].stuck ? "/stuck" : "");
    }
    assert_string_equal(text, expected);
}

static void keeps_the_states_that_a_job_went_through(void **state)
{
    (void)state;
    const struct problem none = { 0 };
    struct job_event first[2];
    size_t n = 0;
    int now;
    job_id id = running_job("events");
    works(store_job_change(fixture.store, id, &(struct job_change){ .note = "no event" }, why));
    works(store_job_stuck(fixture.store, id, true, why));
    works(store_job_stuck(fixture.store, id, false, why));
    works(store_job_cancel(fixture.store, id, &now, why));
    works(store_job_finish(fixture.store, id, JOB_CANCELLED, CLEANUP_PENDING, &none, why));
    works(store_job_cleanup(fixture.store, id, CLEANUP_DONE, why));
    expect_events(id, 0,
                  "queued/none running/none running/none/stuck running/none cancelling/none "
                  "cancelled/pending cancelled/done ");
    works(store_job_events(fixture.store, id, 0, first, 2, &n, why));
    assert_int_equal(n, 2);
    expect_events(id, first[1].revision,
                  "running/none/stuck running/none cancelling/none cancelled/pending "
                  "cancelled/done ");
    struct job job = job_now(id);
    expect_events(id, job.revision, "");
    job_done(&job);
    expect_events(999999999, 0, "");
}

static void changes_what_people_write(void **state)
{
    (void)state;
    const bool yes = true;
    job_id id = add_job("changes", 0);
    struct job before = job_now(id);
    works(store_job_change(fixture.store, id,
                           &(struct job_change){ .note = "n",
                                                 .labels = "{\"a\":\"b\"}",
                                                 .external_ref = "r",
                                                 .pinned = &yes,
                                                 .revision = before.revision },
                           why));
    struct job after = job_now(id);
    assert_string_equal(after.note, "n");
    assert_string_equal(after.external_ref, "r");
    assert_non_null(strstr(after.labels, "\"b\""));
    assert_true(after.pinned);
    assert_int_equal(after.revision, before.revision + 1);
    refuses(PROBLEM_STALE,
            store_job_change(fixture.store, id,
                             &(struct job_change){ .note = "late", .revision = before.revision },
                             why));
    refuses(PROBLEM_NOT_FOUND,
            store_job_change(fixture.store, 999999999, &(struct job_change){ .note = "" }, why));
    struct job still = job_now(id);
    assert_string_equal(still.note, "n");
    job_done(&before);
    job_done(&after);
    job_done(&still);
}

static int note_gone(void *arg, job_id id, struct problem *why)
{
    job_id *gone = arg;
    if (*gone < 0)
        return problem_set(why, PROBLEM_IO_FAILED, "the disk is on fire");
    *gone = id;
    return 0;
}

static void deletes_all_of_a_job_or_nothing(void **state)
{
    (void)state;
    static const char *const tables[] = { "leg",     "phase",     "chunk",      "host_sample",
                                          "finding", "job_event", "idempotency" };
    job_id id = running_job("deletes"), other = running_job("stays"), gone = 0, broken = -1;
    const struct problem none = { 0 };
    refuses(PROBLEM_CONFLICT, store_job_delete(fixture.store, id, note_gone, &gone, why));
    works(store_job_finish(fixture.store, id, JOB_SUCCEEDED, CLEANUP_DONE, &none, why));
    refuses(PROBLEM_IO_FAILED, store_job_delete(fixture.store, id, note_gone, &broken, why));
    struct job still = job_now(id);
    job_done(&still);
    assert_int_equal(gone, 0);
    works(store_job_delete(fixture.store, id, note_gone, &gone, why));
    assert_int_equal(gone, id);
    refuses(PROBLEM_NOT_FOUND, store_job_delete(fixture.store, id, note_gone, &gone, why));
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        assert_string_equal(
            sql("SELECT count(*) FROM %s WHERE job = %lld", tables[i], (long long)id), "0");
    struct job beside = job_now(other);
    job_done(&beside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_states_that_a_job_went_through),
        cmocka_unit_test(changes_what_people_write),
        cmocka_unit_test(deletes_all_of_a_job_or_nothing),
        cmocka_unit_test(migrating_twice_changes_nothing),
        cmocka_unit_test(refuses_a_newer_schema),
        cmocka_unit_test(an_added_job_is_read_back_whole),
        cmocka_unit_test(claims_by_priority_then_age_one_at_a_time_per_target),
        cmocka_unit_test(concurrent_claimers_never_share_a_target_or_a_job),
        cmocka_unit_test(cancelling_is_immediate_for_queued_and_asked_of_running),
        cmocka_unit_test(a_final_state_never_changes),
        cmocka_unit_test(every_visible_change_raises_the_revision),
        cmocka_unit_test(lists_by_filter_newest_first_from_a_cursor),
        cmocka_unit_test(the_same_key_and_body_give_the_first_answer),
        cmocka_unit_test(the_same_key_in_flight_is_a_conflict),
        cmocka_unit_test(a_failed_answer_adds_no_job),
        cmocka_unit_test(the_database_refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
