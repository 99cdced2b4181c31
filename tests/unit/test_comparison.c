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

/* A phase with the given seconds at loads 10, 20, ... */
static struct series_kept *phase_with(const char *name, size_t n, const double seconds[])
{
    struct phase_total phase = {
        .run = 1, .leg = 1, .lanes = 1, .batch = 10, .unit = "filesystems"
    };
    struct series_kept *series;
    struct problem why = { 0 };
    nsec at = 0;
    snprintf(phase.name, sizeof phase.name, "%s", name);
    assert_int_equal(series_kept_new(&phase, &series, &why), 0);
    for (size_t i = 0; i < n; i++) {
        nsec elapsed = (nsec)(seconds[i] * 1e9);
        at += elapsed;
        const struct sample sample = {
            .load = 10 * (i + 1), .at = at, .elapsed = elapsed, .ops = 10
        };
        assert_int_equal(series_kept_add(series, &sample, 1, &why), 0);
    }
    return series;
}

static void what_one_side_does_in_more_phases_is_compared_by_all_of_them(void **state)
{
    enum { N = 24 };
    double create[N], share[N];
    struct comparison comparison;
    struct phase_total phase;
    struct problem why = { 0 };
    (void)state;
    for (size_t i = 0; i < N; i++) {
        create[i] = 0.10 + 0.001 * (double)(i % 5);
        share[i] = 0.20 + 0.001 * (double)(i % 7);
    }
    struct parts plain = { { phase_with("create", N, create) } };
    struct parts shared = { { phase_with("create", N, create), NULL,
                              phase_with("share", N - 4, share) } };
    assert_false(parts_differ(&plain, &plain));
    assert_false(parts_differ(&shared, &shared));
    assert_true(parts_differ(&plain, &shared));
    assert_int_equal(comparison_of_parts(&plain, &shared, &comparison, &phase, &why), 0);
    assert_string_equal(phase.name, "create+share");
    assert_int_equal(comparison.verdict, VERDICT_SLOWER);
    assert_true(comparison.ratio > 2.8 && comparison.ratio < 3.2);
    for (size_t i = 0; i < PARTS_MOST; i++) {
        series_kept_free(plain.at[i]);
        series_kept_free(shared.at[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comparison_reads_as_people_say_it),
        cmocka_unit_test(runs_are_compared_as_whole_from_four_a_side_on),
        cmocka_unit_test(few_runs_that_overlap_make_a_verdict_doubtful),
        cmocka_unit_test(what_one_side_does_in_more_phases_is_compared_by_all_of_them),
    };
    return cmocka_run_group_tests_name("comparison", tests, NULL, NULL);
}
