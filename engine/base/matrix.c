#include "engine/base/matrix.h"

#include "engine/base/field_value.h"
#include "engine/base/text.h"

/* --- values --- */

/* 0: it has parts of its own that are not copied here. */
static size_t size_of(const struct field *field)
{
    switch (field->type) {
    case FT_BOOL:
        return sizeof(bool);
    case FT_COUNT:
    case FT_SIGNED:
    case FT_BYTES:
    case FT_CHOICES:
        return sizeof(uint64_t);
    case FT_SECONDS:
    case FT_TIME:
        return sizeof(nsec);
    case FT_SHARE:
    case FT_NUMBER:
        return sizeof(double);
    case FT_CHOICE:
        return sizeof(int);
    case FT_LIST:
        return sizeof(struct list);
    case FT_TEXT:
        return sizeof(char *);
    case FT_TEXTS:
        return sizeof(struct texts);
    case FT_MAP:
        return sizeof(struct map);
    default:
        return 0;
    }
}

static int copy_text(const char *from, char **to, struct problem *why)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? problem_memory(why) : 0;
}

static int copy_texts(const struct field *field, const struct texts *from, struct texts *to,
                      struct problem *why)
{
    *to = (struct texts){ 0 };
    for (size_t i = 0; i < from->n; i++)
        if (texts_add(field, to, from->at[i]) < 0)
            return problem_memory(why);
    return 0;
}

static int copy_map(const struct field *field, const struct map *from, struct map *to,
                    struct problem *why)
{
    *to = (struct map){ 0 };
    for (size_t i = 0; i < from->n; i++)
        if (map_add(field, to, from->at[i].name, from->at[i].value) < 0)
            return problem_memory(why);
    return 0;
}

int field_copy(const struct field *field, const void *from_, void *to_, struct problem *why)
{
    const void *from = field_in(field, from_);
    void *to = field_at(field, to_);
    size_t size = size_of(field);
    if (!size)
        return problem_set(why, PROBLEM_INTERNAL, "%s cannot be copied", field->name);
    field_done(field, to_);
    switch (field->type) {
    case FT_TEXT:
        return copy_text(*(char *const *)from, to, why);
    case FT_TEXTS:
        return copy_texts(field, from, to, why);
    case FT_MAP:
        return copy_map(field, from, to, why);
    default:
        memcpy(to, from, size);
        return 0;
    }
}

/* By what people read of them. */
static bool is_same(const struct field *field, const void *a, const void *b)
{
    char one[512], other[512];
    return field_format(field, a, one, sizeof one) == 0 &&
           field_format(field, b, other, sizeof other) == 0 && strcmp(one, other) == 0;
}

static void value_free(const struct field *field, void *object)
{
    if (object)
        field_done(field, object);
    free(object);
}

/* --- axes --- */

const struct axis *matrix_axis(const struct matrix *matrix, const char *name)
{
    for (size_t i = 0; i < matrix->n; i++)
        if (strcmp(matrix->at[i].field->name, name) == 0)
            return &matrix->at[i];
    return NULL;
}

static struct axis *find_or_make(struct matrix *matrix, const struct field *field)
{
    for (size_t i = 0; i < matrix->n; i++)
        if (matrix->at[i].field == field)
            return &matrix->at[i];
    if (!matrix->at && !(matrix->at = calloc(AXES_MOST, sizeof *matrix->at)))
        return NULL;
    struct axis *axis = &matrix->at[matrix->n];
    if (!(axis->at = calloc(AXIS_MOST, sizeof *axis->at)))
        return NULL;
    axis->field = field;
    matrix->n++;
    return axis;
}

static int check(const struct matrix *matrix, const struct field *field, const void *object,
                 const char *where, struct problem *why)
{
    const struct axis *axis = matrix_axis(matrix, field->name);
    if (!size_of(field))
        return problem_field(why, where, "%s cannot be varied: it is an object", field->name);
    if (!axis && matrix->n == AXES_MOST)
        return problem_field(why, where, "at most %d parameters can be varied at once", AXES_MOST);
    if (axis && axis->n == AXIS_MOST)
        return problem_field(why, where, "%s can have at most %d values", field->name, AXIS_MOST);
    for (size_t i = 0; axis && i < axis->n; i++)
        if (is_same(field, axis->at[i], object))
            return problem_field(
                why, where, "%s has this value already; repeat says how often each is measured",
                field->name);
    return 0;
}

int matrix_take(struct matrix *matrix, const struct field *field, void *object, const char *where,
                struct problem *why)
{
    struct axis *axis = NULL;
    if (check(matrix, field, object, where, why) == 0 && !(axis = find_or_make(matrix, field)))
        problem_memory(why);
    if (!axis) {
        value_free(field, object);
        return -1;
    }
    axis->at[axis->n++] = object;
    return 0;
}

int matrix_add(struct matrix *matrix, const char *name, const char *text, const char *where,
               struct problem *why)
{
    const struct field *field = field_named(matrix->table, name);
    if (!field)
        return field_unknown(matrix->table, name, where, why);
    void *object = calloc(1, matrix->object_size);
    if (!object)
        return problem_memory(why);
    if (field_parse(field, text, where, object, why) < 0) {
        value_free(field, object);
        return -1;
    }
    return matrix_take(matrix, field, object, where, why);
}

void matrix_done(struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->n; i++) {
        struct axis *axis = &matrix->at[i];
        for (size_t k = 0; k < axis->n; k++)
            value_free(axis->field, axis->at[k]);
        free(axis->at);
    }
    free(matrix->at);
    *matrix = (struct matrix){ 0 };
}

int matrix_copy(const struct matrix *from, struct matrix *ret, struct problem *why)
{
    scoped(matrix_done) struct matrix copy = { .table = from->table,
                                               .object_size = from->object_size };
    for (size_t i = 0; i < from->n; i++)
        for (size_t k = 0; k < from->at[i].n; k++) {
            const struct field *field = from->at[i].field;
            void *object = calloc(1, from->object_size);
            if (!object)
                return problem_memory(why);
            if (field_copy(field, from->at[i].at[k], object, why) < 0) {
                value_free(field, object);
                return -1;
            }
            if (matrix_take(&copy, field, object, field->name, why) < 0)
                return -1;
        }
    *ret = copy;
    copy = (struct matrix){ 0 };
    return 0;
}

/* --- points --- */

uint64_t matrix_points(const struct matrix *matrix)
{
    uint64_t points = 1;
    for (size_t i = 0; i < matrix->n; i++)
        if (__builtin_mul_overflow(points, matrix->at[i].n, &points))
            return UINT64_MAX;
    return points;
}

size_t matrix_place(const struct matrix *matrix, uint64_t point, size_t axis)
{
    for (size_t i = matrix->n; i-- > axis + 1;)
        point /= matrix->at[i].n;
    return (size_t)(point % matrix->at[axis].n);
}

int matrix_apply(const struct matrix *matrix, uint64_t point, void *object, struct problem *why)
{
    for (size_t i = 0; i < matrix->n; i++) {
        const struct axis *axis = &matrix->at[i];
        if (field_copy(axis->field, axis->at[matrix_place(matrix, point, i)], object, why) < 0)
            return -1;
    }
    return 0;
}
