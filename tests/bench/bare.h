/* The bare loops that metadata figures are held against: one system call after another, without the C
 * library between (engine/direct.h says why); no clock, no histogram, no checks beyond the call's own
 * result. */
#pragma once
#include "engine/base/attr.h"
#include "engine/direct.h"

#include <err.h>
#include <stdint.h>

enum {
    BARE_NAME = 12, /* f, ten digits and the end */
    BARE_LIST_BYTES =
        64 << 10, /* for each call, as ours; 32 KiB, which readdir(3) asks for, is no faster */
};

struct bare_entry {
    uint64_t ino;
    int64_t off;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* The names of files first to first + n - 1. */
static inline void bare_names(char (*names)[BARE_NAME], uint64_t first, uint64_t n)
{
    snprintf(names[0], BARE_NAME, "f%010llu", (unsigned long long)first % 10000000000);
    for (uint64_t i = 1; i < n; i++) {
        memcpy(names[i], names[i - 1], BARE_NAME);
        char *digit = &names[i][BARE_NAME - 2];
        while (*digit == '9')
            *digit-- = '0';
        ++*digit;
    }
}

typedef void bare_fn(int folder, char (*names)[BARE_NAME], uint64_t n);

static inline void bare_create(int folder, char (*names)[BARE_NAME], uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        int fd = direct_open(folder, names[i], O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0 || direct_close(fd) < 0)
            err(1, "cannot create %s", names[i]);
    }
}

static inline void bare_stat(int folder, char (*names)[BARE_NAME], uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct stat facts;
        if (direct_stat(folder, names[i], &facts, AT_SYMLINK_NOFOLLOW) < 0)
            err(1, "cannot stat %s", names[i]);
    }
}

static inline void bare_remove(int folder, char (*names)[BARE_NAME], uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (direct_unlink(folder, names[i], 0) < 0)
            err(1, "cannot remove %s", names[i]);
}

/* One call: how many entries it gave, . and .. among them; 0 at the end. */
static inline uint64_t bare_list(int folder, char *buffer)
{
    uint64_t found = 0;
    long got = direct_list(folder, buffer, BARE_LIST_BYTES);
    if (got < 0)
        err(1, "cannot list the directory");
    for (long at = 0; at < got; found++)
        at += ((const struct bare_entry *)(const void *)(buffer + at))->length;
    return found;
}
