/* Figures as people say them. */
#include "tests/unit/cmocka_first.h"

#include "engine/words.h"

#include <string.h>

typedef char *words_fn(double value, char text[WORDS]);

static void figures_read_as_people_say_them(void **state)
{
    static const struct {
        words_fn *words;
        double value;
        const char *text;
    } rows[] = {
        { words_count, 0, "0" },
        { words_count, 999.6, "1,000" },
        { words_count, 1620093.3, "1,620,093" },
        { words_count, -12345, "-12,345" },
        { words_seconds, 3.75162, "3.75 s" },
        { words_seconds, 0.0018904, "1.89 ms" },
        { words_seconds, 0.99999, "1.00 s" },
        { words_seconds, 1.25e-6, "1.25 µs" },
        { words_seconds, 2.4e-8, "24.0 ns" },
        { words_seconds, 60911, "60,911 s" },
        { words_digits, 26.65, "26.6" },
        { words_digits, 0.25, "0.250" },
        { words_bytes, 0, "0 B" },
        { words_bytes, 4096, "4 KiB" },
        { words_bytes, 1024 * 1024 * 1.5, "1.50 MiB" },
        { words_bytes, 500107862016, "466 GiB" },
        { words_percent, 0.5103, "51 %" },
        { words_percent, 0.0123, "1.23 %" },
        { words_percent, 46.02, "4,602 %" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[WORDS];
        assert_string_equal(rows[i].words(rows[i].value, text), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(figures_read_as_people_say_them) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
