/* Settings files: INI sections bound by field tables; every error names file and line. */
#pragma once
#include "engine/base/field.h"

/* A kind of section: "service" (once), or "target" as in [target NAME] (any number). */
struct ini_kind {
    const char *name;
    const struct field *table; /* NULL: another program's section, skipped */
    size_t size;
    bool named;
    /* Called when a section is complete, presets filled in; takes the object's contents over.
     * `where` is "file:line" of its heading. */
    int (*accept)(void *arg, const char *name, void *object, const char *where,
                  struct problem *why);
};

/* Reads `path`, then every *.conf of the folder `path`.d or the sibling conf.d, in name order; a
 * later file adds to a section of the same name. `kinds` ends with a NULL name. */
must_check int ini_read(const char *path, const struct ini_kind *kinds, void *arg,
                        struct problem *why);
