/* Text that grows, and text that must fit. */
#pragma once
#include "engine/base/attr.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A growing text. `{ 0 }` is an empty one; after a failed allocation `failed` stays set and further
 * additions do nothing, so that one check at the end is enough. */
struct text {
    char *at; /* NUL-terminated, or NULL while empty */
    size_t n, room;
    bool failed;
};

void text_add(struct text *text, const char *bytes, size_t n);
void text_addf(struct text *text, const char *fmt, ...) printf_like(2, 3);
void text_done(struct text *text);
/* The bytes, owned by the caller; "" for an empty text; NULL if an addition failed. */
char *text_take(struct text *text);

/* Formats into what fits; -1 (and an empty text) when it does not. */
must_check int text_fit(char *buffer, size_t size, const char *fmt, ...) printf_like(3, 4);
/* A new string; NULL when there is no memory. */
must_check char *text_new(const char *fmt, ...) printf_like(1, 2);
bool text_starts(const char *text, const char *prefix);
/* Refuses control characters and broken UTF-8: returns false. */
bool text_is_plain(const char *text);
/* The bytes of the UTF-8 character that text begins with; 0 at the end and where it is broken. */
size_t text_rune(const char *text);
/* A copy fit to be shown: control characters and broken bytes as '?', cut between characters with
 * "..." when it is longer than size (at least 4) allows. Returns buffer. */
char *text_shown(const char *text, char *buffer, size_t size);
