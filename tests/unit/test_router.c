/* From a method and a path to a row. */
#include "api/request.h"
#include "tests/unit/cmocka_first.h"

static int nothing(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    (void)api, (void)in, (void)out, (void)why;
    return 0;
}

static const struct route table[] = {
    { METHOD_GET, "/jobs", ROLE_VIEWER, nothing, 200, "list" },
    { METHOD_POST, "/jobs", ROLE_OPERATOR, nothing, 201, "add" },
    { METHOD_GET, "/jobs/{id}", ROLE_VIEWER, nothing, 200, "one" },
    { METHOD_POST, "/jobs/{id}/cancel", ROLE_OPERATOR, nothing, 202, "cancel" },
    { METHOD_GET, "/targets/{name}", ROLE_VIEWER, nothing, 200, "target" },
    { .path = NULL },
};

/* What a target leads to: the row's summary, or "" and the problem. */
static const char *look(enum method method, const char *target, job_id *id, char *name,
                        char allow[ALLOW_TEXT], struct problem *why)
{
    struct request in = { .target = strdup(target), .hold_state = -1 };
    const char *found_name = NULL, *summary = "";
    assert_non_null(in.target);
    allow[0] = name[0] = '\0';
    if (request_parse(&in, why) == 0) {
        const struct route *route =
            route_find(table, method, in.parts, in.parts_n, id, &found_name, allow, why);
        if (route)
            summary = route->summary;
        if (route && found_name)
            snprintf(name, 64, "%s", found_name);
    }
    request_done(&in);
    return summary;
}

static void finds_the_row_and_what_the_braces_match(void **state)
{
    (void)state;
    static const struct {
        enum method method;
        const char *target, *summary, *name;
        job_id id;
    } cases[] = {
        { METHOD_GET, "/jobs", "list", "", 0 },
        { METHOD_GET, "/jobs/", "list", "", 0 },
        { METHOD_HEAD, "/jobs?limit=1", "list", "", 0 },
        { METHOD_POST, "/jobs", "add", "", 0 },
        { METHOD_GET, "/jobs/42", "one", "", 42 },
        { METHOD_GET, "/jobs/%34%32", "one", "", 42 },
        { METHOD_GET, "/jobs/999999999999999999", "one", "", 999999999999999999 },
        { METHOD_POST, "/jobs/7/cancel", "cancel", "", 7 },
        { METHOD_GET, "/targets/s%20x", "target", "s x", 0 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem why = { 0 };
        char allow[ALLOW_TEXT], name[64];
        job_id id = 0;
        const char *summary = look(cases[i].method, cases[i].target, &id, name, allow, &why);
        assert_string_equal(summary, cases[i].summary);
        assert_string_equal(name, cases[i].name);
        assert_int_equal(id, cases[i].id);
    }
}

static void tells_what_is_wrong_with_an_address(void **state)
{
    (void)state;
    static const struct {
        enum method method;
        const char *target;
        enum problem_code code;
        const char *allow;
    } cases[] = {
        { METHOD_GET, "/", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/nothing", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "//jobs", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/jobs//", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/jobs/0", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/jobs/-1", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/jobs/01", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/jobs/1x", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/jobs/9999999999999999999", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/jobs/../jobs", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/targets/..%2fx", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/targets/../../../../etc/passwd", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/1/2/3/4/5/6/7/8/9/10/11", PROBLEM_NOT_FOUND, "" },
        { METHOD_GET, "/targets/a%00b", PROBLEM_BAD_SYNTAX, "" },
        { METHOD_GET, "/targets/a%0ab", PROBLEM_BAD_SYNTAX, "" },
        { METHOD_GET, "/targets/a%7f", PROBLEM_BAD_SYNTAX, "" },
        { METHOD_GET, "/targets/a%ff", PROBLEM_BAD_SYNTAX, "" },
        { METHOD_GET, "/targets/a%2", PROBLEM_BAD_SYNTAX, "" },
        { METHOD_GET, "/targets/%zz", PROBLEM_BAD_SYNTAX, "" },
        { METHOD_GET, "jobs", PROBLEM_BAD_SYNTAX, "" },
        { METHOD_DELETE, "/jobs", PROBLEM_BAD_METHOD, "GET, HEAD, POST" },
        { METHOD_POST, "/jobs/1", PROBLEM_BAD_METHOD, "GET, HEAD" },
        { METHOD_GET, "/jobs/1/cancel", PROBLEM_BAD_METHOD, "POST" },
        { METHOD_OTHER, "/jobs/1", PROBLEM_BAD_METHOD, "GET, HEAD" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem why = { 0 };
        char allow[ALLOW_TEXT], name[64];
        job_id id;
        print_message("%s\n", cases[i].target);
        assert_string_equal(look(cases[i].method, cases[i].target, &id, name, allow, &why), "");
        assert_string_equal(problem_slug(why.code), problem_slug(cases[i].code));
        assert_string_equal(allow, cases[i].allow);
    }
}

static void knows_its_methods(void **state)
{
    (void)state;
    assert_int_equal(method_named("GET"), METHOD_GET);
    assert_int_equal(method_named("HEAD"), METHOD_HEAD);
    assert_int_equal(method_named("DELETE"), METHOD_DELETE);
    assert_int_equal(method_named("get"), METHOD_OTHER);
    assert_int_equal(method_named("BREW"), METHOD_OTHER);
    assert_string_equal(method_text(METHOD_PATCH), "PATCH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_row_and_what_the_braces_match),
        cmocka_unit_test(tells_what_is_wrong_with_an_address),
        cmocka_unit_test(knows_its_methods),
    };
    return cmocka_run_group_tests_name("router", tests, NULL, NULL);
}
