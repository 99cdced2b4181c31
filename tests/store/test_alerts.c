/* Baselines and their histories, alerts through their states, repeats that are queued once, and what
 * happens in the order of its commits. */
#include "tests/store/fixture.h"

static int group_setup(void **state)
{
    (void)state;
    return fixture_open(4);
}

static int group_teardown(void **state)
{
    (void)state;
    return fixture_close();
}

static struct baseline make(const char *name, const char *labels)
{
    char *text[] = { (char *)(uintptr_t)name, (char *)(uintptr_t)labels };
    const struct baseline new = { .name = text[0],
                                  .workload = (char[]){ "create-scaling" },
                                  .target = (char[]){ "scratch" },
                                  .host = (char[]){ "here" },
                                  .labels = text[1],
                                  .phase = (char[]){ "create" },
                                  .created_by = (char[]){ "me" },
                                  .rule = { FIGURE_RATE, DIRECTION_WORSE, 0.05 },
                                  .runs = 100,
                                  .confirm = true };
    struct baseline made = { 0 };
    works(store_baseline_add(fixture.store, &new, &made, why));
    return made;
}

/* A job that has succeeded, with one phase of 1000 files in so many seconds. */
static job_id ended(double seconds)
{
    job_id id = running_job("scratch");
    sql("INSERT INTO phase (job, run, leg, name, began_seq, unit, lanes, batch, total, ops, bytes, "
        "errors, "
        "first_start, first_done, last_done, finished, latency_count, latency_sum, latency_min, "
        "latency_max, "
        "latency_p50, latency_p90, latency_p99, latency_p999) VALUES (%lld, 1, 1, 'create', 1, "
        "'files', 1, 100, "
        "1000, 1000, 0, 0, 0, %.0f, %.0f, true, 1000, 1, 1, 9, 2, 3, 4, 5)",
        (long long)id, seconds * 1e9, seconds * 1e9);
    works(store_job_finish(fixture.store, id, JOB_SUCCEEDED, CLEANUP_NONE, NULL, why));
    return id;
}

static void a_name_is_taken_once_and_a_change_needs_the_newest_revision(void **state)
{
    (void)state;
    scoped(baseline_done) struct baseline first = make("nightly", "{}"), again = { 0 };
    refuses(PROBLEM_CONFLICT, store_baseline_add(fixture.store, &first, &again, why));
    assert_int_equal(first.revision, 1);
    first.rule.minimum_effect = 0.1;
    first.confirm = false;
    works(store_baseline_change(fixture.store, &first, why));
    refuses(PROBLEM_STALE, store_baseline_change(fixture.store, &first, why));
    works(store_baseline_get(fixture.store, first.id, &again, why));
    assert_int_equal(again.revision, 2);
    assert_true(again.rule.minimum_effect == 0.1);
    assert_false(again.confirm);
    assert_string_equal(again.labels, "{}");
    works(store_baseline_remove(fixture.store, first.id, why));
    refuses(PROBLEM_NOT_FOUND, store_baseline_remove(fixture.store, first.id, why));
    refuses(PROBLEM_NOT_FOUND, store_baseline_get(fixture.store, first.id, &again, why));
}

struct names {
    size_t n;
    char text[256];
};

static int note_name(void *arg, const struct baseline *baseline, struct problem *why)
{
    struct names *names = arg;
    (void)why;
    size_t used = strlen(names->text);
    snprintf(names->text + used, sizeof names->text - used, "%s ", baseline->name);
    names->n++;
    return 0;
}

static void a_job_matches_by_workload_target_and_labels(void **state)
{
    (void)state;
    scoped(baseline_done) struct baseline all = make("all", "{}"),
                                          some = make("some", "{\"kernel\":\"6.1\"}");
    job_id plain = ended(1), labelled = ended(1), failed = running_job("scratch");
    works(store_job_finish(fixture.store, failed, JOB_FAILED, CLEANUP_NONE, NULL, why));
    sql("UPDATE job SET labels = '{\"kernel\": \"6.1\", \"more\": \"x\"}' WHERE id = %lld",
        (long long)labelled);
    struct names names = { 0 }, both = { 0 }, none = { 0 };
    works(store_baseline_match(fixture.store, plain, note_name, &names, why));
    assert_string_equal(names.text, "all ");
    works(store_baseline_match(fixture.store, labelled, note_name, &both, why));
    assert_string_equal(both.text, "all some ");
    works(store_baseline_match(fixture.store, failed, note_name, &none, why));
    assert_int_equal(none.n, 0);
    works(store_baseline_remove(fixture.store, all.id, why));
    works(store_baseline_remove(fixture.store, some.id, why));
}

static void a_history_has_one_value_a_run_of_like_jobs(void **state)
{
    (void)state;
    sql("DELETE FROM job");
    scoped(baseline_done) struct baseline baseline = make("history", "{}");
    job_id first = ended(1), second = ended(2), other = ended(4), limited = ended(8),
           timed = ended(5);
    sql("UPDATE job SET params = '{\"files\": 7}' WHERE id = %lld", (long long)other);
    /* What ended early for want of space did something else; what ran out of time did not. */
    sql("UPDATE phase SET limit_at = 5, limit_reason = CASE job WHEN %lld THEN 'space' ELSE "
        "'deadline' END, "
        "limit_errno = 0, limit_detail = 'x' WHERE job IN (%lld, %lld)",
        (long long)limited, (long long)limited, (long long)timed);
    struct baseline_run *runs = NULL;
    size_t n = 0;
    works(store_baseline_history(fixture.store, &baseline, 0, 0, &runs, &n, why));
    assert_int_equal(n, 3);
    assert_int_equal(runs[0].job, first);
    assert_int_equal(runs[1].job, second);
    assert_int_equal(runs[2].job, timed);
    assert_true(runs[0].value == 1000 && runs[1].value == 500 && runs[2].value == 200);
    assert_true(runs[0].latency[2] == 4);
    assert_string_equal(runs[0].unit, "files");
    assert_false(runs[0].disturbed || runs[0].confirms);
    free(steal(&runs));
    works(store_baseline_history(fixture.store, &baseline, other, 0, &runs, &n, why));
    assert_int_equal(n, 1);
    assert_int_equal(runs[0].job, other);
    free(steal(&runs));
    baseline.runs = 2;
    works(store_baseline_history(fixture.store, &baseline, 0, 0, &runs, &n, why));
    assert_int_equal(n, 2);
    assert_int_equal(runs[1].job, timed);
    free(runs);
    works(store_baseline_remove(fixture.store, baseline.id, why));
}

static void a_job_is_confirmed_once_and_a_repeat_never(void **state)
{
    (void)state;
    job_id bad = ended(9), repeat = 0, again = 0;
    int queued = -1;
    works(queued = store_job_confirm(fixture.store, bad, 1, "baseline x", "see", &repeat, why));
    assert_int_equal(queued, 1);
    works(queued = store_job_confirm(fixture.store, bad, 1, "baseline y", "see", &again, why));
    assert_int_equal(queued, 0);
    scoped(job_done) struct job job = job_now(repeat), original = job_now(bad);
    assert_int_equal(job.confirms, bad);
    assert_int_equal(job.state, JOB_QUEUED);
    assert_string_equal(job.created_by, "baseline x");
    assert_string_equal(job.note, "see");
    assert_string_equal(job.params, original.params);
    assert_int_equal(strlen(job.nonce), 16);
    works(queued = store_job_confirm(fixture.store, repeat, 1, "baseline x", "see", &again, why));
    assert_int_equal(queued, 0);
    sql("DELETE FROM job");
}

static struct alert change_at(const struct baseline *baseline, job_id job)
{
    return (struct alert){ .baseline = baseline->id,
                           .job = job,
                           .run = 1,
                           .before = 100,
                           .after = 80,
                           .effect = -0.2,
                           .p = 0.01,
                           .runs_before = 8,
                           .runs_after = 3 };
}

static int note_alert(void *arg, const struct alert *alert, struct problem *why)
{
    (void)why;
    *(int64_t *)arg = alert->id;
    return 0;
}

static void one_alert_is_open_per_fingerprint_until_it_is_resolved(void **state)
{
    (void)state;
    scoped(baseline_done) struct baseline baseline = make("alerts", "{}");
    char sentence[] = "worse", unit[] = "files/s", print[] = "b-create-rate-7";
    struct alert new = change_at(&baseline, 7);
    new.fingerprint = print;
    new.sentence = sentence;
    new.unit = unit;
    int opened = -1;
    int64_t id = 0;
    works(opened = store_alert_open(fixture.store, &new, why));
    assert_int_equal(opened, 1);
    works(opened = store_alert_open(fixture.store, &new, why));
    assert_int_equal(opened, 0);
    const struct alert_filter filter = { .baseline = baseline.id, .limit = 10 };
    works(store_alert_list(fixture.store, &filter, note_alert, &id, why));
    new.id = id;
    new.after = 75;
    new.runs_after = 4;
    works(store_alert_refresh(fixture.store, &new, why));
    works(store_alert_acknowledge(fixture.store, id, "ann", "seen", why));
    works(store_alert_acknowledge(fixture.store, id, "bob", NULL, why));
    scoped(alert_done) struct alert now = { 0 }, after = { 0 };
    works(store_alert_get(fixture.store, id, &now, why));
    assert_int_equal(now.state, ALERT_ACKNOWLEDGED);
    assert_string_equal(now.acknowledged_by, "ann");
    assert_string_equal(now.note, "seen");
    assert_true(now.after == 75 && now.runs_after == 4 && now.job == 7);
    assert_string_equal(now.name, "alerts");
    works(store_alert_resolve(fixture.store, id, "", "the level has returned", NULL, why));
    works(store_alert_resolve(fixture.store, id, "bob", "again", NULL, why));
    refuses(PROBLEM_CONFLICT, store_alert_acknowledge(fixture.store, id, "ann", NULL, why));
    works(store_alert_get(fixture.store, id, &after, why));
    assert_int_equal(after.state, ALERT_RESOLVED);
    assert_string_equal(after.resolution, "the level has returned");
    assert_string_equal(after.resolved_by, "");
    assert_true(after.resolved_at >= after.acknowledged_at);
    refuses(PROBLEM_NOT_FOUND, store_alert_resolve(fixture.store, 999999, "", "x", NULL, why));
    works(opened = store_alert_open(fixture.store, &new, why));
    assert_int_equal(opened, 1);
    const struct alert_filter resolved = { .states = 1u << ALERT_RESOLVED, .limit = 10 };
    int64_t only = 0;
    works(store_alert_list(fixture.store, &resolved, note_alert, &only, why));
    assert_int_equal(only, id);
    works(store_baseline_remove(fixture.store, baseline.id, why));
    refuses(PROBLEM_NOT_FOUND, store_alert_get(fixture.store, id, &after, why));
}

/* ---- events ---- */

struct heard {
    size_t n;
    int64_t last;
    char text[4096];
};

static int hear(void *arg, const struct event *event, struct problem *why)
{
    struct heard *heard = arg;
    size_t used = strlen(heard->text);
    (void)why;
    assert_true(event->id > heard->last);
    heard->last = event->id;
    heard->n++;
    snprintf(heard->text + used, sizeof heard->text - used, "%s%s\n", event->kind, event->data);
    return 0;
}

static void what_happens_is_told_in_order_and_resumed(void **state)
{
    (void)state;
    int64_t from = 0;
    works(store_event_last(fixture.store, &from, why));
    job_id id = ended(1);
    const struct findings none = { 0 };
    works(store_findings_put(fixture.store, id, 1, &none, why));
    sql("DELETE FROM job WHERE id = %lld", (long long)id);
    struct heard heard = { .last = from }, rest = { 0 };
    works(store_events(fixture.store, from, 100, hear, &heard, why));
    assert_int_equal(heard.n, 5); /* queued, running, succeeded, findings, gone */
    const char *at = heard.text;
    static const char *const order[] = { "\"queued\"", "\"running\"", "\"succeeded\"", "findings{",
                                         "gone{" };
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        at = strstr(at, order[i]);
        assert_non_null(at);
    }
    rest.last = heard.last - 2;
    works(store_events(fixture.store, heard.last - 2, 100, hear, &rest, why));
    assert_int_equal(rest.n, 2);
}

enum { WRITERS = 4, EACH = 40 };

static void *write_events(void *arg)
{
    for (int i = 0; i < EACH; i++) {
        PGresult *result =
            PQexec(arg, "BEGIN; INSERT INTO job (workload, target, host, nonce) "
                        "VALUES ('w', 't', 'elsewhere', ''); SELECT pg_sleep(0.002); COMMIT");
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            return (void *)1;
        PQclear(result);
    }
    return NULL;
}

/* A reader that always goes on after the last id it saw misses nothing, however many write at once. */
static void a_reader_that_goes_on_after_the_last_id_misses_nothing(void **state)
{
    (void)state;
    pthread_t threads[WRITERS];
    PGconn *connections[WRITERS];
    struct heard heard = { 0 };
    works(store_event_last(fixture.store, &heard.last, why));
    for (int i = 0; i < WRITERS; i++) {
        connections[i] = PQconnectdb(fixture.conninfo);
        assert_int_equal(PQstatus(connections[i]), CONNECTION_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, write_events, connections[i]), 0);
    }
    nsec deadline = clock_monotonic() + 30 * NSEC_PER_SEC;
    while (heard.n < WRITERS * EACH && clock_monotonic() < deadline) {
        heard.text[0] = '\0';
        works(store_events(fixture.store, heard.last, 7, hear, &heard, why));
    }
    for (int i = 0; i < WRITERS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
        PQfinish(connections[i]);
    }
    assert_int_equal(heard.n, WRITERS * EACH);
    sql("DELETE FROM job WHERE host = 'elsewhere'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_taken_once_and_a_change_needs_the_newest_revision),
        cmocka_unit_test(a_job_matches_by_workload_target_and_labels),
        cmocka_unit_test(a_history_has_one_value_a_run_of_like_jobs),
        cmocka_unit_test(a_job_is_confirmed_once_and_a_repeat_never),
        cmocka_unit_test(one_alert_is_open_per_fingerprint_until_it_is_resolved),
        cmocka_unit_test(what_happens_is_told_in_order_and_resumed),
        cmocka_unit_test(a_reader_that_goes_on_after_the_last_id_misses_nothing),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
