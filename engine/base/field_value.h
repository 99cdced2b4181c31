/* Between the files that read fields (from text, from JSON): the checks that are the same for both.
 * Nobody else includes this. */
#pragma once
#include "engine/base/field.h"

enum {
    TEXT_MOST = 1000,   /* characters of a text whose table says nothing */
    NAME_MOST = 64,     /* characters of a name in a map */
    ARRAY_MOST = 10000, /* objects in an array whose table says nothing */
    ALLOWED_TEXT = 256, /* field_allowed() fits in it */
};

#define EXACT_MOST 9007199254740992.0 /* 2^53: beyond it JSON numbers are not exact */
#define NSEC_MOST  9e9                /* seconds that fit in nsec */

static inline void *field_at(const struct field *f, void *object)
{
    return (char *)object + f->offset;
}
static inline const void *field_in(const struct field *f, const void *object)
{
    return (const char *)object + f->offset;
}

/* What would be right: "a whole number from 1 to 64". Returns text. */
char *field_allowed(const struct field *f, char text[ALLOWED_TEXT]);
/* "threads must be a whole number from 1 to 64, not 0"; returns -1. */
int field_refuse(const struct field *f, const char *where, const char *given, struct problem *why);
/* "threads must be given"; returns -1. */
int field_missing(const struct field *f, const char *where, struct problem *why);

/* Whether the table allows the value; in the table's unit (bytes, seconds, share). */
bool field_in_range(const struct field *f, double value);
bool field_text_allowed(const struct field *f, const char *text);

/* Each reads the whole text; -1 if it is not one. */
int parse_bytes(const char *text, uint64_t *ret);
int parse_duration(const char *text, nsec *ret);
int parse_share(const char *text, double *ret);

/* Bits and entries that lists are gathered in. -1: unknown, twice, or too many. */
int choices_add(const struct field *f, const char *name, uint64_t *bits);
int texts_add(const struct field *f, struct texts *texts, const char *text);
int map_add(const struct field *f, struct map *map, const char *name, const char *value);
int list_add(const struct field *f, struct list *list, double value);

/* Frees what one field owns, and zeroes it. */
void field_done(const struct field *f, void *object);
/* The text of a sibling FT_TEXT, or NULL. */
const char *field_selected(const struct field *table, const char *selector, const void *object);
