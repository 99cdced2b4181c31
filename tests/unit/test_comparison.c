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
        assert_string_equal(say_comparison(&phase, "A", "B", &rows[i].comparison, text),
                            rows[i].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_comparison_reads_as_people_say_it) };
    return cmocka_run_group_tests_name("comparison", tests, NULL, NULL);
}
