/* Text from anywhere is shown, never read as markup; differences are named by their pointers. */
#include "tests/unit/cmocka_first.h"

#include "api/difference.h"
#include "api/markup.h"

typedef void add_fn(struct text *out, const char *text);

static void markup_in_a_text_is_shown(void **state)
{
    static const struct {
        add_fn *add;
        const char *text, *shown;
    } rows[] = {
        { markdown_add, "plain words, 3.75 s (95 %)", "plain words, 3.75 s (95 %)" },
        { markdown_add, "a|b", "a\\|b" },
        { markdown_add, "one\ntwo\r\n| - x", "one two  \\| - x" },
        { markdown_add, "*b* _i_ `c` ~s~", "\\*b\\* \\_i\\_ \\`c\\` \\~s\\~" },
        { markdown_add, "[x](javascript:y)", "\\[x\\](javascript:y)" },
        { markdown_add, "<img src=x> &amp;", "&lt;img src=x\\> &amp;amp;" },
        { markdown_add, "# \\", "\\# \\\\" },
        { markdown_add, "µs ±", "µs ±" },
        { xml_add, "a < b && c > d", "a &lt; b &amp;&amp; c &gt; d" },
        { xml_add, "\"x\" 'y'", "&quot;x&quot; &#39;y&#39;" },
        { xml_add, "</text><script>", "&lt;/text&gt;&lt;script&gt;" },
        { xml_add, "bell\a tab\t µ", "bell? tab\t µ" },
        { xml_add, "broken \xc3( \xff", "broken ?( ?" },
        { xml_add, "\xef\xbf\xbe \xef\xbf\xbd", "? \xef\xbf\xbd" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct text out = { 0 };
        rows[i].add(&out, rows[i].text);
        assert_false(out.failed);
        assert_string_equal(out.at, rows[i].shown);
        text_done(&out);
    }
}

static void leaves_that_differ_have_their_pointers(void **state)
{
    static const char *const passing[] = { "/boot", "/deep/passing", NULL };
    static const struct {
        const char *a, *b, *found;
    } rows[] = {
        { "{}", "{}", "[]" },
        { "{\"a\":1,\"b\":{\"c\":[1,2]}}", "{\"b\":{\"c\":[1,2]},\"a\":1}", "[]" },
        { "{\"a\":1}", "{\"a\":2}", "[{\"pointer\":\"/a\",\"a\":1,\"b\":2}]" },
        { "{\"a\":null}", "{}", "[]" },
        { "{}", "{\"x\":{\"y\":\"z\"}}", "[{\"pointer\":\"/x/y\",\"a\":null,\"b\":\"z\"}]" },
        { "{\"n\":[{\"m\":1}]}", "{\"n\":[{\"m\":1},{\"m\":3}]}",
          "[{\"pointer\":\"/n/1/m\",\"a\":null,\"b\":3}]" },
        { "{\"a/b~c\":true}", "{\"a/b~c\":false}",
          "[{\"pointer\":\"/a~1b~0c\",\"a\":true,\"b\":false}]" },
        { "{\"d\":\"nvme\"}", "{\"d\":{\"name\":\"sda\"}}",
          "[{\"pointer\":\"/d/name\",\"a\":null,\"b\":\"sda\"},{\"pointer\":\"/d\",\"a\":\"nvme\","
          "\"b\":null}]" },
        { "{\"boot\":1,\"deep\":{\"passing\":{\"x\":1},\"kept\":1}}",
          "{\"boot\":2,\"deep\":{\"passing\":{\"x\":2},\"kept\":2}}",
          "[{\"pointer\":\"/deep/kept\",\"a\":1,\"b\":2}]" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        json_t *a = json_loads(rows[i].a, 0, NULL), *b = json_loads(rows[i].b, 0, NULL);
        json_t *found = differences(a, b, passing);
        char *text = json_dumps(found, JSON_COMPACT);
        assert_string_equal(text, rows[i].found);
        free(text);
        json_decref(found);
        json_decref(b);
        json_decref(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_in_a_text_is_shown),
        cmocka_unit_test(leaves_that_differ_have_their_pointers),
    };
    return cmocka_run_group_tests_name("markup", tests, NULL, NULL);
}
