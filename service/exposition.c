#include "service/exposition.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MOST = 63 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Of a metric; a label's name has no colon. */
static bool is_name(char c, bool first, bool colon)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colon && c == ':') ||
           (!first && is_digit(c));
}

static char *skip_blanks(char *p)
{
    while (is_blank(*p))
        p++;
    return p;
}

static char *skip_name(char *p, bool colon)
{
    for (char *from = p; is_name(*p, p == from, colon);)
        p++;
    return p;
}

static int refuse(const struct exposition *exposition, const char *what, struct problem *why)
{
    return problem_set(why, PROBLEM_BAD_SYNTAX, "line %zu of the figures: %s", exposition->line,
                       what);
}

/* From behind the opening quote: takes \\, \" and \n back in place and ends the value with NUL. Returns
 * what follows the closing quote; NULL: it is not a value. */
static char *take_quoted(char *p)
{
    char *to = p;
    for (; *p && *p != '"'; p++, to++) {
        if (*p != '\\') {
            *to = *p;
            continue;
        }
        p++;
        if (*p != '\\' && *p != '"' && *p != 'n')
            return NULL;
        *to = *p == 'n' ? '\n' : *p;
    }
    if (!*p)
        return NULL;
    *to = '\0';
    return p + 1;
}

/* From behind the opening brace; returns what follows the closing one. NULL: these are no labels. */
static char *take_labels(char *p, struct metric *metric)
{
    for (p = skip_blanks(p); *p != '}';) {
        char *name = p, *name_end = p = skip_name(p, false);
        p = skip_blanks(p);
        if (name == name_end || *p != '=')
            return NULL;
        p = skip_blanks(p + 1);
        if (*p != '"')
            return NULL;
        char *value = p + 1;
        p = take_quoted(value);
        if (!p)
            return NULL;
        *name_end = '\0';
        if (metric->labels_n < METRIC_LABELS)
            metric->labels[metric->labels_n++] = (struct metric_label){ name, value };
        p = skip_blanks(p);
        if (*p == ',')
            p = skip_blanks(p + 1);
        else if (*p != '}')
            return NULL;
    }
    return p + 1;
}

/* As Prometheus writes numbers, and nothing else that strtod() takes. */
static bool is_number(const char *text, size_t n)
{
    static const char *const words[] = { "NaN", "+Inf", "-Inf", "Inf" };
    size_t i = 0, digits = 0;
    for (size_t w = 0; w < COUNT_OF(words); w++)
        if (strlen(words[w]) == n && memcmp(words[w], text, n) == 0)
            return true;
    i += text[i] == '+' || text[i] == '-';
    for (; is_digit(text[i]); i++)
        digits++;
    i += text[i] == '.';
    for (; is_digit(text[i]); i++)
        digits++;
    if (digits && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        i += text[i] == '+' || text[i] == '-';
        digits = 0;
        for (; is_digit(text[i]); i++)
            digits++;
    }
    return digits && i == n;
}

/* Returns what follows it; NULL: it is no number. */
static char *take_number(char *p, double *ret)
{
    char *end = p, text[NUMBER_MOST + 1];
    while (*end && !is_blank(*end))
        end++;
    size_t n = (size_t)(end - p);
    if (n == 0 || n > NUMBER_MOST)
        return NULL;
    memcpy(text, p, n);
    text[n] = '\0';
    if (!is_number(text, n))
        return NULL;
    *ret = strtod(text, NULL);
    return end;
}

/* In milliseconds. */
static bool is_moment(const char *p)
{
    p += *p == '-';
    const char *from = p;
    while (is_digit(*p))
        p++;
    while (p != from && is_blank(*p))
        p++;
    return p != from && !*p;
}

/* One line without its end. */
static int take_metric(const struct exposition *exposition, char *p, struct metric *metric,
                       struct problem *why)
{
    char *name_end = skip_name(p, true);
    metric->name = p;
    if (name_end == p)
        return refuse(exposition, "it does not begin with the name of a metric", why);
    p = skip_blanks(name_end);
    if (*p == '{') {
        p = take_labels(p + 1, metric);
        if (!p)
            return refuse(exposition, "its labels are not as {name=\"value\"}", why);
    } else if (p == name_end) {
        return refuse(exposition, "its metric has a name that is none, or no value", why);
    }
    *name_end = '\0';
    p = take_number(skip_blanks(p), &metric->value);
    if (!p)
        return refuse(exposition, "its value is no number", why);
    p = skip_blanks(p);
    if (*p && !is_moment(p))
        return refuse(exposition, "what follows its value is no time", why);
    return 0;
}

int exposition_next(struct exposition *exposition, struct metric *ret, struct problem *why)
{
    while (exposition->at < exposition->end) {
        char *line = exposition->at;
        size_t left = (size_t)(exposition->end - line);
        char *end = memchr(line, '\n', left);
        exposition->line++;
        if (!end)
            return refuse(exposition, "the text ends within it", why);
        if (memchr(line, '\0', (size_t)(end - line)))
            return refuse(exposition, "it has a NUL byte", why);
        *end = '\0';
        exposition->at = end + 1;
        line = skip_blanks(line);
        if (!*line || *line == '#')
            continue;
        struct metric metric = { 0 };
        if (take_metric(exposition, line, &metric, why) < 0)
            return -1;
        *ret = metric;
        return 1;
    }
    return 0;
}

const char *metric_label(const struct metric *metric, const char *name)
{
    for (size_t i = 0; i < metric->labels_n; i++)
        if (strcmp(metric->labels[i].name, name) == 0)
            return metric->labels[i].value;
    return NULL;
}
