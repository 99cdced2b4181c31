#include "engine/base/text.h"

#include <stdint.h>

enum { TEXT_FIRST = 128 };

/* Room for n more bytes and the end. */
static bool grow(struct text *text, size_t n)
{
    if (text->failed)
        return false;
    if (n >= SIZE_MAX / 2 - text->n) {
        text->failed = true;
        return false;
    }
    size_t needed = text->n + n + 1;
    if (needed <= text->room)
        return true;
    size_t room = text->room ? text->room : TEXT_FIRST;
    while (room < needed)
        room *= 2;
    char *at = realloc(text->at, room);
    if (!at) {
        text->failed = true;
        return false;
    }
    text->at = at;
    text->room = room;
    return true;
}

void text_add(struct text *text, const char *bytes, size_t n)
{
    if (!grow(text, n))
        return;
    memcpy(text->at + text->n, bytes, n);
    text->n += n;
    text->at[text->n] = '\0';
}

void text_addf(struct text *text, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        text->failed = true;
    if (n < 0 || !grow(text, (size_t)n))
        return;
    va_start(ap, fmt);
    vsnprintf(text->at + text->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    text->n += (size_t)n;
}

void text_done(struct text *text)
{
    free(text->at);
    *text = (struct text){ 0 };
}

char *text_take(struct text *text)
{
    char *taken = NULL;
    if (!text->failed && grow(text, 0)) {
        text->at[text->n] = '\0';
        taken = steal(&text->at);
    }
    text_done(text);
    return taken;
}

int text_fit(char *buffer, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(buffer, size, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < size)
        return 0;
    if (size)
        buffer[0] = '\0';
    return -1;
}

char *text_new(const char *fmt, ...)
{
    char *made = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&made, fmt, ap);
    va_end(ap);
    return n < 0 ? NULL : made;
}

bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

size_t text_rune(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return s[0] ? 1 : 0;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* C0, DEL and C1. */
static bool is_control(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

bool text_is_plain(const char *text)
{
    for (size_t n; *text; text += n) {
        n = text_rune(text);
        if (!n || is_control(text))
            return false;
    }
    return true;
}

char *text_shown(const char *text, char *buffer, size_t size)
{
    size_t used = 0, whole = 0; /* whole: where "..." can still follow */
    while (*text) {
        size_t n = text_rune(text);
        bool plain = n && !is_control(text);
        if (!n)
            n = 1;
        if (used + (plain ? n : 1) >= size) {
            memcpy(buffer + whole, "...", 4);
            return buffer;
        }
        if (plain)
            memcpy(buffer + used, text, n);
        else
            buffer[used] = '?';
        used += plain ? n : 1;
        if (used + 4 <= size)
            whole = used;
        text += n;
    }
    buffer[used] = '\0';
    return buffer;
}
