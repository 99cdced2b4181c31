#include "engine/base/attr.h"
#include "engine/base/clock.h"
#include "tests/unit/cmocka_first.h"

static void reads_rfc3339_with_any_offset(void **state)
{
    (void)state;
    static const struct {
        const char *input, *utc;
    } rows[] = {
        { "2026-01-31T23:59:59Z", "2026-01-31T23:59:59.000000Z" },
        { "2026-01-31t23:59:59z", NULL },
        { "2026-01-31T23:59:59.5Z", "2026-01-31T23:59:59.500000Z" },
        { "2026-01-31T23:59:59.123456789Z", "2026-01-31T23:59:59.123456Z" },
        { "2026-01-31T23:59:59.1234567890123Z", "2026-01-31T23:59:59.123456Z" },
        { "2026-02-01T00:59:59+01:00", "2026-01-31T23:59:59.000000Z" },
        { "2026-01-31T18:29:59-05:30", "2026-01-31T23:59:59.000000Z" },
        { "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z" },
        { "1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.250000Z" },
        { "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z" },
        { "2026-02-29T00:00:00Z", NULL },
        { "2026-13-01T00:00:00Z", NULL },
        { "2026-01-31T24:00:00Z", NULL },
        { "2026-01-31T23:59:60Z", NULL },
        { "2026-1-31T23:59:59Z", NULL },
        { "2026-01-31 23:59:59Z", NULL },
        { "2026-01-31T23:59:59", NULL },
        { "2026-01-31T23:59:59.Z", NULL },
        { "2026-01-31T23:59:59+1:00", NULL },
        { "2026-01-31T23:59:59+-1:00", NULL },
        { "2026-01-31T23:59:59+24:00", NULL },
        { "2026-01-31T23:59:59Zx", NULL },
        { "9999-01-01T00:00:00Z", NULL },
        { "yesterday", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[CLOCK_TEXT];
        nsec time = 42;
        int outcome = clock_parse(rows[i].input, &time);
        if (!rows[i].utc) {
            if (outcome == 0)
                fail_msg("%s was taken", rows[i].input);
            assert_int_equal(time, 42);
            continue;
        }
        if (outcome < 0)
            fail_msg("%s was refused", rows[i].input);
        assert_string_equal(clock_format(time, text), rows[i].utc);
    }
}

static void never_goes_back(void **state)
{
    (void)state;
    nsec last = clock_monotonic();
    for (int i = 0; i < 10000; i++) {
        nsec now = clock_monotonic();
        assert_true(now >= last);
        last = now;
    }
}

static void tells_the_wall_clock_in_this_century(void **state)
{
    (void)state;
    nsec low, high;
    assert_int_equal(clock_parse("2024-01-01T00:00:00Z", &low), 0);
    assert_int_equal(clock_parse("2200-01-01T00:00:00Z", &high), 0);
    assert_in_range(clock_wall(), low, high);
}

static void counts_the_cpu_of_this_thread(void **state)
{
    (void)state;
    nsec before = clock_thread_cpu();
    volatile uint64_t work = 0;
    for (int i = 0; i < 1000000; i++)
        work++;
    assert_true(clock_thread_cpu() > before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_rfc3339_with_any_offset),
        cmocka_unit_test(never_goes_back),
        cmocka_unit_test(tells_the_wall_clock_in_this_century),
        cmocka_unit_test(counts_the_cpu_of_this_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
