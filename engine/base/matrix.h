/* Several values for some fields of one table, and the objects that come of every combination of them: the
 * points. With no axes there is one point, which changes nothing. */
#pragma once
#include "engine/base/field.h"

enum { AXES_MOST = 8, AXIS_MOST = 1000 };

/* One more value, read from text, for the field of that name; `where` names it in problems. A value that
 * the axis has already is refused. The matrix must have its table, or be { .table, .object_size }. */
must_check int matrix_add(struct matrix *matrix, const char *name, const char *text,
                          const char *where, struct problem *why);
/* The same of a value that was bound: moves it out of `object`, which has nothing else, and frees that. */
must_check int matrix_take(struct matrix *matrix, const struct field *field, void *object,
                           const char *where, struct problem *why);
const struct axis *matrix_axis(const struct matrix *matrix, const char *name); /* NULL: none */
/* How many points; UINT64_MAX when they are not to be counted. */
uint64_t matrix_points(const struct matrix *matrix);
/* Which value of an axis point number `point` has: the last axis turns fastest. */
size_t matrix_place(const struct matrix *matrix, uint64_t point, size_t axis);
/* Sets the axes' fields of *object as that point has them. */
must_check int matrix_apply(const struct matrix *matrix, uint64_t point, void *object,
                            struct problem *why);
/* All of `from`, replacing nothing: *ret must be zeroed. */
must_check int matrix_copy(const struct matrix *from, struct matrix *ret, struct problem *why);
void matrix_done(struct matrix *matrix);

/* Copies one field's value, and what it owns. Not for objects within objects. */
must_check int field_copy(const struct field *field, const void *from, void *to,
                          struct problem *why);
