/* Runs of a ladder of lanes, and what is said of them together. */
#include "engine/finding_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants those first */
#include <cmocka.h>

enum { MOST = 24 };
static struct phase_total phases[MOST];
static struct run_rates runs[MOST];
static char params[MOST][64];

/* A run with so many threads whose phase did 1000 files at this rate. */
static void add(size_t i, unsigned threads, double rate, const char *more)
{
    phases[i] = (struct phase_total){ .name = "create",
                                      .unit = "files",
                                      .run = (unsigned)i + 1,
                                      .lanes = threads,
                                      .total = 1000,
                                      .ops = 1000,
                                      .finished = true,
                                      .last_done = (nsec)(1000 / rate * 1e9) };
    snprintf(params[i], sizeof params[i], "{\"threads\":%u%s}", threads, more);
    runs[i] =
        (struct run_rates){ .point = i, .params = params[i], .phases_n = 1, .phases = &phases[i] };
}

/* Of 0.1 %: no measurement lies on its law. */
static const double noise[] = { 1.001, 0.9992, 1.0007, 0.9989, 1.0005, 0.9997 };

static double law(double n, double gamma, double alpha, double beta)
{
    return gamma * n / (1 + alpha * (n - 1) + beta * n * (n - 1));
}

static struct findings find(size_t n)
{
    struct findings findings = { 0 };
    struct problem why = { 0 };
    assert_int_equal(findings_of_lanes(runs, n, &findings, &why), 0);
    return findings;
}

static const unsigned ladder[] = { 1, 2, 4, 8, 16, 32 };

static void a_ladder_is_told_by_the_law_that_made_it(void **state)
{
    (void)state;
    static const struct {
        double alpha, beta;
        int model;
        const char *sentence;
    } rows[] = {
        { 0, 0, SCALES_LINEAR,
          "Creating with 1 to 32 threads grows in step with them, by 100 files/s each." },
        { 0.1, 0, SCALES_AMDAHL,
          "Creating with 1 to 32 threads loses 10 % of the work to waiting for turns: however many "
          "there are, it "
          "stays below 1000 files/s." },
        { 0.05, 0.005, SCALES_USL,
          "Creating with 1 to 32 threads loses 5.00 % of the work to waiting for turns and is "
          "fastest "
          "with 14 of "
          "them, at 547 files/s; more make it slower." },
    };
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        for (size_t i = 0; i < 6; i++)
            add(i, ladder[i], noise[i] * law(ladder[i], 100, rows[r].alpha, rows[r].beta), "");
        struct findings findings = find(6);
        assert_int_equal(findings.n, 1);
        const struct saturation_data *data = findings.at[0].data.object;
        assert_int_equal(data->model, rows[r].model);
        assert_true(fabs(data->gamma - 100) < 0.1);
        assert_int_equal(findings.at[0].kind, FINDING_SATURATION);
        assert_string_equal(findings.at[0].phase, "create");
        assert_false(findings.at[0].low_confidence);
        assert_string_equal(findings.at[0].sentence, rows[r].sentence);
        findings_done(&findings);
    }
}

static void only_runs_that_differ_in_lanes_alone_are_one_ladder(void **state)
{
    (void)state;
    for (size_t i = 0; i < 12; i++)
        add(i, ladder[i % 6], law(ladder[i % 6], i < 6 ? 100 : 50, 0.1, 0),
            i < 6 ? ",\"sync\":\"none\"" : ",\"sync\":\"fsync\"");
    struct findings two = find(12);
    assert_int_equal(two.n, 2);
    assert_true(((struct saturation_data *)two.at[1].data.object)->gamma < 51);
    findings_done(&two);
    for (size_t i = 0; i < 6; i++)
        add(i, ladder[i], 100, i % 2 ? ",\"files\":1" : ",\"files\":2");
    struct findings none = find(6); /* three each */
    assert_int_equal(none.n, 0);
    findings_done(&none);
}

static void few_or_unfinished_runs_say_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6; i++)
        add(i, ladder[i], 100, "");
    struct findings three = find(3);
    assert_int_equal(three.n, 0);
    findings_done(&three);
    for (size_t i = 3; i < 6; i++)
        phases[i].finished = false;
    struct findings unfinished = find(6);
    assert_int_equal(unfinished.n, 0);
    findings_done(&unfinished);
    for (size_t i = 0; i < 4; i++)
        add(i, ladder[i], law(ladder[i], 100, 0.1, 0), "");
    struct findings four = find(4);
    assert_int_equal(four.n, 1);
    assert_true(four.at[0].low_confidence);
    findings_done(&four);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ladder_is_told_by_the_law_that_made_it),
        cmocka_unit_test(only_runs_that_differ_in_lanes_alone_are_one_ladder),
        cmocka_unit_test(few_or_unfinished_runs_say_nothing),
    };
    return cmocka_run_group_tests_name("finding_lanes", tests, NULL, NULL);
}
