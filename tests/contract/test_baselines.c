/* /baselines and /alerts: what is taken, what is refused, who may, pages, and a history. */
#include "engine/base/text.h"
#include "tests/contract/world.h"

static struct answer printf_like(6, 7)
    call(struct world *world, const char *method, const char *token, const char *headers,
         const char *body, const char *path, ...)
{
    char target[160];
    va_list ap;
    va_start(ap, path);
    vsnprintf(target, sizeof target, path, ap);
    va_end(ap);
    return client_call(
        &world->place,
        &(struct ask){
            .method = method, .target = target, .token = token, .headers = headers, .body = body });
}

/* A body with a name that nobody else uses. */
static const char *body_of(const char *name, const char *rest)
{
    static char body[512];
    snprintf(body, sizeof body,
             "{\"name\":\"%s%d\",\"workload\":\"create-scaling\",\"phase\":\"create\"%s}", name,
             (int)getpid(), rest);
    return body;
}

static const char *on(const char *target, const char *rest)
{
    static char text[256];
    snprintf(text, sizeof text, ",\"target\":\"%s\"%s", target, rest);
    return text;
}

static void a_baseline_is_made_with_presets_read_changed_and_removed(void **state)
{
    struct world *world = *state;
    char location[512], etag[512], match[600];
    struct answer made =
        call(world, "POST", world->operator_, NULL,
             body_of("crud", on(world->scratch, ",\"labels\":{\"kernel\":\"6.1\"}")),
             "/api/v1/baselines");
    expect_status(&made, 201);
    long long id = answer_number(&made, "id");
    snprintf(match, sizeof match, "/api/v1/baselines/%lld", id);
    assert_string_equal(answer_header(&made, "Location", location), match);
    assert_string_equal(answer_text(&made, "y"), "rate");
    assert_string_equal(answer_text(&made, "direction"), "worse");
    assert_int_equal(answer_number(&made, "window"), 200);
    assert_true(json_is_true(answer_at(&made, "confirm")));
    assert_true(json_number_value(answer_at(&made, "minimum_effect")) == 0.05);
    assert_string_equal(answer_text(&made, "labels/kernel"), "6.1");
    assert_string_equal(answer_text(&made, "host"), world->host);
    answer_done(&made);
    struct answer read =
        call(world, "GET", world->viewer, NULL, NULL, "/api/v1/baselines/%lld", id);
    expect_status(&read, 200);
    answer_header(&read, "ETag", etag);
    answer_done(&read);
    snprintf(match, sizeof match, "If-None-Match: %s\r\n", etag);
    struct answer same =
        call(world, "GET", world->viewer, match, NULL, "/api/v1/baselines/%lld", id);
    expect_status(&same, 304);
    answer_done(&same);
    snprintf(match, sizeof match, "If-Match: %s\r\n", etag);
    struct answer changed =
        call(world, "PATCH", world->operator_, match,
             "{\"minimum_effect\":\"10%\",\"confirm\":false}", "/api/v1/baselines/%lld", id);
    expect_status(&changed, 200);
    assert_true(json_number_value(answer_at(&changed, "minimum_effect")) == 0.1);
    assert_true(json_is_false(answer_at(&changed, "confirm")));
    assert_int_equal(answer_number(&changed, "window"), 200);
    assert_int_equal(answer_number(&changed, "revision"), 2);
    answer_done(&changed);
    struct answer stale = call(world, "PATCH", world->operator_, match, "{\"window\":50}",
                               "/api/v1/baselines/%lld", id);
    expect_problem(&stale, 412, "stale", "");
    answer_done(&stale);
    struct answer again =
        call(world, "POST", world->operator_, NULL, body_of("crud", ""), "/api/v1/baselines");
    expect_problem(&again, 409, "conflict", "");
    answer_done(&again);
    struct answer gone =
        call(world, "DELETE", world->operator_, NULL, NULL, "/api/v1/baselines/%lld", id);
    expect_status(&gone, 204);
    answer_done(&gone);
    struct answer missing =
        call(world, "GET", world->viewer, NULL, NULL, "/api/v1/baselines/%lld", id);
    expect_problem(&missing, 404, "not-found", "");
    answer_done(&missing);
}

static void refuses_what_is_no_baseline(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *body, *field;
    } rows[] = {
        { "{\"workload\":\"create-scaling\",\"phase\":\"create\"}", "/name" },
        { "{\"name\":\"n\",\"phase\":\"create\"}", "/workload" },
        { "{\"name\":\"n\",\"workload\":\"create-scaling\"}", "/phase" },
        { "{\"name\":\"n\",\"workload\":\"create-scaling\",\"phase\":\"create\",\"y\":\"speed\"}",
          "/y" },
        { "{\"name\":\"n\",\"workload\":\"create-scaling\",\"phase\":\"create\",\"direction\":"
          "\"up\"}",
          "/direction" },
        { "{\"name\":\"n\",\"workload\":\"create-scaling\",\"phase\":\"create\",\"minimum_effect\":"
          "0.01}",
          "/minimum_effect" },
        { "{\"name\":\"n\",\"workload\":\"create-scaling\",\"phase\":\"create\",\"window\":5}",
          "/window" },
        { "{\"name\":\"n\",\"workload\":\"create-scaling\",\"phase\":\"create\",\"target\":"
          "\"nowhere\"}",
          "/target" },
        { "{\"name\":\"n\",\"workload\":\"create-scaling\",\"phase\":\"create\",\"colour\":1}",
          "/colour" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        print_message("%s\n", rows[i].body);
        struct answer answer =
            call(world, "POST", world->operator_, NULL, rows[i].body, "/api/v1/baselines");
        expect_problem(&answer, 422, "bad-field", rows[i].field);
        answer_done(&answer);
    }
    struct answer unknown =
        call(world, "POST", world->operator_, NULL, body_of("dry", on(world->scratch, "")),
             "/api/v1/baselines?dry_run=1");
    expect_status(&unknown, 200);
    assert_true(json_is_null(answer_at(&unknown, "id")));
    answer_done(&unknown);
}

static void roles_and_targets_are_kept(void **state)
{
    struct world *world = *state;
    char name[32];
    snprintf(name, sizeof name, "roles%d", (int)getpid());
    long long baseline = world_baseline(world, name), alert = world_alert(world, baseline, 1);
    const struct {
        const char *method, *noun, *verb;
        long long id; /* 0: of none */
        const char *body;
    } writes[] = {
        { "POST", "baselines", "", 0, body_of("r", on(world->scratch, "")) },
        { "PATCH", "baselines", "", baseline, "{\"window\":9}" },
        { "DELETE", "baselines", "", baseline, NULL },
        { "POST", "alerts", "/acknowledge", alert, NULL },
        { "POST", "alerts", "/resolve", alert, NULL },
    };
    const struct {
        const char *token;
        int status;
        const char *code;
    } who[] = { { NULL, 401, "unauthorised" },
                { world->viewer, 403, "forbidden" },
                { world->limited, 403, "forbidden" } }; /* an operator, of another target */
    for (size_t i = 0; i < COUNT_OF(writes); i++)
        for (size_t k = 0; k < COUNT_OF(who); k++) {
            char number[32] = "";
            if (writes[i].id)
                snprintf(number, sizeof number, "/%lld", writes[i].id);
            print_message("%s %s%s by %zu\n", writes[i].method, writes[i].noun, writes[i].verb, k);
            struct answer answer = call(world, writes[i].method, who[k].token, NULL, writes[i].body,
                                        "/api/v1/%s%s%s", writes[i].noun, number, writes[i].verb);
            expect_problem(&answer, who[k].status, who[k].code, "");
            answer_done(&answer);
        }
}

static void an_alert_is_acknowledged_and_resolved_once(void **state)
{
    struct world *world = *state;
    char name[32], operator_name[64];
    snprintf(name, sizeof name, "handled%d", (int)getpid());
    snprintf(operator_name, sizeof operator_name, "operator%d", (int)getpid());
    long long baseline = world_baseline(world, name), id = world_alert(world, baseline, 7);
    struct answer opened = call(world, "GET", world->viewer, NULL, NULL, "/api/v1/alerts/%lld", id);
    expect_status(&opened, 200);
    assert_string_equal(answer_text(&opened, "state"), "opened");
    assert_string_equal(answer_text(&opened, "name"), name);
    assert_int_equal(answer_number(&opened, "job"), 7);
    assert_true(json_is_null(answer_at(&opened, "acknowledged_at")));
    assert_true(json_is_null(answer_at(&opened, "resolution")));
    answer_done(&opened);
    for (int i = 0; i < 2; i++) {
        struct answer seen =
            call(world, "POST", world->operator_, NULL, i ? NULL : "{\"note\":\"mine\"}",
                 "/api/v1/alerts/%lld/acknowledge", id);
        expect_status(&seen, 200);
        assert_string_equal(answer_text(&seen, "state"), "acknowledged");
        assert_string_equal(answer_text(&seen, "acknowledged_by"), operator_name);
        assert_string_equal(answer_text(&seen, "note"), "mine");
        assert_int_equal(answer_number(&seen, "revision"), 2);
        answer_done(&seen);
    }
    for (int i = 0; i < 2; i++) {
        struct answer over =
            call(world, "POST", world->operator_, NULL, NULL, "/api/v1/alerts/%lld/resolve", id);
        expect_status(&over, 200);
        assert_string_equal(answer_text(&over, "state"), "resolved");
        assert_string_equal(answer_text(&over, "resolved_by"), operator_name);
        assert_int_equal(answer_number(&over, "revision"), 3);
        answer_done(&over);
    }
    struct answer late =
        call(world, "POST", world->operator_, NULL, NULL, "/api/v1/alerts/%lld/acknowledge", id);
    expect_problem(&late, 409, "conflict", "");
    answer_done(&late);
    struct answer none =
        call(world, "POST", world->operator_, NULL, NULL, "/api/v1/alerts/999999/resolve");
    expect_problem(&none, 404, "not-found", "");
    answer_done(&none);
    struct answer unknown = call(world, "POST", world->operator_, NULL, "{\"text\":\"x\"}",
                                 "/api/v1/alerts/%lld/resolve", id);
    expect_problem(&unknown, 422, "bad-field", "/text");
    answer_done(&unknown);
}

static void lists_are_paged_and_filtered(void **state)
{
    struct world *world = *state;
    char name[32], link[512];
    long long alerts[3], baseline = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "paged%d-%d", (int)getpid(), i);
        baseline = world_baseline(world, name);
    }
    for (int i = 0; i < 3; i++)
        alerts[i] = world_alert(world, baseline, 10 + i);
    struct answer first = call(world, "GET", world->viewer, NULL, NULL,
                               "/api/v1/baselines?limit=2&target=%s", world->scratch);
    expect_status(&first, 200);
    assert_int_equal(json_array_size(answer_at(&first, "items")), 2);
    assert_int_equal(answer_number(&first, "items/0/id"), baseline);
    answer_header(&first, "Link", link);
    *strchr(link, '>') = '\0';
    struct answer second = world_get(world, world->viewer, link + 1);
    expect_status(&second, 200);
    assert_true(answer_number(&second, "items/0/id") < answer_number(&first, "items/1/id"));
    answer_done(&first);
    answer_done(&second);
    struct answer resolved =
        call(world, "POST", world->operator_, NULL, NULL, "/api/v1/alerts/%lld/resolve", alerts[1]);
    answer_done(&resolved);
    struct answer open =
        call(world, "GET", world->viewer, NULL, NULL,
             "/api/v1/alerts?baseline=%lld&state=opened,acknowledged&limit=1", baseline);
    assert_int_equal(answer_number(&open, "items/0/id"), alerts[2]);
    answer_header(&open, "Link", link);
    *strchr(link, '>') = '\0';
    struct answer next = world_get(world, world->viewer, link + 1);
    expect_status(&next, 200);
    assert_int_equal(answer_number(&next, "items/0/id"), alerts[0]);
    assert_true(json_is_null(answer_at(&next, "next_cursor")));
    answer_done(&open);
    answer_done(&next);
    static const char *const bad[] = { "/api/v1/alerts?state=closed", "/api/v1/alerts?cursor=x",
                                       "/api/v1/alerts?limit=0", "/api/v1/baselines?cursor=-1" };
    static const char *const fields[] = { "/?state", "/?cursor", "/?limit", "/?cursor" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct answer answer = world_get(world, world->viewer, bad[i]);
        expect_problem(&answer, 422, "bad-field", fields[i]);
        answer_done(&answer);
    }
}

static void a_history_has_values_levels_and_changes(void **state)
{
    struct world *world = *state;
    char name[32];
    nsec usual = world->batch;
    snprintf(name, sizeof name, "history%d", (int)getpid());
    long long baseline = world_baseline(world, name);
    struct answer empty =
        call(world, "GET", world->viewer, NULL, NULL, "/api/v1/baselines/%lld/history", baseline);
    expect_status(&empty, 200);
    assert_int_equal(json_array_size(answer_at(&empty, "values")), 0);
    answer_done(&empty);
    job_id changed = 0;
    for (int i = 0; i < 10; i++) {
        static const int noise[] = { 0, 2, -1, 3, -2, 1, -3 };
        world->batch = (i < 6 ? usual : usual * 3 / 2) * (1000 + noise[i % 7]) / 1000;
        job_id job = world_job_of(world, "create-scaling", "{\"files\":77}");
        world_run(world, job, 20, JOB_SUCCEEDED);
        changed = i == 6 ? job : changed;
    }
    world->batch = usual;
    struct answer answer =
        call(world, "GET", world->viewer, NULL, NULL, "/api/v1/baselines/%lld/history", baseline);
    expect_status(&answer, 200);
    assert_string_equal(answer_text(&answer, "unit"), "files/s");
    assert_int_equal(json_array_size(answer_at(&answer, "values")), 10);
    assert_int_equal(json_array_size(answer_at(&answer, "segments")), 2);
    assert_int_equal(answer_number(&answer, "segments/0/to"), 5);
    assert_int_equal(answer_number(&answer, "changes/0/at"), 6);
    assert_int_equal(answer_number(&answer, "changes/0/job"), changed);
    assert_true(json_is_true(answer_at(&answer, "changes/0/regression")));
    double effect = json_number_value(answer_at(&answer, "changes/0/effect"));
    assert_true(effect > -0.35 && effect < -0.32);
    assert_non_null(strstr(answer_text(&answer, "changes/0/sentence"), "33 % less"));
    answer_done(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_baseline_is_made_with_presets_read_changed_and_removed),
        cmocka_unit_test(refuses_what_is_no_baseline),
        cmocka_unit_test(roles_and_targets_are_kept),
        cmocka_unit_test(an_alert_is_acknowledged_and_resolved_once),
        cmocka_unit_test(lists_are_paged_and_filtered),
        cmocka_unit_test(a_history_has_values_levels_and_changes),
    };
    return cmocka_run_group_tests_name("alerts", tests, world_setup, world_teardown);
}
