#include "engine/import/json_source.h"

#include "engine/base/field_json.h"
#include "engine/base/text.h"

#include <errno.h>
#include <math.h>

enum { NUMBER_TEXT = 64 };

void json_source_init(struct json_source *source, FILE *file)
{
    *source = (struct json_source){ .file = file, .at = { 1, 1 } };
}

/* --- characters --- */

static int take(struct json_source *source)
{
    int c = getc_unlocked(source->file);
    if (c == '\n')
        source->at = (struct json_place){ source->at.line + 1, 1 };
    else if ((c & 0xc0) != 0x80) /* the first byte of a character */
        source->at.column++;
    return c;
}

static int look(struct json_source *source)
{
    int c = getc_unlocked(source->file);
    if (c != EOF)
        ungetc(c, source->file);
    return c;
}

int json_peek(struct json_source *source)
{
    int c;
    while (c = look(source), c == ' ' || c == '\t' || c == '\n' || c == '\r')
        take(source);
    source->value = source->at;
    return c;
}

static int refuse(const struct json_source *source, const char *pointer, const char *wanted, int c,
                  struct problem *why)
{
    char given[16] = "the end";
    if (c == EOF && ferror(source->file))
        return problem_errno(why, errno, "cannot read the file");
    if (c != EOF)
        snprintf(given, sizeof given, c > ' ' && c < 0x7f ? "'%c'" : "byte %d", c);
    return problem_at(why, pointer, source->at.line, source->at.column, "%s is wanted, not %s",
                      wanted, given);
}

/* --- structure --- */

int json_begin(struct json_source *source, char open, const char *pointer, struct problem *why)
{
    int c = json_peek(source);
    if (c != open)
        return refuse(source, pointer, open == '{' ? "an object" : "a list", c, why);
    take(source);
    return 0;
}

/* 1: one more comes next; 0: the closing bracket was read. */
static int more(struct json_source *source, bool first, char close, const char *pointer,
                struct problem *why)
{
    int c = json_peek(source);
    if (c == close) {
        take(source);
        return 0;
    }
    if (first)
        return 1;
    if (c != ',')
        return refuse(source, pointer, close == '}' ? "',' or '}'" : "',' or ']'", c, why);
    take(source);
    return 1;
}

static int read_key(struct json_source *source, char key[JSON_KEY], const char *pointer,
                    struct problem *why)
{
    size_t n = 0;
    int c = json_peek(source);
    if (c != '"')
        return refuse(source, pointer, "a name in quotes", c, why);
    struct json_place began = source->at;
    take(source);
    while ((c = take(source)) != '"') {
        if (c == EOF)
            return refuse(source, pointer, "the end of a name", c, why);
        /* No name of ours has an escape: what has one is unknown anyhow. */
        if (c < ' ' || c == '\\' || n == JSON_KEY - 1)
            return problem_at(why, pointer, began.line, began.column, "there is no such member");
        key[n++] = (char)c;
    }
    key[n] = '\0';
    if (!text_is_plain(key))
        return problem_at(why, pointer, began.line, began.column, "there is no such member");
    c = json_peek(source);
    if (c != ':')
        return refuse(source, pointer, "':'", c, why);
    take(source);
    json_peek(source);
    return 0;
}

int json_member(struct json_source *source, bool first, char key[JSON_KEY], const char *pointer,
                struct problem *why)
{
    int found = more(source, first, '}', pointer, why);
    if (found > 0 && read_key(source, key, pointer, why))
        return -1;
    return found;
}

int json_element(struct json_source *source, bool first, const char *pointer, struct problem *why)
{
    int found = more(source, first, ']', pointer, why);
    if (found > 0 && json_peek(source) == ']')
        return refuse(source, pointer, "a value", ']', why);
    return found;
}

int json_end(struct json_source *source, struct problem *why)
{
    int c = json_peek(source);
    return c == EOF && !ferror(source->file) ? 0 : refuse(source, "", "the end", c, why);
}

/* --- values --- */

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static bool is_number(const char *p)
{
    p += *p == '-';
    size_t whole = strspn(p, "0123456789");
    if (whole == 0 || (whole > 1 && *p == '0'))
        return false;
    p += whole;
    if (*p == '.') {
        size_t digits = strspn(++p, "0123456789");
        if (digits == 0)
            return false;
        p += digits;
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '+' || p[1] == '-');
        size_t digits = strspn(p, "0123456789");
        if (digits == 0)
            return false;
        p += digits;
    }
    return *p == '\0';
}

int json_number(struct json_source *source, double *ret, const char *pointer, struct problem *why)
{
    char text[NUMBER_TEXT];
    size_t n = 0;
    json_peek(source);
    for (int c; c = look(source), (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                      (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';) {
        if (n == sizeof text - 1)
            break;
        text[n++] = (char)take(source);
    }
    text[n] = '\0';
    if (strcmp(text, "null") == 0) {
        *ret = NAN;
        return 0;
    }
    if (n == 0)
        return refuse(source, pointer, "a number or null", look(source), why);
    if (!is_number(text))
        return problem_at(why, pointer, source->value.line, source->value.column,
                          "a number or null is wanted, not %s", text);
    *ret = strtod(text, NULL);
    return 0;
}

/* Where a value ends: its brackets and quotes are followed, byte by byte. */
struct extent {
    unsigned depth;
    bool text, escaped, begun;
};

/* True: c belongs to what follows the value. */
static bool beyond(const struct extent *e, int c)
{
    return e->begun && e->depth == 0 && !e->text && strchr(",]}: \t\r\n", c);
}

/* True: the value ended with c. */
static bool ends_with(struct extent *e, int c)
{
    e->begun = true;
    if (e->text) {
        bool closing = c == '"' && !e->escaped;
        e->escaped = c == '\\' && !e->escaped;
        e->text = !closing;
        return closing && e->depth == 0;
    }
    e->text = c == '"';
    e->depth += c == '{' || c == '[';
    if (c != '}' && c != ']')
        return false;
    e->depth -= e->depth > 0;
    return e->depth == 0;
}

static int scan(struct json_source *source, size_t most, struct text *keep, const char *pointer,
                struct problem *why)
{
    struct extent extent = { 0 };
    json_peek(source);
    struct json_place began = source->value;
    for (size_t n = 0;; n++) {
        int c = look(source);
        if (c == EOF)
            return refuse(source, pointer, "the rest of a value", c, why);
        if (beyond(&extent, c))
            return 0;
        if (n == most)
            return problem_at(why, pointer, began.line, began.column,
                              "the value has more than %zu bytes", most);
        char byte = (char)take(source);
        if (keep)
            text_add(keep, &byte, 1);
        if (ends_with(&extent, c))
            return 0;
        if (extent.depth > JSON_NESTS_MOST)
            return problem_at(why, pointer, source->at.line, source->at.column,
                              "it nests deeper than %d levels", JSON_NESTS_MOST);
    }
}

int json_skip(struct json_source *source, const char *pointer, struct problem *why)
{
    return scan(source, SIZE_MAX, NULL, pointer, why);
}

int json_value(struct json_source *source, size_t most, json_t **ret, const char *pointer,
               struct problem *why)
{
    scoped(text_done) struct text text = { 0 };
    json_error_t error;
    if (scan(source, most, &text, pointer, why))
        return -1;
    if (text.failed)
        return problem_memory(why);
    json_t *json = json_loadb(text.at ? text.at : "", text.n,
                              JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (!json) {
        /* jansson counts characters up to the last one that it read. */
        uint64_t line = source->value.line + (uint64_t)error.line - 1;
        uint64_t column = (uint64_t)(error.column > 0 ? error.column : 1);
        if (error.line == 1)
            column += source->value.column - 1;
        return problem_at(why, pointer, line, column, "%s",
                          json_error_code(&error) == json_error_null_character
                              ? "\\u0000 is not text"
                              : error.text);
    }
    *ret = json;
    return 0;
}
