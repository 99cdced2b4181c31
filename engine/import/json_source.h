/* JSON that is read once, from its beginning to its end, in the memory of its largest small member: the
 * reader says what it expects next. Places are lines and columns (characters), from 1. */
#pragma once
#include "engine/base/problem.h"

#include <jansson.h>
#include <stdbool.h>

struct json_place {
    uint64_t line, column;
};
struct json_source {
    FILE *file;
    struct json_place at;    /* of the next character */
    struct json_place value; /* where the value began that was read last */
};
enum { JSON_KEY = 64, JSON_NESTS_MOST = 16 };

void json_source_init(struct json_source *source, FILE *file);
/* Begins an object '{' or a list '['; `pointer` is for the problem. */
must_check int json_begin(struct json_source *source, char open, const char *pointer,
                          struct problem *why);
/* 1: there is a member (of a list: an element) and it comes next; 0: that was the end. first: there was
 * none before. */
must_check int json_member(struct json_source *source, bool first, char key[JSON_KEY],
                           const char *pointer, struct problem *why);
must_check int json_element(struct json_source *source, bool first, const char *pointer,
                            struct problem *why);
/* '{', '[', '"', or the first character of another value, without reading it; -1: the end of the file. */
int json_peek(struct json_source *source);
/* A number, or NAN for null. */
must_check int json_number(struct json_source *source, double *ret, const char *pointer,
                           struct problem *why);
/* Any value of up to `most` bytes. */
must_check int json_value(struct json_source *source, size_t most, json_t **ret,
                          const char *pointer, struct problem *why);
/* Any value, of any size, which is passed over; only its brackets and texts are looked at. */
must_check int json_skip(struct json_source *source, const char *pointer, struct problem *why);
/* Nothing but space may follow. */
must_check int json_end(struct json_source *source, struct problem *why);
