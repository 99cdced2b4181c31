/* A folder of a test's own, made before and removed after it. */
#pragma once
#include "engine/base/attr.h"
#include "engine/base/text.h"

#include <ftw.h>

static char folder[] = "/tmp/plimsoll-test-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The path of a file in it; owned by the caller. */
static char *in_folder(const char *name)
{
    return text_new("%s/%s", folder, name);
}

static unused void write_file(const char *name, const char *content, size_t n)
{
    scoped_free char *path = in_folder(name);
    scoped_file FILE *file = fopen(path, "we");
    if (!file || fwrite(content, 1, n, file) != n)
        fail_msg("cannot write %s", path);
}
