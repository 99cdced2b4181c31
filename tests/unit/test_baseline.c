/* What a history of runs says by a baseline's rule. */
#include "engine/baseline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* cmocka wants those first */
#include <cmocka.h>

enum { MOST = 40 };
static struct baseline_run runs[MOST];

/* Values with noise of about 1 %, the same every time. */
static size_t fill(const double *levels, size_t n)
{
    static const double noise[] = { 0.004, -0.009, 0.011, -0.003, 0.007, -0.012, 0.001 };
    for (size_t i = 0; i < n; i++)
        runs[i] = (struct baseline_run){ .job = (job_id)(100 + i),
                                         .run = 1,
                                         .unit = "files",
                                         .value = levels[i] * (1 + noise[i % 7]) };
    return n;
}

static const struct baseline_rule rates = { FIGURE_RATE, DIRECTION_WORSE, 0.05 };
static const struct baseline_rule times = { FIGURE_P99, DIRECTION_WORSE, 0.05 };
static const struct baseline_rule any = { FIGURE_RATE, DIRECTION_BOTH, 0.05 };
static const struct baseline_rule large = { FIGURE_RATE, DIRECTION_WORSE, 0.5 };

static void a_lasting_change_is_a_regression_by_its_direction(void **state)
{
    (void)state;
    static const double down[] = { 100, 100, 100, 100, 100, 100, 100, 100, 80, 80, 80 };
    static const double up[] = { 100, 100, 100, 100, 100, 100, 100, 100, 130, 130, 130 };
    static const struct {
        const double *levels;
        const struct baseline_rule *rule;
        bool regression;
    } rows[] = {
        { down, &rates, true }, { up, &rates, false }, { down, &times, false },
        { up, &times, true },   { down, &any, true },  { down, &large, false },
        { up, &any, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct baseline_history history;
        baseline_judge(rows[i].rule, runs, fill(rows[i].levels, 11), &history);
        print_message("row %zu\n", i);
        assert_int_equal(history.n, 2);
        assert_int_equal(history.at[1].from, 8);
        assert_int_equal(history.at[1].n, 3);
        assert_int_equal(history.at[1].regression, rows[i].regression);
        assert_false(history.suspect);
    }
}

static void a_single_bad_run_is_suspected_and_no_change(void **state)
{
    (void)state;
    static const double once[] = { 100, 100, 100, 100, 100, 100, 100, 70 };
    static const double twice[] = { 100, 100, 100, 100, 100, 100, 100, 70, 70 };
    struct baseline_history history;
    size_t n = fill(once, 8);
    baseline_judge(&rates, runs, n, &history);
    assert_int_equal(history.n, 1);
    assert_true(history.suspect);
    assert_true(fabs(history.suspect_effect + 0.3) < 0.02);
    baseline_judge(&times, runs, n, &history); /* 30 % less is no worse */
    assert_false(history.suspect);
    /* Its repeat is as bad: still no change, and not repeated again. */
    n = fill(twice, 9);
    runs[8].confirms = true;
    baseline_judge(&rates, runs, n, &history);
    assert_int_equal(history.n, 1);
    assert_false(history.suspect);
}

/* A level has three runs at least: one from before does not count as its first. */
static void two_runs_are_no_level_whatever_came_before(void **state)
{
    (void)state;
    static const double levels[] = { 100, 100, 100, 100, 100, 100, 100, 100,
                                     70,  70,  70,  70,  100, 100, 100 };
    struct baseline_history history;
    size_t n = fill(levels, 15);
    runs[11].value = 72; /* the highest of its level */
    baseline_judge(&rates, runs, n - 1, &history);
    assert_int_equal(history.n, 2);
    baseline_judge(&rates, runs, n, &history);
    assert_int_equal(history.n, 3);
    assert_int_equal(history.at[2].from, 12);
}

static void few_or_usual_runs_say_nothing(void **state)
{
    (void)state;
    static const double few[] = { 100, 100, 100, 100, 70 };
    static const double usual[] = { 100, 100, 100, 100, 100, 100, 100, 100, 100, 98 };
    struct baseline_history history;
    baseline_judge(&rates, runs, 0, &history);
    assert_int_equal(history.n, 0);
    baseline_judge(&rates, runs, fill(few, 5), &history);
    assert_int_equal(history.n, 1);
    assert_false(history.suspect);
    baseline_judge(&rates, runs, fill(usual, 10), &history);
    assert_false(history.suspect);
}

static void a_level_has_returned_after_three_runs(void **state)
{
    (void)state;
    static const double back[] = { 80, 80, 80, 100, 100, 100 };
    static const double not_yet[] = { 80, 80, 80, 80, 100, 100 };
    assert_true(baseline_returned(&rates, runs, fill(back, 6), 100, -0.2));
    assert_false(baseline_returned(&rates, runs, fill(not_yet, 6), 100, -0.2));
    assert_false(baseline_returned(&rates, runs, 2, 100, -0.2));
}

static void a_figure_is_taken_from_what_a_run_did(void **state)
{
    (void)state;
    const struct baseline_run run = { .unit = "files",
                                      .ops = 1000,
                                      .bytes = 8000,
                                      .seconds = 4,
                                      .flush = 1,
                                      .latency = { 1, 2, 3, 4, 5 } };
    static const double expected[] = { 250, 200, 2000, 4, 1, 2, 3, 4, 5 };
    static const char *const units[] = { "files/s", "files/s", "bytes/s", "s", "ns",
                                         "ns",      "ns",      "ns",      "ns" };
    const struct baseline_run nothing = { .unit = "files" };
    for (int figure = 0; baseline_figures[figure]; figure++) {
        char unit[40];
        assert_true(baseline_value(figure, &run) == expected[figure]);
        assert_string_equal(baseline_unit(figure, &run, unit), units[figure]);
        assert_true(isnan(baseline_value(figure, &nothing)));
    }
}

static void sentences_have_numbers_and_units(void **state)
{
    (void)state;
    static const double down[] = { 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 800, 800, 800 };
    struct baseline_history history;
    char text[BASELINE_SENTENCE];
    baseline_judge(&rates, runs, fill(down, 11), &history);
    runs[9].disturbed = true;
    assert_string_equal(
        say_regression(FIGURE_RATE, "create", "scratch", runs, &history, 1, text),
        "create on scratch: the rate is 798 files per second since job 108, 20 % less than "
        "the 1,003 files per second before it (3 runs since, 8 runs before, p = 0.012). "
        "Other work had the CPUs during 1 run of them.");
    runs[0].value = 5e6;
    history.suspect_effect = 0.4;
    assert_string_equal(
        say_suspect(FIGURE_P99, "read", &runs[0], &history, text),
        "Repeats job 100 to see whether it was chance: in read, the time that 99 % of "
        "the operations stay under was 5.00 ms, 40 % more than usual");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lasting_change_is_a_regression_by_its_direction),
        cmocka_unit_test(a_single_bad_run_is_suspected_and_no_change),
        cmocka_unit_test(two_runs_are_no_level_whatever_came_before),
        cmocka_unit_test(few_or_usual_runs_say_nothing),
        cmocka_unit_test(a_level_has_returned_after_three_runs),
        cmocka_unit_test(a_figure_is_taken_from_what_a_run_did),
        cmocka_unit_test(sentences_have_numbers_and_units),
    };
    return cmocka_run_group_tests_name("baseline", tests, NULL, NULL);
}
