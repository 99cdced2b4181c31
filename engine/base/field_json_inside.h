/* Between field_json.c and field_json_matrix.c only. */
#pragma once
#include "engine/base/field_json.h"

enum { POINTER_TEXT = 256 }; /* a problem keeps less */

/* at + "/" + name, escaped as RFC 6901 wants; what does not fit is cut. Returns pointer. */
char *pointer_to(const char *at, const char *name, char pointer[POINTER_TEXT]);
/* A value that was given and is not null. */
must_check int field_bind(const struct field *field, const json_t *json, const char *where,
                          void *object, struct problem *why);
json_t *field_render(const struct field *field, const void *object);
/* "threads must be ..., not ..."; returns -1. */
int field_refuse_json(const struct field *field, const char *where, const json_t *given,
                      struct problem *why);

/* The axes of fields of `table`, whose objects have `size` bytes. */
must_check int matrix_bind(const struct field *field, const struct field *table, size_t size,
                           const json_t *json, const char *where, struct matrix *ret,
                           struct problem *why);
json_t *matrix_render(const struct matrix *matrix);
