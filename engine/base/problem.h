/* A failure, told once: its kind, the field at fault, and a sentence for the caller. */
#pragma once
#include "engine/base/attr.h"

#include <stdint.h>

#define PROBLEMS(X)                                                                     \
    X(BAD_SYNTAX, "bad-syntax", 400, "The text is not well formed")                     \
    X(UNAUTHORISED, "unauthorised", 401, "A valid token is needed")                     \
    X(FORBIDDEN, "forbidden", 403, "This token may not do that")                        \
    X(NOT_FOUND, "not-found", 404, "There is no such thing")                            \
    X(BAD_METHOD, "bad-method", 405, "This address does not take that method")          \
    X(NOT_ACCEPTABLE, "not-acceptable", 406, "Not a content type that is written here") \
    X(CONFLICT, "conflict", 409, "Not possible in this state")                          \
    X(NO_LENGTH, "no-length", 411, "The length of the body must be given")              \
    X(STALE, "stale", 412, "It has changed since it was read")                          \
    X(TOO_LARGE, "too-large", 413, "More than is accepted at once")                     \
    X(BAD_MEDIA, "bad-media", 415, "Not a content type that is read here")              \
    X(BAD_FIELD, "bad-field", 422, "A field is missing or wrong")                       \
    X(UNSUPPORTED, "unsupported", 422, "This target or host cannot do that")            \
    X(TOO_MANY, "too-many", 429, "This token asks too often")                           \
    X(OVERLOADED, "overloaded", 503, "Too much is asked at once")                       \
    X(STORE_FAILED, "store-failed", 503, "The database cannot be reached")              \
    X(IO_FAILED, "io-failed", 500, "The target failed")                                 \
    X(INTERRUPTED, "interrupted", 500, "The runner ended before its job")               \
    X(CANCELLED, "cancelled", 500, "Stopped on request")                                \
    X(INTERNAL, "internal", 500, "A defect in plimsoll")

enum problem_code {
    PROBLEM_NONE,
#define X(code, slug, status, title) PROBLEM_##code,
    PROBLEMS(X)
#undef X
        PROBLEM_COUNT,
};

struct problem {
    enum problem_code code;
    char field[96];        /* JSON pointer such as "/params/threads", a "file:line", or "" */
    char message[400];     /* one sentence, UTF-8, without a full stop */
    uint64_t line, column; /* in a text that was read, from 1; 0: not about one */
};

/* Each fills *why unless it already holds an earlier cause, and returns -1. */
int problem_set(struct problem *why, enum problem_code code, const char *fmt, ...)
    printf_like(3, 4);
int problem_field(struct problem *why, const char *field, const char *fmt, ...) printf_like(3, 4);
/* BAD_FIELD in a text that somebody wrote: "line 3, column 7: <text>". */
int problem_at(struct problem *why, const char *field, uint64_t line, uint64_t column,
               const char *fmt, ...) printf_like(5, 6);
/* "<text>: <strerror>", as IO_FAILED. */
int problem_errno(struct problem *why, int error, const char *fmt, ...) printf_like(3, 4);
/* Prefixes where it happened ("phase create: "), keeps the cause; returns -1. */
int problem_during(struct problem *why, const char *fmt, ...) printf_like(2, 3);
/* Says `instead` wherever the message or the field names the path `what`, or something below it. */
void problem_hide(struct problem *why, const char *what, const char *instead);
/* Out of memory, from wherever it is noticed. */
int problem_memory(struct problem *why);

const char *problem_slug(enum problem_code code);    /* "bad-field" */
const char *problem_title(enum problem_code code);   /* "A field is missing or wrong" */
unsigned problem_status(enum problem_code code);     /* 422 */
enum problem_code problem_by_slug(const char *slug); /* PROBLEM_NONE if unknown */
