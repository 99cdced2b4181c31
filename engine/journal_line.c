#include "engine/journal_line.h"

#include "engine/base/attr.h"

#include <zlib.h>

#define CRC_MEMBER ",\"crc\":\""
enum { CRC_DIGITS = 8, CRC_TAIL = sizeof CRC_MEMBER - 1 + CRC_DIGITS + 2 }; /* with "} */

#define X(member) \
    { #member, offsetof(struct sample, member), sizeof(((struct sample *)0)->member) },
const struct sample_column sample_columns[SAMPLE_COLUMN_COUNT] = { SAMPLE_COLUMNS(X) };
#undef X

char *line_number(char *to, uint64_t value)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    size_t n = 1;
    for (uint64_t rest = value; rest >= 10; rest /= 1000, n += 3)
        if (rest < 1000) {
            n += rest < 100 ? 1 : 2;
            break;
        }
    char *p = to + n;
    for (; value >= 100; value /= 100)
        memcpy(p -= 2, pairs + 2 * (value % 100), 2);
    if (value >= 10)
        memcpy(p - 2, pairs + 2 * value, 2);
    else
        *--p = (char)('0' + value);
    return to + n;
}

static uint32_t crc_of(const char *line, size_t n)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const unsigned char *)line, n);
}

size_t line_seal(char *line, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t crc = crc_of(line, n);
    char *p = line + n;
    memcpy(p, CRC_MEMBER, sizeof CRC_MEMBER - 1);
    p += sizeof CRC_MEMBER - 1;
    for (int shift = 28; shift >= 0; shift -= 4)
        *p++ = hex[crc >> shift & 15];
    memcpy(p, "\"}\n", 3);
    return (size_t)(p + 3 - line);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool line_valid(const char *line, size_t n)
{
    if (n <= CRC_TAIL || line[0] != '{' || memcmp(line + n - 2, "\"}", 2) != 0)
        return false;
    const char *tail = line + n - CRC_TAIL, *digits = tail + sizeof CRC_MEMBER - 1;
    if (memcmp(tail, CRC_MEMBER, sizeof CRC_MEMBER - 1) != 0)
        return false;
    uint32_t crc = 0;
    for (int i = 0; i < CRC_DIGITS; i++) {
        if (hex_digit(digits[i]) < 0)
            return false;
        crc = crc << 4 | (uint32_t)hex_digit(digits[i]);
    }
    return crc == crc_of(line, n - CRC_TAIL);
}

/* --- samples, read without building JSON values --- */

struct cursor {
    const char *p, *end;
};

static bool take(struct cursor *cursor, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(cursor->end - cursor->p) < n || memcmp(cursor->p, text, n) != 0)
        return false;
    cursor->p += n;
    return true;
}

/* A whole number as JSON writes it, below 2^63; anything else is for the JSON parser. */
static bool take_number(struct cursor *cursor, uint64_t *ret)
{
    const char *p = cursor->p;
    uint64_t value = 0;
    while (p < cursor->end && *p >= '0' && *p <= '9')
        value = value * 10 + (uint64_t)(*p++ - '0');
    ptrdiff_t digits = p - cursor->p;
    if (digits < 1 || digits > 18 || (digits > 1 && *cursor->p == '0'))
        return false;
    cursor->p = p;
    *ret = value;
    return true;
}

/* A string without escapes; leaves it in the line. */
static bool take_string(struct cursor *cursor, const char **ret, size_t *ret_n)
{
    if (!take(cursor, "\""))
        return false;
    const char *start = cursor->p;
    while (cursor->p < cursor->end && *cursor->p != '"') {
        if (*cursor->p == '\\' || (unsigned char)*cursor->p < ' ')
            return false;
        cursor->p++;
    }
    *ret = start;
    *ret_n = (size_t)(cursor->p - start);
    return take(cursor, "\"");
}

static bool take_column(struct cursor *cursor, const struct sample_column *column, size_t *ret_n,
                        struct sample *samples)
{
    size_t n = 0;
    uint64_t most = column->size == sizeof(uint32_t) ? UINT32_MAX : INT64_MAX;
    if (!take(cursor, "["))
        return false;
    do {
        uint64_t value;
        if (n == SAMPLE_GROUP || !take_number(cursor, &value) || value > most)
            return false;
        sample_column_set(&samples[n++], column, value);
    } while (take(cursor, ","));
    *ret_n = n;
    return take(cursor, "]");
}

bool line_read_samples(const char *line, size_t n, struct samples_line *ret,
                       struct sample samples[SAMPLE_GROUP])
{
    struct cursor cursor = { line, line + n - CRC_TAIL };
    struct samples_line got = { 0 };
    if (!take(&cursor, "{\"seq\":") || !take_number(&cursor, &got.seq) ||
        !take(&cursor, ",\"record\":\"samples\",\"run\":") || !take_number(&cursor, &got.run) ||
        !take(&cursor, ",\"leg\":") || !take_number(&cursor, &got.leg) ||
        !take(&cursor, ",\"phase\":") || !take_string(&cursor, &got.phase, &got.phase_n))
        return false;
    for (size_t i = 0; i < SAMPLE_COLUMN_COUNT; i++) {
        const struct sample_column *column = &sample_columns[i];
        size_t count;
        if (!take(&cursor, ",\"") || !take(&cursor, column->name) || !take(&cursor, "\":") ||
            !take_column(&cursor, column, &count, samples) || (i && count != got.n))
            return false;
        got.n = count;
    }
    if (cursor.p != cursor.end)
        return false;
    *ret = got;
    return true;
}
