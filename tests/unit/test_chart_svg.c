/* A picture of a series: ticks that people choose, and XML that is well formed whatever is in it. */
#include "tests/unit/cmocka_first.h"

#include "api/chart_svg.h"
#include "api/ticks.h"
#include "engine/base/text.h"

#include <math.h>

static void ticks_are_where_people_put_them(void **state)
{
    static const struct {
        double low, high;
        size_t most;
        const char *unit, *labels;
    } rows[] = {
        { 0, 1750000, 7, "files", "0|0.5 M|1.0 M|1.5 M|" },
        { 0, 170000, 10, "files", "0|20 k|40 k|60 k|80 k|100 k|120 k|140 k|160 k|" },
        { 0, 9000, 5, "files", "0|2,000|4,000|6,000|8,000|" },
        { 0, 12, 7, "filesystems", "0|2|4|6|8|10|12|" },
        { 0, 0.0123, 7, "s", "0|2 ms|4 ms|6 ms|8 ms|10 ms|12 ms|" },
        { 0, 3.9, 5, "s", "0|1 s|2 s|3 s|" },
        { 0, 61000, 4, "s", "0|20,000 s|40,000 s|60,000 s|" },
        { 0, 2.2e-7, 5, "s", "0|50 ns|100 ns|150 ns|200 ns|" },
        { 0, 250000, 6, "ns", "0|50 µs|100 µs|150 µs|200 µs|250 µs|" },
        { 0, 2500000, 6, "ns", "0|0.5 ms|1.0 ms|1.5 ms|2.0 ms|2.5 ms|" },
        { 0, 300000, 4, "bytes", "0|100 KiB|200 KiB|" },
        { 0, 41000, 5, "files/s", "0|10 k|20 k|30 k|40 k|" },
        { 1000, 1036, 5, "files", "1,000|1,010|1,020|1,030|" },
        { 0, 0.25, 3, "switches", "0|0.1|0.2|" },
        { -1, 1, 5, "x", "-1.0|-0.5|0|0.5|1.0|" },
        { 5, 5, 5, "files", "" },
        { NAN, 5, 5, "files", "" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct ticks ticks;
        struct text labels = { 0 };
        ticks_of(rows[i].low, rows[i].high, rows[i].most, rows[i].unit, &ticks);
        for (size_t k = 0; k < ticks.n; k++) {
            text_addf(&labels, "%s|", ticks.label[k]);
            assert_true(ticks.at[k] >= rows[i].low && ticks.at[k] <= rows[i].high * 1.0000001);
        }
        scoped_free char *text = text_take(&labels);
        if (strcmp(text, rows[i].labels) != 0)
            fail_msg("%g to %g %s: %s, not %s", rows[i].low, rows[i].high, rows[i].unit, text,
                     rows[i].labels);
    }
}

/* Tags nest, attributes are quoted, and there is no bare < or &. */
static void expect_xml(const char *xml)
{
    char open[16][16];
    size_t depth = 0;
    for (const char *c = xml; *c; c++) {
        if (*c == '&')
            assert_non_null(memchr(c, ';', strnlen(c, 8)));
        if (*c != '<')
            continue;
        const char *end = strchr(c, '>');
        assert_non_null(end);
        size_t n = strcspn(c + 1, " />");
        if (c[1] == '/') {
            size_t length = strcspn(c + 2, ">");
            assert_true(depth > 0);
            depth--;
            assert_int_equal(strlen(open[depth]), length);
            assert_memory_equal(open[depth], c + 2, length);
        } else {
            size_t quotes = 0;
            for (const char *q = c; q < end; q++) {
                quotes += *q == '"';
                assert_true(q == c || *q != '<');
            }
            assert_int_equal(quotes % 2, 0);
            if (end[-1] != '/') {
                assert_true(depth < COUNT_OF(open) && n < sizeof open[0]);
                snprintf(open[depth++], sizeof open[0], "%.*s", (int)n, c + 1);
            }
        }
        c = end;
    }
    assert_int_equal(depth, 0);
}

enum { POINTS = 700 };
struct columns {
    double x[POINTS], min[POINTS], max[POINTS], mean[POINTS];
};

static struct series series_of(struct columns *c)
{
    for (size_t i = 0; i < POINTS; i++) {
        c->x[i] = 2500.0 * (double)(i + 1);
        c->mean[i] = 0.004 + (i > 500 ? 1e-5 * (double)(i - 500) : 0);
        c->min[i] = c->mean[i] * 0.9;
        c->max[i] = c->mean[i] * 1.5;
    }
    return (struct series){
        .count = POINTS, .n = POINTS, .x = c->x, .min = c->min, .max = c->max, .mean = c->mean
    };
}

static void a_picture_is_small_and_well_formed(void **state)
{
    struct columns columns;
    struct series series = series_of(&columns);
    const struct chart chart = { .title = "<script>alert(\"&\")</script> 'x' \a",
                                 .x_unit = "files & <more>",
                                 .y_unit = "s",
                                 .width = 2400,
                                 .height = 1600,
                                 .series = &series,
                                 .has_knee = true,
                                 .knee = 1250000,
                                 .knee_low = 1240000,
                                 .knee_high = 1260000,
                                 .zones = 2,
                                 .zone_end = { 600000, 1750000 },
                                 .limit = 1750000,
                                 .limit_name = "<inodes>" };
    (void)state;
    for (int place = CHART_ALONE; place <= CHART_IN_PAGE; place++) {
        scoped_free char *svg = chart_svg(&chart, (enum chart_place)place);
        assert_non_null(svg);
        expect_xml(svg);
        assert_true(strlen(svg) < 100 * 1000);
        assert_null(strstr(svg, "<script"));
        assert_non_null(strstr(svg, "files &amp; &lt;more&gt;"));
        assert_non_null(strstr(svg, "knee at 1,250,000"));
        assert_non_null(strstr(svg, "&lt;inodes&gt; at 1,750,000"));
        assert_non_null(strstr(svg, "zone 2"));
        assert_int_equal(strstr(svg, "<style>") != NULL, place == CHART_ALONE);
        assert_null(strstr(svg, "nan"));
        assert_null(strstr(svg, "inf\""));
    }
}

static size_t times(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *c = text; (c = strstr(c, what)); c++)
        n++;
    return n;
}

static void a_gap_is_not_drawn_over(void **state)
{
    struct columns columns;
    struct series series = series_of(&columns);
    const struct chart chart = { .title = "t",
                                 .x_unit = "files",
                                 .y_unit = "s",
                                 .width = 400,
                                 .height = 300,
                                 .series = &series,
                                 .limit = NAN };
    (void)state;
    columns.mean[100] = columns.min[200] = columns.mean[202] = NAN;
    scoped_free char *svg = chart_svg(&chart, CHART_ALONE);
    assert_int_equal(times(svg, "class=\"pc-mean\""), 4);
    assert_int_equal(times(svg, "h0.1"), 1); /* the one between two gaps is a dot */
    assert_null(strstr(svg, "nan"));
}

static void few_samples_and_none_have_a_picture(void **state)
{
    struct columns columns;
    struct series series = series_of(&columns);
    (void)state;
    for (size_t n = 0; n < 3; n++) {
        series.n = n;
        columns.mean[0] = columns.min[0] = columns.max[0] = 0;
        const struct chart chart = { .title = "t",
                                     .x_unit = "",
                                     .y_unit = "s",
                                     .width = 320,
                                     .height = 200,
                                     .series = &series,
                                     .limit = NAN };
        scoped_free char *svg = chart_svg(&chart, CHART_ALONE);
        expect_xml(svg);
        assert_int_equal(strstr(svg, "no samples") != NULL, n == 0);
        assert_null(strstr(svg, "nan"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_where_people_put_them),
        cmocka_unit_test(a_picture_is_small_and_well_formed),
        cmocka_unit_test(a_gap_is_not_drawn_over),
        cmocka_unit_test(few_samples_and_none_have_a_picture),
    };
    return cmocka_run_group_tests_name("chart", tests, NULL, NULL);
}
