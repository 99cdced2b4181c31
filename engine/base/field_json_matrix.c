/* A matrix from JSON and back: {"threads": [1, 2, 4], "sync": ["none", "fsync"]}. */
#include "engine/base/field_json_inside.h"
#include "engine/base/field_value.h"
#include "engine/base/matrix.h"
#include "engine/base/text.h"

static int bind_one(struct matrix *matrix, const struct field *field, const json_t *json,
                    const char *where, struct problem *why)
{
    if (json_is_null(json))
        return field_refuse_json(field, where, json, why);
    void *object = calloc(1, matrix->object_size);
    if (!object)
        return problem_memory(why);
    if (field_bind(field, json, where, object, why) < 0) {
        field_done(field, object);
        free(object);
        return -1;
    }
    return matrix_take(matrix, field, object, where, why);
}

static int bind_axis(struct matrix *matrix, const char *name, const json_t *list, const char *where,
                     struct problem *why)
{
    const struct field *field = field_named(matrix->table, name);
    char pointer[POINTER_TEXT], index[24];
    size_t i;
    json_t *value;
    if (!field)
        return field_unknown(matrix->table, name, where, why);
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > AXIS_MOST)
        return problem_field(why, where, "%s must be a list of 1 to %d values", name, AXIS_MOST);
    json_array_foreach(list, i, value)
    {
        snprintf(index, sizeof index, "%zu", i);
        if (bind_one(matrix, field, value, pointer_to(where, index, pointer), why) < 0)
            return -1;
    }
    return 0;
}

int matrix_bind(const struct field *field, const struct field *table, size_t size,
                const json_t *json, const char *where, struct matrix *ret, struct problem *why)
{
    scoped(matrix_done) struct matrix matrix = { .table = table, .object_size = size };
    char pointer[POINTER_TEXT];
    const char *name;
    json_t *list;
    if (json && (!json_is_object(json) || json_object_size(json) > AXES_MOST))
        return field_refuse_json(field, where, json, why);
    json_object_foreach((json_t *)(uintptr_t)json, name, list)
    {
        if (bind_axis(&matrix, name, list, pointer_to(where, name, pointer), why) < 0)
            return -1;
    }
    *ret = matrix;
    matrix = (struct matrix){ 0 };
    return 0;
}

json_t *matrix_render(const struct matrix *matrix)
{
    json_t *object = json_object();
    for (size_t i = 0; i < matrix->n; i++) {
        const struct axis *axis = &matrix->at[i];
        json_t *list = json_array();
        for (size_t k = 0; k < axis->n; k++)
            json_array_append_new(list, field_render(axis->field, axis->at[k]));
        json_object_set_new(object, axis->field->name, list);
    }
    return object;
}

json_t *matrix_point_json(const struct matrix *matrix, uint64_t point)
{
    json_t *object = json_object();
    for (size_t i = 0; i < matrix->n; i++) {
        const struct axis *axis = &matrix->at[i];
        json_object_set_new(object, axis->field->name,
                            field_render(axis->field, axis->at[matrix_place(matrix, point, i)]));
    }
    return object;
}

static void add_words(struct text *words, const json_t *value)
{
    size_t i;
    json_t *entry;
    if (json_is_string(value)) {
        text_addf(words, "%s", json_string_value(value));
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, entry)
        {
            text_addf(words, "%s", i ? "+" : "");
            add_words(words, entry);
        }
    } else {
        scoped_free char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        text_addf(words, "%s", dump ? dump : "");
    }
}

char *matrix_point_words(const char *point, char *text, size_t size)
{
    scoped(text_done) struct text words = { 0 };
    scoped_json json_t *json = point ? json_loads(point, 0, NULL) : NULL;
    const char *name;
    json_t *value;
    json_object_foreach(json, name, value)
    {
        text_addf(&words, "%s%s ", words.n ? ", " : "", name);
        add_words(&words, value);
    }
    return text_shown(words.at ? words.at : "", text, size);
}
