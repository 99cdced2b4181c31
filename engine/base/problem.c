#include "engine/base/problem.h"

#include <stdarg.h>
#include <stdbool.h>

static const struct kind {
    const char *slug, *title;
    unsigned status;
} kinds[PROBLEM_COUNT] = { [PROBLEM_NONE] = { "", "", 200 },
#define X(code, slug_, status_, title_) [PROBLEM_##code] = { slug_, title_, status_ },
                           PROBLEMS(X)
#undef X
};

/* Ends a text that fills its buffer in "...", between two UTF-8 characters. */
static void end_in_dots(char *buffer, size_t size)
{
    size_t n = size - 4;
    while (n > 0 && ((unsigned char)buffer[n] & 0xc0) == 0x80)
        n--;
    memcpy(buffer + n, "...", 4);
}

/* A sentence too long for its place keeps its beginning: the cause comes first. */
static void printf_like(3, 0) fit(char *buffer, size_t size, const char *fmt, va_list ap)
{
    int n = vsnprintf(buffer, size, fmt, ap);
    if (n >= 0 && (size_t)n >= size)
        end_in_dots(buffer, size);
}

static void printf_like(4, 0)
    say(struct problem *why, enum problem_code code, const char *field, const char *fmt, va_list ap)
{
    if (why->code)
        return;
    why->code = code;
    if ((size_t)snprintf(why->field, sizeof why->field, "%s", field) >= sizeof why->field)
        end_in_dots(why->field, sizeof why->field);
    fit(why->message, sizeof why->message, fmt, ap);
}

int problem_set(struct problem *why, enum problem_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(why, code, "", fmt, ap);
    va_end(ap);
    return -1;
}

int problem_field(struct problem *why, const char *field, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(why, PROBLEM_BAD_FIELD, field, fmt, ap);
    va_end(ap);
    return -1;
}

int problem_at(struct problem *why, const char *field, uint64_t line, uint64_t column,
               const char *fmt, ...)
{
    char text[sizeof why->message];
    va_list ap;
    va_start(ap, fmt);
    fit(text, sizeof text, fmt, ap);
    va_end(ap);
    if (why->code)
        return -1;
    problem_field(why, field, "line %llu, column %llu: %s", (unsigned long long)line,
                  (unsigned long long)column, text);
    why->line = line;
    why->column = column;
    return -1;
}

int problem_errno(struct problem *why, int error, const char *fmt, ...)
{
    char text[sizeof why->message], reason[128];
    va_list ap;
    va_start(ap, fmt);
    fit(text, sizeof text, fmt, ap);
    va_end(ap);
    return problem_set(why, PROBLEM_IO_FAILED, "%s: %s", text,
                       strerror_r(error, reason, sizeof reason));
}

int problem_during(struct problem *why, const char *fmt, ...)
{
    char place[sizeof why->message], whole[2 * sizeof why->message];
    va_list ap;
    va_start(ap, fmt);
    fit(place, sizeof place, fmt, ap);
    va_end(ap);
    snprintf(whole, sizeof whole, "%s%s", place, why->message);
    if (strlen(whole) >= sizeof why->message)
        end_in_dots(whole, sizeof why->message);
    memcpy(why->message, whole, strlen(whole) + 1);
    return -1;
}

/* Whether a path ends here, or goes on below. */
static bool ends_path(char c)
{
    return !c || strchr("/ :;,.)'\"", c);
}

static void hide(char *text, size_t size, const char *what, const char *instead)
{
    char whole[4 * sizeof((struct problem *)0)->message];
    size_t n = strlen(what), m = strlen(instead), used = 0;
    for (const char *p = text; *p && used + m + 1 < sizeof whole;) {
        bool begins = p == text || (p[-1] != '/' && ends_path(p[-1])) || p[-1] == '(';
        bool here = begins && strncmp(p, what, n) == 0 && ends_path(p[n]);
        memcpy(whole + used, here ? instead : p, here ? m : 1);
        used += here ? m : 1;
        p += here ? n : 1;
    }
    whole[used] = 0;
    if (used >= size)
        end_in_dots(whole, size);
    memcpy(text, whole, strlen(whole) + 1);
}

void problem_hide(struct problem *why, const char *what, const char *instead)
{
    if (strlen(what) < 2) /* "/" is in every path */
        return;
    hide(why->field, sizeof why->field, what, instead);
    hide(why->message, sizeof why->message, what, instead);
}

int problem_memory(struct problem *why)
{
    return problem_set(why, PROBLEM_INTERNAL, "there is no memory left for this");
}

const char *problem_slug(enum problem_code code)
{
    return kinds[code].slug;
}

const char *problem_title(enum problem_code code)
{
    return kinds[code].title;
}

unsigned problem_status(enum problem_code code)
{
    return kinds[code].status;
}

enum problem_code problem_by_slug(const char *slug)
{
    for (enum problem_code code = PROBLEM_NONE + 1; code < PROBLEM_COUNT; code++)
        if (strcmp(kinds[code].slug, slug) == 0)
            return code;
    return PROBLEM_NONE;
}
