/* Structs from JSON and back, and their JSON Schema, all from the one table. */
#pragma once
#include "engine/base/field.h"

#include <jansson.h>

static inline void json_decref_cell(json_t **json)
{
    json_decref(*json);
}
#define scoped_json scoped(json_decref_cell)

/* Fills *object (zeroed) from json, presets included; refuses unknown, missing and out-of-range
 * fields with their JSON pointer. `at` is the pointer of this object, "" for the body itself.
 * On failure the object owns nothing. */
must_check int fields_bind(const struct field *table, const json_t *json, const char *at,
                           void *object, struct problem *why);
/* A new object, or NULL when there is no memory. */
must_check json_t *fields_render(const struct field *table, const void *object);
/* What a point sets: {"threads": 4, "sync": "none"}. */
must_check json_t *matrix_point_json(const struct matrix *matrix, uint64_t point);
/* The same, kept as text, as people read it: "threads 4, sync none"; "" for NULL. Cut to what fits. Returns
 * text. */
char *matrix_point_words(const char *point, char *text, size_t size);
/* JSON Schema 2020-12 of the object. */
must_check json_t *fields_schema(const struct field *table);
/* The same for an answer: null where it may be, nothing required of the reader. */
must_check json_t *fields_schema_answer(const struct field *table);
