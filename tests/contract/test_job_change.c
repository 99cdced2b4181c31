/* What people change about a job over HTTP: its note, labels, reference and pin; and its end. */
#include "tests/contract/world.h"

#include <stdatomic.h>

static const char *path_of(job_id id, char text[64])
{
    snprintf(text, 64, "/api/v1/jobs/%lld", (long long)id);
    return text;
}

static struct answer call(struct world *world, const char *method, const char *token,
                          const char *path, const char *headers, const char *body)
{
    return client_call(
        &world->place,
        &(struct ask){
            .method = method, .target = path, .token = token, .headers = headers, .body = body });
}

static struct answer patch(struct world *world, job_id id, const char *body)
{
    char path[64];
    return call(world, "PATCH", world->operator_, path_of(id, path), NULL, body);
}

/* One that has ended. */
static job_id ended_job(struct world *world)
{
    struct problem why = { 0 };
    job_id id = world_job(world);
    int now;
    assert_int_equal(store_job_cancel(world->store, id, &now, &why), 0);
    return id;
}

static void changes_what_is_given_and_nothing_else(void **state)
{
    struct world *world = *state;
    char path[64];
    job_id id = world_job(world);
    struct answer all = patch(world, id,
                              "{\"note\":\"slow disk?\",\"external_ref\":\"OPS-9\",\"pinned\":true,"
                              "\"labels\":{\"kernel\":\"6.6\",\"rack\":\"7\"}}");
    expect_status(&all, 200);
    assert_string_equal(answer_text(&all, "note"), "slow disk?");
    assert_string_equal(answer_text(&all, "external_ref"), "OPS-9");
    assert_string_equal(answer_text(&all, "labels/kernel"), "6.6");
    assert_string_equal(answer_text(&all, "labels/rack"), "7");
    assert_true(json_is_true(answer_at(&all, "pinned")));
    struct answer got = world_get(world, world->viewer, path_of(id, path));
    assert_true(json_equal(got.json, all.json));
    answer_done(&got);

    struct answer one = patch(world, id, "{\"labels\":{\"site\":\"north\"}}");
    expect_status(&one, 200);
    assert_int_equal(json_object_size(answer_at(&one, "labels")), 1); /* the whole map */
    assert_string_equal(answer_text(&one, "labels/site"), "north");
    assert_string_equal(answer_text(&one, "note"), "slow disk?");
    assert_true(json_is_true(answer_at(&one, "pinned")));
    assert_true(answer_number(&one, "revision") > answer_number(&all, "revision"));

    struct answer none = patch(world, id, "{\"labels\":{},\"note\":\"\",\"pinned\":false}");
    expect_status(&none, 200);
    assert_int_equal(json_object_size(answer_at(&none, "labels")), 0);
    assert_string_equal(answer_text(&none, "note"), "");
    assert_string_equal(answer_text(&none, "external_ref"), "OPS-9");
    assert_true(json_is_false(answer_at(&none, "pinned")));

    struct answer nothing = patch(world, id, "{}");
    expect_status(&nothing, 200);
    assert_true(json_equal(nothing.json, none.json));
    answer_done(&all);
    answer_done(&one);
    answer_done(&none);
    answer_done(&nothing);
}

static void refuses_what_cannot_be_changed(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *body;
        int status;
        const char *code, *field;
    } cases[] = {
        { "{\"state\":\"queued\"}", 422, "bad-field", "/state" },
        { "{\"target\":\"other\"}", 422, "bad-field", "/target" },
        { "{\"priority\":1}", 422, "bad-field", "/priority" },
        { "{\"pinned\":\"perhaps\"}", 422, "bad-field", "/pinned" },
        { "{\"labels\":[]}", 422, "bad-field", "/labels" },
        { "{\"labels\":{\"a\":1}}", 422, "bad-field", "/labels/a" },
        { "{\"note\":7}", 422, "bad-field", "/note" },
        { "[]", 400, "bad-syntax", "" },
        { "{", 400, "bad-syntax", "" },
    };
    job_id id = world_job(world);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        print_message("%s\n", cases[i].body);
        struct answer answer = patch(world, id, cases[i].body);
        expect_problem(&answer, cases[i].status, cases[i].code, cases[i].field);
        answer_done(&answer);
    }
    struct answer missing = patch(world, 999999999, "{\"note\":\"\"}");
    expect_problem(&missing, 404, "not-found", "");
    answer_done(&missing);
}

static void changes_only_what_was_read(void **state)
{
    struct world *world = *state;
    char path[64], etag[512], stale[600], fresh[600];
    job_id id = world_job(world);
    path_of(id, path);
    struct answer read = world_get(world, world->viewer, path);
    snprintf(stale, sizeof stale, "If-Match: %s\r\n", answer_header(&read, "ETag", etag));
    struct answer first =
        call(world, "PATCH", world->operator_, path, stale, "{\"note\":\"mine\"}");
    expect_status(&first, 200);
    struct answer second =
        call(world, "PATCH", world->operator_, path, stale, "{\"note\":\"theirs\"}");
    expect_problem(&second, 412, "stale", "");
    /* The answer of a change carries the ETag for the next one. */
    snprintf(fresh, sizeof fresh, "If-Match: \"other\", %s\r\n",
             answer_header(&first, "ETag", etag));
    struct answer third =
        call(world, "PATCH", world->operator_, path, fresh, "{\"note\":\"mine again\"}");
    expect_status(&third, 200);
    struct answer any =
        call(world, "PATCH", world->operator_, path, "If-Match: *\r\n", "{\"external_ref\":\"x\"}");
    expect_status(&any, 200);
    assert_string_equal(answer_text(&any, "note"), "mine again");
    answer_done(&read);
    answer_done(&first);
    answer_done(&second);
    answer_done(&third);
    answer_done(&any);
}

/* PATCH and DELETE alike: who may. */
static void only_those_who_may_run_jobs_there_change_them(void **state)
{
    struct world *world = *state;
    static const char *const methods[] = { "PATCH", "DELETE" };
    char path[64];
    job_id id = ended_job(world);
    path_of(id, path);
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        const char *body = i ? NULL : "{\"note\":\"x\"}";
        struct answer nobody = call(world, methods[i], NULL, path, NULL, body);
        struct answer viewer = call(world, methods[i], world->viewer, path, NULL, body);
        struct answer limited = call(world, methods[i], world->limited, path, NULL, body);
        expect_problem(&nobody, 401, "unauthorised", "");
        expect_problem(&viewer, 403, "forbidden", "");
        assert_int_equal(limited.status, 403); /* its token is for another target */
        answer_done(&nobody);
        answer_done(&viewer);
        answer_done(&limited);
    }
    struct answer still = world_get(world, world->viewer, path);
    expect_status(&still, 200);
    assert_string_equal(answer_text(&still, "note"), "");
    answer_done(&still);
}

static void a_deleted_job_is_gone_at_once(void **state)
{
    struct world *world = *state;
    static const char *const below[] = { "", "/series?phase=create", "/host", "/findings",
                                         "/journal" };
    char path[64], target[128];
    struct problem why = { 0 };
    job_id id = world_job(world);
    world_run(world, id, 2000, JOB_SUCCEEDED);
    assert_int_equal(store_job_cleanup(world->store, id, CLEANUP_DONE, &why), 0);
    path_of(id, path);
    for (size_t i = 0; i < COUNT_OF(below); i++) { /* they are kept now */
        snprintf(target, sizeof target, "%s%s", path, below[i]);
        struct answer answer = world_get(world, world->viewer, target);
        expect_status(&answer, 200);
        answer_done(&answer);
    }
    struct answer gone = call(world, "DELETE", world->operator_, path, NULL, NULL);
    expect_status(&gone, 204);
    assert_int_equal(gone.n, 0);
    assert_int_equal(atomic_load(&world->forgotten), id);
    for (size_t i = 0; i < COUNT_OF(below); i++) {
        snprintf(target, sizeof target, "%s%s", path, below[i]);
        struct answer answer = world_get(world, world->viewer, target);
        expect_problem(&answer, 404, "not-found", "");
        answer_done(&answer);
    }
    struct answer again = call(world, "DELETE", world->operator_, path, NULL, NULL);
    expect_problem(&again, 404, "not-found", "");
    answer_done(&gone);
    answer_done(&again);
}

static void expect_kept(struct world *world, job_id id, const char *says)
{
    char path[64];
    struct answer refused = call(world, "DELETE", world->operator_, path_of(id, path), NULL, NULL);
    struct answer still = world_get(world, world->viewer, path);
    expect_problem(&refused, 409, "conflict", "");
    if (!strstr(answer_text(&refused, "detail"), says))
        fail_msg("\"%s\" does not say \"%s\"", answer_text(&refused, "detail"), says);
    expect_status(&still, 200);
    answer_done(&refused);
    answer_done(&still);
}

static void keeps_what_runs_is_not_clean_or_is_pinned(void **state)
{
    struct world *world = *state;
    static const struct {
        int cleanup;
        const char *says;
    } cases[] = {
        { CLEANUP_PENDING, "cleaned up" },
        { CLEANUP_RUNNING, "cleaned up" },
        { CLEANUP_BLOCKED, "could not remove" },
    };
    struct problem why = { 0 };
    char path[64];
    job_id id = world_job(world);
    expect_kept(world, id, "has not ended");
    world_run(world, id, 10, JOB_RUNNING);
    expect_kept(world, id, "has not ended");
    const struct problem none = { 0 };
    assert_int_equal(
        store_job_finish(world->store, id, JOB_SUCCEEDED, CLEANUP_PENDING, &none, &why), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        (void)!store_job_cleanup(world->store, id, cases[i].cleanup, &why);
        expect_kept(world, id, cases[i].says);
    }
    assert_int_equal(store_job_cleanup(world->store, id, CLEANUP_DONE, &why), 0);
    struct answer pinned = patch(world, id, "{\"pinned\":true}");
    expect_status(&pinned, 200);
    expect_kept(world, id, "pinned");
    struct answer unpinned = patch(world, id, "{\"pinned\":false}");
    expect_status(&unpinned, 200);
    atomic_store(&world->keeps, true);
    expect_kept(world, id, "stranger");
    atomic_store(&world->keeps, false);
    struct answer gone = call(world, "DELETE", world->operator_, path_of(id, path), NULL, NULL);
    expect_status(&gone, 204);
    answer_done(&pinned);
    answer_done(&unpinned);
    answer_done(&gone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_what_is_given_and_nothing_else),
        cmocka_unit_test(refuses_what_cannot_be_changed),
        cmocka_unit_test(changes_only_what_was_read),
        cmocka_unit_test(only_those_who_may_run_jobs_there_change_them),
        cmocka_unit_test(a_deleted_job_is_gone_at_once),
        cmocka_unit_test(keeps_what_runs_is_not_clean_or_is_pinned),
    };
    return cmocka_run_group_tests_name("job_change", tests, world_setup, world_teardown);
}
