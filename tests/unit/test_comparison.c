/* A comparison in one sentence. */
#include "tests/unit/cmocka_first.h"

#include "engine/comparison.h"

#include <math.h>

static void a_comparison_reads_as_people_say_it(void **state)
{
    static const struct phase_total phase = { .name = "create", .unit = "filesystems" };
    static const struct {
        struct comparison comparison;
        const char *sentence;
    } rows[] = {
        { { .verdict = VERDICT_SLOWER,
            .ratio = 1.12,
            .low = 1.08,
            .high = 1.163,
            .confidence = 0.99,
            .cross = NAN,
            .blocks = 32 },
          "create: slower. B costs 1.12 times what A costs at equal load (99 %: 1.08 to 1.16), by "
          "32 "
          "stretches of one run each." },
        { { .verdict = VERDICT_FASTER,
            .small = true,
            .ratio = 0.97,
            .low = 0.95,
            .high = 0.99,
            .confidence = 0.99,
            .cross = NAN,
            .blocks = 8 },
          "create: faster, perhaps by less than 5 %. B costs 0.970 times what A costs at equal "
          "load "
          "(99 %: 0.950 to 0.990), by 8 stretches of one run each." },
        { { .verdict = VERDICT_CANNOT_TELL,
            .ratio = 1.2,
            .low = 1.2,
            .high = 1.2,
            .cross = NAN,
            .blocks = 1 },
          "create: cannot tell. B costs 1.20 times what A costs at equal load, by one measurement "
          "each." },
        { { .verdict = VERDICT_CANNOT_TELL, .ratio = NAN, .cross = NAN },
          "create: cannot tell; A and B have no load in common." },
        { { .verdict = VERDICT_SLOWER,
            .ratio = 1.3,
            .low = 1.1,
            .high = 1.6,
            .confidence = 0.99,
            .tau = 0.9,
            .cross = 1036.4,
            .blocks = 20 },
          "create: slower; the ratio rises with the load and passes 1 near 1,036 filesystems. "
          "B costs 1.30 times "
          "what A costs at equal load (99 %: 1.10 to 1.60), by 20 stretches of one run each." },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[COMPARISON_SENTENCE];
        assert_string_equal(say_comparison(&phase, "A", "B", &rows[i].comparison, NULL, text),
                            rows[i].sentence);
    }
}

static void runs_are_compared_as_whole_from_four_a_side_on(void **state)
{
    (void)state;
    double a[] = { 100, 103, 98, 101, 102 }, b[] = { 80, 79, 81, 82, 78 }, three[] = { 80, 79, 81 };
    struct comparison c;
    compare_costs_of_runs(a, 5, b, 5, &c);
    assert_int_equal(c.verdict, VERDICT_SLOWER);
    assert_true(c.ratio > 1.25 && c.ratio < 1.28 && c.low > 1.19 && c.high < 1.33);
    assert_false(c.small);
    compare_costs_of_runs(b, 5, a, 5, &c);
    assert_int_equal(c.verdict, VERDICT_FASTER);
    compare_costs_of_runs(a, 5, three, 3, &c);
    assert_int_equal(c.verdict, VERDICT_CANNOT_TELL);

    static const struct phase_total phase = { .name = "create", .unit = "files" };
    char text[COMPARISON_SENTENCE];
    compare_costs_of_runs(a, 5, b, 5, &c);
    const struct side sides[2] = { side_of(a, 5), side_of(b, 5) };
    assert_true(sides[0].median == 101 && sides[0].low == 98 && sides[0].high == 103);
    assert_string_equal(
        say_comparison(&phase, "job 1", "Job 2", &c, sides, text),
        "create: slower. Job 2 costs 1.26 times what job 1 costs (99 %: 1.20 to 1.32), by "
        "whole runs, 5 against 5. Of the runs, those of job 1 lie between 98.0 files/s and 103 "
        "files/s, those of Job 2 lie between 78.0 files/s and 82.0 files/s.");
}

static void few_runs_that_overlap_make_a_verdict_doubtful(void **state)
{
    (void)state;
    double apart[] = { 80, 81 }, across[] = { 80, 99 }, a[] = { 98, 103, NAN };
    const struct side usual = side_of(a, 3), low = side_of(apart, 2), mixed = side_of(across, 2);
    assert_int_equal(usual.n, 2);
    struct comparison c = { .verdict = VERDICT_SLOWER, .blocks = 32, .within_run = true };
    comparison_doubt(&c, &usual, &low);
    assert_int_equal(c.verdict, VERDICT_SLOWER);
    comparison_doubt(&c, &usual, &mixed);
    assert_int_equal(c.verdict, VERDICT_CANNOT_TELL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comparison_reads_as_people_say_it),
        cmocka_unit_test(runs_are_compared_as_whole_from_four_a_side_on),
        cmocka_unit_test(few_runs_that_overlap_make_a_verdict_doubtful)
    };
    return cmocka_run_group_tests_name("comparison", tests, NULL, NULL);
}
