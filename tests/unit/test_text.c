#include "engine/base/text.h"
#include "tests/unit/cmocka_first.h"

static void grows_as_it_is_added_to(void **state)
{
    (void)state;
    struct text text = { 0 };
    for (int i = 0; i < 1000; i++)
        text_addf(&text, "%d,", i % 10);
    text_add(&text, "end", 3);
    assert_int_equal(text.n, 2003);
    assert_memory_equal(text.at, "0,1,2,3,", 8);
    assert_string_equal(text.at + 2000, "end");
    text_done(&text);
    assert_null(text.at);
}

static void gives_an_empty_text_away_as_empty(void **state)
{
    (void)state;
    struct text text = { 0 };
    scoped_free char *taken = text_take(&text);
    assert_string_equal(taken, "");
}

static void stays_failed_after_a_failure(void **state)
{
    (void)state;
    struct text text = { 0 };
    text_add(&text, "a", 1);
    text_add(&text, "b", SIZE_MAX / 2); /* more than there can be: nothing is read */
    text_add(&text, "c", 1);
    assert_true(text.failed);
    assert_string_equal(text.at, "a");
    assert_null(text_take(&text));
    assert_null(text.at);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    char buffer[5];
    assert_int_equal(text_fit(buffer, sizeof buffer, "%s", "four"), 0);
    assert_string_equal(buffer, "four");
    assert_int_equal(text_fit(buffer, sizeof buffer, "%s", "fives"), -1);
    assert_string_equal(buffer, "");
}

static void knows_plain_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool plain;
    } rows[] = {
        { "", true },
        { "plain ~", true },
        { "Größe ≤ 5 😀", true },
        { "\xc2\xa0", true }, /* no-break space: the first after C1 */
        { "\xf4\x8f\xbf\xbf", true },
        { "a\nb", false },
        { "\t", false },
        { "\x1b[31m", false },
        { "\x7f", false },
        { "\xc2\x80", false }, /* C1 */
        { "\xc2\x9f", false },
        { "\xff", false },
        { "\x80", false },
        { "\xc3", false },             /* ends early */
        { "\xe2\x82", false },         /* the same */
        { "\xc0\xaf", false },         /* '/', overlong */
        { "\xe0\x80\xaf", false },     /* the same in three */
        { "\xf0\x80\x80\xaf", false }, /* and in four */
        { "\xed\xa0\x80", false },     /* a surrogate */
        { "\xf4\x90\x80\x80", false }, /* beyond U+10FFFF */
        { "\xf8\x88\x80\x80\x80", false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (text_is_plain(rows[i].text) != rows[i].plain)
            fail_msg("row %zu (%s) is %s", i, rows[i].text, rows[i].plain ? "plain" : "not plain");
}

static void shows_any_bytes_safely(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown; /* in 12 bytes */
    } rows[] = {
        { "", "" },
        { "exactly 11!", "exactly 11!" },
        { "this is twelve", "this is ..." },
        { "a\nb\xff", "a?b?" },
        { "ääääää", "ääää..." },
        { "ääää😀", "ääää..." },
        { "1234567ä9012", "1234567..." },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char buffer[12];
        assert_string_equal(text_shown(rows[i].text, buffer, sizeof buffer), rows[i].shown);
    }
}

static void compares_beginnings(void **state)
{
    (void)state;
    assert_true(text_starts("unix:/run/x", "unix:"));
    assert_false(text_starts("unix", "unix:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_as_it_is_added_to),
        cmocka_unit_test(gives_an_empty_text_away_as_empty),
        cmocka_unit_test(stays_failed_after_a_failure),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(knows_plain_text),
        cmocka_unit_test(shows_any_bytes_safely),
        cmocka_unit_test(compares_beginnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
