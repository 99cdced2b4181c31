/* Jobs over HTTP: queue, list, look at, wait, cancel. */
#include "tests/contract/world.h"

#include <stdatomic.h>

#define JOB "\"workload\":\"create-scaling\",\"target\":\"%s\",\"params\":{\"files\":2000}"

static const char *body_of(struct world *world, char text[512], const char *more)
{
    snprintf(text, 512, "{" JOB "%s}", world->scratch, more);
    return text;
}

static void queues_a_job_and_nudges_the_dispatcher(void **state)
{
    struct world *world = *state;
    char body[512], text[512], path[512];
    int before = atomic_load(&world->nudges);
    struct answer made =
        world_post(world, world->operator_, "/api/v1/jobs",
                   body_of(world, body,
                           ",\"labels\":{\"kernel\":\"6.1\"},\"note\":\"\xc3\xa4\","
                           "\"external_ref\":\"OPS-7\",\"priority\":-3"));
    expect_status(&made, 201);
    assert_int_equal(atomic_load(&world->nudges), before + 1);
    assert_string_equal(answer_text(&made, "state"), "queued");
    assert_string_equal(answer_text(&made, "target"), world->scratch);
    assert_string_equal(answer_text(&made, "host"), world->host);
    assert_string_equal(answer_text(&made, "labels/kernel"), "6.1");
    assert_string_equal(answer_text(&made, "note"), "\xc3\xa4");
    assert_string_equal(answer_text(&made, "external_ref"), "OPS-7");
    assert_int_equal(answer_number(&made, "priority"), -3);
    assert_int_equal(answer_number(&made, "params/files"), 2000);
    assert_int_equal(answer_number(&made, "params/batch"), 100); /* presets are filled in */
    assert_true(json_is_null(answer_at(&made, "progress")));
    assert_true(json_is_null(answer_at(&made, "problem")));
    assert_true(json_is_null(answer_at(&made, "started_at")));
    assert_int_equal(json_array_size(answer_at(&made, "findings")), 0);

    snprintf(path, sizeof path, "/api/v1/jobs/%lld", answer_number(&made, "id"));
    assert_string_equal(answer_header(&made, "Location", text), path);
    struct answer got = world_get(world, world->viewer, path);
    expect_status(&got, 200);
    assert_true(json_equal(got.json, made.json));
    answer_done(&got);
    answer_done(&made);
}

static void a_dry_run_changes_nothing(void **state)
{
    struct world *world = *state;
    char body[512], list[128];
    snprintf(list, sizeof list, "/api/v1/jobs?target=%s&limit=500", world->scratch);
    struct answer before = world_get(world, world->viewer, list);
    int nudges = atomic_load(&world->nudges);
    struct answer dry = world_post(world, world->operator_, "/api/v1/jobs?dry_run=1",
                                   body_of(world, body, ",\"note\":\"perhaps\""));
    struct answer after = world_get(world, world->viewer, list);
    expect_status(&dry, 200);
    assert_true(json_is_null(answer_at(&dry, "id")));
    assert_string_equal(answer_text(&dry, "state"), "queued");
    assert_string_equal(answer_text(&dry, "note"), "perhaps");
    assert_int_equal(answer_number(&dry, "params/batch"), 100);
    assert_true(json_equal(before.json, after.json));
    assert_int_equal(atomic_load(&world->nudges), nudges);
    answer_done(&before);
    answer_done(&after);
    answer_done(&dry);
}

static void a_job_of_a_matrix_has_a_run_of_each_point(void **state)
{
    struct world *world = *state;
    char body[512];
    body_of(
        world, body,
        ",\"matrix\":{\"threads\":[1,2],\"sync\":[\"none\",\"fsync\"]},\"repeat\":2,\"seed\":7");
    struct answer dry = world_post(world, world->operator_, "/api/v1/jobs?dry_run=1", body);
    struct answer first = world_post(world, world->operator_, "/api/v1/jobs", body);
    struct answer second = world_post(world, world->operator_, "/api/v1/jobs", body);
    expect_status(&dry, 200);
    expect_status(&first, 201);
    json_t *runs = answer_at(&first, "runs");
    assert_int_equal(json_array_size(runs), 8);
    assert_int_equal(answer_number(&first, "repeat"), 2);
    assert_int_equal(answer_number(&first, "seed"), 7);
    unsigned rounds[2] = { 0 };
    for (size_t i = 0; i < 8; i++) {
        json_t *run = json_array_get(runs, i), *params = json_object_get(run, "params");
        json_int_t point = json_integer_value(json_object_get(run, "point"));
        assert_int_equal(json_integer_value(json_object_get(run, "run")), i + 1);
        assert_string_equal(json_string_value(json_object_get(run, "state")), "queued");
        assert_int_equal(json_integer_value(json_object_get(params, "threads")), point < 2 ? 1 : 2);
        assert_string_equal(json_string_value(json_object_get(params, "sync")),
                            point % 2 ? "fsync" : "none");
        rounds[i / 4] |= 1u << point;
    }
    assert_int_equal(rounds[0], 15);
    assert_int_equal(rounds[1], 15);
    assert_true(json_equal(runs, answer_at(&second, "runs"))); /* the seed says it all */
    assert_true(json_equal(runs, answer_at(&dry, "runs")));
    answer_done(&dry);
    answer_done(&first);
    answer_done(&second);
}

static void without_a_seed_one_is_chosen(void **state)
{
    struct world *world = *state;
    char body[512];
    body_of(world, body, ",\"repeat\":3");
    struct answer first = world_post(world, world->operator_, "/api/v1/jobs", body);
    struct answer second = world_post(world, world->operator_, "/api/v1/jobs", body);
    expect_status(&first, 201);
    assert_true(answer_number(&first, "seed") > 0);
    assert_true(answer_number(&first, "seed") != answer_number(&second, "seed"));
    assert_int_equal(json_array_size(answer_at(&first, "runs")), 3);
    answer_done(&first);
    answer_done(&second);
}

static struct answer post_keyed(struct world *world, const char *token, const char *key,
                                const char *body)
{
    char headers[600];
    snprintf(headers, sizeof headers, "Idempotency-Key: %s\r\n", key);
    return client_call(&world->place, &(struct ask){ .method = "POST",
                                                     .target = "/api/v1/jobs",
                                                     .token = token,
                                                     .headers = headers,
                                                     .body = body });
}

static void the_same_request_twice_makes_one_job(void **state)
{
    struct world *world = *state;
    char body[512], other[512], text[512];
    body_of(world, body, "");
    body_of(world, other, ",\"priority\":1");
    struct answer first = post_keyed(world, world->operator_, "key one!", body);
    struct answer again = post_keyed(world, world->operator_, "key one!", body);
    struct answer changed = post_keyed(world, world->operator_, "key one!", other);
    struct answer another = post_keyed(world, world->admin, "key one!", body);
    expect_status(&first, 201);
    expect_status(&again, 201);
    assert_true(json_equal(first.json, again.json));
    assert_string_equal(answer_header(&again, "Idempotency-Replayed", text), "true");
    assert_string_equal(answer_header(&first, "Idempotency-Replayed", text), "");
    assert_string_not_equal(answer_header(&again, "Location", text), "");
    expect_problem(&changed, 422, "bad-field", "/Idempotency-Key");
    expect_status(&another, 201); /* a key belongs to its token */
    assert_true(answer_number(&another, "id") != answer_number(&first, "id"));
    answer_done(&first);
    answer_done(&again);
    answer_done(&changed);
    answer_done(&another);
}

static void refuses_a_bad_idempotency_key(void **state)
{
    struct world *world = *state;
    char body[512], longest[300];
    memset(longest, 'k', 256);
    longest[256] = '\0';
    const char *keys[] = { longest, "\xc3\xa4" };
    body_of(world, body, "");
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct answer answer = post_keyed(world, world->operator_, keys[i], body);
        expect_problem(&answer, 422, "bad-field", "/Idempotency-Key");
        answer_done(&answer);
    }
}

static void pages_through_the_list(void **state)
{
    struct world *world = *state;
    char path[256], text[512];
    job_id ids[5];
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        ids[i] = world_job(world);
    snprintf(path, sizeof path, "/api/v1/jobs?target=%s&state=queued,running&limit=2",
             world->scratch);
    struct answer page = world_get(world, world->viewer, path);
    expect_status(&page, 200);
    assert_int_equal(json_array_size(answer_at(&page, "items")), 2);
    assert_int_equal(answer_number(&page, "items/0/id"), ids[4]);
    assert_int_equal(answer_number(&page, "items/1/id"), ids[3]);
    answer_header(&page, "Link", text);
    char *end = strstr(text, ">; rel=\"next\"");
    assert_non_null(end);
    *end = '\0';
    assert_non_null(strstr(text, answer_text(&page, "next_cursor")));
    struct answer next = world_get(world, world->viewer, text + 1);
    expect_status(&next, 200);
    assert_int_equal(answer_number(&next, "items/0/id"), ids[2]);
    assert_int_equal(answer_number(&next, "items/1/id"), ids[1]);
    answer_done(&page);
    answer_done(&next);

    snprintf(path, sizeof path, "/api/v1/jobs?target=%s&state=failed", world->scratch);
    struct answer none = world_get(world, world->viewer, path);
    expect_status(&none, 200);
    assert_int_equal(json_array_size(answer_at(&none, "items")), 0);
    assert_true(json_is_null(answer_at(&none, "next_cursor")));
    assert_string_equal(answer_header(&none, "Link", text), "");
    answer_done(&none);
}

static void finds_jobs_by_label_and_time(void **state)
{
    struct world *world = *state;
    char body[512], since[CLOCK_TEXT], between[CLOCK_TEXT];
    static const char *const kernels[] = { "5.10", "6.1", "6.6" };
    job_id ids[3];
    clock_format(clock_wall(), since);
    for (size_t i = 0; i < COUNT_OF(kernels); i++) {
        char labels[64];
        snprintf(labels, sizeof labels, ",\"labels\":{\"kernel\":\"%s\",\"a.b\":\"c d\"}",
                 kernels[i]);
        if (i == 2)
            clock_format(clock_wall(), between);
        struct answer made =
            world_post(world, world->operator_, "/api/v1/jobs", body_of(world, body, labels));
        expect_status(&made, 201);
        ids[i] = answer_number(&made, "id");
        answer_done(&made);
    }
    static const struct {
        const char *query;
        size_t n;
        int first; /* of ids */
    } cases[] = {
        { "", 3, 2 },
        { "&sort=-created_at", 3, 2 },
        { "&sort=created_at", 3, 0 },
        { "&label.kernel=6.1", 1, 1 },
        { "&label.kernel=5.10,6.1", 2, 1 },
        { "&label.kernel=5.10&label.a.b=c%20d", 1, 0 },
        { "&label.kernel=5.10&label.a.b=c", 0, 0 },
        { "&label.nothing=5.10", 0, 0 },
        { "&created_before=BETWEEN", 2, 1 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char path[512];
        bool before = strstr(cases[i].query, "BETWEEN") != NULL;
        snprintf(path, sizeof path, "/api/v1/jobs?target=%s&created_after=%s%s%s", world->scratch,
                 since, before ? "&created_before=" : cases[i].query, before ? between : "");
        print_message("%s\n", path);
        struct answer list = world_get(world, world->viewer, path);
        expect_status(&list, 200);
        assert_int_equal(json_array_size(answer_at(&list, "items")), cases[i].n);
        if (cases[i].n)
            assert_int_equal(answer_number(&list, "items/0/id"), ids[cases[i].first]);
        answer_done(&list);
    }
    char path[512];
    snprintf(path, sizeof path, "/api/v1/jobs?target=%s&created_after=%s&sort=created_at&limit=2",
             world->scratch, since);
    struct answer page = world_get(world, world->viewer, path);
    char rest[600];
    snprintf(rest, sizeof rest, "%s&cursor=%s", path, answer_text(&page, "next_cursor"));
    struct answer next = world_get(world, world->viewer, rest);
    assert_int_equal(answer_number(&page, "items/1/id"), ids[1]);
    assert_int_equal(answer_number(&next, "items/0/id"), ids[2]);
    assert_int_equal(json_array_size(answer_at(&next, "items")), 1);
    answer_done(&page);
    answer_done(&next);
}

static void cancels_and_says_so_again(void **state)
{
    struct world *world = *state;
    char path[64];
    job_id id = world_job(world);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/cancel", (long long)id);
    for (int i = 0; i < 2; i++) {
        struct answer answer = world_post(world, world->operator_, path, i ? "{}" : NULL);
        expect_status(&answer, 202);
        assert_string_equal(answer_text(&answer, "state"), "cancelled");
        assert_int_equal(answer_number(&answer, "id"), id);
        answer_done(&answer);
    }
}

static void a_change_is_seen_at_once(void **state)
{
    struct world *world = *state;
    char path[64], cancel[96];
    job_id id = world_job(world);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld", (long long)id);
    snprintf(cancel, sizeof cancel, "%s/cancel", path);
    struct answer before = world_get(world, world->viewer, path); /* is kept now */
    struct answer done = world_post(world, world->operator_, cancel, NULL);
    struct answer after = world_get(world, world->viewer, path);
    assert_string_equal(answer_text(&before, "state"), "queued");
    assert_string_equal(answer_text(&after, "state"), "cancelled");
    answer_done(&before);
    answer_done(&done);
    answer_done(&after);
}

static void an_unchanged_job_is_not_sent_again(void **state)
{
    struct world *world = *state;
    char path[64], etag[512], headers[600], text[512];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld", (long long)world_job(world));
    struct answer first = world_get(world, world->viewer, path);
    assert_string_not_equal(answer_header(&first, "ETag", etag), "");
    assert_true(etag[0] == '"'); /* strong */
    snprintf(headers, sizeof headers, "If-None-Match: \"other\", %s\r\n", etag);
    struct answer again = client_call(
        &world->place, &(struct ask){ .target = path, .token = world->viewer, .headers = headers });
    expect_status(&again, 304);
    assert_int_equal(again.n, 0);
    assert_string_equal(answer_header(&again, "ETag", text), etag);
    struct answer head = client_call(
        &world->place, &(struct ask){ .method = "HEAD", .target = path, .token = world->viewer });
    expect_status(&head, 200);
    assert_int_equal(head.n, 0);
    assert_string_equal(answer_header(&head, "ETag", text), etag);
    assert_int_equal(strtoul(answer_header(&head, "Content-Length", text), NULL, 10), first.n);
    answer_done(&first);
    answer_done(&again);
    answer_done(&head);
}

static void a_wait_ends_when_the_state_changes(void **state)
{
    struct world *world = *state;
    char path[64], cancel[96];
    job_id id = world_job(world);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld?wait=15", (long long)id);
    snprintf(cancel, sizeof cancel, "/api/v1/jobs/%lld/cancel", (long long)id);
    nsec began = clock_monotonic();
    int held = client_send(&world->place, &(struct ask){ .target = path, .token = world->viewer });
    struct answer done = world_post(world, world->operator_, cancel, NULL);
    struct answer answer = client_read(held);
    expect_status(&done, 202);
    expect_status(&answer, 200);
    assert_string_equal(answer_text(&answer, "state"), "cancelled");
    assert_true(clock_monotonic() - began < 10 * NSEC_PER_SEC);
    answer_done(&done);
    answer_done(&answer);
}

static void a_wait_ends_in_time(void **state)
{
    struct world *world = *state;
    char path[64];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld?wait=300ms", (long long)world_job(world));
    nsec began = clock_monotonic();
    struct answer answer = world_get(world, world->viewer, path);
    nsec took = clock_monotonic() - began;
    expect_status(&answer, 200);
    assert_string_equal(answer_text(&answer, "state"), "queued");
    assert_true(took >= 300 * NSEC_PER_MSEC && took < 5 * NSEC_PER_SEC);
    answer_done(&answer);
}

static void a_wait_with_an_old_etag_is_answered_at_once(void **state)
{
    struct world *world = *state;
    char path[64];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld?wait=15", (long long)world_job(world));
    nsec began = clock_monotonic();
    struct answer answer =
        client_call(&world->place, &(struct ask){ .target = path,
                                                  .token = world->viewer,
                                                  .headers = "If-None-Match: \"old\"\r\n" });
    expect_status(&answer, 200);
    assert_true(clock_monotonic() - began < 10 * NSEC_PER_SEC);
    answer_done(&answer);
}

static void a_wait_for_what_has_ended_is_answered_at_once(void **state)
{
    struct world *world = *state;
    char path[64];
    job_id id = world_job(world);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/cancel", (long long)id);
    struct answer done = world_post(world, world->operator_, path, NULL);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld?wait=15", (long long)id);
    nsec began = clock_monotonic();
    struct answer answer = world_get(world, world->viewer, path);
    expect_status(&answer, 200);
    assert_true(clock_monotonic() - began < 10 * NSEC_PER_SEC);
    answer_done(&done);
    answer_done(&answer);
}

static void shows_what_a_running_job_does(void **state)
{
    struct world *world = *state;
    char path[64];
    job_id id = world_job(world);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld", (long long)id);
    world_run(world, id, 1000, JOB_RUNNING);
    struct answer answer = world_get(world, world->viewer, path);
    expect_status(&answer, 200);
    assert_string_equal(answer_text(&answer, "state"), "running");
    assert_string_equal(answer_text(&answer, "progress/phase"), "create");
    assert_string_equal(answer_text(&answer, "progress/unit"), "files");
    assert_int_equal(answer_number(&answer, "progress/done"), 100000);
    assert_int_equal(answer_number(&answer, "progress/total"), 100000);
    assert_string_equal(answer_text(&answer, "environment/kernel"), "6.1");
    answer_done(&answer);
}

static void shows_how_a_job_succeeded(void **state)
{
    struct world *world = *state;
    char path[64];
    job_id id = world_job(world);
    world_run(world, id, 1000, JOB_SUCCEEDED);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld", (long long)id);
    struct answer answer = world_get(world, world->viewer, path);
    expect_status(&answer, 200);
    assert_string_equal(answer_text(&answer, "state"), "succeeded");
    assert_string_equal(answer_text(&answer, "phases/0/name"), "create");
    assert_int_equal(answer_number(&answer, "phases/0/ops"), 100000);
    assert_int_equal(answer_number(&answer, "phases/0/seconds"), 4);
    assert_int_equal(answer_number(&answer, "phases/0/rate"), 25000); /* ops by wall-clock time */
    assert_int_equal(answer_number(&answer, "phases/0/latency_ns/p99"), 90000);
    assert_int_equal(answer_number(&answer, "phases/0/latency_ns/mean"), 40);
    assert_true(json_is_null(answer_at(&answer, "phases/0/limited_by")));
    assert_true(json_is_null(answer_at(&answer, "progress")));
    answer_done(&answer);
}

static void shows_why_a_job_failed(void **state)
{
    struct world *world = *state;
    char path[64];
    struct problem why = { 0 };
    const struct problem died = { PROBLEM_INTERRUPTED, "", "the runner ended" };
    job_id id = world_job(world);
    assert_int_equal(store_job_finish(world->store, id, JOB_FAILED, CLEANUP_NONE, &died, &why), 0);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld", (long long)id);
    struct answer answer = world_get(world, world->viewer, path);
    assert_string_equal(answer_text(&answer, "state"), "failed");
    assert_string_equal(answer_text(&answer, "problem/code"), "interrupted");
    assert_string_equal(answer_text(&answer, "problem/message"), "the runner ended");
    assert_true(json_is_null(answer_at(&answer, "progress")));
    answer_done(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_a_job_and_nudges_the_dispatcher),
        cmocka_unit_test(a_dry_run_changes_nothing),
        cmocka_unit_test(a_job_of_a_matrix_has_a_run_of_each_point),
        cmocka_unit_test(without_a_seed_one_is_chosen),
        cmocka_unit_test(the_same_request_twice_makes_one_job),
        cmocka_unit_test(refuses_a_bad_idempotency_key),
        cmocka_unit_test(pages_through_the_list),
        cmocka_unit_test(finds_jobs_by_label_and_time),
        cmocka_unit_test(cancels_and_says_so_again),
        cmocka_unit_test(a_change_is_seen_at_once),
        cmocka_unit_test(an_unchanged_job_is_not_sent_again),
        cmocka_unit_test(a_wait_ends_when_the_state_changes),
        cmocka_unit_test(a_wait_ends_in_time),
        cmocka_unit_test(a_wait_with_an_old_etag_is_answered_at_once),
        cmocka_unit_test(a_wait_for_what_has_ended_is_answered_at_once),
        cmocka_unit_test(shows_what_a_running_job_does),
        cmocka_unit_test(shows_how_a_job_succeeded),
        cmocka_unit_test(shows_why_a_job_failed),
    };
    return cmocka_run_group_tests_name("jobs", tests, world_setup, world_teardown);
}
