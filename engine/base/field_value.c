/* What a field allows, in words, and the gathering of lists. */
#include "engine/base/field_value.h"

#include "engine/base/matrix.h"
#include "engine/base/text.h"

/* A bound in the field's own form: "8 KiB", "1 h", "5 %", "64". */
static char *bound_text(const struct field *f, double bound, char *text, size_t size)
{
    struct field local = { .type = f->type };
    uint64_t bytes;
    nsec duration;
    if (f->type == FT_BYTES) {
        bytes = (uint64_t)bound;
        field_format(&local, &bytes, text, size);
    } else if (f->type == FT_SECONDS) {
        duration = (nsec)(bound * 1e9);
        field_format(&local, &duration, text, size);
    } else if (f->type == FT_SHARE) {
        field_format(&local, &bound, text, size);
    } else {
        snprintf(text, size, "%.16g", bound);
    }
    return text;
}

/* " from 1 to 64", " of at least 1" or nothing. */
static void add_range(const struct field *f, char *text, size_t size)
{
    char low[64], high[64];
    double max = f->max;
    if (f->type == FT_SHARE && max <= f->min)
        max = 1;
    bound_text(f, f->min, low, sizeof low);
    bound_text(f, max, high, sizeof high);
    if (max > f->min)
        snprintf(text, size, " from %s to %s", low, high);
    else if (f->min != 0 || f->type == FT_COUNT || f->type == FT_BYTES || f->type == FT_SECONDS)
        snprintf(text, size, " of at least %s", low);
    else
        text[0] = '\0';
}

static void add_choices(const struct field *f, char *text, size_t size)
{
    size_t n = strlen(text);
    for (int i = 0; f->choices[i]; i++) {
        int more = snprintf(text + n, size - n, "%s%s", i ? ", " : "", f->choices[i]);
        if (more < 0 || (size_t)more >= size - n)
            return; /* the rest is in the documentation */
        n += (size_t)more;
    }
}

char *field_allowed(const struct field *f, char text[ALLOWED_TEXT])
{
    char range[140];
    const double most = f->max > f->min ? f->max : TEXT_MOST;
    add_range(f, range, sizeof range);
    switch (f->type) {
    case FT_BOOL:
        snprintf(text, ALLOWED_TEXT, "true or false");
        break;
    case FT_COUNT:
    case FT_SIGNED:
        snprintf(text, ALLOWED_TEXT, "a whole number%s", range);
        break;
    case FT_BYTES:
        snprintf(text, ALLOWED_TEXT, "a size%s, such as 8192 or 8KiB", range);
        break;
    case FT_SECONDS:
        snprintf(text, ALLOWED_TEXT, "a duration%s, such as 90 or 1h30m", range);
        break;
    case FT_SHARE:
        snprintf(text, ALLOWED_TEXT, "a share%s, such as 0.05 or 5%%", range);
        break;
    case FT_NUMBER:
        snprintf(text, ALLOWED_TEXT, "a number%s", range);
        break;
    case FT_TIME:
        snprintf(text, ALLOWED_TEXT, "a time such as 2026-01-31T23:59:59Z");
        break;
    case FT_TEXT:
        snprintf(text, ALLOWED_TEXT, "text of %.0f to %.0f characters without control characters",
                 f->min, most);
        break;
    case FT_TEXTS:
        snprintf(text, ALLOWED_TEXT, "a list of at most %d texts", TEXTS_MOST);
        break;
    case FT_MAP:
        snprintf(text, ALLOWED_TEXT, "at most %d names with texts", MAP_MOST);
        break;
    case FT_CHOICE:
        snprintf(text, ALLOWED_TEXT, "one of ");
        add_choices(f, text, ALLOWED_TEXT);
        break;
    case FT_CHOICES:
        snprintf(text, ALLOWED_TEXT, "a list, each at most once, of ");
        add_choices(f, text, ALLOWED_TEXT);
        break;
    case FT_LIST:
        snprintf(text, ALLOWED_TEXT, "a list of 1 to %d whole numbers, each%s", LIST_MOST,
                 range[0] ? range : " of at least 0");
        break;
    case FT_ARRAY:
        snprintf(text, ALLOWED_TEXT, "a list of at most %.0f objects",
                 f->max > f->min ? f->max : ARRAY_MOST);
        break;
    case FT_MATRIX:
        snprintf(text, ALLOWED_TEXT,
                 "an object of at most %d parameters, each with a list of values", AXES_MOST);
        break;
    case FT_VARIANT:
    case FT_OBJECT:
        snprintf(text, ALLOWED_TEXT, "an object");
        break;
    case FT_JSON:
    case FT_END:
        snprintf(text, ALLOWED_TEXT, "left out");
        break;
    }
    return text;
}

int choices_add(const struct field *f, const char *name, uint64_t *bits)
{
    for (unsigned i = 0; f->choices[i]; i++)
        if (strcmp(f->choices[i], name) == 0) {
            if (*bits & (UINT64_C(1) << i))
                return -1;
            *bits |= UINT64_C(1) << i;
            return 0;
        }
    return -1;
}

int texts_add(const struct field *f, struct texts *texts, const char *text)
{
    if (texts->n == TEXTS_MOST || !*text || !field_text_allowed(f, text))
        return -1;
    if (!texts->at && !(texts->at = calloc(TEXTS_MOST, sizeof *texts->at)))
        return -1;
    texts->at[texts->n] = strdup(text);
    return texts->at[texts->n] ? (texts->n++, 0) : -1;
}

int map_add(const struct field *f, struct map *map, const char *name, const char *value)
{
    const struct field as_name = { .type = FT_TEXT, .min = 1, .max = NAME_MOST };
    if (map->n == MAP_MOST || !field_text_allowed(&as_name, name) || !field_text_allowed(f, value))
        return -1;
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->at[i].name, name) == 0)
            return -1;
    if (!map->at && !(map->at = calloc(MAP_MOST, sizeof *map->at)))
        return -1;
    struct pair *pair = &map->at[map->n];
    *pair = (struct pair){ strdup(name), strdup(value) };
    map->n++; /* map_done() frees halves too */
    return pair->name && pair->value ? 0 : -1;
}

int list_add(const struct field *f, struct list *list, double value)
{
    if (list->n == LIST_MOST || value < 0 || !field_in_range(f, value))
        return -1;
    list->at[list->n++] = (uint64_t)value;
    return 0;
}
