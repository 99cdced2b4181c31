#include "engine/base/problem.h"
#include "engine/base/text.h"
#include "tests/unit/cmocka_first.h"

#include <errno.h>

static void keeps_the_first_cause(void **state)
{
    (void)state;
    struct problem why = { 0 };
    assert_int_equal(problem_field(&why, "/params/threads", "threads must be %d", 1), -1);
    assert_int_equal(problem_set(&why, PROBLEM_INTERNAL, "later"), -1);
    assert_int_equal(problem_memory(&why), -1);
    assert_int_equal(why.code, PROBLEM_BAD_FIELD);
    assert_string_equal(why.field, "/params/threads");
    assert_string_equal(why.message, "threads must be 1");
}

static void says_what_the_system_said(void **state)
{
    (void)state;
    struct problem why = { 0 };
    assert_int_equal(problem_errno(&why, ENOSPC, "cannot create %s", "f1"), -1);
    assert_int_equal(why.code, PROBLEM_IO_FAILED);
    assert_string_equal(why.message, "cannot create f1: No space left on device");
}

static void adds_where_it_happened(void **state)
{
    (void)state;
    struct problem why = { 0 };
    problem_set(&why, PROBLEM_IO_FAILED, "cannot stat f1");
    assert_int_equal(problem_during(&why, "phase %s: ", "stat"), -1);
    assert_string_equal(why.message, "phase stat: cannot stat f1");
    assert_int_equal(why.code, PROBLEM_IO_FAILED);
}

/* Long texts are cut between characters, so that they stay UTF-8. */
static void cuts_long_sentences_between_characters(void **state)
{
    (void)state;
    for (int shift = 0; shift < 2; shift++) {
        struct text text = { 0 };
        struct problem why = { 0 };
        text_add(&text, "x", (size_t)shift);
        for (int i = 0; i < 300; i++)
            text_addf(&text, "ä");
        scoped_free char *long_text = text_take(&text);
        problem_field(&why, long_text, "%s", long_text);
        assert_true(text_is_plain(why.message));
        assert_true(text_is_plain(why.field));
        assert_string_equal(why.message + strlen(why.message) - 3, "...");
        assert_string_equal(why.field + strlen(why.field) - 3, "...");
        problem_during(&why, "during %s: ", "this");
        assert_true(text_is_plain(why.message));
        assert_memory_equal(why.message, "during this: ", 13);
    }
}

static void knows_every_code(void **state)
{
    (void)state;
    for (enum problem_code code = PROBLEM_NONE + 1; code < PROBLEM_COUNT; code++) {
        assert_int_equal(problem_by_slug(problem_slug(code)), code);
        assert_in_range(problem_status(code), 400, 599);
        assert_true(strlen(problem_title(code)) > 0);
    }
    assert_int_equal(problem_by_slug("no-such"), PROBLEM_NONE);
    assert_int_equal(problem_by_slug(""), PROBLEM_NONE);
}

static void a_path_is_told_by_another_name(void **state)
{
    (void)state;
    static const struct {
        const char *message, *what, *hidden;
    } rows[] = {
        { "cannot open the target /srv/x: No such file", "/srv/x",
          "cannot open the target scratch: No such file" },
        { "there is a /srv/x/plimsoll-7-1-n already", "/srv/x",
          "there is a scratch/plimsoll-7-1-n already" },
        { "/srv/x is not /srv/x", "/srv/x", "scratch is not scratch" },
        { "/srv/xy and /a/srv/x are others", "/srv/x", "/srv/xy and /a/srv/x are others" },
        { "what is at / stays", "/", "what is at / stays" },
        { "", "/srv/x", "" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct problem why = { 0 };
        problem_set(&why, PROBLEM_CONFLICT, "%s", rows[i].message);
        problem_hide(&why, rows[i].what, "scratch");
        assert_string_equal(why.message, rows[i].hidden);
    }
}

static void a_message_that_grows_beyond_its_place_is_cut(void **state)
{
    (void)state;
    struct problem why = { 0 };
    char name[200];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    problem_set(&why, PROBLEM_CONFLICT, "/a /a /a /a /a /a /a /a");
    problem_hide(&why, "/a", name);
    assert_int_equal(strlen(why.message), sizeof why.message - 1);
    assert_string_equal(why.message + sizeof why.message - 4, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_first_cause),
        cmocka_unit_test(says_what_the_system_said),
        cmocka_unit_test(adds_where_it_happened),
        cmocka_unit_test(cuts_long_sentences_between_characters),
        cmocka_unit_test(a_path_is_told_by_another_name),
        cmocka_unit_test(a_message_that_grows_beyond_its_place_is_cut),
        cmocka_unit_test(knows_every_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
