/* One field from text: settings, query, command line. A value is read into a local, checked, and
 * only then stored, so that a refused text changes nothing. */
#include "engine/base/field_value.h"

#include "engine/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>

__extension__ typedef unsigned __int128 wide; /* products of a size and its unit, exact */

enum { DIGITS_MOST = 18 }; /* of a number, so that it fits in 64 bits */

/* A decimal number: whole / tenths, exact. */
struct decimal {
    uint64_t digits, scale;
};

static const char *skip_blanks(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

/* Reads "12" or "1.5" and returns what follows; NULL if there is none. */
static const char *read_decimal(const char *p, struct decimal *ret)
{
    struct decimal number = { 0, 1 };
    size_t n = 0;
    bool point = false;
    for (;; p++) {
        if (*p == '.' && !point && n > 0 && isdigit((unsigned char)p[1])) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*p))
            break;
        if (++n > DIGITS_MOST)
            return NULL;
        number.digits = number.digits * 10 + (uint64_t)(*p - '0');
        if (point)
            number.scale *= 10;
    }
    *ret = number;
    return n ? p : NULL;
}

/* number * unit, when that is whole and fits below most. */
static int scaled(struct decimal number, uint64_t unit, uint64_t most, uint64_t *ret)
{
    wide product = (wide)number.digits * unit;
    if (product % number.scale || product / number.scale > most)
        return -1;
    *ret = (uint64_t)(product / number.scale);
    return 0;
}

int parse_bytes(const char *text, uint64_t *ret)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        { "", 1 },
        { "B", 1 },
        { "kB", 1000 },
        { "KB", 1000 },
        { "MB", 1000000 },
        { "GB", 1000000000 },
        { "TB", UINT64_C(1000000000000) },
        { "PB", UINT64_C(1000000000000000) },
        { "KiB", UINT64_C(1) << 10 },
        { "MiB", UINT64_C(1) << 20 },
        { "GiB", UINT64_C(1) << 30 },
        { "TiB", UINT64_C(1) << 40 },
        { "PiB", UINT64_C(1) << 50 },
    };
    struct decimal number;
    const char *rest = read_decimal(text, &number);
    if (!rest)
        return -1;
    rest = *rest ? skip_blanks(rest) : rest;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcmp(rest, units[i].name) == 0)
            return scaled(number, units[i].bytes, UINT64_MAX, ret);
    return -1;
}

int parse_duration(const char *text, nsec *ret)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        { "d", UINT64_C(86400000000000) },
        { "h", UINT64_C(3600000000000) },
        { "min", UINT64_C(60000000000) },
        { "m", UINT64_C(60000000000) },
        { "s", UINT64_C(1000000000) },
        { "ms", 1000000 },
        { "us", 1000 },
        { "ns", 1 },
    };
    struct decimal number;
    uint64_t part, total = 0, last = UINT64_MAX;
    const char *p = read_decimal(text, &number);
    if (p && !*p) { /* a plain number is seconds */
        if (scaled(number, NSEC_PER_SEC, INT64_MAX, &total) < 0)
            return -1;
        *ret = (nsec)total;
        return 0;
    }
    for (; p; p = read_decimal(p, &number)) {
        p = skip_blanks(p);
        size_t n = 0, i = 0;
        while (isalpha((unsigned char)p[n]))
            n++;
        while (i < COUNT_OF(units) && (strlen(units[i].name) != n || strncmp(p, units[i].name, n)))
            i++;
        /* Larger units first and each once: "1h30m", not "30m1h". */
        if (i == COUNT_OF(units) || units[i].ns >= last ||
            scaled(number, units[i].ns, INT64_MAX - total, &part) < 0)
            return -1;
        total += part;
        last = units[i].ns;
        p = p[n] ? skip_blanks(p + n) : p + n;
        if (!*p) {
            *ret = (nsec)total;
            return 0;
        }
    }
    return -1;
}

int parse_share(const char *text, double *ret)
{
    struct decimal number;
    const char *rest = read_decimal(text, &number);
    if (!rest)
        return -1;
    bool percent = *rest && strcmp(skip_blanks(rest), "%") == 0;
    if (*rest && !percent)
        return -1;
    *ret = (double)number.digits / ((double)number.scale * (percent ? 100 : 1));
    return 0;
}

static int parse_whole(const char *text, double *ret)
{
    const char *p = text + (*text == '-');
    size_t n = strspn(p, "0123456789");
    if (n == 0 || p[n] || n > DIGITS_MOST)
        return -1;
    double value = (double)strtoll(text, NULL, 10);
    if (fabs(value) > EXACT_MOST)
        return -1;
    *ret = value;
    return 0;
}

static int parse_number(const char *text, double *ret)
{
    if (!*text || text[strspn(text, "0123456789.eE+-")])
        return -1;
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (*end || errno || !isfinite(value))
        return -1;
    *ret = value;
    return 0;
}

static int parse_bool(const char *text, bool *ret)
{
    static const char *const no[] = { "no", "false", "off", "0" }, *const yes[] = { "yes", "true",
                                                                                    "on", "1" };
    for (size_t i = 0; i < COUNT_OF(no); i++) {
        bool is = strcmp(text, yes[i]) == 0;
        if (is || strcmp(text, no[i]) == 0) {
            *ret = is;
            return 0;
        }
    }
    return -1;
}

static int parse_choice(const struct field *f, const char *text, int *ret)
{
    for (int i = 0; f->choices[i]; i++)
        if (strcmp(f->choices[i], text) == 0) {
            *ret = i;
            return 0;
        }
    return -1;
}

/* Copies the next entry of "a, b" without the blanks around it and moves *text past it; NULL after
 * the last or without memory. */
static char *next_entry(const char **text)
{
    if (!*text)
        return NULL;
    const char *begin = *text + strspn(*text, " \t"), *comma = strchr(begin, ',');
    size_t n = comma ? (size_t)(comma - begin) : strlen(begin);
    while (n > 0 && strchr(" \t", begin[n - 1]))
        n--;
    *text = comma ? comma + 1 : NULL;
    return strndup(begin, n);
}

static int add_pair(const struct field *f, struct map *map, char *entry)
{
    char *equals = strchr(entry, '=');
    if (!equals)
        return -1;
    char *name_end = equals, *value = equals + 1 + strspn(equals + 1, " \t");
    while (name_end > entry && strchr(" \t", name_end[-1]))
        name_end--;
    *name_end = '\0';
    return map_add(f, map, entry, value);
}

/* All the entries of a list into `at`, a zeroed value of the field's type. */
static int parse_entries(const struct field *f, const char *text, void *at)
{
    if (!*text)
        return f->type == FT_TEXTS || f->type == FT_MAP ? 0 : -1;
    for (;;) {
        scoped_free char *entry = next_entry(&text);
        double number;
        if (!entry)
            return text ? -1 : 0;
        int added = -1;
        if (f->type == FT_CHOICES)
            added = choices_add(f, entry, at);
        else if (f->type == FT_TEXTS)
            added = texts_add(f, at, entry);
        else if (f->type == FT_MAP)
            added = add_pair(f, at, entry);
        else if (parse_whole(entry, &number) == 0)
            added = list_add(f, at, number);
        if (added < 0)
            return -1;
    }
}

union value {
    bool truth;
    uint64_t count;
    int64_t whole;
    nsec time;
    double number;
    char *text;
    struct texts texts;
    struct map map;
    struct list list;
    int choice;
};

static int read_count(const struct field *f, const char *text, void *at)
{
    double number;
    if (parse_whole(text, &number) < 0 || !field_in_range(f, number))
        return -1;
    if (f->type == FT_SIGNED)
        *(int64_t *)at = (int64_t)number;
    else if (number < 0)
        return -1;
    else
        *(uint64_t *)at = (uint64_t)number;
    return 0;
}

/* Reads and checks; returns how many bytes of the value to store, 0 if it is refused. */
static size_t read_value(const struct field *f, const char *text, union value *v)
{
    switch (f->type) {
    case FT_BOOL:
        return parse_bool(text, &v->truth) == 0 ? sizeof v->truth : 0;
    case FT_COUNT:
    case FT_SIGNED:
        return read_count(f, text, v) == 0 ? sizeof v->count : 0;
    case FT_BYTES:
        return parse_bytes(text, &v->count) == 0 && v->count <= (uint64_t)EXACT_MOST &&
                       field_in_range(f, (double)v->count)
                   ? sizeof v->count
                   : 0;
    case FT_SECONDS:
        return parse_duration(text, &v->time) == 0 && field_in_range(f, seconds_of(v->time))
                   ? sizeof v->time
                   : 0;
    case FT_SHARE:
        return parse_share(text, &v->number) == 0 && field_in_range(f, v->number) ? sizeof v->number
                                                                                  : 0;
    case FT_NUMBER:
        return parse_number(text, &v->number) == 0 && field_in_range(f, v->number)
                   ? sizeof v->number
                   : 0;
    case FT_TIME:
        return clock_parse(text, &v->time) == 0 ? sizeof v->time : 0;
    case FT_TEXT:
        return field_text_allowed(f, text) && (v->text = strdup(text)) ? sizeof v->text : 0;
    case FT_CHOICE:
        return parse_choice(f, text, &v->choice) == 0 ? sizeof v->choice : 0;
    case FT_CHOICES:
        return parse_entries(f, text, v) == 0 ? sizeof v->count : 0;
    case FT_TEXTS:
        return parse_entries(f, text, v) == 0 ? sizeof v->texts : 0;
    case FT_MAP:
        return parse_entries(f, text, v) == 0 ? sizeof v->map : 0;
    case FT_LIST:
        return parse_entries(f, text, v) == 0 ? sizeof v->list : 0;
    default: /* objects have no text form */
        return 0;
    }
}

int field_parse(const struct field *f, const char *text, const char *where, void *object,
                struct problem *why)
{
    struct field local = *f; /* the same field of a union value instead of the object */
    union value v = { 0 };
    local.offset = 0;
    size_t size = read_value(f, text, &v);
    if (!size) {
        field_done(&local, &v);
        return field_refuse(f, where, *text ? text : "empty", why);
    }
    field_done(f, object);
    memcpy(field_at(f, object), &v, size);
    return 0;
}
