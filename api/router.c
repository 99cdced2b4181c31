/* From a path to its row. Nothing is normalised: "." and ".." are names that no row has. */
#include "api/route.h"

#include "engine/base/text.h"

static const char *const method_names[] = {
#define X(name) #name,
    METHODS(X)
#undef X
        "HEAD",
    NULL,
};

enum method method_named(const char *text)
{
    for (size_t i = 0; method_names[i]; i++)
        if (strcmp(method_names[i], text) == 0)
            return (enum method)i;
    return METHOD_OTHER;
}

const char *method_text(enum method method)
{
    return method < METHOD_OTHER ? method_names[method] : "other";
}

/* A job's number as it is written here: decimal, from 1, no sign, no leading zero. */
static bool parse_id(const char *text, job_id *ret)
{
    job_id id = 0;
    size_t n = strlen(text);
    if (n == 0 || n > 18 || text[0] == '0')
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        id = id * 10 + (text[i] - '0');
    }
    *ret = id;
    return true;
}

static bool part_matches(const char *pattern, size_t n, const char *part, job_id *id,
                         const char **name)
{
    if (n == 4 && memcmp(pattern, "{id}", n) == 0)
        return parse_id(part, id);
    if (n == 6 && memcmp(pattern, "{name}", n) == 0) {
        *name = part;
        return part[0] != '\0' && !strchr(part, '/');
    }
    return strlen(part) == n && memcmp(pattern, part, n) == 0;
}

static bool path_matches(const char *pattern, char *const *parts, size_t parts_n, job_id *id,
                         const char **name)
{
    for (size_t i = 0; i < parts_n; i++) {
        if (*pattern++ != '/')
            return false;
        size_t n = (size_t)(strchrnul(pattern, '/') - pattern);
        if (!part_matches(pattern, n, parts[i], id, name))
            return false;
        pattern += n;
    }
    return *pattern == '\0';
}

const struct route *route_find(const struct route *table, enum method method, char *const *parts,
                               size_t parts_n, job_id *ret_id, const char **ret_name,
                               char allow[ALLOW_TEXT], struct problem *why)
{
    struct text others = { 0 };
    for (const struct route *route = table; route->path; route++) {
        job_id id = 0;
        const char *name = NULL;
        if (!path_matches(route->path, parts, parts_n, &id, &name))
            continue;
        if (route->method == (method == METHOD_HEAD ? METHOD_GET : method)) {
            text_done(&others);
            *ret_id = id;
            *ret_name = name;
            return route;
        }
        text_addf(&others, "%s%s", others.n ? ", " : "", method_text(route->method));
        if (route->method == METHOD_GET)
            text_addf(&others, ", HEAD");
    }
    if (others.n && !others.failed && text_fit(allow, ALLOW_TEXT, "%s", others.at) == 0)
        problem_set(why, PROBLEM_BAD_METHOD, "this address takes %s", allow);
    else
        problem_set(why, PROBLEM_NOT_FOUND, "there is nothing at this address");
    text_done(&others);
    return NULL;
}
