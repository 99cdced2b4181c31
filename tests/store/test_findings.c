/* What was concluded about a job is kept with it, whole or not at all. */
#include "tests/store/fixture.h"

static int group_setup(void **state)
{
    (void)state;
    return fixture_open(3);
}

static int group_teardown(void **state)
{
    (void)state;
    return fixture_close();
}

static struct findings shared_device(void)
{
    struct findings findings = { 0 };
    works(findings_of_shared_device(&findings, why));
    return findings;
}

static job_id ended_job(const char *target)
{
    job_id id = running_job(target);
    works(store_job_finish(fixture.store, id, JOB_SUCCEEDED, CLEANUP_NONE, NULL, why));
    return id;
}

static void a_job_that_runs_has_nothing_to_conclude(void **state)
{
    (void)state;
    scoped(findings_done) struct findings findings = shared_device();
    job_id id = running_job("runs");
    refuses(PROBLEM_CONFLICT, store_findings_put(fixture.store, id, 1, &findings, why));
    assert_string_equal(sql("SELECT count(*) FROM finding"), "0");
    works(store_job_finish(fixture.store, id, JOB_SUCCEEDED, CLEANUP_NONE, NULL, why));
}

static void findings_replace_those_of_an_earlier_analysis(void **state)
{
    (void)state;
    scoped(findings_done) struct findings findings = shared_device(), none = { 0 };
    scoped_free char *items = NULL, *after = NULL;
    int version = -1;
    job_id id = ended_job("again");
    works(store_findings(fixture.store, id, &items, &version, why));
    assert_string_equal(items, "[]");
    assert_int_equal(version, 0);
    for (int i = 1; i <= 2; i++)
        works(store_findings_put(fixture.store, id, i, &findings, why));
    free(steal(&items));
    works(store_findings(fixture.store, id, &items, &version, why));
    assert_int_equal(version, 2);
    assert_non_null(strstr(items, "shared-device"));
    assert_null(strstr(strstr(items, "shared-device") + 1, "shared-device"));
    scoped(job_done) struct job job = job_now(id);
    assert_string_equal(job.findings, items);
    works(store_findings_put(fixture.store, id, 3, &none, why));
    works(store_findings(fixture.store, id, &after, &version, why));
    assert_string_equal(after, "[]");
    assert_int_equal(version, 3);
    refuses(PROBLEM_NOT_FOUND, store_findings(fixture.store, 999999, &after, &version, why));
}

static void every_job_that_ended_is_analysed_once(void **state)
{
    (void)state;
    struct findings none = { 0 };
    job_id next = 0, first = 0;
    bool shared = true;
    int more = -1;
    sql("UPDATE job SET analysis = 9 WHERE state IN ('succeeded', 'failed', 'cancelled')");
    works(more = store_job_unanalysed(fixture.store, "here", 0, &next, &shared, why));
    assert_int_equal(more, 0);
    first = ended_job("one");
    job_id second = ended_job("two");
    sql("UPDATE job SET environment = '{\"shared_device\": true}' WHERE id = %lld",
        (long long)second);
    works(more = store_job_unanalysed(fixture.store, "elsewhere", 0, &next, &shared, why));
    assert_int_equal(more, 0);
    works(more = store_job_unanalysed(fixture.store, "here", 0, &next, &shared, why));
    assert_int_equal(next, first);
    assert_false(shared);
    works(more = store_job_unanalysed(fixture.store, "here", first, &next, &shared, why));
    assert_int_equal(next, second);
    assert_true(shared);
    works(store_findings_put(fixture.store, first, 1, &none, why));
    works(store_findings_put(fixture.store, second, 1, &none, why));
    works(more = store_job_unanalysed(fixture.store, "here", 0, &next, &shared, why));
    assert_int_equal(more, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_runs_has_nothing_to_conclude),
        cmocka_unit_test(findings_replace_those_of_an_earlier_analysis),
        cmocka_unit_test(every_job_that_ended_is_analysed_once),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
