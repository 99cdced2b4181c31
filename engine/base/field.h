/* One table describes a struct to JSON, OpenAPI, the web form, the command line and the settings
 * file. No fact about a parameter stands anywhere else. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type {
    FT_END,
    FT_BOOL,    /* bool */
    FT_COUNT,   /* uint64_t; "1_750_000" and "2k" are not numbers, 1750000 is */
    FT_SIGNED,  /* int64_t */
    FT_BYTES,   /* uint64_t; 8192 or "8KiB", "200MB" */
    FT_SECONDS, /* nsec; 90, 1.5 or "1h30m", "250ms" */
    FT_SHARE,   /* double, 0 to 1; 0.05 or "5%" */
    FT_NUMBER,  /* double; NAN is null */
    FT_TIME,    /* nsec since 1970, RFC 3339; 0 is null */
    FT_TEXT,    /* char *, owned; NULL is null; control characters are refused */
    FT_TEXTS,   /* struct texts: a list, or in text "a, b" */
    FT_MAP,     /* struct map: an object of texts */
    FT_CHOICE,  /* int: one of choices */
    FT_CHOICES, /* uint64_t: a set of bits over choices; a list, or in text "create,list" */
    FT_LIST,    /* struct list: 1 to LIST_MOST numbers; a list, or in text "1,2,4,8" */
    FT_VARIANT, /* struct bound: an object whose table depends on a sibling */
    FT_OBJECT,  /* void *, owned: an object of the table `of`; NULL is null */
    FT_ARRAY,   /* struct array, owned: objects of the table `of`, `of_size` bytes each */
    FT_MATRIX, /* struct matrix, owned: an object of lists, each of values of one field of the table
                 * that depends on a sibling */
    FT_JSON,   /* char *, owned: JSON text, rendered as it is; never bound */
};

enum { LIST_MOST = 32, TEXTS_MOST = 64, MAP_MOST = 32 };

struct list {
    size_t n;
    uint64_t at[LIST_MOST];
};
struct texts {
    size_t n;
    char **at;
};
struct pair {
    char *name, *value;
};
struct map {
    size_t n;
    struct pair *at;
};
struct array {
    size_t n;
    void *at;
};

struct field;

/* Several values for some fields of one table: what a sweep goes over (engine/base/matrix.h). */
struct axis {
    const struct field *field;
    size_t n;
    void **at; /* objects of the table in which this field alone is set */
};
struct matrix {
    const struct field *table; /* NULL: not bound, and so without axes */
    size_t object_size;
    size_t n;
    struct axis *at;
};

/* An object whose own table depends on a sibling: "params" follows "workload". */
struct variant {
    const char *selector; /* the name of an FT_TEXT sibling, which stands earlier in the table */
    const struct field *(*table)(const char *selected, size_t *ret_size); /* NULL if unknown */
    const char *(*name)(size_t i); /* NULL past the last; OpenAPI's oneOf */
};
struct bound {
    const struct field *table;
    void *object; /* owned */
};

struct field {
    const char *name;
    const char *doc; /* one sentence, shown to users */
    enum field_type type;
    size_t offset;
    bool required;
    bool nullable;           /* may be null in an answer (TIME, TEXT, NUMBER, OBJECT are by type) */
    double min, max, preset; /* exact to 2^53; max <= min: no upper bound. For TEXT: its length */
    const char *preset_text; /* FT_TEXT, FT_CHOICE, FT_CHOICES ("create,list"), FT_TEXTS */
    const char *const *choices;    /* FT_CHOICE, FT_CHOICES: NULL-terminated */
    const struct variant *variant; /* FT_VARIANT, FT_MATRIX */
    const struct field *of;        /* FT_OBJECT, FT_ARRAY */
    size_t of_size;
    const char *unit; /* "files", "s"; shown beside the value */
};

/* The offset, and a compile error unless the member has the type the field stores. */
#define FIELD_OFFSET(T, m, stored) \
    (offsetof(T, m) + 0 * sizeof(char[_Generic(((T *)0)->m, stored : 1)]))
#define FIELD(T, m, ft, stored, ...)                                                     \
    {                                                                                    \
        .name = #m, .type = ft, .offset = FIELD_OFFSET(T, m, stored), .doc = __VA_ARGS__ \
    }

#define FIELD_BOOL(T, m, ...)    FIELD(T, m, FT_BOOL, bool, __VA_ARGS__)
#define FIELD_COUNT(T, m, ...)   FIELD(T, m, FT_COUNT, uint64_t, __VA_ARGS__)
#define FIELD_SIGNED(T, m, ...)  FIELD(T, m, FT_SIGNED, int64_t, __VA_ARGS__)
#define FIELD_BYTES(T, m, ...)   FIELD(T, m, FT_BYTES, uint64_t, __VA_ARGS__)
#define FIELD_SECONDS(T, m, ...) FIELD(T, m, FT_SECONDS, nsec, __VA_ARGS__)
#define FIELD_SHARE(T, m, ...)   FIELD(T, m, FT_SHARE, double, __VA_ARGS__)
#define FIELD_NUMBER(T, m, ...)  FIELD(T, m, FT_NUMBER, double, __VA_ARGS__)
#define FIELD_TIME(T, m, ...)    FIELD(T, m, FT_TIME, nsec, __VA_ARGS__)
#define FIELD_TEXT(T, m, ...)    FIELD(T, m, FT_TEXT, char *, __VA_ARGS__)
#define FIELD_TEXTS(T, m, ...)   FIELD(T, m, FT_TEXTS, struct texts, __VA_ARGS__)
#define FIELD_MAP(T, m, ...)     FIELD(T, m, FT_MAP, struct map, __VA_ARGS__)
#define FIELD_CHOICE(T, m, ...)  FIELD(T, m, FT_CHOICE, int, __VA_ARGS__)
#define FIELD_CHOICES(T, m, ...) FIELD(T, m, FT_CHOICES, uint64_t, __VA_ARGS__)
#define FIELD_LIST(T, m, ...)    FIELD(T, m, FT_LIST, struct list, __VA_ARGS__)
#define FIELD_VARIANT(T, m, ...) FIELD(T, m, FT_VARIANT, struct bound, __VA_ARGS__)
#define FIELD_OBJECT(T, m, ...)  FIELD(T, m, FT_OBJECT, void *, __VA_ARGS__)
#define FIELD_ARRAY(T, m, ...)   FIELD(T, m, FT_ARRAY, struct array, __VA_ARGS__)
#define FIELD_MATRIX(T, m, ...)  FIELD(T, m, FT_MATRIX, struct matrix, __VA_ARGS__)
#define FIELD_JSON(T, m, ...)    FIELD(T, m, FT_JSON, char *, __VA_ARGS__)
#define FIELD_END      \
    {                  \
        .type = FT_END \
    }

const struct field *field_named(const struct field *table, const char *name); /* NULL: none */
/* The closest name within two edits, for "did you mean"; NULL if none is close. */
const char *field_suggest(const struct field *table, const char *name);

/* Fills every field with its preset; the object must be zeroed before. */
must_check int fields_preset(const struct field *table, void *object, struct problem *why);
/* Reads one field from text (settings, query, command line); `where` names it in the problem. */
must_check int field_parse(const struct field *f, const char *text, const char *where, void *object,
                           struct problem *why);
/* "there is no field colour; did you mean color?", at `where`; returns -1. */
int field_unknown(const struct field *table, const char *name, const char *where,
                  struct problem *why);
/* Writes one field as people read it ("8 KiB", "1 h 30 min", "create, list"). -1: does not fit. */
int field_format(const struct field *f, const void *object, char *text, size_t size);
/* Frees the texts and the list of them, and zeroes it. */
void texts_done(struct texts *texts);
/* Frees what the object owns, and zeroes those members. */
void fields_done(const struct field *table, void *object);
