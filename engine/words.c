#include "engine/words.h"

#include "engine/base/attr.h"

#include <math.h>

char *words_count(double value, char text[WORDS])
{
    char digits[WORDS];
    size_t out = 0;
    int n = snprintf(digits, sizeof digits, "%.0f", fabs(round(value)));
    if (n < 0 || n > 24)
        return words_digits(value, text);
    if (value <= -0.5)
        text[out++] = '-';
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            text[out++] = ',';
        text[out++] = digits[i];
    }
    text[out] = 0;
    return text;
}

char *words_digits(double value, char text[WORDS])
{
    double size = fabs(value);
    int digits = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
    if (size >= 1000 && size < 1e15)
        return words_count(value, text);
    if (size > 0 && (size < 0.1 || size >= 1e15))
        snprintf(text, WORDS, "%.3g", value);
    else
        snprintf(text, WORDS, "%.*f", digits, value);
    return text;
}

char *words_seconds(double value, char text[WORDS])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "µs" }, { 1e-9, "ns" } };
    char number[WORDS];
    size_t i = 0;
    while (i + 1 < COUNT_OF(units) && fabs(value) < 0.9995 * units[i].unit)
        i++;
    words_digits(value / units[i].unit, number);
    snprintf(text, WORDS, "%.24s %s", number, units[i].name);
    return text;
}

char *words_bytes(double value, char text[WORDS])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    char number[WORDS];
    size_t i = 0;
    while (i + 1 < COUNT_OF(units) && fabs(value) >= 1024) {
        value /= 1024;
        i++;
    }
    if (value == floor(value))
        words_count(value, number);
    else
        words_digits(value, number);
    snprintf(text, WORDS, "%.24s %s", number, units[i]);
    return text;
}

char *words_load(double value, const char *unit, char text[WORDS])
{
    char number[WORDS];
    if (strcmp(unit, "bytes") == 0)
        return words_bytes(value, text);
    snprintf(text, WORDS, "%.24s %.14s", words_count(value, number), unit);
    return text;
}

char *words_rate(double value, const char *unit, char text[WORDS])
{
    char number[WORDS];
    if (strcmp(unit, "bytes") == 0)
        snprintf(text, WORDS, "%.36s/s", words_bytes(value, number));
    else
        snprintf(text, WORDS, "%.24s %.12s/s", words_digits(value, number), unit);
    return text;
}

char *words_percent(double share, char text[WORDS])
{
    char number[WORDS];
    words_digits(100 * share, number);
    if (fabs(share) >= 0.1)
        words_count(100 * share, number);
    snprintf(text, WORDS, "%.24s %%", number);
    return text;
}
