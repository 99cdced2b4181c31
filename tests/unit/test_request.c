/* Headers, query and body as clients may write them. */
#include "api/request.h"
#include "tests/unit/cmocka_first.h"

struct fruit_query {
    uint64_t limit;
    char *name;
    bool ripe;
};
static const struct field fruit_query[] = {
    FIELD_COUNT(struct fruit_query, limit, "How many.", .min = 1, .max = 9, .preset = 5),
    FIELD_TEXT(struct fruit_query, name, "Which."),
    FIELD_BOOL(struct fruit_query, ripe, "Only ripe ones."),
    FIELD_END,
};
static const struct route fruits = { .method = METHOD_POST,
                                     .path = "/fruits",
                                     .query = { fruit_query, sizeof(struct fruit_query) },
                                     .body = { fruit_query, sizeof(struct fruit_query) } };

static const char *content_type;
static const char *header(void *wire, const char *name)
{
    (void)wire;
    return strcmp(name, "Content-Type") == 0 ? content_type : NULL;
}

static struct request request_of(const char *target, const char *body)
{
    struct request in = {
        .target = strdup(target), .header = header, .route = &fruits, .hold_state = -1
    };
    assert_non_null(in.target);
    if (body) {
        in.body = strdup(body);
        assert_non_null(in.body);
        in.body_n = strlen(body);
    }
    return in;
}

static void binds_a_query(void **state)
{
    (void)state;
    struct problem why = { 0 };
    struct request in = request_of("/fruits?name=a+b%2Bc&ripe=1&", NULL);
    assert_int_equal(request_parse(&in, &why), 0);
    assert_int_equal(request_bind_query(&in, &why), 0);
    const struct fruit_query *query = in.query;
    assert_int_equal(query->limit, 5);
    assert_string_equal(query->name, "a b+c");
    assert_true(query->ripe);
    request_done(&in);
}

static void refuses_a_bad_query(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        enum problem_code code;
        const char *field, *message;
    } cases[] = {
        { "/fruits?limit=0", PROBLEM_BAD_FIELD, "/?limit", "limit must be" },
        { "/fruits?limit=10", PROBLEM_BAD_FIELD, "/?limit", "limit must be" },
        { "/fruits?limit=x", PROBLEM_BAD_FIELD, "/?limit", "limit must be" },
        { "/fruits?limit=", PROBLEM_BAD_FIELD, "/?limit", "limit must be" },
        { "/fruits?limit=1&limit=2", PROBLEM_BAD_FIELD, "/?limit", "limit is given twice" },
        { "/fruits?limt=1", PROBLEM_BAD_FIELD, "/?limt", "did you mean limit?" },
        { "/fruits?color=red", PROBLEM_BAD_FIELD, "/?color", "there is no field color" },
        { "/fruits?name=%01", PROBLEM_BAD_SYNTAX, "/?name", "control character" },
        { "/fruits?name=%", PROBLEM_BAD_SYNTAX, "/?name", "hexadecimal" },
        { "/fruits?n%0ame=1", PROBLEM_BAD_SYNTAX, "/?n%0ame", "control character" },
        { "/fruits?name=%ff", PROBLEM_BAD_SYNTAX, "/?name", "UTF-8" },
        { "/fruits?name=%00", PROBLEM_BAD_SYNTAX, "/?name", "%00" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem why = { 0 };
        struct request in = request_of(cases[i].target, NULL);
        print_message("%s\n", cases[i].target);
        assert_int_equal(request_parse(&in, &why) || request_bind_query(&in, &why), 1);
        print_message("  %s\n", why.message);
        assert_int_equal(why.code, cases[i].code);
        assert_string_equal(why.field, cases[i].field);
        assert_non_null(strstr(why.message, cases[i].message));
        request_done(&in);
    }
}

static void refuses_a_bad_body(void **state)
{
    (void)state;
    static const struct {
        const char *type, *body;
        enum problem_code code;
        const char *field, *message;
    } cases[] = {
        { NULL, "{}", PROBLEM_BAD_MEDIA, "", "application/json" },
        { "text/plain", "{}", PROBLEM_BAD_MEDIA, "", "application/json" },
        { "application/jsonx", "{}", PROBLEM_BAD_MEDIA, "", "application/json" },
        { "application/json; charset=latin1", "{}", PROBLEM_BAD_MEDIA, "", "application/json" },
        { "application/json", "{\n  \"limit\": }", PROBLEM_BAD_SYNTAX, "", "line 2, column" },
        { "application/json", "{} x", PROBLEM_BAD_SYNTAX, "", "line 1" },
        { "application/json", "[]", PROBLEM_BAD_SYNTAX, "", "a JSON object" },
        { "application/json", "7", PROBLEM_BAD_SYNTAX, "", "line 1" },
        { "application/json", "{\"limit\":1,\"limit\":2}", PROBLEM_BAD_SYNTAX, "", "duplicate" },
        { "application/json", "{\"name\":\"a\\u0000b\"}", PROBLEM_BAD_SYNTAX, "", "line 1" },
        { "application/json", "{\"name\":\"a\xff\"}", PROBLEM_BAD_SYNTAX, "", "line 1" },
        { "application/json", "{\"name\":\"a\\nb\"}", PROBLEM_BAD_FIELD, "/name", "name must be" },
        { "application/json", "{\"limit\":\"many\"}", PROBLEM_BAD_FIELD, "/limit", "limit must" },
        { "application/json", "{\"limit\":1.5}", PROBLEM_BAD_FIELD, "/limit", "limit must" },
        { "application/json", "{\"limit\":99}", PROBLEM_BAD_FIELD, "/limit", "limit must" },
        { "application/json", "{\"ripe\":1}", PROBLEM_BAD_FIELD, "/ripe", "ripe must" },
        { "application/json", "{\"rip\":true}", PROBLEM_BAD_FIELD, "/rip", "did you mean ripe?" },
        { "application/json", "{\"a\":[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}", PROBLEM_BAD_SYNTAX, "",
          "deeper" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem why = { 0 };
        struct request in = request_of("/fruits", cases[i].body);
        content_type = cases[i].type;
        print_message("%s\n", cases[i].body);
        assert_int_equal(request_bind_body(&in, &why), -1);
        print_message("  %s\n", why.message);
        assert_int_equal(why.code, cases[i].code);
        assert_string_equal(why.field, cases[i].field);
        assert_non_null(strstr(why.message, cases[i].message));
        request_done(&in);
    }
}

static void binds_a_body(void **state)
{
    (void)state;
    static const char *const types[] = { "application/json", "Application/JSON; Charset=UTF-8",
                                         "application/json;charset=\"utf-8\"" };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct problem why = { 0 };
        struct request in = request_of("/fruits", "{\"name\":\"\xc3\xa4pfel ../\"}");
        content_type = types[i];
        assert_int_equal(request_bind_body(&in, &why), 0);
        assert_string_equal(((struct fruit_query *)in.input)->name, "\xc3\xa4pfel ../");
        request_done(&in);
    }
    struct problem why = { 0 };
    struct request in = request_of("/fruits", NULL);
    assert_int_equal(request_bind_body(&in, &why), 0);
    assert_int_equal(((struct fruit_query *)in.input)->limit, 5);
    request_done(&in);
}

static void chooses_what_the_client_likes_best(void **state)
{
    (void)state;
    static const char *const types[] = { "application/json", "text/csv", NULL };
    static const struct {
        const char *accept;
        int chosen; /* -1: none */
    } cases[] = {
        { NULL, 0 },
        { "*/*", 0 },
        { "application/json", 0 },
        { "text/csv", 1 },
        { "text/*", 1 },
        { "TEXT/CSV", 1 },
        { "text/csv;q=0.5, application/json;q=0.4", 1 },
        { "text/csv;q=0.5, */*;q=0.8", 0 },
        { "application/json;q=0, */*", 1 },
        { "text/html,application/xhtml+xml,*/*;q=0.8", 0 },
        { "image/png", -1 },
        { "*/*;q=0", -1 },
        { "", -1 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem why = { 0 };
        size_t chosen = 99;
        int result = request_accepts(cases[i].accept, types, &chosen, &why);
        print_message("%s\n", cases[i].accept ? cases[i].accept : "(none)");
        assert_int_equal(result ? -1 : (int)chosen, cases[i].chosen);
    }
}

static void compresses_only_for_who_reads_it(void **state)
{
    (void)state;
    assert_false(request_takes_gzip(NULL));
    assert_false(request_takes_gzip("identity"));
    assert_false(request_takes_gzip("gzip;q=0"));
    assert_false(request_takes_gzip("gzipped"));
    assert_true(request_takes_gzip("gzip"));
    assert_true(request_takes_gzip("br, GZip;q=0.5"));
}

static void compares_etags(void **state)
{
    (void)state;
    static const struct {
        const char *header, *etag;
        bool listed;
    } cases[] = {
        { NULL, "\"abc\"", false },
        { "\"abc\"", "\"abc\"", true },
        { "\"abcd\"", "\"abc\"", false },
        { "\"ab\"", "\"abc\"", false },
        { "W/\"abc\"", "\"abc\"", true },
        { "\"x\", \"abc\" , \"y\"", "\"abc\"", true },
        { "\"abc-gzip\"", "\"abc\"", true },
        { "\"abc\"", "\"abc-gzip\"", true },
        { "\"abd-gzip\"", "\"abc-gzip\"", false },
        { "*", "\"abc\"", true },
        { "abc", "\"abc\"", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        print_message("%s\n", cases[i].header ? cases[i].header : "(none)");
        assert_int_equal(etag_listed(cases[i].header, cases[i].etag), cases[i].listed);
    }
}

static void finds_a_cookie(void **state)
{
    (void)state;
    char text[8];
    assert_int_equal(cookie_value(NULL, "s", text, sizeof text), -1);
    assert_int_equal(cookie_value("xs=1; s=2; s=3", "s", text, sizeof text), 0);
    assert_string_equal(text, "2");
    assert_int_equal(cookie_value("ss=1", "s", text, sizeof text), -1);
    assert_int_equal(cookie_value("s=12345678", "s", text, sizeof text), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binds_a_query),
        cmocka_unit_test(refuses_a_bad_query),
        cmocka_unit_test(refuses_a_bad_body),
        cmocka_unit_test(binds_a_body),
        cmocka_unit_test(chooses_what_the_client_likes_best),
        cmocka_unit_test(compresses_only_for_who_reads_it),
        cmocka_unit_test(compares_etags),
        cmocka_unit_test(finds_a_cookie),
    };
    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
