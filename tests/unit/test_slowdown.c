#include "engine/slowdown.h"
#include "tests/unit/place.h"

/* Batches of 100 operations that a lane did one after the other, in milliseconds, told as "count x time". */
struct stretch {
    unsigned n;
    double each; /* ms */
};

/* How many samples passed before it was judged slower; -1: it was not. */
static int judged_at(struct slowdown *slowdown, unsigned lanes, const struct stretch *stretches,
                     struct limit *ret)
{
    nsec at[8] = { 0 };
    int n = 0;
    for (; stretches->n; stretches++)
        for (unsigned i = 0; i < stretches->n; i++) {
            unsigned lane = i % lanes;
            nsec elapsed = (nsec)(stretches->each * NSEC_PER_MSEC);
            at[lane] += elapsed;
            const struct sample sample = {
                .at = at[lane], .elapsed = elapsed, .lane = lane, .ops = 100
            };
            n++;
            if (slowdown_note(slowdown, &sample, ret))
                return n;
        }
    return -1;
}

static void five_long_batches_in_a_row_are_slower_and_four_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double factor;
        unsigned lanes;
        struct stretch stretches[8];
        int expected;
    } cases[] = {
        { "never asked for", 0, 1, { { 20, 1 }, { 100, 50 } }, -1 },
        { "steady", 3, 1, { { 200, 1 } }, -1 },
        { "just as slow as is allowed", 3, 1, { { 20, 1 }, { 100, 3 } }, -1 },
        { "slower", 3, 1, { { 20, 1 }, { 100, 3.1 } }, 25 },
        { "slow at first too", 3, 1, { { 20, 10 }, { 100, 3.1 } }, -1 },
        { "slow among the first, which the median does not mind",
          3,
          1,
          { { 9, 50 }, { 11, 1 }, { 100, 3.1 } },
          25 },
        { "four, and again four", 3, 1, { { 20, 1 }, { 4, 9 }, { 1, 1 }, { 4, 9 }, { 1, 1 } }, -1 },
        { "four, and then five", 3, 1, { { 20, 1 }, { 4, 9 }, { 1, 1 }, { 9, 9 } }, 30 },
        { "two lanes", 3, 2, { { 40, 1 }, { 100, 3.1 } }, 50 },
        { "two lanes, too few for a median of both", 3, 2, { { 20, 1 }, { 20, 1 }, { 8, 9 } }, -1 },
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct slowdown slowdown;
        struct limit limit = { 0 };
        slowdown_init(&slowdown, cases[c].factor, cases[c].lanes, 100);
        int at = judged_at(&slowdown, cases[c].lanes, cases[c].stretches, &limit);
        if (at != cases[c].expected)
            fail_msg("%s: at sample %d, not %d", cases[c].name, at, cases[c].expected);
        assert_int_equal(limit.reached, at >= 0);
        if (at >= 0)
            assert_int_equal(limit.reason, LIMIT_SLOWER);
    }
}

/* Two lanes that take turns: each of their batches takes twice as long, and together they do as much. */
static void lanes_that_wait_for_each_other_are_judged_by_the_wall(void **state)
{
    (void)state;
    struct slowdown slowdown;
    struct limit limit;
    slowdown_init(&slowdown, 1.5, 2, 100);
    for (nsec i = 0; i < 200; i++) {
        const struct sample sample = { .at = (i + 1) * NSEC_PER_MSEC,
                                       .elapsed = (i < 80 ? 1 : 2) * NSEC_PER_MSEC,
                                       .lane = (uint32_t)(i % 2),
                                       .ops = 100 };
        assert_false(slowdown_note(&slowdown, &sample, &limit));
    }
}

static void says_what_it_compared(void **state)
{
    (void)state;
    struct slowdown slowdown;
    struct limit limit = { 0 };
    static const struct stretch one[] = { { 20, 10 }, { 5, 41 }, { 0, 0 } };
    static const struct stretch two[] = { { 40, 10 }, { 10, 41 }, { 0, 0 } };
    slowdown_init(&slowdown, 3, 1, 100);
    assert_int_equal(judged_at(&slowdown, 1, one, &limit), 25);
    assert_string_equal(limit.detail,
                        "5 batches in a row took more than 3 times the 10.0 ms that the first 20 "
                        "took in the median: the last one took 41.0 ms");
    slowdown_init(&slowdown, 3, 2, 100);
    assert_int_equal(judged_at(&slowdown, 2, two, &limit), 50);
    assert_string_equal(limit.detail,
                        "5 batches in a row took more than 3 times the 5.00 ms that the first 20 "
                        "took in the median: the last one took 20.5 ms, all lanes together");
}

static void refuses_a_factor_that_says_nothing(void **state)
{
    (void)state;
    static const struct {
        double factor;
        bool fine;
    } rows[] = { { 0, true }, { 0.5, false }, { 1, false }, { 1.01, true }, { 3, true } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct problem why = { 0 };
        if ((slowdown_check(rows[i].factor, &why) == 0) != rows[i].fine)
            fail_msg("%g: %s", rows[i].factor, why.message);
        assert_string_equal(why.field, rows[i].fine ? "" : "/params/stop_when_slower_than");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_long_batches_in_a_row_are_slower_and_four_are_not),
        cmocka_unit_test(lanes_that_wait_for_each_other_are_judged_by_the_wall),
        cmocka_unit_test(says_what_it_compared),
        cmocka_unit_test(refuses_a_factor_that_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
