#include "engine/histogram.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>

static void bounds_meet_without_gap_and_hold_their_values(void **state)
{
    (void)state;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        assert_int_equal(histogram_index(histogram_lower(i)), i);
        assert_int_equal(histogram_index(histogram_upper(i)), i);
        if (i > 0)
            assert_true(histogram_lower(i) == histogram_upper(i - 1) + 1);
    }
    assert_int_equal(histogram_index(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
    assert_true(histogram_upper(HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static int ascending(const void *a, const void *b)
{
    nsec x = *(const nsec *)a, y = *(const nsec *)b;
    return x < y ? -1 : x > y;
}

enum { VALUES = 20000 };

/* A kind of spread: `shape` bends uniform random numbers. */
static const struct spread {
    const char *name;
    nsec least, range;
    double shape, worst; /* the relative error that a percentile may have */
} spreads[] = {
    { "uniform", 1000, 9000, 1, 0.01 },
    { "long tail", 3000, 50000000, 12, 0.032 },
    { "one value", 4242, 0, 1, 0 },
    { "small numbers", 0, 31, 1, 0 },
    { "hours", 3600 * NSEC_PER_SEC, 9 * 3600 * NSEC_PER_SEC, 2, 0.01 },
};

static void percentiles_are_those_of_the_sorted_values(void **state)
{
    (void)state;
    static const double shares[] = { 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1 };
    static nsec values[VALUES];
    for (size_t s = 0; s < COUNT_OF(spreads); s++) {
        const struct spread *spread = &spreads[s];
        scoped_free struct histogram *histogram = calloc(1, sizeof *histogram);
        uint64_t seed = 88172645463325252u, sum = 0;
        for (size_t i = 0; i < VALUES; i++) {
            double r = (double)(next_random(&seed) >> 11) / 9007199254740992.0;
            values[i] = spread->least + (nsec)(pow(r, spread->shape) * (double)spread->range);
            histogram_note(histogram, values[i], 1);
            sum += (uint64_t)values[i];
        }
        qsort(values, VALUES, sizeof values[0], ascending);
        assert_true(histogram->count == VALUES && histogram->sum == sum);
        assert_true(histogram->min == values[0] && histogram->max == values[VALUES - 1]);
        for (size_t i = 0; i < COUNT_OF(shares); i++) {
            nsec exact = values[(size_t)ceil(shares[i] * VALUES) - 1];
            nsec told = histogram_percentile(histogram, shares[i]);
            double error = fabs((double)(told - exact)) / (double)(exact ? exact : 1);
            if (error > spread->worst)
                fail_msg("%s, %g: %lld, not %lld", spread->name, shares[i], (long long)told,
                         (long long)exact);
        }
    }
}

static void never_tells_more_than_the_maximum_nor_less_than_the_minimum(void **state)
{
    (void)state;
    scoped_free struct histogram *histogram = calloc(1, sizeof *histogram);
    assert_int_equal(histogram_percentile(histogram, 0.5), 0);
    histogram_note(histogram, 1000001, 1);
    assert_int_equal(histogram_percentile(histogram, 0.5), 1000001);
    histogram_note(histogram, 1000003, 1);
    assert_true(histogram_percentile(histogram, 0.5) >= 1000001);
    assert_int_equal(histogram_percentile(histogram, 0.999), 1000003);
    histogram_note(histogram, -5, 1); /* a clock that went backwards */
    assert_int_equal(histogram->min, 0);
}

static void merging_and_pouring_add_up(void **state)
{
    (void)state;
    scoped_free struct histogram *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
    scoped_free struct histogram *both = calloc(1, sizeof *both), *empty = calloc(1, sizeof *empty);
    uint64_t seed = 1;
    for (int i = 0; i < 1000; i++) {
        nsec value = (nsec)(next_random(&seed) % 10000000);
        histogram_note(i % 3 ? a : b, value, 1);
        histogram_note(both, value, 1);
    }
    nsec p50 = 0, p99 = 0, b50 = histogram_percentile(b, 0.5), b99 = histogram_percentile(b, 0.99);
    histogram_merge(a, empty);
    histogram_pour(a, b, &p50, &p99);
    assert_int_equal(p50, b50);
    assert_int_equal(p99, b99);
    assert_memory_equal(a, both, sizeof *a);
    assert_memory_equal(b, empty, sizeof *b);
    histogram_merge(b, both);
    assert_memory_equal(b, both, sizeof *b);
}

static void many_at_once_are_the_same_as_one_by_one(void **state)
{
    (void)state;
    scoped_free struct histogram *single = calloc(1, sizeof *single),
                                 *many = calloc(1, sizeof *many);
    uint64_t seed = 4242;
    for (unsigned round = 0; round < 200; round++) {
        struct histogram_sums sums = HISTOGRAM_SUMS_NONE;
        unsigned n = round % 101;
        for (unsigned i = 0; i < n; i++) {
            nsec value = (nsec)(next_random(&seed) >> (2 + next_random(&seed) % 60));
            histogram_note(single, value, 1);
            histogram_note_in(many, &sums, value);
        }
        histogram_add_up(many, &sums);
        assert_memory_equal(many, single, sizeof *many);
    }
    assert_true(many->count > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_meet_without_gap_and_hold_their_values),
        cmocka_unit_test(percentiles_are_those_of_the_sorted_values),
        cmocka_unit_test(never_tells_more_than_the_maximum_nor_less_than_the_minimum),
        cmocka_unit_test(merging_and_pouring_add_up),
        cmocka_unit_test(many_at_once_are_the_same_as_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
