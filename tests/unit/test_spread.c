#include "engine/finding.h"
#include "engine/spread.h"
#include "tests/unit/cmocka_first.h"

#include <math.h>

/* A phase that did all of `ops` in so many seconds. */
static struct phase_total phase(const char *name, unsigned leg, uint64_t ops, double seconds)
{
    struct phase_total total = { .unit = "files",
                                 .leg = leg,
                                 .total = ops,
                                 .ops = ops,
                                 .last_done = (nsec)(seconds * 1e9),
                                 .finished = true };
    snprintf(total.name, sizeof total.name, "%s", name);
    return total;
}

static struct spread *spreads(const struct run_rates *runs, size_t n, size_t *ret_n)
{
    struct spread *of = NULL;
    struct problem why = { 0 };
    assert_int_equal(spreads_of(runs, n, &of, ret_n, &why), 0);
    return of;
}

static void sets_the_runs_of_a_point_side_by_side(void **state)
{
    (void)state;
    const struct phase_total create[] = { phase("create", 1, 100, 1), phase("create", 1, 100, 2),
                                          phase("create", 1, 100, 4), phase("create", 1, 100, 5),
                                          phase("create", 1, 100, 10) };
    const struct run_rates runs[] = { { 7, NULL, 1, &create[2] },
                                      { 0, NULL, 1, &create[0] },
                                      { 7, NULL, 1, &create[4] },
                                      { 7, NULL, 1, &create[1] },
                                      { 0, NULL, 1, &create[3] } };
    size_t n;
    scoped_free struct spread *of = spreads(runs, COUNT_OF(runs), &n);
    assert_int_equal(n, 2);
    assert_int_equal(of[0].point, 0);
    assert_int_equal(of[0].n, 2);
    assert_true(of[0].median == 60 && of[0].low == 20 && of[0].high == 100); /* between the two */
    assert_int_equal(of[1].point, 7);
    assert_int_equal(of[1].n, 3);
    assert_true(of[1].median == 25 && of[1].low == 10 && of[1].high == 50);
    assert_true(spread_share(&of[1]) == 1.6);
}

static void each_phase_stands_alone_in_its_order(void **state)
{
    (void)state;
    const struct phase_total first[] = { phase("create", 1, 100, 1), phase("remove", 1, 100, 2) };
    const struct phase_total second[] = { phase("create", 1, 100, 1), phase("remove", 1, 100, 4) };
    const struct run_rates runs[] = { { 0, NULL, 2, first }, { 0, NULL, 2, second } };
    size_t n;
    scoped_free struct spread *of = spreads(runs, 2, &n);
    assert_int_equal(n, 2);
    assert_string_equal(of[0].phase, "create");
    assert_string_equal(of[1].phase, "remove");
    assert_true(of[1].low == 25 && of[1].high == 50);
}

static void the_legs_of_a_phase_are_one(void **state)
{
    (void)state;
    const struct phase_total legs[] = { phase("create", 1, 100, 1), phase("create", 2, 300, 1) };
    const struct run_rates runs[] = { { 0, NULL, 2, legs } };
    size_t n;
    scoped_free struct spread *of = spreads(runs, 1, &n);
    assert_int_equal(n, 1);
    assert_int_equal(of[0].n, 1);
    assert_true(of[0].median == 200);
    assert_true(isnan(spread_share(&of[0]))); /* of one run nothing is known */
}

static void what_did_not_come_to_its_end_does_not_count(void **state)
{
    (void)state;
    struct phase_total going_on = phase("create", 1, 100, 1), broken_off = going_on,
                       limited = going_on, nothing = going_on;
    going_on.finished = false;
    broken_off.total = 200;
    limited.total = 200;
    limited.limit.reached = true;
    nothing.last_done = 0;
    const struct run_rates runs[] = { { 0, NULL, 1, &going_on },
                                      { 0, NULL, 1, &broken_off },
                                      { 0, NULL, 1, &nothing },
                                      { 0, NULL, 0, NULL },
                                      { 0, NULL, 1, &limited } };
    size_t n;
    scoped_free struct spread *of = spreads(runs, COUNT_OF(runs), &n);
    assert_int_equal(n, 1);
    assert_int_equal(of[0].n, 1);
}

static const char *sentence(const struct run_rates *runs, size_t n, struct findings *findings)
{
    struct problem why = { 0 };
    assert_int_equal(findings_of_runs(runs, n, findings, &why), 0);
    return findings->n ? findings->at[0].sentence : "";
}

static void says_it_in_a_sentence(void **state)
{
    (void)state;
    const struct phase_total fast = phase("create", 1, 1000, 1), slow = phase("create", 1, 1000, 2),
                             slower = phase("create", 1, 1000, 2.5);
    const struct run_rates one[] = { { 0, "{}", 1, &fast },
                                     { 0, "{}", 1, &slow },
                                     { 0, "{}", 1, &slower } };
    const struct run_rates two[] = { { 0, "{\"threads\":1}", 1, &slower },
                                     { 1, "{\"threads\":2}", 1, &fast },
                                     { 0, "{\"threads\":1}", 1, &slow } };
    const struct run_rates single[] = { { 0, "{\"threads\":1}", 1, &slow },
                                        { 1, "{\"threads\":2}", 1, &fast } };
    scoped(findings_done) struct findings a = { 0 }, b = { 0 }, c = { 0 }, none = { 0 };
    assert_string_equal(
        sentence(one, 3, &a),
        "Creating ran at 500 files/s, the median of 3 runs, which lie between 400 and "
        "1,000: 120 % apart.");
    assert_false(a.at[0].low_confidence);
    assert_string_equal(
        sentence(two, 3, &b),
        "Creating ran at 450 files/s with threads 1 and at 1,000 files/s with threads 2, "
        "the slowest and the fastest of 2 points; runs of one point lie up to 22 % "
        "apart.");
    assert_true(b.at[0].low_confidence);
    assert_string_equal(
        sentence(single, 2, &c),
        "Creating ran at 500 files/s with threads 1 and at 1,000 files/s with threads 2, "
        "the slowest and the fastest of 2 points of one run each: how much runs differ "
        "is not known.");
    assert_string_equal(sentence(one, 1, &none), "");
    assert_int_equal(none.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_the_runs_of_a_point_side_by_side),
        cmocka_unit_test(each_phase_stands_alone_in_its_order),
        cmocka_unit_test(the_legs_of_a_phase_are_one),
        cmocka_unit_test(what_did_not_come_to_its_end_does_not_count),
        cmocka_unit_test(says_it_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
