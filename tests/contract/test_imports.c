/* What was measured elsewhere becomes a job, whole or not at all. */
#include "engine/base/text.h"
#include "engine/journal.h"
#include "tests/contract/world.h"

#include <stdatomic.h>

static const char table[] = "filesystems,create_seconds,reboot_seconds\n"
                            "1000,369,471\n"
                            "2000,1063,\n"
                            "3000,2340,318\n"
                            "4000,4622,570\n";
#define CSV                                                                                       \
    "/api/v1/imports?workload=filesystem-scaling&name=ZFS&x=filesystems&y=create:create_seconds," \
    "cycle:reboot_seconds&at_load=cycle"
#define SAMPLES "\"samples\":{\"load\":[100,200,300],\"elapsed\":[1.5,1.25,2.5]}"
static const char json[] =
    "{\"workload\":\"create-scaling\",\"name\":\"NFSv4, 2005\",\"labels\":{\"kernel\":\"2.6\"},"
    "\"note\":\"as printed\",\"environment\":{\"kernel\":\"2.6.11\"},"
    "\"phases\":[{\"name\":\"create\"," SAMPLES "}]}";

static struct answer post(struct world *world, const char *token, const char *target,
                          const char *type, const char *body, const char *headers)
{
    return client_call(&world->place, &(struct ask){ .method = "POST",
                                                     .target = target,
                                                     .token = token,
                                                     .type = type,
                                                     .body = body,
                                                     .headers = headers });
}

static struct answer get(struct world *world, long long job, const char *rest)
{
    char path[256];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld%s", job, rest);
    return world_get(world, world->viewer, path);
}

static long long taken(struct answer *answer)
{
    expect_status(answer, 201);
    long long id = answer_number(answer, "id");
    assert_true(id > 0);
    answer_done(answer);
    return id;
}

static size_t jobs_in_all(struct world *world)
{
    struct answer answer = world_get(world, world->viewer, "/api/v1/jobs?limit=500");
    size_t n = json_array_size(answer_at(&answer, "items"));
    answer_done(&answer);
    return n;
}

static void near(const struct answer *answer, const char *path, double wanted)
{
    double got = json_number_value(answer_at(answer, path));
    if (!(got > wanted - 1e-9 && got < wanted + 1e-9))
        fail_msg("%s is %.12g instead of %.12g", path, got, wanted);
}

static void takes_json(void **state)
{
    struct world *world = *state;
    char text[512];
    struct answer answer = post(world, world->operator_, "/api/v1/imports", NULL, json, NULL);
    expect_status(&answer, 201);
    long long id = answer_number(&answer, "id");
    snprintf(text, sizeof text, "/api/v1/jobs/%lld", id);
    char location[512];
    assert_string_equal(answer_header(&answer, "Location", location), text);
    answer_done(&answer);
    answer = get(world, id, "");
    assert_string_equal(answer_text(&answer, "state"), "succeeded");
    assert_true(json_is_true(answer_at(&answer, "imported")));
    assert_true(json_is_null(answer_at(&answer, "target")));
    assert_string_equal(answer_text(&answer, "name"), "NFSv4, 2005");
    assert_string_equal(answer_text(&answer, "workload"), "create-scaling");
    assert_string_equal(answer_text(&answer, "labels/kernel"), "2.6");
    assert_string_equal(answer_text(&answer, "note"), "as printed");
    assert_string_equal(answer_text(&answer, "environment/kernel"), "2.6.11");
    assert_string_equal(answer_text(&answer, "cleanup"), "none");
    assert_int_equal(json_array_size(answer_at(&answer, "phases")), 1);
    assert_string_equal(answer_text(&answer, "phases/0/name"), "create");
    assert_string_equal(answer_text(&answer, "phases/0/unit"), "files");
    assert_int_equal(answer_number(&answer, "phases/0/ops"), 300);
    assert_int_equal(answer_number(&answer, "phases/0/batch"), 100);
    near(&answer, "phases/0/seconds", 5.25);
    assert_true(json_is_true(answer_at(&answer, "phases/0/finished")));
    answer_done(&answer);
    answer = get(world, id, "/series?phase=create&format=csv");
    assert_non_null(strstr(answer.body, "create,1,1,0,300,5250000000,2500000000,100,0,0,"));
    answer_done(&answer);
    answer = get(world, id, "/journal");
    expect_status(&answer, 200);
    assert_non_null(strstr(answer.body, "\"record\":\"end\""));
    answer_done(&answer);
    answer = get(world, id, "/report?format=markdown");
    assert_non_null(strstr(answer.body, "# create-scaling on NFSv4, 2005: job"));
    assert_non_null(strstr(answer.body, "Measured elsewhere; imported by operator"));
    answer_done(&answer);
}

static void takes_csv_with_gaps(void **state)
{
    struct world *world = *state;
    struct answer answer = post(world, world->operator_, CSV "&label.sharing=off&note=two%20words",
                                "text/csv; charset=utf-8", table, NULL);
    long long id = taken(&answer);
    answer = get(world, id, "");
    assert_string_equal(answer_text(&answer, "labels/sharing"), "off");
    assert_string_equal(answer_text(&answer, "note"), "two words");
    assert_string_equal(answer_text(&answer, "phases/0/name"), "create");
    assert_string_equal(answer_text(&answer, "phases/0/unit"), "filesystems");
    assert_int_equal(answer_number(&answer, "phases/0/ops"), 4000);
    near(&answer, "phases/0/seconds", 8394);
    assert_true(json_is_false(answer_at(&answer, "phases/0/at_load")));
    assert_true(json_is_true(answer_at(&answer, "phases/1/at_load")));
    assert_int_equal(answer_number(&answer, "phases/1/ops"), 3);
    answer_done(&answer);
    answer = get(world, id, "/series?phase=cycle");
    assert_int_equal(answer_number(&answer, "count"), 3);
    assert_int_equal(answer_number(&answer, "points/x/1"), 3000);
    answer_done(&answer);
}

static void counts_lines_without_a_column_of_the_load(void **state)
{
    struct world *world = *state;
    struct answer answer =
        post(world, world->operator_,
             "/api/v1/imports?workload=create-scaling&y=create:seconds&batch=100&start=500",
             "text/csv", "\"seconds\"\r\n3.5\r\n\r\n4.5\r\n", NULL);
    long long id = taken(&answer);
    answer = get(world, id, "/series?phase=create&format=csv");
    assert_non_null(strstr(answer.body, ",700,8000000000,4500000000,100,"));
    answer_done(&answer);
}

static void gives_an_exported_job_back(void **state)
{
    struct world *world = *state;
    job_id job = world_job(world);
    world_run(world, job, 1100, JOB_SUCCEEDED);
    struct answer samples = get(world, job, "/report?format=csv");
    struct answer journal = get(world, job, "/journal");
    struct answer answer =
        post(world, world->operator_, "/api/v1/imports?workload=create-scaling&unit=files",
             "text/csv", samples.body, NULL);
    long long id = taken(&answer);
    answer = get(world, id, "/report?format=csv");
    assert_string_equal(answer.body, samples.body);
    answer_done(&answer);
    answer = post(world, world->operator_, "/api/v1/imports?name=again", "application/x-ndjson",
                  journal.body, NULL);
    long long copy = taken(&answer);
    answer = get(world, copy, "/report?format=csv");
    assert_string_equal(answer.body, samples.body);
    answer_done(&answer);
    answer = get(world, copy, "/journal");
    assert_string_equal(answer.body, journal.body);
    answer_done(&answer);
    struct answer report = get(world, job, "/report");
    answer = post(world, world->operator_, "/api/v1/imports", NULL, report.body, NULL);
    id = taken(&answer);
    answer = get(world, id, "/report?format=csv");
    assert_string_equal(answer.body, samples.body);
    answer_done(&answer);
    answer = get(world, id, "/host");
    struct answer host = get(world, job, "/host");
    assert_true(answer_number(&host, "count") > 0);
    assert_string_equal(answer.body, host.body);
    answer_done(&answer);
    answer_done(&host);
    answer = get(world, id, "/report");
    json_t *back = answer_at(&answer, "import"), *there = answer_at(&report, "import");
    if (!json_equal(back, there))
        fail_msg("the import is not the export:\n%.1500s\n%.1500s", answer.body, report.body);
    answer_done(&answer);
    answer_done(&report);
    struct answer first = get(world, job, ""), second = get(world, copy, "");
    static const char *const same[] = { "phases", "environment", "workload" };
    for (size_t i = 0; i < COUNT_OF(same); i++)
        if (!json_equal(answer_at(&first, same[i]), answer_at(&second, same[i])))
            fail_msg("%s differ:\n%s\n%s", same[i], first.body, second.body);
    assert_string_equal(answer_text(&second, "name"), "again");
    answer_done(&first);
    answer_done(&second);
    answer_done(&samples);
    answer_done(&journal);
}

static void names_line_and_column_of_what_is_wrong(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *target, *type, *body, *pointer;
        int line, column;
    } cases[] = {
        { CSV, "text/csv", "filesystems,create_seconds,reboot_seconds\n1000,369,471\n2000,x,5\n",
          "", 3, 2 },
        { CSV, "text/csv", "filesystems,create_seconds,reboot_seconds\n1000,369,471\n900,3,5\n", "",
          3, 1 },
        { CSV, "text/csv", "filesystems,create_seconds,reboot_seconds\n,369,471\n", "", 2, 1 },
        { CSV, "text/csv", "filesystems,create_seconds,reboot_seconds\n1000,-369,471\n", "", 2, 2 },
        { CSV, "text/csv", "filesystems,create_seconds,reboot_seconds\n1000,\"3\n", "", 2, 2 },
        { CSV, "text/csv", "filesystems,create_seconds,reboot_seconds\n", "", 2, 1 },
        { CSV, "text/csv", "filesystems,created\n1000,2\n", "/?y", 1, 1 },
        { CSV, "text/csv", "", "", 1, 1 },
        { "/api/v1/imports", NULL,
          "{\"workload\":\"a\",\n \"phases\":[{\"name\":\"p\",\"samples\":{\n"
          "\"load\":[1,2],\n\"elapsed\":[1,\"2\"]}}]}",
          "/phases/0/samples/elapsed/1", 4, 14 },
        { "/api/v1/imports", NULL,
          "{\"workload\":\"a\",\"phases\":[{\"name\":\"p\",\"samples\":{"
          "\"load\":[1,2],\"elapsed\":[1]}}]}",
          "/phases/0/samples", 1, 49 },
        { "/api/v1/imports", NULL,
          "{\"workload\":\"a\",\"phases\":[{\"name\":\"p\"," SAMPLES ",\"colour\":1}]}",
          "/phases/0/colour", 1, 27 },
        { "/api/v1/imports", NULL, "{\"workload\":\"a\"\n", "", 2, 1 },
        { "/api/v1/imports", NULL, "{\"workload\":\"a\",\n \"kolour\":1}", "/kolour", 2, 11 },
        { "/api/v1/imports", NULL, "{\"workload\":\"a\",\"note\":tru,\"phases\":[]}", "/note", 1,
          0 },
        { "/api/v1/imports", NULL,
          "{\"workload\":\"a b\",\"phases\":[{\"name\":\"p\"," SAMPLES "}]}", "/workload", 1, 1 },
        { "/api/v1/imports", NULL, "{\"workload\":\"a\",\"phases\":[]}", "/phases", 1, 1 },
        { "/api/v1/imports", NULL,
          "{\"workload\":\"a\",\"phases\":[{\"name\":\"p\"," SAMPLES "}]} x", "", 1, 0 },
        { "/api/v1/imports", "application/x-ndjson", "{\"seq\":1,\"record\":\"be\n", "", 1, 0 },
        { "/api/v1/imports", "application/x-ndjson", "", "", 1, 1 },
    };
    size_t before = jobs_in_all(world);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct answer answer =
            post(world, world->operator_, cases[i].target, cases[i].type, cases[i].body, NULL);
        print_message("%s\n", answer_text(&answer, "detail"));
        expect_status(&answer, 422);
        assert_string_equal(answer_text(&answer, "code"), "bad-field");
        assert_string_equal(answer_text(&answer, "errors/0/pointer"), cases[i].pointer);
        assert_int_equal(answer_number(&answer, "errors/0/line"), cases[i].line);
        if (cases[i].column)
            assert_int_equal(answer_number(&answer, "errors/0/column"), cases[i].column);
        answer_done(&answer);
    }
    assert_int_equal(jobs_in_all(world), before);
}

static void names_the_columns_there_are(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *body, *detail;
    } cases[] = {
        { "filesystems,created,note\n1,2,\n",
          "line 1, column 1: there is no column create_seconds, but \"filesystems\", \"created\", "
          "\"note\"" },
        { "filesystems;create_seconds\n1;0,5\n",
          "line 1, column 1: there is no column filesystems, but \"filesystems;create_seconds\"; "
          "columns are separated by commas" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct answer answer = post(world, world->operator_, CSV, "text/csv", cases[i].body, NULL);
        expect_status(&answer, 422);
        assert_string_equal(answer_text(&answer, "detail"), cases[i].detail);
        answer_done(&answer);
    }
}

static void a_damaged_journal_leaves_nothing(void **state)
{
    struct world *world = *state;
    job_id job = world_job(world);
    world_run(world, job, 1100, JOB_SUCCEEDED);
    struct answer journal = get(world, job, "/journal");
    size_t before = jobs_in_all(world);
    /* A digit in the third line. */
    char *third = strchr(strchr(journal.body, '\n') + 1, '\n') + 1;
    char *digit = strstr(third, "\"load\":[") + strlen("\"load\":[");
    *digit = *digit == '1' ? '2' : '1';
    struct answer answer = post(world, world->operator_, "/api/v1/imports", "application/x-ndjson",
                                journal.body, NULL);
    expect_status(&answer, 422);
    assert_int_equal(answer_number(&answer, "errors/0/line"), 3);
    answer_done(&answer);
    *digit = *digit == '1' ? '2' : '1';
    /* Its last line is missing, or half of it. */
    journal.body[journal.n - 10] = '\0';
    answer = post(world, world->operator_, "/api/v1/imports", "application/x-ndjson", journal.body,
                  NULL);
    expect_status(&answer, 422);
    answer_done(&answer);
    assert_int_equal(jobs_in_all(world), before);
    answer_done(&journal);
}

static void refuses_what_does_not_fit_the_kind_of_body(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *target, *type;
        int status;
        const char *code, *field;
    } cases[] = {
        { "/api/v1/imports?name=x", NULL, 422, "bad-field", "/?name" },
        { "/api/v1/imports?x=a", "application/x-ndjson", 422, "bad-field", "/?x" },
        { "/api/v1/imports", "text/csv", 422, "bad-field", "/?workload" },
        { "/api/v1/imports?workload=w&y=a", "text/csv", 422, "bad-field", "/?x" },
        { "/api/v1/imports?workload=w&x=a", "text/csv", 422, "bad-field", "/?y" },
        { "/api/v1/imports?workload=w&x=a&y=b&batch=5", "text/csv", 422, "bad-field", "/?batch" },
        { "/api/v1/imports?workload=w&x=a&y=b&at_load=c", "text/csv", 422, "bad-field",
          "/?at_load" },
        { "/api/v1/imports?colour=red", NULL, 422, "bad-field", "/?colour" },
        { "/api/v1/imports", "text/plain", 415, "bad-media", "" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct answer answer =
            post(world, world->operator_, cases[i].target, cases[i].type, "a,b\n1,2\n", NULL);
        expect_problem(&answer, cases[i].status, cases[i].code, cases[i].field);
        answer_done(&answer);
    }
    struct answer answer = post(world, world->viewer, "/api/v1/imports", NULL, json, NULL);
    expect_problem(&answer, 403, "forbidden", "");
    answer_done(&answer);
    answer = post(world, world->limited, "/api/v1/imports", NULL, json, NULL);
    expect_problem(&answer, 403, "forbidden", "");
    answer_done(&answer);
    answer = post(world, NULL, "/api/v1/imports", NULL, json, NULL);
    expect_problem(&answer, 401, "unauthorised", "");
    answer_done(&answer);
}

static void a_key_makes_it_safe_to_repeat(void **state)
{
    struct world *world = *state;
    char text[512], key[64];
    snprintf(key, sizeof key, "Idempotency-Key: import-%d\r\n", (int)getpid());
    struct answer first = post(world, world->operator_, "/api/v1/imports", NULL, json, key);
    struct answer again = post(world, world->operator_, "/api/v1/imports", NULL, json, key);
    expect_status(&first, 201);
    expect_status(&again, 201);
    assert_string_equal(answer_header(&again, "Idempotency-Replayed", text), "true");
    assert_string_equal(first.body, again.body);
    struct answer other = post(world, world->operator_, CSV, "text/csv", table, key);
    expect_problem(&other, 422, "bad-field", "/Idempotency-Key");
    answer_done(&first);
    answer_done(&again);
    answer_done(&other);
}

static void a_dry_run_changes_nothing(void **state)
{
    struct world *world = *state;
    size_t before = jobs_in_all(world);
    struct answer answer = post(world, world->operator_, CSV "&dry_run=1", "text/csv", table, NULL);
    expect_status(&answer, 200);
    assert_true(json_is_null(answer_at(&answer, "id")));
    assert_string_equal(answer_text(&answer, "name"), "ZFS");
    assert_int_equal(answer_number(&answer, "phases/0/ops"), 4000);
    answer_done(&answer);
    assert_int_equal(jobs_in_all(world), before);
}

static void is_deleted_like_any_other(void **state)
{
    struct world *world = *state;
    char path[64];
    struct answer answer = post(world, world->operator_, "/api/v1/imports", NULL, json, NULL);
    long long id = taken(&answer);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld", id);
    answer =
        client_call(&world->place,
                    &(struct ask){ .method = "DELETE", .target = path, .token = world->operator_ });
    expect_status(&answer, 204);
    answer_done(&answer);
    assert_int_equal(atomic_load(&world->forgotten), id);
}

static void a_body_may_be_larger_than_others_but_not_without_end(void **state)
{
    struct world *world = *state;
    struct text body = { 0 };
    text_addf(&body, "n,s\n");
    for (int i = 1; body.n < 3 << 20; i++)
        text_addf(&body, "%d,0.001234567\n", i);
    assert_false(body.failed);
    static const char target[] = "/api/v1/imports?workload=w&x=n&y=p:s&dry_run=1";
    struct answer answer = post(world, world->operator_, target, "text/csv", body.at, NULL);
    expect_status(&answer, 200);
    answer_done(&answer);
    server_stop(world->server, 0);
    world->server = NULL;
    assert_int_equal(world_start(world, (struct server_settings){ .upload_bytes = 2 << 20 }), 0);
    /* Read to its end, so that a client that only sends sees the answer, too. */
    answer = client_call(&world->place, &(struct ask){ .method = "POST",
                                                       .target = target,
                                                       .token = world->operator_,
                                                       .body = body.at,
                                                       .type = "text/csv",
                                                       .whole = true });
    expect_problem(&answer, 413, "too-large", "");
    answer_done(&answer);
    /* More than twice the cap is not, nor what its sender asks for first. */
    static const char *const heads[] = {
        "Content-Type: text/csv\r\nContent-Length: 4194305\r\n",
        "Content-Type: text/csv\r\nContent-Length: 2097153\r\nExpect: 100-continue\r\n"
    };
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        answer = client_call(&world->place, &(struct ask){ .method = "POST",
                                                           .target = target,
                                                           .token = world->operator_,
                                                           .headers = heads[i] });
        expect_problem(&answer, 413, "too-large", "");
        answer_done(&answer);
    }
    text_done(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_json),
        cmocka_unit_test(takes_csv_with_gaps),
        cmocka_unit_test(counts_lines_without_a_column_of_the_load),
        cmocka_unit_test(gives_an_exported_job_back),
        cmocka_unit_test(names_line_and_column_of_what_is_wrong),
        cmocka_unit_test(names_the_columns_there_are),
        cmocka_unit_test(a_damaged_journal_leaves_nothing),
        cmocka_unit_test(refuses_what_does_not_fit_the_kind_of_body),
        cmocka_unit_test(a_key_makes_it_safe_to_repeat),
        cmocka_unit_test(a_dry_run_changes_nothing),
        cmocka_unit_test(is_deleted_like_any_other),
        cmocka_unit_test(a_body_may_be_larger_than_others_but_not_without_end),
    };
    return cmocka_run_group_tests_name("imports", tests, world_setup, world_teardown);
}
