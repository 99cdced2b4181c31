#include "api/difference.h"

#include "engine/base/text.h"

#include <stdint.h>

enum { DEPTH_MOST = 16 };

static bool is_tree(const json_t *json)
{
    return json_is_object(json) || json_is_array(json);
}

static bool is_passing(const char *pointer, const char *const *passing)
{
    for (; passing && *passing; passing++)
        if (strcmp(pointer, *passing) == 0)
            return true;
    return false;
}

struct walk {
    json_t *found;
    const char *const *passing;
    bool failed;
};

static void compare(struct walk *walk, const char *pointer, const json_t *a, const json_t *b,
                    unsigned depth);

static void compare_member(struct walk *walk, const char *pointer, const char *name,
                           const json_t *a, const json_t *b, unsigned depth)
{
    struct text inner = { 0 };
    text_addf(&inner, "%s/", pointer);
    for (const char *c = name; *c; c++)
        if (*c == '~' || *c == '/')
            text_add(&inner, *c == '~' ? "~0" : "~1", 2);
        else
            text_add(&inner, c, 1);
    walk->failed |= inner.failed;
    if (!inner.failed)
        compare(walk, inner.at, a, b, depth + 1);
    text_done(&inner);
}

/* The members of one side; of the other only those that this one does not have. */
static void compare_objects(struct walk *walk, const char *pointer, const json_t *a,
                            const json_t *b, unsigned depth)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)a, name, value)
        compare_member(walk, pointer, name, value, json_object_get(b, name), depth);
    json_object_foreach((json_t *)(uintptr_t)b, name, value) if (!json_object_get(a, name))
        compare_member(walk, pointer, name, NULL, value, depth);
}

static void compare_arrays(struct walk *walk, const char *pointer, const json_t *a, const json_t *b,
                           unsigned depth)
{
    size_t n = json_array_size(a) > json_array_size(b) ? json_array_size(a) : json_array_size(b);
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        compare_member(walk, pointer, name, json_array_get(a, i), json_array_get(b, i), depth);
    }
}

static json_t *leaf(const json_t *json)
{
    return json ? json_incref((json_t *)(uintptr_t)json) : json_null();
}

static void compare(struct walk *walk, const char *pointer, const json_t *a, const json_t *b,
                    unsigned depth)
{
    if (depth > DEPTH_MOST || is_passing(pointer, walk->passing) || json_equal(a, b))
        return;
    if (json_is_object(a) || json_is_object(b))
        compare_objects(walk, pointer, a, b, depth);
    else if (json_is_array(a) || json_is_array(b))
        compare_arrays(walk, pointer, a, b, depth);
    /* A leaf on one side at least; null is as good as missing. */
    const json_t *x = is_tree(a) ? NULL : a, *y = is_tree(b) ? NULL : b;
    if ((!x || json_is_null(x)) && (!y || json_is_null(y)))
        return;
    walk->failed |=
        json_array_append_new(walk->found, json_pack("{s:s, s:o, s:o}", "pointer", pointer, "a",
                                                     leaf(x), "b", leaf(y))) != 0;
}

json_t *differences(const json_t *a, const json_t *b, const char *const *passing)
{
    struct walk walk = { .found = json_array(), .passing = passing };
    if (walk.found)
        compare(&walk, "", a, b, 0);
    if (walk.failed) {
        json_decref(walk.found);
        return NULL;
    }
    return walk.found;
}
