/* Structs from JSON and back. The JSON Schema of the same tables is in field_schema.c. */
#include "engine/base/field_json_inside.h"
#include "engine/base/field_value.h"
#include "engine/base/text.h"

#include <math.h>

char *pointer_to(const char *at, const char *name, char pointer[POINTER_TEXT])
{
    scoped(text_done) struct text text = { 0 };
    text_addf(&text, "%s/", at);
    for (const char *p = name; *p && text.n < POINTER_TEXT; p++)
        if (*p == '~')
            text_addf(&text, "~0");
        else if (*p == '/')
            text_addf(&text, "~1");
        else
            text_add(&text, p, 1);
    return text_shown(text.at ? text.at : at, pointer, POINTER_TEXT);
}

int field_refuse_json(const struct field *f, const char *where, const json_t *given,
                      struct problem *why)
{
    scoped_free char *dump = json_dumps(given, JSON_COMPACT | JSON_ENCODE_ANY);
    return field_refuse(f, where, dump ? dump : "this", why);
}

/* A number of any JSON form that is exact, or NAN. */
static double exact_number(const json_t *json)
{
    if (json_is_real(json))
        return json_real_value(json);
    if (!json_is_integer(json))
        return NAN;
    json_int_t whole = json_integer_value(json);
    return whole > (json_int_t)EXACT_MOST || whole < -(json_int_t)EXACT_MOST ? NAN : (double)whole;
}

static const char *whole_text(const json_t *json)
{
    const char *text = json_string_value(json);
    return text && strlen(text) == json_string_length(json) ? text : NULL;
}

static int bind_number(const struct field *f, const json_t *json, void *at)
{
    double number = exact_number(json);
    bool whole = f->type == FT_COUNT || f->type == FT_SIGNED || f->type == FT_BYTES;
    if (!field_in_range(f, number))
        return -1;
    if (whole && (number != floor(number) || fabs(number) > EXACT_MOST))
        return -1;
    if (f->type == FT_SIGNED)
        *(int64_t *)at = (int64_t)number;
    else if (whole && number < 0)
        return -1;
    else if (whole)
        *(uint64_t *)at = (uint64_t)number;
    else if (f->type == FT_SECONDS && number > 0 && number < 1e-9)
        return -1; /* 0 may mean something else, such as no bound */
    else if (f->type == FT_SECONDS)
        *(nsec *)at = llround(number * 1e9);
    else
        *(double *)at = number;
    return 0;
}

static int bind_entries(const struct field *f, const json_t *json, void *object)
{
    void *at = field_at(f, object);
    size_t i;
    json_t *entry;
    if (!json_is_array(json) || (json_array_size(json) == 0 && f->type != FT_TEXTS))
        return -1;
    json_array_foreach(json, i, entry)
    {
        const char *text = whole_text(entry);
        double number = exact_number(entry);
        int added = -1;
        if (f->type == FT_LIST)
            added = number == floor(number) ? list_add(f, at, number) : -1;
        else if (text)
            added = f->type == FT_TEXTS ? texts_add(f, at, text) : choices_add(f, text, at);
        if (added < 0)
            return -1;
    }
    return 0;
}

static int bind_map(const struct field *f, const json_t *json, const char *where, void *object,
                    struct problem *why)
{
    const struct field as_text = { .name = f->name, .type = FT_TEXT, .min = f->min, .max = f->max };
    struct map *map = field_at(f, object);
    const char *name;
    json_t *value;
    if (!json_is_object(json) || json_object_size(json) > MAP_MOST)
        return field_refuse_json(f, where, json, why);
    json_object_foreach((json_t *)(uintptr_t)json, name, value)
    {
        char pointer[POINTER_TEXT];
        const char *text = whole_text(value);
        if (text && map_add(f, map, name, text) == 0)
            continue;
        pointer_to(where, name, pointer);
        if (text && field_text_allowed(&as_text, text))
            return problem_field(
                why, pointer,
                "each name in %s must be 1 to %d characters without control characters", f->name,
                NAME_MOST);
        return field_refuse_json(&as_text, pointer, value, why);
    }
    return 0;
}

static int bind_object(const struct field *table, size_t size, const json_t *json,
                       const char *where, void **ret, struct problem *why)
{
    scoped_free void *object = calloc(1, size ? size : 1);
    if (!object)
        return problem_memory(why);
    if (fields_bind(table, json, where, object, why) < 0)
        return -1;
    *ret = steal(&object);
    return 0;
}

static int bind_array(const struct field *f, const json_t *json, const char *where, void *object,
                      struct problem *why)
{
    struct array *array = field_at(f, object);
    size_t n = json_array_size(json);
    double most = f->max > f->min ? f->max : ARRAY_MOST;
    if (!json_is_array(json) || (double)n > most || (double)n < f->min)
        return field_refuse_json(f, where, json, why);
    if (n == 0)
        return 0;
    array->at = calloc(n, f->of_size);
    if (!array->at)
        return problem_memory(why);
    for (size_t i = 0; i < n; i++, array->n++) {
        char index[24], pointer[POINTER_TEXT];
        snprintf(index, sizeof index, "%zu", i);
        if (fields_bind(f->of, json_array_get(json, i), pointer_to(where, index, pointer),
                        (char *)array->at + i * f->of_size, why) < 0)
            return -1;
    }
    return 0;
}

static int unknown_selected(const struct field *table, const struct field *f, const char *selected,
                            const char *at, struct problem *why)
{
    char pointer[POINTER_TEXT], known[200] = "", shown[64];
    size_t n = 0;
    const char *name;
    for (size_t i = 0; (name = f->variant->name(i)) && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", name);
    const struct field *selector = field_named(table, f->variant->selector);
    return problem_field(why, pointer_to(at, f->variant->selector, pointer),
                         "%s must be one of %s, not %s", selector->name, known,
                         text_shown(selected, shown, sizeof shown));
}

/* json NULL: not given, so the presets of the selected table; or no axes. */
static int bind_variant(const struct field *table, const struct field *f, const json_t *json,
                        const char *at, const char *where, void *object, struct problem *why)
{
    const char *selected = field_selected(table, f->variant->selector, object);
    struct bound *bound = field_at(f, object);
    size_t size;
    if (!selected)
        return json ? field_refuse_json(f, where, json, why) : 0;
    const struct field *chosen = f->variant->table(selected, &size);
    if (!chosen)
        return unknown_selected(table, f, selected, at, why);
    if (f->type == FT_MATRIX)
        return matrix_bind(f, chosen, size, json, where, field_at(f, object), why);
    scoped_json json_t *empty = json ? NULL : json_object();
    if (!json && !empty)
        return problem_memory(why);
    bound->table = chosen;
    return bind_object(chosen, size, json ? json : empty, where, &bound->object, why);
}

static int bind_text(const struct field *f, const json_t *json, const char *where, void *object,
                     struct problem *why)
{
    const char *text = whole_text(json);
    return text ? field_parse(f, text, where, object, why) : field_refuse_json(f, where, json, why);
}

/* The preset is in place and is replaced. */
int field_bind(const struct field *f, const json_t *json, const char *where, void *object,
               struct problem *why)
{
    void *at = field_at(f, object);
    switch (f->type) {
    case FT_BOOL:
        if (!json_is_boolean(json))
            return field_refuse_json(f, where, json, why);
        *(bool *)at = json_is_true(json);
        return 0;
    case FT_BYTES:
    case FT_SECONDS:
    case FT_SHARE:
        if (json_is_string(json))
            return bind_text(f, json, where, object, why);
        return bind_number(f, json, at) < 0 ? field_refuse_json(f, where, json, why) : 0;
    case FT_COUNT:
    case FT_SIGNED:
    case FT_NUMBER:
        return bind_number(f, json, at) < 0 ? field_refuse_json(f, where, json, why) : 0;
    case FT_TIME:
    case FT_TEXT:
    case FT_CHOICE:
        return bind_text(f, json, where, object, why);
    case FT_TEXTS:
    case FT_CHOICES:
    case FT_LIST:
        field_done(f, object);
        if (f->type == FT_CHOICES)
            *(uint64_t *)at = 0;
        else if (f->type == FT_LIST)
            *(struct list *)at = (struct list){ 0 };
        return bind_entries(f, json, object) < 0 ? field_refuse_json(f, where, json, why) : 0;
    case FT_MAP:
        field_done(f, object);
        return bind_map(f, json, where, object, why);
    case FT_OBJECT:
        return bind_object(f->of, f->of_size, json, where, at, why);
    case FT_ARRAY:
        return bind_array(f, json, where, object, why);
    default: /* FT_JSON: only written */
        return field_refuse_json(f, where, json, why);
    }
}

static int bind_all(const struct field *table, const json_t *json, const char *at, void *object,
                    struct problem *why)
{
    char pointer[POINTER_TEXT];
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json, name, value)
    {
        if (!field_named(table, name))
            return field_unknown(table, name, pointer_to(at, name, pointer), why);
    }
    for (const struct field *f = table; f->type != FT_END; f++) {
        value = json_object_get(json, f->name);
        pointer_to(at, f->name, pointer);
        bool given = value && !json_is_null(value);
        if (!given && f->required)
            return field_missing(f, pointer, why);
        if (f->type == FT_VARIANT || f->type == FT_MATRIX) {
            if (bind_variant(table, f, given ? value : NULL, at, pointer, object, why) < 0)
                return -1;
        } else if (given && field_bind(f, value, pointer, object, why) < 0) {
            return -1;
        }
    }
    return 0;
}

int fields_bind(const struct field *table, const json_t *json, const char *at, void *object,
                struct problem *why)
{
    if (!json_is_object(json))
        return problem_field(why, at, "this must be an object");
    if (fields_preset(table, object, why) < 0)
        return -1;
    if (bind_all(table, json, at, object, why) < 0) {
        fields_done(table, object);
        return -1;
    }
    return 0;
}

static json_t *render_texts(const struct texts *texts)
{
    json_t *array = json_array();
    for (size_t i = 0; i < texts->n; i++)
        json_array_append_new(array, json_string(texts->at[i]));
    return array;
}

static json_t *render_map(const struct map *map)
{
    json_t *object = json_object();
    for (size_t i = 0; i < map->n; i++)
        json_object_set_new(object, map->at[i].name, json_string(map->at[i].value));
    return object;
}

static json_t *render_choices(const struct field *f, uint64_t bits)
{
    json_t *array = json_array();
    for (unsigned i = 0; f->choices[i]; i++)
        if (bits & (UINT64_C(1) << i))
            json_array_append_new(array, json_string(f->choices[i]));
    return array;
}

static json_t *render_list(const struct list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(array, json_integer((json_int_t)list->at[i]));
    return array;
}

static json_t *render_choice(const struct field *f, int choice)
{
    for (int i = 0; f->choices[i]; i++)
        if (i == choice)
            return json_string(f->choices[i]);
    return json_null();
}

static json_t *render_array(const struct field *f, const struct array *array)
{
    json_t *list = json_array();
    for (size_t i = 0; i < array->n; i++)
        if (json_array_append_new(list, fields_render(f->of, (char *)array->at + i * f->of_size)) <
            0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *render_duration(nsec value)
{
    return value % NSEC_PER_SEC ? json_real(seconds_of(value)) : json_integer(value / NSEC_PER_SEC);
}

static json_t *render_time(nsec wall)
{
    char text[CLOCK_TEXT];
    return wall ? json_string(clock_format(wall, text)) : json_null();
}

static json_t *render(const struct field *f, const void *at)
{
    const struct bound *bound = at;
    const char *text;
    switch (f->type) {
    case FT_BOOL:
        return json_boolean(*(const bool *)at);
    case FT_COUNT:
    case FT_BYTES:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case FT_SIGNED:
        return json_integer(*(const int64_t *)at);
    case FT_SECONDS:
        return render_duration(*(const nsec *)at);
    case FT_SHARE:
    case FT_NUMBER:
        return isfinite(*(const double *)at) ? json_real(*(const double *)at) : json_null();
    case FT_TIME:
        return render_time(*(const nsec *)at);
    case FT_TEXT:
        text = *(char *const *)at;
        return text ? json_string(text) : json_null();
    case FT_JSON:
        text = *(char *const *)at;
        return text ? json_loads(text, JSON_DECODE_ANY, NULL) : json_null();
    case FT_TEXTS:
        return render_texts(at);
    case FT_MAP:
        return render_map(at);
    case FT_CHOICE:
        return render_choice(f, *(const int *)at);
    case FT_CHOICES:
        return render_choices(f, *(const uint64_t *)at);
    case FT_LIST:
        return render_list(at);
    case FT_MATRIX:
        return matrix_render(at);
    case FT_VARIANT:
        return bound->object ? fields_render(bound->table, bound->object) : json_null();
    case FT_OBJECT:
        return *(void *const *)at ? fields_render(f->of, *(void *const *)at) : json_null();
    case FT_ARRAY:
        return render_array(f, at);
    case FT_END:
        break;
    }
    return NULL;
}

json_t *field_render(const struct field *field, const void *object)
{
    return render(field, field_in(field, object));
}

json_t *fields_render(const struct field *table, const void *object)
{
    scoped_json json_t *json = json_object();
    for (const struct field *f = table; f->type != FT_END; f++)
        if (json_object_set_new(json, f->name, render(f, field_in(f, object))) < 0)
            return NULL;
    return steal(&json);
}
