/* A job as a report. */
#include "engine/base/text.h"
#include "tests/contract/world.h"

#include <sodium.h>

static job_id job;
enum { SAMPLES = 1700 };

static int setup(void **state)
{
    struct problem why = { 0 };
    struct world *world;
    scoped(findings_done) struct findings findings = { 0 };
    if (world_setup(state))
        return -1;
    world = *state;
    world->kernel = "6.1 <b>|</b>";
    job = world_job_of(world, "create-scaling", "{\"files\":170000,\"sync\":\"fsync\"}");
    world_run(world, job, SAMPLES, JOB_SUCCEEDED);
    return findings_of_shared_device(&findings, &why) ||
                   store_findings_put(world->store, job, 1, &findings, &why)
               ? -1
               : 0;
}

static struct answer get(struct world *world, const char *rest, const char *headers)
{
    char path[256];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/%s", (long long)job, rest);
    return client_call(&world->place,
                       &(struct ask){ .target = path, .token = world->viewer, .headers = headers });
}

static void holds(const struct answer *answer, const char *text)
{
    if (!strstr(answer->body, text))
        fail_msg("it does not hold:\n%s\nbut is:\n%s", text, answer->body);
}

static void is_a_text_for_a_ticket(void **state)
{
    static const struct {
        const char *rest, *headers;
    } ways[] = { { "report", "Accept: text/markdown\r\n" },
                 { "report?format=markdown", "Accept: application/json\r\n" } };
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        char text[512];
        struct answer answer = get(*state, ways[i].rest, ways[i].headers);
        expect_status(&answer, 200);
        assert_string_equal(answer_header(&answer, "Content-Type", text),
                            "text/markdown; charset=utf-8");
        snprintf(text, sizeof text, "# create-scaling on %s: job %lld, succeeded\n\n",
                 ((struct world *)*state)->scratch, (long long)job);
        holds(&answer, text);
        holds(&answer, "## What the numbers say\n\n### The job\n\n- The state directory is on the "
                       "device that was measured");
        holds(&answer,
              "## Phases\n\n| Phase | Ended early by | Unit | Done | Lanes | Took | Per "
              "second | Until the first lane ended | p50 | p99 | Longest "
              "|\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
              "| create |  | files | 170,000 | 1 | 6.80 s | 25,000 |  | 30.0 µs | 90.0 µs | "
              "500 µs |\n\n");
        holds(&answer, "## Parameters\n\n| Name | Value |\n|---|---|\n| files | 170000 |\n"
                       "| sync | fsync |\n");
        holds(&answer, "## Software configuration\n\n| What | Value |\n|---|---|\n"
                       "| Kernel | 6.1 &lt;b\\>\\|&lt;/b\\> |\n");
        answer_done(&answer);
    }
}

static void is_data_for_a_program(void **state)
{
    struct answer answer = get(*state, "report", NULL);
    expect_status(&answer, 200);
    assert_int_equal(answer_number(&answer, "job/id"), job);
    assert_string_equal(answer_text(&answer, "job/findings/0/kind"), "shared-device");
    assert_string_equal(answer_text(&answer, "series/0/phase"), "create");
    assert_int_equal(answer_number(&answer, "series/0/count"), SAMPLES);
    size_t n = json_array_size(answer_at(&answer, "series/0/points/mean"));
    assert_true(n > 50 && n <= 500);
    answer_done(&answer);
}

static void has_every_sample_as_csv(void **state)
{
    char text[512];
    size_t lines = 0;
    struct answer answer = get(*state, "report?format=csv", NULL);
    expect_status(&answer, 200);
    assert_true(text_starts(answer_header(&answer, "Content-Type", text), "text/csv"));
    for (const char *c = answer.body; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, SAMPLES + 1);
    answer_done(&answer);
}

static void a_job_that_has_not_begun_has_a_short_report(void **state)
{
    struct world *world = *state;
    char path[128];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/report?format=markdown",
             (long long)world_job(world));
    struct answer answer = world_get(world, world->viewer, path);
    expect_status(&answer, 200);
    holds(&answer, ", queued\n");
    holds(&answer, "It has not ended.");
    assert_null(strstr(answer.body, "## Phases"));
    answer_done(&answer);
    answer = world_get(world, world->viewer, "/api/v1/jobs/999999/report");
    expect_problem(&answer, 404, "not-found", "");
    answer_done(&answer);
}

static void is_one_file_for_a_browser(void **state)
{
    static const char *const never[] = { "<script", "<link",  "src=", "href=",
                                         "url(",    "style=", "<b>",  "@import" };
    char text[512];
    struct answer answer = get(*state, "report", "Accept: text/html,application/xml;q=0.9\r\n");
    expect_status(&answer, 200);
    assert_string_equal(answer_header(&answer, "Content-Type", text), "text/html; charset=utf-8");
    holds(&answer,
          "<h2>What the numbers say</h2>\n<h3>The job</h3>\n<ul>\n<li>The state directory");
    holds(&answer, "<tr><td>create</td><td></td><td>files</td><td class=\"n\">170,000</td>");
    holds(&answer, "<td>6.1 &lt;b&gt;|&lt;/b&gt;</td>");
    holds(&answer, "<figure>\n<svg ");
    for (size_t i = 0; i < COUNT_OF(never); i++)
        assert_null(strstr(answer.body, never[i]));
    /* The policy names the hash of the only style sheet. */
    const char *css = strstr(answer.body, "<style>");
    assert_non_null(css);
    css += strlen("<style>");
    const char *css_end = strstr(css, "</style>");
    assert_non_null(css_end);
    assert_null(strstr(css_end, "<style"));
    unsigned char hash[crypto_hash_sha256_BYTES];
    char base64[64], policy[128];
    crypto_hash_sha256(hash, (const unsigned char *)css, (size_t)(css_end - css));
    sodium_bin2base64(base64, sizeof base64, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
    snprintf(policy, sizeof policy, "default-src 'none'; style-src 'sha256-%s'; ", base64);
    assert_true(text_starts(answer_header(&answer, "Content-Security-Policy", text), policy));
    answer_done(&answer);
}

static void is_analysed_again_on_request(void **state)
{
    struct world *world = *state;
    char path[128], findings[128];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/analyse", (long long)job);
    snprintf(findings, sizeof findings, "/api/v1/jobs/%lld/findings", (long long)job);
    struct answer answer = world_post(world, world->viewer, path, NULL);
    expect_problem(&answer, 403, "forbidden", "");
    answer_done(&answer);
    answer = world_get(world, world->viewer, findings);
    assert_int_equal(answer_number(&answer, "analysis"), 1);
    answer_done(&answer);
    answer = world_post(world, world->operator_, path, NULL);
    expect_status(&answer, 202);
    assert_int_equal(answer_number(&answer, "id"), job);
    answer_done(&answer);
    answer = world_get(world, world->viewer, findings);
    assert_int_equal(answer_number(&answer, "analysis"), 0);
    assert_int_equal(json_array_size(answer_at(&answer, "items")), 1); /* until they are replaced */
    answer_done(&answer);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/analyse", (long long)world_job(world));
    answer = world_post(world, world->operator_, path, NULL);
    expect_problem(&answer, 409, "conflict", "");
    answer_done(&answer);
}

static void a_phase_has_a_picture(void **state)
{
    char text[512];
    struct answer answer = get(*state, "chart.svg?phase=create&y=rate&width=900&height=400", NULL);
    expect_status(&answer, 200);
    assert_string_equal(answer_header(&answer, "Content-Type", text), "image/svg+xml");
    assert_true(text_starts(answer_header(&answer, "Content-Security-Policy", text),
                            "default-src 'none'; style-src 'sha256-"));
    assert_true(answer.n < 100 * 1000);
    holds(&answer, "viewBox=\"0 0 900 400\"");
    holds(&answer, "create: rate in files/s</text>");
    holds(&answer, ">160 k</text>");
    holds(&answer, "class=\"pc-mean\"");
    answer_done(&answer);
    static const struct {
        const char *rest, *field;
    } wrong[] = { { "chart.svg?phase=destroy", "/?phase" },
                  { "chart.svg?run=2", "/?run" },
                  { "chart.svg?y=colour", "/?y" },
                  { "chart.svg?width=10", "/?width" },
                  { "chart.svg?height=9999", "/?height" } };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        answer = get(*state, wrong[i].rest, NULL);
        expect_problem(&answer, 422, "bad-field", wrong[i].field);
        answer_done(&answer);
    }
}

static void a_job_without_samples_has_an_empty_picture(void **state)
{
    struct world *world = *state;
    char path[128];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/chart.svg", (long long)world_job(world));
    struct answer answer = world_get(world, world->viewer, path);
    expect_status(&answer, 200);
    holds(&answer, "no samples");
    answer_done(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_text_for_a_ticket),
        cmocka_unit_test(is_data_for_a_program),
        cmocka_unit_test(has_every_sample_as_csv),
        cmocka_unit_test(a_job_that_has_not_begun_has_a_short_report),
        cmocka_unit_test(is_one_file_for_a_browser),
        cmocka_unit_test(a_phase_has_a_picture),
        cmocka_unit_test(is_analysed_again_on_request),
        cmocka_unit_test(a_job_without_samples_has_an_empty_picture),
    };
    return cmocka_run_group_tests_name("report", tests, setup, world_teardown);
}
