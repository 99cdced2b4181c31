/* One field as people read it. What is written here, field_parse() reads. */
#include "engine/base/field_value.h"

#include "engine/base/text.h"

#include <inttypes.h>
#include <math.h>

static void bytes(struct text *out, uint64_t n)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        /* the largest that divides it: exact, and what was probably meant */
        { "PiB", UINT64_C(1) << 50 },
        { "PB", UINT64_C(1000000000000000) },
        { "TiB", UINT64_C(1) << 40 },
        { "TB", UINT64_C(1000000000000) },
        { "GiB", UINT64_C(1) << 30 },
        { "GB", 1000000000 },
        { "MiB", UINT64_C(1) << 20 },
        { "MB", 1000000 },
        { "KiB", UINT64_C(1) << 10 },
        { "kB", 1000 },
        { "B", 1 },
    };
    size_t i = 0;
    while (units[i].bytes > 1 && (n == 0 || n % units[i].bytes))
        i++;
    text_addf(out, "%" PRIu64 " %s", n / units[i].bytes, units[i].name);
}

static void duration(struct text *out, nsec value)
{
    static const struct {
        const char *name;
        nsec ns;
    } units[] = {
        { "d", 86400 * NSEC_PER_SEC },
        { "h", 3600 * NSEC_PER_SEC },
        { "min", 60 * NSEC_PER_SEC },
        { "s", NSEC_PER_SEC },
        { "ms", NSEC_PER_MSEC },
        { "us", NSEC_PER_USEC },
        { "ns", 1 },
    };
    if (value <= 0)
        text_addf(out, "0 s");
    for (size_t i = 0; i < COUNT_OF(units) && value > 0; i++)
        if (value >= units[i].ns) {
            text_addf(out, "%s%" PRId64 " %s", out->n ? " " : "", value / units[i].ns,
                      units[i].name);
            value %= units[i].ns;
        }
}

static void choices(struct text *out, const struct field *f, uint64_t bits)
{
    for (unsigned i = 0; f->choices[i]; i++)
        if (bits & (UINT64_C(1) << i))
            text_addf(out, "%s%s", out->n ? ", " : "", f->choices[i]);
}

static void write_value(struct text *out, const struct field *f, const void *at)
{
    char time[CLOCK_TEXT];
    const struct list *list = at;
    const struct texts *texts = at;
    const struct map *map = at;
    switch (f->type) {
    case FT_BOOL:
        text_addf(out, "%s", *(const bool *)at ? "yes" : "no");
        break;
    case FT_COUNT:
        text_addf(out, "%" PRIu64, *(const uint64_t *)at);
        break;
    case FT_SIGNED:
        text_addf(out, "%" PRId64, *(const int64_t *)at);
        break;
    case FT_BYTES:
        bytes(out, *(const uint64_t *)at);
        break;
    case FT_SECONDS:
        duration(out, *(const nsec *)at);
        break;
    case FT_SHARE:
        text_addf(out, "%.10g %%", *(const double *)at * 100);
        break;
    case FT_NUMBER:
        if (isfinite(*(const double *)at))
            text_addf(out, "%.15g", *(const double *)at);
        break;
    case FT_TIME:
        if (*(const nsec *)at)
            text_addf(out, "%s", clock_format(*(const nsec *)at, time));
        break;
    case FT_TEXT:
    case FT_JSON:
        if (*(char *const *)at)
            text_addf(out, "%s", *(char *const *)at);
        break;
    case FT_TEXTS:
        for (size_t i = 0; i < texts->n; i++)
            text_addf(out, "%s%s", i ? ", " : "", texts->at[i]);
        break;
    case FT_MAP:
        for (size_t i = 0; i < map->n; i++)
            text_addf(out, "%s%s=%s", i ? ", " : "", map->at[i].name, map->at[i].value);
        break;
    case FT_CHOICE:
        text_addf(out, "%s", f->choices[*(const int *)at]);
        break;
    case FT_CHOICES:
        choices(out, f, *(const uint64_t *)at);
        break;
    case FT_LIST:
        for (size_t i = 0; i < list->n; i++)
            text_addf(out, "%s%" PRIu64, i ? ", " : "", list->at[i]);
        break;
    default: /* objects have no text form */
        out->failed = true;
    }
}

int field_format(const struct field *f, const void *object, char *text, size_t size)
{
    scoped(text_done) struct text out = { 0 };
    write_value(&out, f, field_in(f, object));
    return out.failed ? text_fit(text, size, "%s", "") - 1
                      : text_fit(text, size, "%s", out.at ? out.at : "");
}
