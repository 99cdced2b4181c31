/* What happens to a job, told as it happens: the order of events, their resumption, and the readers
 * that leave, come in crowds, or do not read. */
#include "api/events.h"
#include "tests/contract/world.h"

#include <poll.h>
#include <sys/socket.h>

/* A stream as its reader has it: the bytes so far, chunk sizes taken out. */
struct stream_reader {
    int fd;
    char raw[256 * 1024];
    size_t n;
    char text[256 * 1024];
};

static void unchunk(struct stream_reader *reader)
{
    char *to = reader->text;
    const char *from = strstr(reader->raw, "\r\n\r\n");
    *to = '\0';
    for (from = from ? from + 4 : ""; *from;) {
        char *data;
        size_t size = strtoul(from, &data, 16);
        if (strncmp(data, "\r\n", 2) != 0 || size == 0 || data + 2 + size > reader->raw + reader->n)
            break;
        memcpy(to, data + 2, size);
        to += size;
        *to = '\0';
        from = data + 2 + size + 2;
    }
}

/* id 0: to the whole service. */
static struct stream_reader *listen_to(struct world *world, job_id id, const char *headers)
{
    char path[64] = "/api/v1/events";
    struct stream_reader *reader = calloc(1, sizeof *reader);
    assert_non_null(reader);
    if (id)
        snprintf(path, sizeof path, "/api/v1/jobs/%lld/events", (long long)id);
    reader->fd = client_send(
        &world->place, &(struct ask){ .target = path, .token = world->viewer, .headers = headers });
    return reader;
}

/* Reads until that text is there, or (NULL) the server ends; 10 s at most. */
static void read_until(struct stream_reader *reader, const char *expected)
{
    nsec deadline = clock_monotonic() + 10 * NSEC_PER_SEC;
    while (unchunk(reader), !expected || !strstr(reader->text, expected)) {
        struct pollfd fd = { reader->fd, POLLIN, 0 };
        nsec left = (deadline - clock_monotonic()) / NSEC_PER_MSEC;
        ssize_t n =
            left > 0 && poll(&fd, 1, (int)left) > 0
                ? recv(reader->fd, reader->raw + reader->n, sizeof reader->raw - 1 - reader->n, 0)
                : -1;
        if (n == 0 && !expected)
            return;
        if (n <= 0)
            fail_msg("\"%s\" did not come:\n%s", expected ? expected : "the end", reader->raw);
        reader->n += (size_t)n;
        reader->raw[reader->n] = '\0';
    }
}

static void stream_done(struct stream_reader *reader)
{
    close(reader->fd);
    free(reader);
}

/* "running/none cancelling/none ", of the events with ids, which must rise. */
static void expect_states(const struct stream_reader *reader, const char *expected)
{
    char states[1024] = "";
    size_t used = 0;
    long long last = 0;
    for (const char *at = reader->text; (at = strstr(at, "event: state\ndata: ")); at++) {
        const char *id = at;
        while (id > reader->text && strncmp(id, "id: ", 4) != 0)
            id--;
        long long now = strtoll(id + 4, NULL, 10);
        assert_true(now > last);
        last = now;
        const char *data = at + strlen("event: state\ndata: ");
        scoped_free char *line = strndup(data, strcspn(data, "\n"));
        json_t *json = json_loads(line, 0, NULL);
        assert_non_null(json);
        assert_int_equal(json_integer_value(json_object_get(json, "revision")), now);
        used += (size_t)snprintf(states + used, sizeof states - used, "%s/%s ",
                                 json_string_value(json_object_get(json, "state")),
                                 json_string_value(json_object_get(json, "cleanup")));
        json_decref(json);
    }
    assert_string_equal(states, expected);
}

static long long snapshot_id(const struct stream_reader *reader)
{
    const char *id = strstr(reader->text, "id: ");
    assert_non_null(id);
    assert_non_null(strstr(reader->text, "event: snapshot\n"));
    return strtoll(id + 4, NULL, 10);
}

static void finish(struct world *world, job_id id)
{
    const struct problem none = { 0 };
    struct problem why = { 0 };
    assert_int_equal(
        store_job_finish(world->store, id, JOB_SUCCEEDED, CLEANUP_PENDING, &none, &why), 0);
    assert_int_equal(store_job_cleanup(world->store, id, CLEANUP_DONE, &why), 0);
    assert_int_equal(store_findings_put(world->store, id, 1, &(struct findings){ 0 }, &why), 0);
}

static void tells_a_job_to_its_end(void **state)
{
    struct world *world = *state;
    job_id id = world_job(world);
    struct stream_reader *reader = listen_to(world, id, NULL);
    read_until(reader, "event: snapshot");
    assert_non_null(strstr(reader->raw, "Content-Type: text/event-stream\r\n"));
    assert_non_null(strstr(reader->raw, "Cache-Control: no-store\r\n"));
    assert_non_null(strstr(reader->text, "\"state\":\"queued\""));
    world_run(world, id, 1000, JOB_RUNNING);
    read_until(reader, "event: progress");
    assert_non_null(strstr(reader->text, "\"done\":100000"));
    finish(world, id);
    read_until(reader, NULL);
    expect_states(reader, "running/none succeeded/pending succeeded/done ");
    assert_non_null(
        strstr(reader->text, "event: findings\ndata: {\"analysis\":1,\"items\":[]}\n\n"));
    stream_done(reader);
}

static void resumes_after_the_last_event(void **state)
{
    struct world *world = *state;
    char headers[64], path[64];
    job_id id = world_job(world);
    struct stream_reader *first = listen_to(world, id, NULL);
    read_until(first, "event: snapshot");
    long long at = snapshot_id(first);
    stream_done(first);
    world_run(world, id, 10, JOB_RUNNING);
    finish(world, id);

    snprintf(headers, sizeof headers, "Last-Event-ID: %lld\r\n", at);
    struct stream_reader *second = listen_to(world, id, headers);
    read_until(second, NULL);
    assert_int_equal(snapshot_id(second), at); /* what follows is after it */
    assert_non_null(strstr(second->text, "\"state\":\"succeeded\""));
    expect_states(second, "running/none succeeded/pending succeeded/done ");
    stream_done(second);

    struct stream_reader *all = listen_to(world, id, "Last-Event-ID: 0\r\n");
    read_until(all, NULL);
    expect_states(all, "queued/none running/none succeeded/pending succeeded/done ");
    stream_done(all);

    /* Nothing will follow the last one: an EventSource that gets 204 does not come again. */
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/events", (long long)id);
    struct answer over =
        client_call(&world->place, &(struct ask){ .target = path,
                                                  .token = world->viewer,
                                                  .headers = "Last-Event-ID: 999999999\r\n" });
    expect_status(&over, 204);
    answer_done(&over);
}

static void refuses_bad_requests(void **state)
{
    struct world *world = *state;
    char path[64];
    static const struct {
        const char *headers;
        int status;
        const char *code, *field;
    } cases[] = {
        { "Last-Event-ID: last\r\n", 422, "bad-field", "/Last-Event-ID" },
        { "Last-Event-ID: -1\r\n", 422, "bad-field", "/Last-Event-ID" },
        { "Last-Event-ID: 9999999999999999999\r\n", 422, "bad-field", "/Last-Event-ID" },
        { "Accept: application/json\r\n", 406, "not-acceptable", "" },
    };
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/events", (long long)world_job(world));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        print_message("%s", cases[i].headers);
        struct answer answer = client_call(
            &world->place,
            &(struct ask){ .target = path, .token = world->viewer, .headers = cases[i].headers });
        expect_problem(&answer, cases[i].status, cases[i].code, cases[i].field);
        answer_done(&answer);
    }
    struct answer missing = world_get(world, world->viewer, "/api/v1/jobs/999999999/events");
    struct answer nobody = world_get(world, NULL, path);
    expect_problem(&missing, 404, "not-found", "");
    expect_problem(&nobody, 401, "unauthorised", "");
    answer_done(&missing);
    answer_done(&nobody);
}

static void ends_when_the_job_is_deleted(void **state)
{
    struct world *world = *state;
    struct problem why = { 0 };
    char path[64];
    int now;
    job_id id = world_job(world);
    struct stream_reader *reader = listen_to(world, id, NULL);
    read_until(reader, "event: snapshot");
    assert_int_equal(store_job_cancel(world->store, id, &now, &why), 0);
    read_until(reader, "\"cancelled\"");
    snprintf(path, sizeof path, "/api/v1/jobs/%lld", (long long)id);
    struct answer gone =
        client_call(&world->place,
                    &(struct ask){ .method = "DELETE", .target = path, .token = world->operator_ });
    expect_status(&gone, 204);
    read_until(reader, NULL);
    answer_done(&gone);
    stream_done(reader);
}

static void many_hear_the_same_and_no_more_than_may(void **state)
{
    struct world *world = *state;
    static struct stream_reader *readers[FOLLOWERS_MOST];
    char path[64], text[512];
    job_id id = world_job(world);
    for (size_t i = 0; i < FOLLOWERS_MOST; i++) {
        readers[i] = listen_to(world, id, NULL);
        read_until(readers[i], "event: snapshot");
    }
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/events", (long long)id);
    struct answer refused = world_get(world, world->viewer, path);
    expect_problem(&refused, 503, "overloaded", "");
    assert_string_not_equal(answer_header(&refused, "Retry-After", text), "");
    answer_done(&refused);
    world_run(world, id, 10, JOB_RUNNING);
    finish(world, id);
    for (size_t i = 0; i < FOLLOWERS_MOST; i++) {
        read_until(readers[i], NULL);
        expect_states(readers[i], "running/none succeeded/pending succeeded/done ");
        stream_done(readers[i]);
    }
    struct answer again = client_call(
        &world->place,
        &(struct ask){ .target = path, .token = world->viewer, .headers = "Last-Event-ID: 0\r\n" });
    expect_status(&again, 200);
    answer_done(&again);
}

static bool toggle_stuck(struct world *world, job_id id, int times)
{
    struct problem why = { 0 };
    for (int i = 0; i < times; i++)
        if (store_job_stuck(world->store, id, i % 2 == 0, &why))
            return false;
    return true;
}

/* One that reads slowly gets all of it, in order; one that has left or never reads is no burden. */
static void a_slow_reader_loses_nothing_and_holds_up_nobody(void **state)
{
    struct world *world = *state;
    job_id id = world_job(world);
    world_run(world, id, 10, JOB_RUNNING);
    struct stream_reader *slow = listen_to(world, id, NULL), *left = listen_to(world, id, NULL),
                         *quick = listen_to(world, id, NULL);
    /* Its answer has begun before anything changes; it reads nothing of it yet. */
    assert_int_equal(poll(&(struct pollfd){ slow->fd, POLLIN, 0 }, 1, 10000), 1);
    read_until(left, "event: snapshot");
    stream_done(left);
    read_until(quick, "event: snapshot");
    assert_true(toggle_stuck(world, id, 400));
    finish(world, id);
    read_until(quick, NULL);
    read_until(slow, NULL);
    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        const char *text = (i ? slow : quick)->text;
        for (const char *at = text; (at = strstr(at, "event: state\n")); at++)
            n++;
        if (n != 402)
            fail_msg("the %s reader got %zu of 402 after event %lld", i ? "slow" : "quick", n,
                     snapshot_id(i ? slow : quick));
    }
    assert_true(strcmp(strstr(slow->text, "event: state"), strstr(quick->text, "event: state")) ==
                0);
    stream_done(slow);
    stream_done(quick);
}

static void ends_when_the_server_stops(void **state)
{
    struct world *world = *state;
    const struct place place = world->place;
    struct server *server = NULL;
    struct problem why = { 0 };
    job_id id = world_job(world);
    char address[] = "127.0.0.1:0", *listen[] = { address };
    const struct server_settings settings = { .listen = { 1, listen }, .threads = 2 };
    assert_int_equal(server_start(&world->app, &settings, &server, &why), 0);
    world->place = (struct place){ .port = server_port(server, 0) };
    struct stream_reader *reader = listen_to(world, id, NULL);
    world->place = place;
    read_until(reader, "event: snapshot");
    nsec began = clock_monotonic();
    server_stop(server, 10 * NSEC_PER_SEC);
    assert_true(clock_monotonic() - began < 5 * NSEC_PER_SEC);
    read_until(reader, NULL);
    stream_done(reader);
}

/* ---- the whole service ---- */

/* What of the stream is about this host's job: "queued running succeeded findings"; all ids must rise. */
static void expect_events_of(const struct stream_reader *reader, job_id job, const char *expected)
{
    char kinds[1024] = "";
    size_t used = 0;
    long long last = 0;
    for (const char *at = strstr(reader->text, "id: "); at; at = strstr(at + 1, "\nid: ")) {
        at += *at == '\n';
        long long now = strtoll(at + 4, NULL, 10);
        const char *event = strstr(at, "event: ") + 7, *data = strstr(at, "data: ") + 6;
        if (strncmp(event, "snapshot", 8) == 0) {
            last = now;
            continue;
        }
        assert_true(now > last);
        last = now;
        scoped_free char *line = strndup(data, strcspn(data, "\n"));
        json_t *json = json_loads(line, 0, NULL);
        assert_non_null(json);
        if (json_integer_value(json_object_get(json, "job")) == job) {
            const char *what = json_string_value(json_object_get(json, "state"));
            used += (size_t)snprintf(kinds + used, sizeof kinds - used, "%.*s%s%s ",
                                     (int)strcspn(event, "\n"), event, what ? "/" : "",
                                     what ? what : "");
        }
        json_decref(json);
    }
    assert_string_equal(kinds, expected);
}

static void the_service_tells_of_all_jobs_and_alerts(void **state)
{
    struct world *world = *state;
    struct problem why = { 0 };
    char name[48], headers[64], text[64];
    job_id id = world_job(world);
    snprintf(name, sizeof name, "events%d", (int)getpid());
    int64_t baseline = world_baseline(world, name);
    struct stream_reader *reader = listen_to(world, 0, NULL);
    read_until(reader, "event: snapshot");
    long long at = snapshot_id(reader);
    snprintf(text, sizeof text, "\"job\":%lld,", (long long)id);
    assert_non_null(strstr(reader->text, text));
    world_run(world, id, 1000, JOB_RUNNING);
    read_until(reader, "event: progress");
    assert_non_null(strstr(reader->text, "\"done\":100000"));
    finish(world, id);
    int64_t alert = world_alert(world, baseline, id);
    assert_int_equal(store_alert_acknowledge(world->store, alert, "me", NULL, &why), 0);
    assert_int_equal(store_alert_resolve(world->store, alert, "me", "over", NULL, &why), 0);
    read_until(reader, "\"state\" : \"resolved\"");
    static const char expected[] =
        "state/running state/succeeded state/succeeded findings alert/opened "
        "alert/acknowledged alert/resolved ";
    expect_events_of(reader, id, expected);
    stream_done(reader);

    snprintf(headers, sizeof headers, "Last-Event-ID: %lld\r\n", at);
    struct stream_reader *again = listen_to(world, 0, headers);
    read_until(again, "\"state\" : \"resolved\"");
    assert_int_equal(snapshot_id(again), at); /* what follows is after it */
    expect_events_of(again, id, expected);
    stream_done(again);
}

static void an_alert_that_is_open_is_in_the_snapshot(void **state)
{
    struct world *world = *state;
    char name[48];
    snprintf(name, sizeof name, "snapshot%d", (int)getpid());
    world_alert(world, world_baseline(world, name), 5);
    struct stream_reader *reader = listen_to(world, 0, "Last-Event-ID: 999999999999\r\n");
    read_until(reader, "event: snapshot");
    read_until(reader, name);
    stream_done(reader);
    struct answer bad =
        client_call(&world->place, &(struct ask){ .target = "/api/v1/events",
                                                  .token = world->viewer,
                                                  .headers = "Last-Event-ID: x\r\n" });
    expect_problem(&bad, 422, "bad-field", "/Last-Event-ID");
    answer_done(&bad);
    struct answer nobody = client_call(&world->place, &(struct ask){ .target = "/api/v1/events" });
    expect_problem(&nobody, 401, "unauthorised", "");
    answer_done(&nobody);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_a_job_to_its_end),
        cmocka_unit_test(resumes_after_the_last_event),
        cmocka_unit_test(refuses_bad_requests),
        cmocka_unit_test(ends_when_the_job_is_deleted),
        cmocka_unit_test(many_hear_the_same_and_no_more_than_may),
        cmocka_unit_test(a_slow_reader_loses_nothing_and_holds_up_nobody),
        cmocka_unit_test(the_service_tells_of_all_jobs_and_alerts),
        cmocka_unit_test(an_alert_that_is_open_is_in_the_snapshot),
        cmocka_unit_test(ends_when_the_server_stops),
    };
    return cmocka_run_group_tests_name("events", tests, world_setup, world_teardown);
}
