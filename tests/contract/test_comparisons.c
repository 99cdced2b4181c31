/* Jobs beside each other: verdicts, what differs, and what cannot be compared. */
#include "engine/base/text.h"
#include "tests/contract/world.h"

static job_id usual, slow, again, longer;
enum { SAMPLES = 600 };

static job_id run(struct world *world, const char *params, nsec batch, const char *kernel)
{
    nsec batch_before = world->batch;
    const char *kernel_before = world->kernel;
    job_id job = world_job_of(world, "create-scaling", params);
    world->batch = batch;
    world->kernel = kernel;
    world_run(world, job, SAMPLES, JOB_SUCCEEDED);
    world->batch = batch_before;
    world->kernel = kernel_before;
    return job;
}

static int setup(void **state)
{
    if (world_setup(state))
        return -1;
    usual = run(*state, "{\"files\":1000}", 4 * NSEC_PER_MSEC, "6.1");
    slow = run(*state, "{\"files\":1000}", 5 * NSEC_PER_MSEC, "6.6|rc1");
    again = run(*state, "{\"files\":1000}", 4 * NSEC_PER_MSEC, "6.1");
    longer = run(*state, "{\"files\":2000}", 8 * NSEC_PER_MSEC, "6.1");
    return 0;
}

static struct answer compare(struct world *world, job_id a, job_id b, const char *more,
                             const char *headers)
{
    char path[128];
    snprintf(path, sizeof path, "/api/v1/comparisons?jobs=%lld,%lld%s", (long long)a, (long long)b,
             more);
    return client_call(&world->place,
                       &(struct ask){ .target = path, .token = world->viewer, .headers = headers });
}

static void a_slower_job_is_told_with_what_differs(void **state)
{
    struct answer answer = compare(*state, usual, slow, "", NULL);
    char sentence[128];
    expect_status(&answer, 200);
    assert_true(json_is_false(answer_at(&answer, "forced")));
    assert_int_equal(answer_number(&answer, "jobs/1/id"), slow);
    assert_int_equal(answer_number(&answer, "comparisons/0/a"), usual);
    assert_int_equal(answer_number(&answer, "comparisons/0/b"), slow);
    assert_string_equal(answer_text(&answer, "comparisons/0/phases/0/phase"), "create");
    assert_string_equal(answer_text(&answer, "comparisons/0/phases/0/verdict"), "slower");
    assert_true(json_is_false(answer_at(&answer, "comparisons/0/phases/0/small")));
    double ratio = json_number_value(answer_at(&answer, "comparisons/0/phases/0/ratio"));
    assert_true(ratio > 1.2499 && ratio < 1.2501);
    snprintf(sentence, sizeof sentence, "create: slower. Job %lld costs 1.25 times what job %lld",
             (long long)slow, (long long)usual);
    assert_true(text_starts(answer_text(&answer, "comparisons/0/phases/0/sentence"), sentence));
    assert_int_equal(json_array_size(answer_at(&answer, "comparisons/0/differences/params")), 0);
    assert_string_equal(answer_text(&answer, "comparisons/0/differences/environment/0/pointer"),
                        "/kernel");
    assert_string_equal(answer_text(&answer, "comparisons/0/differences/environment/0/a"), "6.1");
    assert_string_equal(answer_text(&answer, "comparisons/0/differences/environment/0/b"),
                        "6.6|rc1");
    assert_int_equal(json_array_size(answer_at(&answer, "comparisons/0/flags")), 0);
    answer_done(&answer);
}

static void several_jobs_are_each_compared_with_the_first(void **state)
{
    char more[32];
    snprintf(more, sizeof more, ",%lld", (long long)again);
    struct answer answer = compare(*state, usual, slow, more, NULL);
    expect_status(&answer, 200);
    assert_int_equal(json_array_size(answer_at(&answer, "comparisons")), 2);
    assert_string_equal(answer_text(&answer, "comparisons/0/phases/0/verdict"), "slower");
    assert_string_equal(answer_text(&answer, "comparisons/1/phases/0/verdict"), "same");
    assert_int_equal(answer_number(&answer, "comparisons/1/b"), again);
    answer_done(&answer);
    struct answer faster = compare(*state, slow, usual, "", NULL);
    assert_string_equal(answer_text(&faster, "comparisons/0/phases/0/verdict"), "faster");
    answer_done(&faster);
}

static void other_parameters_are_compared_only_by_force_and_without_a_verdict(void **state)
{
    struct answer refused = compare(*state, usual, longer, "", NULL);
    expect_problem(&refused, 409, "conflict", "");
    assert_non_null(strstr(answer_text(&refused, "detail"), "/files"));
    answer_done(&refused);
    struct answer forced = compare(*state, usual, longer, "&force=1", NULL);
    expect_status(&forced, 200);
    assert_true(json_is_true(answer_at(&forced, "forced")));
    assert_string_equal(answer_text(&forced, "comparisons/0/phases/0/verdict"), "cannot-tell");
    double ratio = json_number_value(answer_at(&forced, "comparisons/0/phases/0/ratio"));
    assert_true(ratio > 1.99 && ratio < 2.01);
    assert_int_equal(answer_number(&forced, "comparisons/0/differences/params/0/b"), 2000);
    assert_int_equal(json_array_size(answer_at(&forced, "comparisons/0/flags")), 1);
    answer_done(&forced);
    struct answer needless = compare(*state, usual, again, "&force=1", NULL);
    assert_true(json_is_false(answer_at(&needless, "forced")));
    answer_done(&needless);
}

/* What sharing costs is what they are compared for. */
static void jobs_that_differ_in_sharing_are_compared_with_a_verdict(void **state)
{
    const struct {
        const char *a, *b;
        unsigned status;
    } rows[] = {
        { "{\"files\":1000,\"share\":\"none\"}", "{\"files\":1000,\"share\":\"nfs\"}", 200 },
        { "{\"files\":1000,\"share\":\"none\"}", "{\"files\":2000,\"share\":\"nfs\"}", 409 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        job_id a = run(*state, rows[i].a, 4 * NSEC_PER_MSEC, "6.1"),
               b = run(*state, rows[i].b, 5 * NSEC_PER_MSEC, "6.1");
        struct answer answer = compare(*state, a, b, "", NULL);
        expect_status(&answer, rows[i].status);
        if (rows[i].status == 200) {
            assert_string_equal(answer_text(&answer, "comparisons/0/phases/0/verdict"), "slower");
            assert_true(json_is_false(answer_at(&answer, "forced")));
            assert_string_equal(answer_text(&answer, "comparisons/0/differences/params/0/pointer"),
                                "/share");
            assert_int_equal(json_array_size(answer_at(&answer, "comparisons/0/flags")), 0);
        } else {
            assert_non_null(strstr(answer_text(&answer, "detail"), "/files"));
        }
        answer_done(&answer);
    }
}

static void refuses_what_cannot_be_compared(void **state)
{
    struct world *world = *state;
    job_id other = world_job_of(world, "other-workload", "{}");
    world_run(world, other, 10, JOB_SUCCEEDED);
    struct answer answer = compare(world, usual, other, "", NULL);
    expect_problem(&answer, 422, "bad-field", "/?jobs");
    answer_done(&answer);
    answer = compare(world, usual, usual, "", NULL);
    expect_problem(&answer, 422, "bad-field", "/?jobs");
    answer_done(&answer);
    answer = compare(world, usual, 999999, "", NULL);
    expect_problem(&answer, 422, "bad-field", "/?jobs");
    answer_done(&answer);
    answer = compare(world, usual, world_job(world), "", NULL);
    expect_problem(&answer, 409, "conflict", "");
    answer_done(&answer);
    static const char *const lists[] = { "", "?jobs=1", "?jobs=1,x",
                                         "?jobs=", "?jobs=1,2,3,4,5,6,7,8,9" };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        char path[96];
        snprintf(path, sizeof path, "/api/v1/comparisons%s", lists[i]);
        answer = world_get(world, world->viewer, path);
        expect_problem(&answer, 422, "bad-field", "/?jobs");
        answer_done(&answer);
    }
}

static void is_written_as_markdown_too(void **state)
{
    static const struct {
        const char *more, *headers;
    } ways[] = { { "", "Accept: text/markdown\r\n" }, { "&format=markdown", NULL } };
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        char text[512], heading[96];
        struct answer answer = compare(*state, usual, slow, ways[i].more, ways[i].headers);
        expect_status(&answer, 200);
        assert_string_equal(answer_header(&answer, "Content-Type", text),
                            "text/markdown; charset=utf-8");
        snprintf(heading, sizeof heading, "## Job %lld (B) against job %lld (A)\n", (long long)slow,
                 (long long)usual);
        assert_non_null(strstr(answer.body, heading));
        assert_non_null(strstr(answer.body, "- create: slower. "));
        assert_non_null(strstr(answer.body, "| create | slower | 1.25 | 1.25 to 1.25 | 99 % |"));
        assert_non_null(strstr(answer.body, "| environment /kernel | 6.1 | 6.6\\|rc1 |\n"));
        answer_done(&answer);
    }
}

/* "a=1,2,3,4&b=5,6,7,8": jobs of this batch time, give or take 1 %. */
static void side_of_jobs(struct world *world, const char *name, size_t n, nsec batch, char *text,
                         size_t size, job_id jobs[])
{
    size_t used = (size_t)snprintf(text, size, "%s=", name);
    for (size_t i = 0; i < n; i++) {
        static const int noise[] = { 3, -4, 1, -7, 6, -2 };
        jobs[i] =
            run(world, "{\"files\":1000}", batch + batch * noise[i % 6] / 1000 + (nsec)i, "6.1");
        used +=
            (size_t)snprintf(text + used, size - used, "%s%lld", i ? "," : "", (long long)jobs[i]);
    }
}

static void jobs_of_one_side_are_its_runs(void **state)
{
    struct world *world = *state;
    char a[128], b[128], path[320];
    job_id jobs_a[4], jobs_b[4];
    side_of_jobs(world, "a", 4, 4 * NSEC_PER_MSEC, a, sizeof a, jobs_a);
    side_of_jobs(world, "b", 4, 5 * NSEC_PER_MSEC, b, sizeof b, jobs_b);
    snprintf(path, sizeof path, "/api/v1/comparisons?%s&%s", a, b);
    struct answer answer = world_get(world, world->viewer, path);
    expect_status(&answer, 200);
    assert_int_equal(json_array_size(answer_at(&answer, "jobs")), 8);
    assert_int_equal(json_array_size(answer_at(&answer, "comparisons")), 1);
    assert_int_equal(answer_number(&answer, "comparisons/0/jobs_a/3"), jobs_a[3]);
    assert_int_equal(answer_number(&answer, "comparisons/0/jobs_b/0"), jobs_b[0]);
    assert_int_equal(json_array_size(answer_at(&answer, "comparisons/0/phases")), 1);
    assert_string_equal(answer_text(&answer, "comparisons/0/phases/0/verdict"), "slower");
    assert_true(json_is_false(answer_at(&answer, "comparisons/0/phases/0/within_run")));
    assert_int_equal(answer_number(&answer, "comparisons/0/phases/0/runs_a/runs"), 4);
    double spread = json_number_value(answer_at(&answer, "comparisons/0/phases/0/runs_b/spread"));
    assert_true(spread > 0.009 && spread < 0.011);
    double ratio = json_number_value(answer_at(&answer, "comparisons/0/phases/0/ratio"));
    double p = json_number_value(answer_at(&answer, "comparisons/0/phases/0/p"));
    assert_true(ratio > 1.24 && ratio < 1.26);
    assert_true(p > 0.028 && p < 0.029); /* 2 / 70, exact */
    assert_non_null(strstr(answer_text(&answer, "comparisons/0/phases/0/sentence"),
                           "B costs 1.25 times what A costs ("));
    assert_non_null(strstr(answer_text(&answer, "comparisons/0/phases/0/sentence"),
                           "by whole runs, 4 against 4."));
    answer_done(&answer);

    char heading[96];
    snprintf(heading, sizeof heading, "## Jobs %lld, %lld, %lld, %lld (B) against jobs ",
             (long long)jobs_b[0], (long long)jobs_b[1], (long long)jobs_b[2],
             (long long)jobs_b[3]);
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "&format=markdown");
    answer = world_get(world, world->viewer, path);
    expect_status(&answer, 200);
    assert_non_null(strstr(answer.body, heading));
    answer_done(&answer);

    /* Two of them a side are too few: one run of each is compared, and that is said. */
    snprintf(path, sizeof path, "/api/v1/comparisons?a=%lld,%lld&b=%lld,%lld", (long long)jobs_a[0],
             (long long)jobs_a[1], (long long)jobs_b[0], (long long)jobs_b[1]);
    answer = world_get(world, world->viewer, path);
    expect_status(&answer, 200);
    assert_true(json_is_true(answer_at(&answer, "comparisons/0/phases/0/within_run")));
    assert_string_equal(answer_text(&answer, "comparisons/0/phases/0/verdict"), "slower");
    assert_non_null(strstr(answer_text(&answer, "comparisons/0/phases/0/sentence"),
                           "stretches of one run each. Of the runs, those of A lie between "));
    answer_done(&answer);

    static const struct {
        const char *query, *field;
    } rows[] = {
        { "a=1,2", "/?b" }, { "b=1", "/?a" }, { "a=1&b=2&jobs=1,2", "/?jobs" }, { "a=x&b=1", "/?a" }
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        snprintf(path, sizeof path, "/api/v1/comparisons?%s", rows[i].query);
        answer = world_get(world, world->viewer, path);
        expect_problem(&answer, 422, "bad-field", rows[i].field);
        answer_done(&answer);
    }
    snprintf(path, sizeof path, "/api/v1/comparisons?a=%lld&b=%lld", (long long)jobs_a[0],
             (long long)jobs_a[0]);
    answer = world_get(world, world->viewer, path);
    expect_problem(&answer, 422, "bad-field", "/?b");
    answer_done(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slower_job_is_told_with_what_differs),
        cmocka_unit_test(several_jobs_are_each_compared_with_the_first),
        cmocka_unit_test(other_parameters_are_compared_only_by_force_and_without_a_verdict),
        cmocka_unit_test(jobs_that_differ_in_sharing_are_compared_with_a_verdict),
        cmocka_unit_test(refuses_what_cannot_be_compared),
        cmocka_unit_test(is_written_as_markdown_too),
        cmocka_unit_test(jobs_of_one_side_are_its_runs),
    };
    return cmocka_run_group_tests_name("comparisons", tests, setup, world_teardown);
}
