#include "engine/base/field_value.h"

#include "engine/base/matrix.h"
#include "engine/base/text.h"

#include <math.h>

/* Of a name of up to SHORT bytes two edits leave too little to be a slip of the hand. */
enum { EDITS_MOST = 2, SHORT = 4, SUGGEST_MOST = 40 };

const struct field *field_named(const struct field *table, const char *name)
{
    for (const struct field *f = table; f->type != FT_END; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* Levenshtein's distance, by rows; SUGGEST_MOST + 1 for names that nobody mistypes. */
static size_t edits(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), row[SUGGEST_MOST + 1];
    if (n > SUGGEST_MOST || m > SUGGEST_MOST)
        return SUGGEST_MOST + 1;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t least = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < least)
                least = row[j] + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    return row[m];
}

const char *field_suggest(const struct field *table, const char *name)
{
    const char *closest = NULL;
    size_t least = (strlen(name) > SHORT ? EDITS_MOST : 1) + 1;
    for (const struct field *f = table; f->type != FT_END; f++) {
        size_t distance = edits(name, f->name);
        /* A name of which nothing would remain is not a slip of the hand. */
        if (distance < least && distance < strlen(f->name)) {
            least = distance;
            closest = f->name;
        }
    }
    return closest;
}

int field_unknown(const struct field *table, const char *name, const char *where,
                  struct problem *why)
{
    char shown[SUGGEST_MOST + 8];
    const char *close = field_suggest(table, name);
    text_shown(name, shown, sizeof shown);
    if (close)
        return problem_field(why, where, "there is no field %s; did you mean %s?", shown, close);
    return problem_field(why, where, "there is no field %s", shown);
}

int field_missing(const struct field *f, const char *where, struct problem *why)
{
    char allowed[ALLOWED_TEXT];
    return problem_field(why, where, "%s must be given: %s", f->name, field_allowed(f, allowed));
}

int field_refuse(const struct field *f, const char *where, const char *given, struct problem *why)
{
    char allowed[ALLOWED_TEXT], shown[64];
    return problem_field(why, where, "%s must be %s, not %s", f->name, field_allowed(f, allowed),
                         text_shown(given, shown, sizeof shown));
}

bool field_in_range(const struct field *f, double value)
{
    if (!isfinite(value))
        return false;
    if (f->max > f->min)
        return value >= f->min && value <= f->max;
    switch (f->type) {
    case FT_SHARE:
        return value >= f->min && value <= 1;
    case FT_SECONDS:
        return value >= f->min && value <= NSEC_MOST;
    case FT_SIGNED: /* no bounds given: negative too */
    case FT_NUMBER:
        return (f->min == 0 && f->max == 0) || value >= f->min;
    default:
        return value >= f->min && value <= EXACT_MOST;
    }
}

bool field_text_allowed(const struct field *f, const char *text)
{
    double most = f->max > f->min ? f->max : TEXT_MOST, n = 0;
    if (!text_is_plain(text))
        return false;
    for (const char *p = text; *p; p += text_rune(p))
        n++;
    return n >= f->min && n <= most;
}

const char *field_selected(const struct field *table, const char *selector, const void *object)
{
    const struct field *f = field_named(table, selector);
    return f && f->type == FT_TEXT ? *(char *const *)field_in(f, object) : NULL;
}

static int preset_text(const struct field *f, void *object, struct problem *why)
{
    char *copy = strdup(f->preset_text);
    if (!copy)
        return problem_memory(why);
    *(char **)field_at(f, object) = copy;
    return 0;
}

static int preset(const struct field *f, void *object, struct problem *why)
{
    void *at = field_at(f, object);
    if (f->type == FT_TEXT)
        return f->preset_text ? preset_text(f, object, why) : 0;
    if (f->preset_text)
        return field_parse(f, f->preset_text, f->name, object, why);
    switch (f->type) {
    case FT_BOOL:
        *(bool *)at = f->preset != 0;
        return 0;
    case FT_COUNT:
    case FT_BYTES:
        *(uint64_t *)at = (uint64_t)f->preset;
        return 0;
    case FT_SIGNED:
        *(int64_t *)at = (int64_t)f->preset;
        return 0;
    case FT_SECONDS:
        *(nsec *)at = llround(f->preset * 1e9);
        return 0;
    case FT_SHARE:
    case FT_NUMBER:
        *(double *)at = f->preset;
        return 0;
    case FT_CHOICE:
        *(int *)at = (int)f->preset;
        return 0;
    case FT_LIST:
        *(struct list *)at = (struct list){ 0 };
        if (f->preset != 0 && list_add(f, at, f->preset) < 0)
            return problem_set(why, PROBLEM_INTERNAL, "%s has a wrong preset", f->name);
        return 0;
    default: /* zeroed is nothing, and nothing is the preset */
        return 0;
    }
}

int fields_preset(const struct field *table, void *object, struct problem *why)
{
    for (const struct field *f = table; f->type != FT_END; f++)
        if (preset(f, object, why) < 0) {
            fields_done(table, object);
            return -1;
        }
    return 0;
}

void texts_done(struct texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        free(texts->at[i]);
    free(texts->at);
    *texts = (struct texts){ 0 };
}

static void map_done(struct map *map)
{
    for (size_t i = 0; i < map->n; i++) {
        free(map->at[i].name);
        free(map->at[i].value);
    }
    free(map->at);
    *map = (struct map){ 0 };
}

static void array_done(const struct field *f, struct array *array)
{
    for (size_t i = 0; i < array->n; i++)
        fields_done(f->of, (char *)array->at + i * f->of_size);
    free(array->at);
    *array = (struct array){ 0 };
}

static void object_done(const struct field *table, void **object)
{
    if (*object)
        fields_done(table, *object);
    free(*object);
    *object = NULL;
}

void field_done(const struct field *f, void *object)
{
    void *at = field_at(f, object);
    switch (f->type) {
    case FT_TEXT:
    case FT_JSON:
        free(*(char **)at);
        *(char **)at = NULL;
        break;
    case FT_TEXTS:
        texts_done(at);
        break;
    case FT_MAP:
        map_done(at);
        break;
    case FT_ARRAY:
        array_done(f, at);
        break;
    case FT_OBJECT:
        object_done(f->of, at);
        break;
    case FT_MATRIX:
        matrix_done(at);
        break;
    case FT_VARIANT: {
        struct bound *bound = at;
        object_done(bound->table, &bound->object);
        bound->table = NULL;
        break;
    }
    default:
        break;
    }
}

void fields_done(const struct field *table, void *object)
{
    if (!object)
        return;
    for (const struct field *f = table; f->type != FT_END; f++)
        field_done(f, object);
}
