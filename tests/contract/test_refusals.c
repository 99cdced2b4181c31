/* Bad requests: the right status, a problem that names the field, and nothing changed. */
#include "engine/base/text.h"
#include "tests/contract/world.h"

#include <stdatomic.h>

enum who { NOBODY, STRANGER, VIEWER, OPERATOR, LIMITED };

static const char *token_of(const struct world *world, enum who who)
{
    const char *const tokens[] = { NULL, "plm_unknown", world->viewer, world->operator_,
                                   world->limited };
    return tokens[who];
}

/* %S in a body stands for the target's name. */
static char *with_target(const struct world *world, const char *body)
{
    struct text text = { 0 };
    for (const char *at = body; at && *at;) {
        size_t n = strcspn(at, "%");
        text_add(&text, at, n);
        at += n;
        if (at[0] == '%' && at[1] == 'S') {
            text_addf(&text, "%s", world->scratch);
            at += 2;
        } else if (*at) {
            text_add(&text, at++, 1);
        }
    }
    return text_take(&text);
}

static char *everything(struct world *world)
{
    char path[128];
    snprintf(path, sizeof path, "/api/v1/jobs?target=%s,%s&limit=500", world->scratch,
             world->attic);
    struct answer list = world_get(world, world->admin, path);
    expect_status(&list, 200);
    char *text = strdup(list.body);
    assert_non_null(text);
    answer_done(&list);
    return text;
}

#define GOOD      "\"workload\":\"create-scaling\",\"target\":\"%S\",\"params\":{\"files\":2000}"
#define PARAMS(p) "{\"workload\":\"create-scaling\",\"target\":\"%S\",\"params\":{" p "}}"
#define JOBS      "/api/v1/jobs"

static const struct refusal {
    const char *what;
    enum who who;
    const char *method, *target, *body;
    int status;
    const char *code, *field;
} refusals[] = {
    /* who asks */
    { "no token", NOBODY, "GET", JOBS, NULL, 401, "unauthorised", "" },
    { "no token to write", NOBODY, "POST", JOBS, "{" GOOD "}", 401, "unauthorised", "" },
    { "an unknown token", STRANGER, "GET", JOBS, NULL, 401, "unauthorised", "" },
    { "the wrong role", VIEWER, "POST", JOBS, "{" GOOD "}", 403, "forbidden", "" },
    { "the wrong role to cancel", VIEWER, "POST", JOBS "/1/cancel", NULL, 403, "forbidden", "" },
    { "a target not for this token", LIMITED, "POST", JOBS, "{" GOOD "}", 403, "forbidden", "" },
    /* where to */
    { "no such address", VIEWER, "GET", "/api/v1/nothing", NULL, 404, "not-found", "" },
    { "no such address outside", NOBODY, "GET", "/nothing", NULL, 404, "not-found", "" },
    { "the base alone", VIEWER, "GET", "/api/v1", NULL, 404, "not-found", "" },
    { "no such job", VIEWER, "GET", JOBS "/999999999999", NULL, 404, "not-found", "" },
    { "no number", VIEWER, "GET", JOBS "/one", NULL, 404, "not-found", "" },
    { "series of no job", VIEWER, "GET", JOBS "/999999999999/series", NULL, 404, "not-found", "" },
    { "host of no job", VIEWER, "GET", JOBS "/999999999999/host", NULL, 404, "not-found", "" },
    { "journal of no job", VIEWER, "GET", JOBS "/999999999999/journal", NULL, 404, "not-found",
      "" },
    { "cancel no job", OPERATOR, "POST", JOBS "/999999999999/cancel", NULL, 404, "not-found", "" },
    { "no such workload", VIEWER, "GET", "/api/v1/workloads/sleep", NULL, 404, "not-found", "" },
    { "no such target", VIEWER, "GET", "/api/v1/targets/nowhere", NULL, 404, "not-found", "" },
    { "a path for a name", VIEWER, "GET", "/api/v1/targets/../targets", NULL, 404, "not-found",
      "" },
    { "an encoded path", VIEWER, "GET", "/api/v1/targets/..%2F..%2Fetc", NULL, 404, "not-found",
      "" },
    { "a control character in a path", VIEWER, "GET", "/api/v1/targets/a%0Ab", NULL, 400,
      "bad-syntax", "" },
    { "a zero in a path", VIEWER, "GET", "/api/v1/targets/a%00b", NULL, 400, "bad-syntax", "" },
    { "broken UTF-8 in a path", VIEWER, "GET", "/api/v1/targets/%C3", NULL, 400, "bad-syntax", "" },
    { "a method that is not taken", VIEWER, "DELETE", JOBS, NULL, 405, "bad-method", "" },
    { "a method that nobody has", VIEWER, "BREW", JOBS, NULL, 405, "bad-method", "" },
    { "writing a page", NOBODY, "POST", "/", NULL, 405, "bad-method", "" },
    /* the query */
    { "an unknown parameter", VIEWER, "GET", JOBS "?limits=1", NULL, 422, "bad-field", "/?limits" },
    { "a limit of none", VIEWER, "GET", JOBS "?limit=0", NULL, 422, "bad-field", "/?limit" },
    { "a limit of too many", VIEWER, "GET", JOBS "?limit=501", NULL, 422, "bad-field", "/?limit" },
    { "a limit in words", VIEWER, "GET", JOBS "?limit=ten", NULL, 422, "bad-field", "/?limit" },
    { "a limit twice", VIEWER, "GET", JOBS "?limit=1&limit=2", NULL, 422, "bad-field", "/?limit" },
    { "an unknown state", VIEWER, "GET", JOBS "?state=asleep", NULL, 422, "bad-field", "/?state" },
    { "a cursor of somebody's own", VIEWER, "GET", JOBS "?cursor=x", NULL, 422, "bad-field",
      "/?cursor" },
    { "a negative cursor", VIEWER, "GET", JOBS "?cursor=-4", NULL, 422, "bad-field", "/?cursor" },
    { "a label without a name", VIEWER, "GET", JOBS "?label.=6", NULL, 422, "bad-field",
      "/?label." },
    { "labels in one", VIEWER, "GET", JOBS "?label=a", NULL, 422, "bad-field", "/?label" },
    { "no time", VIEWER, "GET", JOBS "?created_after=noon", NULL, 422, "bad-field",
      "/?created_after" },
    { "an unknown order", VIEWER, "GET", JOBS "?sort=mood", NULL, 422, "bad-field", "/?sort" },
    { "a control character", VIEWER, "GET", JOBS "?target=a%07b", NULL, 400, "bad-syntax",
      "/?target" },
    { "a wait of hours", VIEWER, "GET", JOBS "/1?wait=2h", NULL, 422, "bad-field", "/?wait" },
    { "a query where there is none", VIEWER, "GET", "/api/v1/session?x=1", NULL, 422, "bad-field",
      "/?x" },
    { "a point too few", VIEWER, "GET", JOBS "/1/series?points=1", NULL, 422, "bad-field",
      "/?points" },
    { "an unknown measure", VIEWER, "GET", JOBS "/1/series?y=mood", NULL, 422, "bad-field", "/?y" },
    { "an unknown axis", VIEWER, "GET", JOBS "/1/series?x=mood", NULL, 422, "bad-field", "/?x" },
    { "an end in words", VIEWER, "GET", JOBS "/1/series?to=end", NULL, 422, "bad-field", "/?to" },
    { "an unknown dry", OPERATOR, "POST", JOBS "?dry_run=maybe", "{" GOOD "}", 422, "bad-field",
      "/?dry_run" },
    /* the body */
    { "broken JSON", OPERATOR, "POST", JOBS, "{\"workload\": ", 400, "bad-syntax", "" },
    { "a list", OPERATOR, "POST", JOBS, "[]", 400, "bad-syntax", "" },
    { "a member twice", OPERATOR, "POST", JOBS, "{" GOOD ",\"note\":\"a\",\"note\":\"b\"}", 400,
      "bad-syntax", "" },
    { "more after the end", OPERATOR, "POST", JOBS, "{" GOOD "}{}", 400, "bad-syntax", "" },
    { "nothing", OPERATOR, "POST", JOBS, "{}", 422, "bad-field", "/workload" },
    { "no body", OPERATOR, "POST", JOBS, NULL, 422, "bad-field", "/workload" },
    { "no target", OPERATOR, "POST", JOBS, "{\"workload\":\"create-scaling\"}", 422, "bad-field",
      "/target" },
    { "an unknown field", OPERATOR, "POST", JOBS, "{" GOOD ",\"path\":\"/etc\"}", 422, "bad-field",
      "/path" },
    { "repeated not once", OPERATOR, "POST", JOBS, "{" GOOD ",\"repeat\":0}", 422, "bad-field",
      "/repeat" },
    { "repeated too often", OPERATOR, "POST", JOBS, "{" GOOD ",\"repeat\":101}", 422, "bad-field",
      "/repeat" },
    { "a matrix of an unknown parameter", OPERATOR, "POST", JOBS,
      "{" GOOD ",\"matrix\":{\"thread\":[1]}}", 422, "bad-field", "/matrix/thread" },
    { "a matrix with a wrong value", OPERATOR, "POST", JOBS,
      "{" GOOD ",\"matrix\":{\"threads\":[1,2,0]}}", 422, "bad-field", "/matrix/threads/2" },
    { "a matrix with a value that does not go with the others", OPERATOR, "POST", JOBS,
      "{" GOOD ",\"matrix\":{\"sync\":[\"none\"],\"threads\":[1,1024],\"files\":[1000]}}", 422,
      "bad-field", "/matrix/threads/1" },
    { "more runs than a job can have", OPERATOR, "POST", JOBS,
      "{" GOOD ",\"repeat\":100,\"matrix\":{\"batch\":[1,2,3,4,5,6,7,8,9,10,11]}}", 422,
      "bad-field", "/repeat" },
    { "a field of a later version", OPERATOR, "POST", JOBS, "{" GOOD ",\"burst\":5}", 422,
      "bad-field", "/burst" },
    { "an unknown workload", OPERATOR, "POST", JOBS, "{\"workload\":\"sleep\",\"target\":\"%S\"}",
      422, "bad-field", "/workload" },
    { "an unknown target", OPERATOR, "POST", JOBS,
      "{\"workload\":\"create-scaling\",\"target\":\"nowhere\",\"params\":{\"files\":1}}", 422,
      "bad-field", "/target" },
    { "a path for a target", OPERATOR, "POST", JOBS,
      "{\"workload\":\"create-scaling\",\"target\":\"../../etc\",\"params\":{\"files\":1}}", 422,
      "bad-field", "/target" },
    { "a control character in the target", OPERATOR, "POST", JOBS,
      "{\"workload\":\"create-scaling\",\"target\":\"a\\u0007b\",\"params\":{\"files\":1}}", 422,
      "bad-field", "/target" },
    { "a control character in the workload", OPERATOR, "POST", JOBS,
      "{\"workload\":\"a\\nb\",\"target\":\"%S\"}", 422, "bad-field", "/workload" },
    { "a control character in the note", OPERATOR, "POST", JOBS, "{" GOOD ",\"note\":\"\\u001b\"}",
      422, "bad-field", "/note" },
    { "a control character in the reference", OPERATOR, "POST", JOBS,
      "{" GOOD ",\"external_ref\":\"a\\rb\"}", 422, "bad-field", "/external_ref" },
    { "a control character in a label", OPERATOR, "POST", JOBS,
      "{" GOOD ",\"labels\":{\"a\":\"\\t\"}}", 422, "bad-field", "/labels/a" },
    { "a zero in a text", OPERATOR, "POST", JOBS, "{" GOOD ",\"note\":\"a\\u0000\"}", 400,
      "bad-syntax", "" },
    { "a number for a text", OPERATOR, "POST", JOBS, "{" GOOD ",\"note\":7}", 422, "bad-field",
      "/note" },
    { "a list for labels", OPERATOR, "POST", JOBS, "{" GOOD ",\"labels\":[]}", 422, "bad-field",
      "/labels" },
    { "a number for a label", OPERATOR, "POST", JOBS, "{" GOOD ",\"labels\":{\"a\":1}}", 422,
      "bad-field", "/labels/a" },
    { "a priority too high", OPERATOR, "POST", JOBS, "{" GOOD ",\"priority\":101}", 422,
      "bad-field", "/priority" },
    { "an unknown parameter of the workload", OPERATOR, "POST", JOBS,
      PARAMS("\"files\":1,\"colour\":\"red\""), 422, "bad-field", "/params/colour" },
    { "a text for a count", OPERATOR, "POST", JOBS, PARAMS("\"files\":\"many\""), 422, "bad-field",
      "/params/files" },
    { "a count out of range", OPERATOR, "POST", JOBS, PARAMS("\"files\":0"), 422, "bad-field",
      "/params/files" },
    { "threads out of range", OPERATOR, "POST", JOBS, PARAMS("\"files\":10,\"threads\":1000000"),
      422, "bad-field", "/params/threads" },
    { "an unknown choice", OPERATOR, "POST", JOBS, PARAMS("\"files\":10,\"sync\":\"later\""), 422,
      "bad-field", "/params/sync" },
    { "a rule over fields", OPERATOR, "POST", JOBS,
      PARAMS("\"files\":10,\"operations\":[\"stat\"]"), 422, "bad-field", "/params/operations" },
    { "a list for parameters", OPERATOR, "POST", JOBS,
      "{\"workload\":\"create-scaling\",\"target\":\"%S\",\"params\":[]}", 422, "bad-field",
      "/params" },
    { "a body where there is none", OPERATOR, "POST", JOBS "/1/cancel", "{\"why\":1}", 422,
      "bad-field", "/why" },
    { "both ways to sign in", NOBODY, "POST", "/api/v1/session", "{\"token\":\"a\",\"code\":\"b\"}",
      422, "bad-field", "/code" },
    { "no way to sign in", NOBODY, "POST", "/api/v1/session", "{}", 422, "bad-field", "/token" },
    { "a wrong code", NOBODY, "POST", "/api/v1/session", "{\"code\":\"abc\"}", 401, "unauthorised",
      "/code" },
    { "a control character in a code", NOBODY, "POST", "/api/v1/session", "{\"code\":\"a\\nb\"}",
      422, "bad-field", "/code" },
};

static void refuses_and_changes_nothing(void **state)
{
    struct world *world = *state;
    scoped_free char *before = everything(world);
    int nudges = atomic_load(&world->nudges);
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const struct refusal *r = &refusals[i];
        scoped_free char *body = r->body ? with_target(world, r->body) : NULL;
        print_message("%s\n", r->what);
        struct answer answer =
            client_call(&world->place, &(struct ask){ .method = r->method,
                                                      .target = r->target,
                                                      .token = token_of(world, r->who),
                                                      .body = body });
        expect_problem(&answer, r->status, r->code, r->field);
        print_message("    %s\n", answer_text(&answer, "detail"));
        answer_done(&answer);
    }
    scoped_free char *after = everything(world);
    assert_string_equal(before, after);
    assert_int_equal(atomic_load(&world->nudges), nudges);
}

static void tells_where_broken_json_breaks(void **state)
{
    struct world *world = *state;
    struct answer answer =
        world_post(world, world->operator_, JOBS, "{\n  \"workload\": create\n}");
    expect_problem(&answer, 400, "bad-syntax", "");
    assert_non_null(strstr(answer_text(&answer, "detail"), "line 2, column"));
    answer_done(&answer);
}

static void suggests_the_name_that_was_meant(void **state)
{
    struct world *world = *state;
    scoped_free char *body = with_target(world, PARAMS("\"files\":10,\"tread\":1"));
    struct answer answer = world_post(world, world->operator_, JOBS, body);
    expect_problem(&answer, 422, "bad-field", "/params/tread");
    assert_non_null(strstr(answer_text(&answer, "detail"), "threads"));
    answer_done(&answer);
}

static void names_the_methods_that_an_address_takes(void **state)
{
    struct world *world = *state;
    char text[512];
    struct answer answer = client_call(
        &world->place, &(struct ask){ .method = "PATCH", .target = JOBS, .token = world->admin });
    expect_problem(&answer, 405, "bad-method", "");
    assert_string_equal(answer_header(&answer, "Allow", text), "POST, GET, HEAD");
    answer_done(&answer);
}

static void reads_and_writes_only_what_it_knows(void **state)
{
    struct world *world = *state;
    struct answer media =
        client_call(&world->place, &(struct ask){ .method = "POST",
                                                  .target = JOBS,
                                                  .token = world->operator_,
                                                  .body = "a=b",
                                                  .type = "application/x-www-form-urlencoded" });
    expect_problem(&media, 415, "bad-media", "");
    answer_done(&media);
    struct answer accept =
        client_call(&world->place, &(struct ask){ .target = JOBS,
                                                  .token = world->viewer,
                                                  .headers = "Accept: application/xml\r\n" });
    expect_problem(&accept, 406, "not-acceptable", "");
    answer_done(&accept);
    struct answer header = client_call(
        &world->place,
        &(struct ask){ .target = JOBS, .token = world->viewer, .headers = "Accept: a\x01\r\n" });
    expect_problem(&header, 400, "bad-syntax", "/Accept");
    answer_done(&header);
}

static void refuses_a_body_that_is_too_large(void **state)
{
    struct world *world = *state;
    size_t n = 2 * 1024 * 1024;
    scoped_free char *body = malloc(n + 1);
    assert_non_null(body);
    memset(body, ' ', n);
    body[n] = '\0';
    struct answer answer = world_post(world, world->operator_, JOBS, body);
    expect_problem(&answer, 413, "too-large", "");
    answer_done(&answer);
    /* One that is announced and never sent is refused without waiting for it. */
    struct answer announced =
        client_call(&world->place, &(struct ask){ .method = "POST",
                                                  .target = JOBS,
                                                  .token = world->operator_,
                                                  .headers = "Content-Length: 2097152\r\n"
                                                             "Expect: 100-continue\r\n" });
    expect_problem(&announced, 413, "too-large", "");
    answer_done(&announced);
    struct answer enormous =
        client_call(&world->place, &(struct ask){ .method = "POST",
                                                  .target = JOBS,
                                                  .token = world->operator_,
                                                  .headers = "Content-Length: 99999999999\r\n" });
    expect_problem(&enormous, 413, "too-large", "");
    answer_done(&enormous);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_and_changes_nothing),
        cmocka_unit_test(tells_where_broken_json_breaks),
        cmocka_unit_test(suggests_the_name_that_was_meant),
        cmocka_unit_test(names_the_methods_that_an_address_takes),
        cmocka_unit_test(reads_and_writes_only_what_it_knows),
        cmocka_unit_test(refuses_a_body_that_is_too_large),
    };
    return cmocka_run_group_tests_name("refusals", tests, world_setup, world_teardown);
}
