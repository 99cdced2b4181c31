#include "engine/spec.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/folder.h"

#include "engine/base/field_json.h"

#include <sys/stat.h>

#define PARAMS "\"params\":{\"files\":2000,\"batch\":50}"

static int put_and_read(const char *content, struct spec *spec, struct problem *why)
{
    scoped_free char *path = in_folder(SPEC_FILE);
    write_file(SPEC_FILE, content, strlen(content));
    return spec_read(path, spec, why);
}

static void comes_back_as_it_was_written(void **state)
{
    (void)state;
    scoped_free char *path = in_folder(SPEC_FILE), *beside = in_folder(SPEC_FILE ".new");
    struct spec spec = { 0 }, again = { 0 };
    struct problem why = { 0 };
    struct stat st;
    if (put_and_read("{\"job\":7,\"nonce\":\"0123abcd\",\"workload\":\"create-scaling\","
                     "\"target\":\"scratch\"," PARAMS "}",
                     &spec, &why) < 0)
        fail_msg("%s: %s", why.field, why.message);
    assert_int_equal(spec_write(path, &spec, &why), 0);
    assert_int_equal(stat(beside, &st), -1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07, 0); /* not for everybody */
    assert_int_equal(spec_read(path, &again, &why), 0);
    assert_int_equal(again.job, 7);
    assert_string_equal(again.nonce, "0123abcd");
    assert_string_equal(again.target, "scratch");
    scoped_json json_t *a = fields_render(spec_fields, &spec);
    scoped_json json_t *b = fields_render(spec_fields, &again);
    assert_true(json_equal(a, b));
    spec_done(&spec);
    spec_done(&again);
    spec_done(NULL);
}

static void refuses_a_wrong_spec(void **state)
{
    (void)state;
    static const struct {
        const char *content, *field;
        enum problem_code code;
    } rows[] = {
        { "{", "", PROBLEM_BAD_SYNTAX },
        { "{\"job\":1,\"job\":2}", "", PROBLEM_BAD_SYNTAX },
        { "{}", "/job", PROBLEM_BAD_FIELD },
        { "{\"job\":0}", "/job", PROBLEM_BAD_FIELD },
        { "{\"job\":1,\"nonce\":\"0123\"}", "/nonce", PROBLEM_BAD_FIELD },
        { "{\"job\":1,\"nonce\":\"0123abc/\",\"workload\":\"create-scaling\",\"target\":\"a\"}",
          "/nonce", PROBLEM_BAD_FIELD },
        { "{\"job\":1,\"nonce\":\"0123abcd\",\"workload\":\"tape\",\"target\":\"a\"}", "/workload",
          PROBLEM_BAD_FIELD },
        { "{\"job\":1,\"nonce\":\"0123abcd\",\"workload\":\"create-scaling\",\"target\":\"a\","
          "\"params\":{\"files\":0}}",
          "/params/files", PROBLEM_BAD_FIELD },
        { "{\"job\":1,\"nonce\":\"0123abcd\",\"workload\":\"create-scaling\",\"target\":\"a\","
          "\"path\":\"/etc\"}",
          "/path", PROBLEM_BAD_FIELD },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct spec spec = { 0 };
        struct problem why = { 0 };
        if (put_and_read(rows[i].content, &spec, &why) == 0)
            fail_msg("%s was taken", rows[i].content);
        assert_string_equal(why.field, rows[i].field);
        assert_int_equal(why.code, rows[i].code);
        assert_null(spec.nonce);
    }
}

static void follows_no_symbolic_link(void **state)
{
    (void)state;
    scoped_free char *path = in_folder(SPEC_FILE), *elsewhere = in_folder("elsewhere");
    struct spec spec = { 0 };
    struct problem why = { 0 };
    write_file("elsewhere", "{}", 2);
    assert_int_equal(symlink(elsewhere, path), 0);
    assert_int_equal(spec_read(path, &spec, &why), -1);
    assert_non_null(strstr(why.message, "Too many levels of symbolic links"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(comes_back_as_it_was_written),
        IN_FOLDER(refuses_a_wrong_spec),
        IN_FOLDER(follows_no_symbolic_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
