/* The description of the interface and the interface: each route in both, and every answer of a real
 * call has exactly the members that the description names. */
#include "api/route.h"
#include "engine/base/text.h"
#include "tests/contract/world.h"

#include <ctype.h>

static struct answer document;

static int setup(void **state)
{
    if (world_setup(state))
        return -1;
    document = world_get(*state, NULL, "/openapi.json");
    return document.status == 200 && document.json ? 0 : -1;
}

static int teardown(void **state)
{
    answer_done(&document);
    return world_teardown(state);
}

static json_t *operation_of(const struct route *route)
{
    char method[16] = "";
    const char *text = method_text(route->method);
    for (size_t i = 0; text[i]; i++)
        method[i] = (char)tolower((unsigned char)text[i]);
    return json_object_get(json_object_get(json_object_get(document.json, "paths"), route->path),
                           method);
}

static void describes_each_route_and_no_other(void **state)
{
    (void)state;
    size_t described = 0, n = 0;
    const char *path, *method;
    json_t *methods, *operation;
    json_object_foreach(json_object_get(document.json, "paths"), path, methods)
        json_object_foreach(methods, method, operation) described++;
    for (const struct route *route = routes; route->path; route++, n++) {
        print_message("%s %s\n", method_text(route->method), route->path);
        operation = operation_of(route);
        assert_non_null(operation);
        assert_non_null(json_object_get(operation, "operationId"));
        assert_int_equal(json_array_size(json_object_get(operation, "security")),
                         route->role == ROLE_OPEN ? 0 : 2);
        assert_int_equal(json_object_get(operation, "requestBody") != NULL,
                         route->body.table || route->takes);
    }
    assert_int_equal(described, n);
    assert_string_equal(json_string_value(json_object_get(document.json, "openapi")), "3.1.0");
}

static void describes_every_parameter(void **state)
{
    (void)state;
    for (const struct route *route = routes; route->path; route++) {
        json_t *list = json_object_get(operation_of(route), "parameters"), *one;
        size_t expected = 0, i;
        expected += strchr(route->path, '{') != NULL;
        expected += route->keyed == KEYED;
        expected += route->method == METHOD_PATCH;          /* If-Match */
        expected += strstr(route->path, "/events") != NULL; /* Last-Event-ID */
        for (const struct field *f = route->query.table; f && f->type; f++)
            expected++;
        assert_int_equal(json_array_size(list), expected);
        json_array_foreach(list, i, one)
        {
            if (json_object_get(one, "$ref"))
                continue;
            const char *in = json_string_value(json_object_get(one, "in"));
            char name[64]; /* "label.NAME" is the map label */
            snprintf(name, sizeof name, "%s", json_string_value(json_object_get(one, "name")));
            name[strcspn(name, ".")] = '\0';
            assert_non_null(json_object_get(json_object_get(one, "schema"), "type"));
            assert_non_null(json_object_get(one, "description"));
            if (strcmp(in, "query") == 0)
                assert_non_null(field_named(route->query.table, name));
        }
    }
}

/* The schema's own names are the answer's, in depth; a name in one and not in the other fails. */
static void conforms(const json_t *schema, const json_t *value, const char *where)
{
    const json_t *properties = json_object_get(schema, "properties");
    const char *name;
    json_t *member;
    size_t i;
    if (json_is_null(value))
        return;
    if (json_is_array(value)) {
        json_array_foreach((json_t *)(uintptr_t)value, i, member)
            conforms(json_object_get(schema, "items"), member, where);
        return;
    }
    if (!properties || !json_is_object(value))
        return;
    json_object_foreach((json_t *)(uintptr_t)value, name, member)
    {
        char inner[256];
        snprintf(inner, sizeof inner, "%s/%s", where, name);
        if (!json_object_get(properties, name))
            fail_msg("%s is answered but not described", inner);
        conforms(json_object_get(properties, name), member, inner);
    }
    json_object_foreach((json_t *)(uintptr_t)properties, name,
                        member) if (!json_object_get(value, name))
        fail_msg("%s/%s is described but not answered", where, name);
}

static const json_t *schema_of(const struct route *route, int status)
{
    char text[8];
    snprintf(text, sizeof text, "%d", status);
    json_t *responses = json_object_get(operation_of(route), "responses");
    json_t *content = json_object_get(json_object_get(responses, text), "content");
    return json_object_get(json_object_get(content, "application/json"), "schema");
}

static job_id another_job(struct world *world)
{
    job_id job = world_job(world);
    world_run(world, job, 300, JOB_SUCCEEDED);
    return job;
}

static int64_t a_baseline(struct world *world)
{
    static int n;
    char name[32];
    snprintf(name, sizeof name, "openapi%d-%d", (int)getpid(), n++);
    int64_t id = world_baseline(world, name);
    return id;
}

/* What a route is called with: ids and names for its braces, a body where it takes one. */
static void target_of(struct world *world, const struct route *route, job_id job, char target[256])
{
    if (route->query.table && field_named(route->query.table, "jobs")) {
        snprintf(target, 256, "%s?jobs=%lld,%lld", route->path, (long long)job,
                 (long long)another_job(world));
        return;
    }
    const char *brace = strchr(route->path, '{');
    const char *end = brace ? strchr(brace, '}') + 1 : "";
    char value[64] = "";
    if (strstr(route->path, "/baselines/{id}"))
        snprintf(value, sizeof value, "%lld", (long long)a_baseline(world));
    else if (strstr(route->path, "/alerts/{id}"))
        snprintf(value, sizeof value, "%lld",
                 (long long)world_alert(world, a_baseline(world), job));
    else if (brace && text_starts(brace, "{id}"))
        snprintf(value, sizeof value, "%lld", (long long)job);
    else if (brace)
        snprintf(value, sizeof value, "%s",
                 strstr(route->path, "workloads") ? "create-scaling" : world->scratch);
    snprintf(target, 256, "%.*s%s%s", brace ? (int)(brace - route->path) : (int)strlen(route->path),
             route->path, value, end);
}

static void every_answer_has_the_members_that_are_described(void **state)
{
    struct world *world = *state;
    job_id job = world_job(world);
    world_run(world, job, 600, JOB_SUCCEEDED);
    job_id open = world_job(world), ended = world_job(world);
    struct problem why = { 0 };
    int now;
    assert_int_equal(store_job_cancel(world->store, ended, &now, &why), 0);
    /* So that its events come to an end. */
    assert_int_equal(store_job_cleanup(world->store, job, CLEANUP_DONE, &why), 0);
    assert_int_equal(store_findings_put(world->store, job, 1, &(struct findings){ 0 }, &why), 0);
    for (const struct route *route = routes; route->path; route++) {
        char target[256], body[256] = "", headers[600] = "";
        if (strcmp(route->path, "/api/v1/events") == 0)
            continue; /* it has no end: test_events.c */
        target_of(world, route,
                  strstr(route->path, "/cancel")   ? open
                  : route->method == METHOD_DELETE ? ended
                                                   : job,
                  target);
        if (strcmp(route->path, "/api/v1/jobs") == 0)
            snprintf(body, sizeof body,
                     "{\"workload\":\"create-scaling\",\"target\":\"%s\",\"params\":{\"files\":9}}",
                     world->scratch);
        else if (strcmp(route->path, "/api/v1/baselines") == 0)
            snprintf(body, sizeof body,
                     "{\"name\":\"openapi%d\",\"workload\":\"create-scaling\",\"target\":\"%s\","
                     "\"phase\":\"create\"}",
                     (int)getpid(), world->scratch);
        else if (strstr(route->path, "/baselines/{id}") && route->method == METHOD_PATCH)
            snprintf(body, sizeof body, "{\"window\":50}");
        else if (strstr(route->path, "/alerts/{id}"))
            snprintf(body, sizeof body, "{\"note\":\"seen\"}");
        else if (route->method == METHOD_PATCH)
            snprintf(body, sizeof body, "{\"note\":\"seen\"}");
        else if (route->takes)
            snprintf(body, sizeof body,
                     "{\"workload\":\"w\",\"phases\":[{\"name\":\"p\",\"samples\":{\"load\":[1],"
                     "\"elapsed\":[2]}}]}");
        else if (route->body.table)
            snprintf(body, sizeof body, "{\"token\":\"%s\"}", world->viewer);
        if (strcmp(route->path, "/api/v1/session") == 0 && route->method == METHOD_DELETE) {
            /* Sign out: with a session of its own. */
            char cookie[512];
            snprintf(body, sizeof body, "{\"token\":\"%s\"}", world->viewer);
            struct answer in = world_post(world, NULL, "/api/v1/session", body);
            answer_header(&in, "Set-Cookie", cookie);
            snprintf(headers, sizeof headers, "Origin: http://localhost\r\nCookie: %.*s\r\n",
                     (int)strcspn(cookie, ";"), cookie);
            answer_done(&in);
            body[0] = '\0';
        }
        print_message("%s %s\n", method_text(route->method), target);
        if (strstr(route->path, "/events")) /* which end once it is analysed, again */
            assert_int_equal(
                store_findings_put(world->store, job, 1, &(struct findings){ 0 }, &why), 0);
        struct answer answer = client_call(
            &world->place,
            &(struct ask){ .method = method_text(route->method),
                           .target = target,
                           .token = headers[0] ? NULL : world->admin,
                           .headers = headers,
                           .body = body[0] && route->method != METHOD_GET ? body : NULL });
        expect_status(&answer, (int)route->status);
        if (route->answer && answer.status != 204) {
            const json_t *schema = schema_of(route, answer.status);
            assert_non_null(schema);
            assert_non_null(answer.json);
            conforms(schema, answer.json, target);
        }
        answer_done(&answer);
    }
}

static void a_problem_has_the_members_that_are_described(void **state)
{
    struct world *world = *state;
    struct answer answer = world_get(world, world->viewer, "/api/v1/jobs?limit=0");
    conforms(answer_at(&document, "components/schemas/Problem"), answer.json, "problem");
    answer_done(&answer);
}

static void describes_the_parameters_of_each_workload(void **state)
{
    struct world *world = *state;
    struct answer answer = world_get(world, world->viewer, "/api/v1/workloads/create-scaling");
    expect_status(&answer, 200);
    assert_non_null(answer_at(&answer, "params/properties/files/type"));
    assert_non_null(answer_at(&answer, "params/properties/batch/default"));
    assert_non_null(answer_at(&answer, "params/properties/sync/enum"));
    answer_done(&answer);
}

static void tells_no_secrets_of_a_target(void **state)
{
    struct world *world = *state;
    struct answer answer = world_get(world, world->admin, "/api/v1/targets?limit=500");
    expect_status(&answer, 200);
    assert_null(strstr(answer.body, world->folder));
    assert_null(strstr(answer.body, "secret"));
    assert_null(strstr(answer.body, "/srv"));
    assert_string_equal(answer_text(&answer, "items/0/name"), world->scratch);
    assert_string_equal(answer_text(&answer, "items/0/filesystem"), "ext4");
    assert_true(json_is_true(answer_at(&answer, "items/0/usable")));
    assert_true(json_is_null(answer_at(&answer, "items/0/inodes_total"))); /* not counted */
    assert_string_equal(answer_text(&answer, "items/0/workloads/0"), "create-scaling");
    assert_true(json_is_false(answer_at(&answer, "items/1/usable")));
    assert_true(json_is_null(answer_at(&answer, "items/1/space_total")));
    assert_string_not_equal(answer_text(&answer, "items/1/reason"), "");
    answer_done(&answer);
}

static void a_target_is_busy_while_a_job_runs_there(void **state)
{
    struct world *world = *state;
    char path[128];
    job_id job = world_job(world);
    world_run(world, job, 600, JOB_RUNNING);
    snprintf(path, sizeof path, "/api/v1/targets/%s", world->scratch);
    struct answer busy = world_get(world, world->viewer, path);
    assert_true(json_is_true(answer_at(&busy, "busy")));
    answer_done(&busy);
    snprintf(path, sizeof path, "/api/v1/targets/%s", world->attic);
    struct answer idle = world_get(world, world->viewer, path);
    assert_true(json_is_false(answer_at(&idle, "busy")));
    answer_done(&idle);
}

static void pages_through_what_is_at_hand(void **state)
{
    struct world *world = *state;
    char text[512];
    struct answer first = world_get(world, world->viewer, "/api/v1/targets?limit=1");
    assert_int_equal(json_array_size(answer_at(&first, "items")), 1);
    answer_header(&first, "Link", text);
    char *end = strchr(text, '>');
    assert_non_null(end);
    *end = '\0';
    struct answer second = world_get(world, world->viewer, text + 1);
    expect_status(&second, 200);
    assert_string_equal(answer_text(&second, "items/0/name"), world->attic);
    assert_true(json_is_null(answer_at(&second, "next_cursor")));
    answer_done(&first);
    answer_done(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_each_route_and_no_other),
        cmocka_unit_test(describes_every_parameter),
        cmocka_unit_test(every_answer_has_the_members_that_are_described),
        cmocka_unit_test(a_problem_has_the_members_that_are_described),
        cmocka_unit_test(describes_the_parameters_of_each_workload),
        cmocka_unit_test(tells_no_secrets_of_a_target),
        cmocka_unit_test(a_target_is_busy_while_a_job_runs_there),
        cmocka_unit_test(pages_through_what_is_at_hand),
    };
    return cmocka_run_group_tests_name("openapi", tests, setup, teardown);
}
