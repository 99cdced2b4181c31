/* Settings files: INI sections bound by field tables; every error names file and line. */
#pragma once
#include "engine/base/field.h"

/* A kind of section: "service" (once), or "target" as in [target NAME] (any number). */
struct ini_kind {
    const char *name;
    const struct field *table; /* NULL: another program's section, skipped */
    size_t size;
    bool named;
    /* Called once for each section, when all files are read and presets are filled in; 0 takes the
     * object's contents over. An unnamed kind that is nowhere is called with its presets. `where` is
     * "file:line" of its first heading; a problem gets it in front. */
    int (*accept)(void *arg, const char *name, void *object, const char *where,
                  struct problem *why);
    bool partial; /* keys that the table has not are another program's: skipped */
};

/* Reads `path`, then every *.conf of the folder `path`.d, or else of the sibling conf.d, in name
 * order; a later file adds to a section of the same name, and its keys replace earlier ones. `kinds` ends with a NULL name. */
must_check int ini_read(const char *path, const struct ini_kind *kinds, void *arg,
                        struct problem *why);
