/* Tokens, sessions, one-time codes, and writes that another site's page could send. */
#include "engine/base/text.h"
#include "tests/contract/world.h"

static struct answer sign_in(struct world *world, const char *member, const char *secret,
                             const char *headers)
{
    char body[128];
    snprintf(body, sizeof body, "{\"%s\":\"%s\"}", member, secret);
    return client_call(&world->place, &(struct ask){ .method = "POST",
                                                     .target = "/api/v1/session",
                                                     .headers = headers,
                                                     .body = body });
}

/* "Cookie: plimsoll_session=...\r\n" and whatever more. */
static void cookie_line(const struct answer *answer, char line[600], const char *more)
{
    char text[512];
    answer_header(answer, "Set-Cookie", text);
    snprintf(line, 600, "Cookie: %.*s\r\n%s", (int)strcspn(text, ";"), text, more);
}

static struct answer with_headers(struct world *world, const char *method, const char *target,
                                  const char *headers, const char *body)
{
    return client_call(
        &world->place,
        &(struct ask){ .method = method, .target = target, .headers = headers, .body = body });
}

static void says_who_asks(void **state)
{
    struct world *world = *state;
    char text[512];
    struct answer answer = world_get(world, world->limited, "/api/v1/session");
    expect_status(&answer, 200);
    assert_string_equal(answer_text(&answer, "role"), "operator");
    assert_string_equal(answer_text(&answer, "targets"), world->attic);
    assert_string_equal(answer_header(&answer, "Cache-Control", text), "no-store");
    answer_done(&answer);
}

static void asks_for_a_token(void **state)
{
    struct world *world = *state;
    char text[512];
    struct answer answer = world_get(world, NULL, "/api/v1/jobs");
    expect_problem(&answer, 401, "unauthorised", "");
    assert_string_equal(answer_header(&answer, "WWW-Authenticate", text),
                        "Bearer realm=\"plimsoll\"");
    answer_done(&answer);
    struct answer basic =
        with_headers(world, "GET", "/api/v1/jobs", "Authorization: Basic YTpi\r\n", NULL);
    expect_problem(&basic, 401, "unauthorised", "");
    answer_done(&basic);
}

static void an_expired_token_is_no_token(void **state)
{
    struct world *world = *state;
    char secret[SECRET_TEXT];
    world_token(world, "old", ROLE_ADMIN, "", clock_wall() - NSEC_PER_SEC, secret);
    struct answer answer = world_get(world, secret, "/api/v1/jobs");
    expect_problem(&answer, 401, "unauthorised", "");
    answer_done(&answer);
    struct answer session = sign_in(world, "token", secret, NULL);
    expect_problem(&session, 401, "unauthorised", "/token");
    answer_done(&session);
}

static void a_removed_token_is_forgotten_on_request(void **state)
{
    struct world *world = *state;
    char secret[SECRET_TEXT], name[64];
    struct problem why = { 0 };
    world_token(world, "brief", ROLE_VIEWER, "", 0, secret);
    struct answer before = world_get(world, secret, "/api/v1/jobs");
    expect_status(&before, 200);
    answer_done(&before);
    snprintf(name, sizeof name, "brief%d", (int)getpid());
    assert_int_equal(store_token_remove(world->store, name, &why), 0);
    server_forget(world->server);
    struct answer after = world_get(world, secret, "/api/v1/jobs");
    expect_problem(&after, 401, "unauthorised", "");
    answer_done(&after);
}

static void a_session_stands_for_its_token(void **state)
{
    struct world *world = *state;
    char text[512], cookie[600];
    struct answer in = sign_in(world, "token", world->operator_, NULL);
    expect_status(&in, 200);
    assert_string_equal(answer_text(&in, "role"), "operator");
    answer_header(&in, "Set-Cookie", text);
    assert_true(text_starts(text, "plimsoll_session=pls_"));
    assert_non_null(strstr(text, "; HttpOnly"));
    assert_non_null(strstr(text, "; SameSite=Strict"));
    assert_non_null(strstr(text, "; Path=/"));
    assert_null(strstr(text, "Secure")); /* no TLS here */
    assert_null(strstr(in.body, "pls_"));

    cookie_line(&in, cookie, "");
    struct answer who = with_headers(world, "GET", "/api/v1/session", cookie, NULL);
    expect_status(&who, 200);
    assert_string_equal(answer_text(&who, "name"), answer_text(&in, "name"));
    answer_done(&who);

    cookie_line(&in, cookie, "Origin: http://localhost\r\n");
    struct answer out = with_headers(world, "DELETE", "/api/v1/session", cookie, NULL);
    expect_status(&out, 204);
    assert_non_null(strstr(answer_header(&out, "Set-Cookie", text), "Max-Age=0"));
    answer_done(&out);
    struct answer after = with_headers(world, "GET", "/api/v1/session", cookie, NULL);
    expect_problem(&after, 401, "unauthorised", "");
    answer_done(&after);
    answer_done(&in);
}

static void a_code_works_once(void **state)
{
    struct world *world = *state;
    char code[SECRET_TEXT], old[SECRET_TEXT];
    unsigned char hash[SECRET_HASH];
    struct problem why = { 0 };
    secret_new("", code);
    secret_hash(code, hash);
    assert_int_equal(store_code_add(world->store, world->operator_id, hash,
                                    clock_wall() + 60 * NSEC_PER_SEC, &why),
                     0);
    secret_new("", old);
    secret_hash(old, hash);
    assert_int_equal(
        store_code_add(world->store, world->operator_id, hash, clock_wall() - NSEC_PER_SEC, &why),
        0);
    struct answer first = sign_in(world, "code", code, NULL);
    struct answer again = sign_in(world, "code", code, NULL);
    struct answer expired = sign_in(world, "code", old, NULL);
    expect_status(&first, 200);
    assert_string_equal(answer_text(&first, "role"), "operator");
    expect_problem(&again, 401, "unauthorised", "/code");
    expect_problem(&expired, 401, "unauthorised", "/code");
    answer_done(&first);
    answer_done(&again);
    answer_done(&expired);
}

static void a_write_with_a_cookie_comes_from_our_own_page(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *headers;
        int status;
    } cases[] = {
        { "", 403 },
        { "Origin: http://evil.example\r\n", 403 },
        { "Origin: null\r\n", 403 },
        { "Origin: http://localhost:1\r\n", 403 },
        { "Origin: http://localhost.evil.example\r\n", 403 },
        { "Origin: http://localhost\r\n", 422 }, /* let in, and then the body is wrong */
    };
    char cookie[600];
    struct answer in = sign_in(world, "token", world->operator_, NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        cookie_line(&in, cookie, cases[i].headers);
        print_message("%s", cases[i].headers);
        struct answer answer = with_headers(world, "POST", "/api/v1/jobs", cookie, "{}");
        expect_status(&answer, cases[i].status);
        answer_done(&answer);
    }
    cookie_line(&in, cookie, "Origin: http://evil.example\r\n");
    struct answer read = with_headers(world, "GET", "/api/v1/jobs", cookie, NULL);
    expect_status(&read, 200); /* it cannot read the answer: no CORS header */
    assert_null(strstr(read.head, "Access-Control"));
    answer_done(&read);
    struct answer other =
        sign_in(world, "token", world->operator_, "Origin: http://evil.example\r\n");
    expect_problem(&other, 403, "forbidden", "");
    answer_done(&other);
    answer_done(&in);
}

static void a_token_for_one_target_runs_and_cancels_only_there(void **state)
{
    struct world *world = *state;
    char body[256], path[64];
    snprintf(body, sizeof body,
             "{\"workload\":\"create-scaling\",\"target\":\"%s\",\"params\":{\"files\":10}}",
             world->attic);
    struct answer there = world_post(world, world->limited, "/api/v1/jobs", body);
    expect_status(&there, 201);
    answer_done(&there);
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/cancel", (long long)world_job(world));
    struct answer elsewhere = world_post(world, world->limited, path, NULL);
    expect_problem(&elsewhere, 403, "forbidden", "");
    answer_done(&elsewhere);
}

/* Last: it uses up what this address may get wrong. */
static void many_failures_are_told_to_wait_but_do_not_shut_out_others(void **state)
{
    struct world *world = *state;
    char text[512];
    int refused = 0, told = 0;
    for (int i = 0; i < 40; i++) {
        struct answer answer = sign_in(world, "token", "plm_guess", NULL);
        refused += answer.status == 401;
        told += answer.status == 429;
        if (answer.status == 429) {
            expect_problem(&answer, 429, "too-many", "");
            assert_true(strtol(answer_header(&answer, "Retry-After", text), NULL, 10) > 0);
        }
        answer_done(&answer);
    }
    assert_true(refused > 0);
    assert_true(told > 0);
    assert_int_equal(refused + told, 40);
    struct answer good = sign_in(world, "token", world->viewer, NULL);
    expect_status(&good, 200);
    answer_done(&good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_who_asks),
        cmocka_unit_test(asks_for_a_token),
        cmocka_unit_test(an_expired_token_is_no_token),
        cmocka_unit_test(a_removed_token_is_forgotten_on_request),
        cmocka_unit_test(a_session_stands_for_its_token),
        cmocka_unit_test(a_code_works_once),
        cmocka_unit_test(a_write_with_a_cookie_comes_from_our_own_page),
        cmocka_unit_test(a_token_for_one_target_runs_and_cancels_only_there),
        cmocka_unit_test(many_failures_are_told_to_wait_but_do_not_shut_out_others),
    };
    return cmocka_run_group_tests_name("auth", tests, world_setup, world_teardown);
}
