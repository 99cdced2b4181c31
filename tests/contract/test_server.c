/* Connections, bodies, listeners, stopping, and what every answer carries. */
#include "engine/base/spawn.h"
#include "engine/base/text.h"
#include "tests/contract/world.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static void put_file(struct world *world, const char *name, const char *content)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%s", world->web, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static int setup(void **state)
{
    if (world_setup(state))
        return -1;
    struct world *world = *state;
    char path[192], folder[192];
    put_file(world, "index.html", "<!doctype html><title>plimsoll</title>");
    put_file(world, "app.js", "export const a = 1;");
    put_file(world, ".hidden.js", "secret");
    put_file(world, "notes", "secret");
    snprintf(folder, sizeof folder, "%s/views", world->web);
    mkdir(folder, 0755);
    put_file(world, "views/style.css", "a { color: red }");
    snprintf(path, sizeof path, "%s/link.js", world->web);
    if (symlink("/etc/passwd", path))
        return -1;
    snprintf(path, sizeof path, "%s/up.js", world->web);
    return symlink("../plimsoll.conf", path);
}

static void answers_about_itself_without_a_token(void **state)
{
    struct world *world = *state;
    struct answer health = world_get(world, NULL, "/healthz");
    struct answer version = world_get(world, NULL, "/version");
    struct answer ready = world_get(world, NULL, "/readyz");
    expect_status(&health, 200);
    expect_status(&version, 200);
    expect_status(&ready, 200);
    assert_string_equal(answer_text(&version, "version"), PLIMSOLL_VERSION);
    answer_done(&health);
    answer_done(&version);
    answer_done(&ready);
    atomic_store(&world->unready, true);
    struct answer not_ready = world_get(world, NULL, "/readyz");
    char text[512];
    expect_problem(&not_ready, 503, "overloaded", "");
    assert_string_not_equal(answer_header(&not_ready, "Retry-After", text), "");
    assert_non_null(strstr(answer_text(&not_ready, "detail"), "the database is starting"));
    atomic_store(&world->unready, false);
    answer_done(&not_ready);
}

static void every_answer_carries_what_browsers_must_know(void **state)
{
    struct world *world = *state;
    static const char *const targets[] = { "/", "/app.js", "/healthz", "/api/v1/jobs", "/nothing" };
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        char text[512];
        struct answer answer = world_get(world, NULL, targets[i]);
        assert_string_equal(answer_header(&answer, "X-Content-Type-Options", text), "nosniff");
        assert_string_equal(answer_header(&answer, "Referrer-Policy", text), "no-referrer");
        assert_true(text_starts(answer_header(&answer, "Content-Security-Policy", text),
                                "default-src 'none'"));
        assert_non_null(strstr(text, "frame-ancestors 'none'"));
        assert_null(strstr(text, "unsafe"));
        assert_string_not_equal(answer_header(&answer, "Cache-Control", text), "");
        answer_done(&answer);
    }
}

static void sends_web_pages(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *target, *type, *content;
    } files[] = {
        { "/", "text/html; charset=utf-8", "<title>plimsoll" },
        { "/new", "text/html; charset=utf-8", "<title>plimsoll" },
        { "/compare?jobs=1,2", "text/html; charset=utf-8", "<title>plimsoll" },
        { "/jobs/17?phase=create", "text/html; charset=utf-8", "<title>plimsoll" },
        { "/app.js", "text/javascript; charset=utf-8", "export" },
        { "/views/style.css", "text/css; charset=utf-8", "color" },
    };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char text[512], etag[512], headers[600];
        print_message("%s\n", files[i].target);
        struct answer answer = world_get(world, NULL, files[i].target);
        expect_status(&answer, 200);
        assert_string_equal(answer_header(&answer, "Content-Type", text), files[i].type);
        assert_non_null(strstr(answer.body, files[i].content));
        assert_non_null(
            strstr(answer_header(&answer, "Content-Security-Policy", text), "script-src 'self'"));
        snprintf(headers, sizeof headers, "If-None-Match: %s\r\n",
                 answer_header(&answer, "ETag", etag));
        struct answer same = client_call(
            &world->place, &(struct ask){ .target = files[i].target, .headers = headers });
        expect_status(&same, 304);
        answer_done(&same);
        answer_done(&answer);
    }
}

static void sends_nothing_else(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *target;
        int status;
    } cases[] = {
        { "/.hidden.js", 404 },
        { "/notes", 404 },
        { "/link.js", 404 },
        { "/up.js", 404 },
        { "/views", 404 },
        { "/views/", 404 },
        { "/views/../app.js", 404 },
        { "/../plimsoll.conf", 404 },
        { "/..%2fplimsoll.conf", 404 },
        { "/%2e%2e/plimsoll.conf", 404 },
        { "/%2e%2e%2fplimsoll.conf.js", 404 },
        { "/views%2fstyle.css", 404 },
        { "//app.js", 404 },
        { "/./app.js", 404 },
        { "/app.js%00.css", 400 },
        { "/app%0a.js", 400 },
        { "/missing.js", 404 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        print_message("%s\n", cases[i].target);
        struct answer answer = world_get(world, NULL, cases[i].target);
        expect_status(&answer, cases[i].status);
        assert_null(strstr(answer.body, "secret"));
        answer_done(&answer);
    }
}

static void listens_on_a_unix_socket_too(void **state)
{
    struct world *world = *state;
    struct stat st;
    const struct place local = { .path = world->socket };
    assert_int_equal(lstat(world->socket, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    struct answer answer =
        client_call(&local, &(struct ask){ .target = "/api/v1/session", .token = world->viewer });
    expect_status(&answer, 200);
    answer_done(&answer);
}

/* Sends bytes as they are and reads what comes. */
static struct answer raw(struct world *world, const char *bytes)
{
    int fd = client_connect(&world->place);
    assert_int_equal(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
    return client_read(fd);
}

static void takes_a_body_in_chunks(void **state)
{
    struct world *world = *state;
    char bytes[1024];
    snprintf(bytes, sizeof bytes,
             "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
             "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n",
             world->operator_);
    struct answer answer = raw(world, bytes);
    expect_problem(&answer, 422, "bad-field", "/a");
    answer_done(&answer);
}

static void refuses_what_is_not_http(void **state)
{
    struct world *world = *state;
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", /* no Host */
        "GET /\r\n\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\nConnection: close\r\n\r\n",
        "nonsense\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        int fd = client_connect(&world->place);
        send(fd, requests[i], strlen(requests[i]), MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        struct answer answer = client_read(fd);
        assert_true(answer.status == 0 || (answer.status >= 400 && answer.status < 500));
        answer_done(&answer);
    }
    struct answer after = world_get(world, NULL, "/healthz");
    expect_status(&after, 200);
    answer_done(&after);
}

static void refuses_an_address_without_end(void **state)
{
    struct world *world = *state;
    char target[9000];
    memset(target, 'a', sizeof target - 1);
    target[0] = '/';
    target[sizeof target - 1] = '\0';
    struct answer answer = world_get(world, world->viewer, target);
    expect_problem(&answer, 413, "too-large", "");
    answer_done(&answer);
}

static void one_connection_serves_many_requests(void **state)
{
    struct world *world = *state;
    int fd = client_connect(&world->place);
    char block[4096];
    for (int i = 0; i < 3; i++) {
        static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
        size_t n = 0;
        while (n == 0 || !strstr(block, "\"ok\"}")) {
            ssize_t got = recv(fd, block + n, sizeof block - 1 - n, 0);
            assert_true(got > 0);
            n += (size_t)got;
            block[n] = '\0';
        }
        assert_true(text_starts(block, "HTTP/1.1 200"));
    }
    close(fd);
}

/* A server of the test's own beside the world's. */
static struct server *start(struct world *world, struct server_settings settings, struct place *ret)
{
    struct problem why = { 0 };
    struct server *server = NULL;
    char *listen[] = { (char[]){ "127.0.0.1:0" } };
    settings.listen = (struct texts){ 1, listen };
    if (server_start(&world->app, &settings, &server, &why))
        fail_msg("%s", why.message);
    *ret = (struct place){ .port = server_port(server, 0) };
    return server;
}

/* With the tools that are there anyway: a certificate by openssl, a client by curl. */
static void speaks_tls(void **state)
{
    struct world *world = *state;
    struct problem why = { 0 };
    char certificate[128], key[128], address[128], output[4096] = "", body[128];
    snprintf(certificate, sizeof certificate, "%s/cert.pem", world->folder);
    snprintf(key, sizeof key, "%s/key.pem", world->folder);
    const char *const make[] = { "openssl",
                                 "req",
                                 "-x509",
                                 "-newkey",
                                 "ec",
                                 "-pkeyopt",
                                 "ec_paramgen_curve:P-256",
                                 "-nodes",
                                 "-days",
                                 "2",
                                 "-subj",
                                 "/CN=localhost",
                                 "-addext",
                                 "subjectAltName=DNS:localhost,IP:127.0.0.1",
                                 "-keyout",
                                 key,
                                 "-out",
                                 certificate,
                                 NULL };
    if (spawn_run(make, 30 * NSEC_PER_SEC, output, sizeof output, &why))
        fail_msg("%s", why.message);
    struct place place;
    struct server *server = start(
        world, (struct server_settings){ .certificate = certificate, .key = key, .threads = 2 },
        &place);
    snprintf(address, sizeof address, "https://localhost:%u/api/v1/session", place.port);
    snprintf(body, sizeof body, "{\"token\":\"%s\"}", world->viewer);
    const char *const ask[] = { "curl",       "-sS", "-i",
                                "--max-time", "20",  "--cacert",
                                certificate,  "-H",  "Content-Type: application/json",
                                "-d",         body,  address,
                                NULL };
    if (spawn_run(ask, 30 * NSEC_PER_SEC, output, sizeof output, &why))
        fail_msg("%s", why.message);
    assert_non_null(strstr(output, "\"role\":\"viewer\""));
    assert_non_null(strstr(output, "; Secure")); /* the cookie goes by TLS alone */
    struct answer plain = client_call(&place, &(struct ask){ .target = "/healthz" });
    assert_int_not_equal(plain.status, 200);
    answer_done(&plain);
    server_stop(server, NSEC_PER_SEC);

    const struct server_settings half = { .listen = { 1, (char *[]){ (char[]){ "127.0.0.1:0" } } },
                                          .certificate = certificate };
    assert_int_equal(server_start(&world->app, &half, &server, &why), -1);
    assert_non_null(strstr(why.message, "go together"));
}

static void an_idle_connection_is_closed(void **state)
{
    struct world *world = *state;
    struct place place;
    struct server *server =
        start(world, (struct server_settings){ .idle = NSEC_PER_SEC, .threads = 1 }, &place);
    int fd = client_connect(&place);
    char byte;
    assert_int_equal(recv(fd, &byte, 1, 0), 0); /* the client's own patience is 20 s */
    close(fd);
    server_stop(server, NSEC_PER_SEC);
}

static void a_head_that_drips_in_is_not_waited_for(void **state)
{
    static const char head[] = "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Drip: ";
    struct world *world = *state;
    struct place place;
    struct server *server =
        start(world, (struct server_settings){ .idle = NSEC_PER_SEC, .threads = 1 }, &place);
    int fd = client_connect(&place);
    nsec began = clock_monotonic();
    char byte;
    bool closed = false;
    for (size_t i = 0; !closed && clock_monotonic() - began < 15 * NSEC_PER_SEC; i++) {
        struct pollfd end = { .fd = fd, .events = POLLIN };
        closed = send(fd, i < sizeof head - 1 ? &head[i] : "a", 1, MSG_NOSIGNAL) != 1 ||
                 (poll(&end, 1, 200) == 1 && recv(fd, &byte, 1, 0) <= 0);
    }
    assert_true(closed);
    close(fd);
    /* Who asks in time is served, as often as they like. */
    for (int i = 0; i < 3; i++) {
        struct answer answer =
            client_read(client_send(&place, &(struct ask){ .target = "/healthz" }));
        expect_status(&answer, 200);
        answer_done(&answer);
    }
    server_stop(server, NSEC_PER_SEC);
}

static void more_connections_than_allowed_are_not_served(void **state)
{
    struct world *world = *state;
    struct place place;
    struct server *server = start(
        world, (struct server_settings){ .connections = 4, .threads = 1, .idle = 5 * NSEC_PER_SEC },
        &place);
    int fds[4];
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fds[i] = client_connect(&place);
    /* A fifth waits or is closed; it is served when one of the four goes. */
    int fifth = client_send(&place, &(struct ask){ .target = "/healthz" });
    struct pollfd poll_fifth = { .fd = fifth, .events = POLLIN };
    assert_int_equal(poll(&poll_fifth, 1, 300), 0);
    close(fds[0]);
    struct answer answer = client_read(fifth);
    expect_status(&answer, 200);
    answer_done(&answer);
    for (size_t i = 1; i < COUNT_OF(fds); i++)
        close(fds[i]);
    server_stop(server, NSEC_PER_SEC);
}

static void stopping_answers_who_waits(void **state)
{
    struct world *world = *state;
    struct place place;
    char path[64];
    struct server *server = start(world, (struct server_settings){ .threads = 2 }, &place);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld?wait=50", (long long)world_job(world));
    int held = client_send(&place, &(struct ask){ .target = path, .token = world->viewer });
    /* Another one that is answered says that the first has been read, or nearly: both are right. */
    struct answer other = client_call(&place, &(struct ask){ .target = "/healthz" });
    expect_status(&other, 200);
    answer_done(&other);
    nsec began = clock_monotonic();
    server_stop(server, 10 * NSEC_PER_SEC);
    assert_true(clock_monotonic() - began < 8 * NSEC_PER_SEC);
    struct answer answer = client_read(held);
    assert_true(answer.status == 200 || answer.status == 0);
    answer_done(&answer);
}

static void refuses_listeners_that_make_no_sense(void **state)
{
    struct world *world = *state;
    static const char *const listens[] = {
        "7117", "127.0.0.1", "127.0.0.1:http", "unix:relative", "host.example:80", "[::1:80", ""
    };
    for (size_t i = 0; i < COUNT_OF(listens); i++) {
        struct problem why = { 0 };
        struct server *server = NULL;
        char *listen[] = { (char *)(uintptr_t)listens[i] };
        const struct server_settings settings = { .listen = { 1, listen } };
        print_message("%s\n", listens[i]);
        assert_int_equal(server_start(&world->app, &settings, &server, &why), -1);
        assert_non_null(strstr(why.message, "listen"));
    }
    struct problem why = { 0 };
    struct server *server = NULL;
    char taken[128];
    snprintf(taken, sizeof taken, "unix:%s", world->socket);
    char *listen[] = { taken };
    const struct server_settings settings = { .listen = { 1, listen } };
    assert_int_equal(server_start(&world->app, &settings, &server, &why), -1);
    assert_int_equal(why.code, PROBLEM_CONFLICT);
    assert_int_equal(access(world->socket, F_OK), 0); /* the other server's is left alone */
}

static void takes_over_a_socket_whose_server_died(void **state)
{
    struct world *world = *state;
    struct problem why = { 0 };
    struct server *server = NULL;
    char name[128];
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s/old", world->folder);
    snprintf(name, sizeof name, "unix:%s", address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    char *listen[] = { name };
    const struct server_settings settings = { .listen = { 1, listen }, .threads = 1 };
    assert_int_equal(server_start(&world->app, &settings, &server, &why), 0);
    server_stop(server, NSEC_PER_SEC);
    assert_int_equal(access(address.sun_path, F_OK), -1); /* and leaves none behind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_about_itself_without_a_token),
        cmocka_unit_test(every_answer_carries_what_browsers_must_know),
        cmocka_unit_test(sends_web_pages),
        cmocka_unit_test(sends_nothing_else),
        cmocka_unit_test(listens_on_a_unix_socket_too),
        cmocka_unit_test(takes_a_body_in_chunks),
        cmocka_unit_test(refuses_what_is_not_http),
        cmocka_unit_test(refuses_an_address_without_end),
        cmocka_unit_test(one_connection_serves_many_requests),
        cmocka_unit_test(speaks_tls),
        cmocka_unit_test(an_idle_connection_is_closed),
        cmocka_unit_test(a_head_that_drips_in_is_not_waited_for),
        cmocka_unit_test(more_connections_than_allowed_are_not_served),
        cmocka_unit_test(stopping_answers_who_waits),
        cmocka_unit_test(refuses_listeners_that_make_no_sense),
        cmocka_unit_test(takes_over_a_socket_whose_server_died),
    };
    return cmocka_run_group_tests_name("server", tests, setup, world_teardown);
}
