/* The samples of a job: thinned, as CSV, as journal; and what the host did meanwhile. */
#include "engine/base/text.h"
#include "tests/contract/world.h"
#include <math.h>

#include <math.h>
#include <sys/socket.h>
#include <zlib.h>

static job_id finished;
enum { SAMPLES = 1700 };

static int setup(void **state)
{
    if (world_setup(state))
        return -1;
    finished = world_job(*state);
    world_run(*state, finished, SAMPLES, JOB_SUCCEEDED);
    return 0;
}

static struct answer get(struct world *world, const char *fmt, const char *headers)
{
    char path[256];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld%s", (long long)finished, fmt);
    return client_call(&world->place,
                       &(struct ask){ .target = path, .token = world->viewer, .headers = headers });
}

static void thins_but_loses_no_spike(void **state)
{
    struct world *world = *state;
    struct answer answer = get(world, "/series?points=100", NULL);
    expect_status(&answer, 200);
    assert_string_equal(answer_text(&answer, "phase"), "create");
    assert_string_equal(answer_text(&answer, "x"), "load");
    assert_string_equal(answer_text(&answer, "y"), "elapsed");
    assert_string_equal(answer_text(&answer, "unit"), "s");
    assert_string_equal(answer_text(&answer, "x_unit"), "files");
    assert_int_equal(answer_number(&answer, "count"), SAMPLES);
    assert_true(json_is_true(answer_at(&answer, "thinned")));
    size_t n = json_array_size(answer_at(&answer, "points/x"));
    assert_true(n > 10 && n <= 100);
    static const char *const columns[] = { "points/min", "points/max", "points/mean" };
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        assert_int_equal(json_array_size(answer_at(&answer, columns[i])), n);
    double most = 0;
    size_t i;
    json_t *value;
    json_array_foreach(answer_at(&answer, "points/max"), i,
                       value) if (json_number_value(value) > most) most = json_number_value(value);
    assert_true(most > 0.0399 && most < 0.0401); /* one batch of 1,700 took ten times as long */
    answer_done(&answer);
}

static void sends_few_samples_as_they_are(void **state)
{
    struct world *world = *state;
    struct answer answer =
        get(world, "/series?phase=create&points=100&from=100&to=1000&y=ops", NULL);
    expect_status(&answer, 200);
    assert_int_equal(answer_number(&answer, "count"), 10);
    assert_true(json_is_false(answer_at(&answer, "thinned")));
    assert_int_equal(json_array_size(answer_at(&answer, "points/x")), 10);
    assert_int_equal(answer_number(&answer, "points/x/0"), 100);
    assert_int_equal(answer_number(&answer, "points/x/9"), 1000);
    assert_int_equal(answer_number(&answer, "points/mean/3"), 100);
    assert_string_equal(answer_text(&answer, "unit"), "files");
    answer_done(&answer);
}

static void knows_every_measure_and_axis(void **state)
{
    struct world *world = *state;
    static const char *const measures[][2] = {
        { "elapsed", "s" },     { "rate", "files/s" },
        { "cpu", "ns" },        { "switches", "switches" },
        { "ops", "files" },     { "bytes", "bytes" },
        { "errors", "errors" }, { "p50", "ns" },
        { "p99", "ns" },        { "max", "ns" },
    };
    for (size_t i = 0; i < COUNT_OF(measures); i++)
        for (int at = 0; at < 2; at++) {
            char path[64];
            snprintf(path, sizeof path, "/series?points=50&y=%s&x=%s", measures[i][0],
                     at ? "at" : "load");
            struct answer answer = get(world, path, NULL);
            expect_status(&answer, 200);
            assert_string_equal(answer_text(&answer, "unit"), measures[i][1]);
            assert_string_equal(answer_text(&answer, "x_unit"), at ? "s" : "files");
            assert_true(json_array_size(answer_at(&answer, "points/x")) > 1);
            answer_done(&answer);
        }
}

static void refuses_a_phase_that_the_job_does_not_have(void **state)
{
    struct world *world = *state;
    struct answer answer = get(world, "/series?phase=destroy", NULL);
    expect_problem(&answer, 422, "bad-field", "/?phase");
    assert_non_null(strstr(answer_text(&answer, "detail"), "create"));
    answer_done(&answer);
}

static void a_job_that_has_not_begun_has_an_empty_series(void **state)
{
    struct world *world = *state;
    char path[128];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/series?phase=create",
             (long long)world_job(world));
    struct answer answer = world_get(world, world->viewer, path);
    expect_status(&answer, 200);
    assert_int_equal(answer_number(&answer, "count"), 0);
    assert_int_equal(json_array_size(answer_at(&answer, "points/x")), 0);
    answer_done(&answer);
}

/* Lines of a CSV answer, and the sum of its column of operations. */
static void add_up(const char *csv, size_t *ret_lines, unsigned long long *ret_ops)
{
    *ret_lines = 0;
    *ret_ops = 0;
    for (const char *line = csv; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *field = line;
        for (int i = 0; i < 7; i++)
            field += strcspn(field, ",") + 1;
        if ((*ret_lines)++)
            *ret_ops += strtoull(field, NULL, 10);
    }
}

static void streams_every_sample_as_csv(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *path, *headers;
    } ways[] = { { "/series", "Accept: text/csv\r\n" },
                 { "/series?format=csv", NULL },
                 { "/series?format=csv&phase=create", "Accept: application/json\r\n" } };
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        char text[512];
        size_t lines;
        unsigned long long ops;
        struct answer answer = get(world, ways[i].path, ways[i].headers);
        expect_status(&answer, 200);
        assert_true(text_starts(answer_header(&answer, "Content-Type", text), "text/csv"));
        assert_true(text_starts(answer.body, "phase,run,leg,lane,load,at_ns,elapsed_ns,ops,"));
        add_up(answer.body, &lines, &ops);
        assert_int_equal(lines, SAMPLES + 1);
        assert_int_equal(ops, SAMPLES * 100);
        answer_done(&answer);
    }
    struct answer part = get(world, "/series?format=csv&from=1000&to=1999", NULL);
    size_t lines;
    unsigned long long ops;
    add_up(part.body, &lines, &ops);
    assert_int_equal(lines, 11);
    answer_done(&part);
}

static char *gunzip(const char *bytes, size_t n, size_t *ret_n)
{
    z_stream z = { 0 };
    size_t room = 4 << 20;
    char *out = malloc(room), *in = malloc(n);
    assert_non_null(out);
    assert_non_null(in);
    memcpy(in, bytes, n);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = (Bytef *)in;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room - 1;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    *ret_n = z.total_out;
    out[*ret_n] = '\0';
    inflateEnd(&z);
    free(in);
    return out;
}

static void compresses_for_who_asks(void **state)
{
    struct world *world = *state;
    static const char *const paths[] = { "/series", "/series?format=csv" };
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        char text[512], plain_etag[512];
        size_t n;
        struct answer plain = get(world, paths[i], NULL);
        struct answer small = get(world, paths[i], "Accept-Encoding: gzip\r\n");
        expect_status(&small, 200);
        assert_string_equal(answer_header(&small, "Content-Encoding", text), "gzip");
        assert_string_equal(answer_header(&plain, "Content-Encoding", text), "");
        assert_true(small.n * 3 < plain.n);
        assert_true(small.n < 60 * 1000);
        scoped_free char *body = gunzip(small.body, small.n, &n);
        assert_int_equal(n, plain.n);
        assert_memory_equal(body, plain.body, n);
        answer_header(&plain, "ETag", plain_etag);
        if (plain_etag[0]) /* a strong ETag names the bytes, compressed or not */
            assert_string_not_equal(answer_header(&small, "ETag", text), plain_etag);
        answer_done(&plain);
        answer_done(&small);
    }
}

static void exports_that_nobody_reads_do_not_starve_the_rest(void **state)
{
    struct world *world = *state;
    char path[128], text[512];
    int fds[2];
    job_id large = world_job(world);
    world_run(world, large, 150000, JOB_SUCCEEDED); /* 11 MB: more than the sockets' buffers hold */
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/series?format=csv", (long long)large);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        char byte;
        fds[i] =
            client_send(&world->place, &(struct ask){ .target = path, .token = world->viewer });
        assert_int_equal(recv(fds[i], &byte, 1, 0), 1); /* it has begun */
    }
    struct answer third = world_get(world, world->viewer, path);
    expect_problem(&third, 503, "overloaded", "");
    assert_string_not_equal(answer_header(&third, "Retry-After", text), "");
    answer_done(&third);
    struct answer job = get(world, "", NULL);
    expect_status(&job, 200);
    answer_done(&job);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close(fds[i]);
    nsec until = clock_monotonic() + 20 * NSEC_PER_SEC;
    int status = 0;
    while (status != 200 && clock_monotonic() < until) {
        struct answer again = world_get(world, world->viewer, path);
        status = again.status;
        answer_done(&again);
    }
    assert_int_equal(status, 200);
}

static void shows_what_the_host_did(void **state)
{
    struct world *world = *state;
    struct answer answer = get(world, "/host", NULL);
    expect_status(&answer, 200);
    assert_int_equal(answer_number(&answer, "count"), 3);
    assert_int_equal(answer_number(&answer, "points/at/2"), 3);
    assert_true(json_real_value(answer_at(&answer, "points/load1/1")) > 0.59);
    assert_int_equal(json_object_size(answer_at(&answer, "points")),
                     json_object_size(answer_at(&answer, "units")));
    assert_string_equal(answer_text(&answer, "units/disk_read"), "bytes/s");
    answer_done(&answer);
    struct answer few = get(world, "/host?points=1", NULL);
    expect_status(&few, 200);
    assert_int_equal(json_array_size(answer_at(&few, "points/load1")), 1);
    answer_done(&few);
    struct answer client = get(world, "/host?of=client", NULL);
    assert_int_equal(answer_number(&client, "count"), 3);
    answer_done(&client);
}

static void shows_what_the_server_did_beside_it(void **state)
{
    struct world *world = *state;
    struct leg leg;
    struct problem why = { 0 };
    struct host_sample sample = { .at = NSEC_PER_SEC, .load1 = 7, .cpu_user = NAN };
    struct answer none = get(world, "/host?of=server", NULL);
    expect_status(&none, 200);
    assert_int_equal(answer_number(&none, "count"), 0);
    answer_done(&none);
    assert_int_equal(store_leg(world->store, finished, &leg, &why), 1);
    for (int twice = 0; twice < 2; twice++) /* at the same moment as the client's, and read again */
        assert_int_equal(store_host_add(world->store, finished, &leg, HOST_SERVER, &sample, &why),
                         0);
    struct answer server = get(world, "/host?of=server", NULL);
    assert_int_equal(answer_number(&server, "count"), 1);
    assert_int_equal(answer_number(&server, "points/load1/0"), 7);
    assert_true(json_is_null(answer_at(&server, "points/cpu_user/0")));
    answer_done(&server);
    struct answer client = get(world, "/host", NULL);
    assert_int_equal(answer_number(&client, "count"), 3);
    assert_true(json_real_value(answer_at(&client, "points/load1/0")) < 1);
    answer_done(&client);
    struct answer other = get(world, "/host?of=neither", NULL);
    expect_status(&other, 422);
    answer_done(&other);
}

static void sends_the_journal_as_it_is(void **state)
{
    struct world *world = *state;
    char text[512], path[192];
    struct answer answer = get(world, "/journal", NULL);
    expect_status(&answer, 200);
    assert_string_equal(answer_header(&answer, "Content-Type", text), "application/x-ndjson");
    assert_string_not_equal(answer_header(&answer, "ETag", text), "");
    snprintf(path, sizeof path, "%s/jobs/%lld/journal.ndjson", world->state, (long long)finished);
    FILE *file = fopen(path, "re");
    scoped_free char *bytes = malloc(answer.n + 1);
    assert_non_null(file);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, answer.n + 1, file), answer.n);
    assert_memory_equal(bytes, answer.body, answer.n);
    fclose(file);
    answer_done(&answer);

    snprintf(path, sizeof path, "/api/v1/jobs/%lld/journal", (long long)world_job(world));
    struct answer none = world_get(world, world->viewer, path);
    expect_problem(&none, 404, "not-found", "");
    answer_done(&none);
}

static void a_kept_answer_is_the_same_and_can_be_asked_conditionally(void **state)
{
    struct world *world = *state;
    char etag[512], headers[600];
    struct answer first = get(world, "/series?points=200", NULL);
    struct answer again = get(world, "/series?points=200", NULL);
    assert_int_equal(first.n, again.n);
    assert_memory_equal(first.body, again.body, first.n);
    answer_header(&first, "ETag", etag);
    snprintf(headers, sizeof headers, "If-None-Match: %s\r\n", etag);
    struct answer same = get(world, "/series?points=200", headers);
    expect_status(&same, 304);
    answer_done(&first);
    answer_done(&again);
    answer_done(&same);
    struct answer nobody =
        client_call(&world->place, &(struct ask){ .target = "/api/v1/jobs/1/series?points=200" });
    expect_problem(&nobody, 401, "unauthorised", "");
    answer_done(&nobody);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thins_but_loses_no_spike),
        cmocka_unit_test(sends_few_samples_as_they_are),
        cmocka_unit_test(knows_every_measure_and_axis),
        cmocka_unit_test(refuses_a_phase_that_the_job_does_not_have),
        cmocka_unit_test(a_job_that_has_not_begun_has_an_empty_series),
        cmocka_unit_test(streams_every_sample_as_csv),
        cmocka_unit_test(compresses_for_who_asks),
        cmocka_unit_test(exports_that_nobody_reads_do_not_starve_the_rest),
        cmocka_unit_test(shows_what_the_host_did),
        cmocka_unit_test(shows_what_the_server_did_beside_it),
        cmocka_unit_test(sends_the_journal_as_it_is),
        cmocka_unit_test(a_kept_answer_is_the_same_and_can_be_asked_conditionally),
    };
    return cmocka_run_group_tests_name("job series", tests, setup, world_teardown);
}
