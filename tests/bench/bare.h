/* The bare loops that metadata figures are held against: those of a small C program, one call of the C library
 * after another; no clock, no histogram, no checks beyond the call's own result. Each loop is written once and
 * compiled twice: `direct` has the system calls inlined, as the engine has them (engine/direct.h), which tells
 * what of the engine's lead or lag is the library's. */
#pragma once
#include "engine/base/attr.h"
#include "engine/direct.h"

#include <dirent.h>
#include <err.h>
#include <pthread.h>
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

/* The library's open and close look after cancellation in a process that has threads, 100 ns a file; a program
 * without threads does not pay for that. Whoever stands for one calls this: a thread that may be cancelled
 * anywhere is spared it, too. Nobody cancels any. */
static inline void bare_single(void)
{
    int before;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
}
static inline void bare_threaded(void)
{
    int before;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before);
}

enum bare_calls { BARE_LIBRARY, BARE_DIRECT };

#define bare_loop static inline __attribute__((always_inline))

bare_loop int bare_open(enum bare_calls calls, int folder, const char *name)
{
    enum { FLAGS = O_CREAT | O_EXCL | O_WRONLY };
    return calls == BARE_DIRECT ? direct_open(folder, name, FLAGS, 0600)
                                : openat(folder, name, FLAGS, 0600);
}
bare_loop int bare_close(enum bare_calls calls, int fd)
{
    return calls == BARE_DIRECT ? direct_close(fd) : close(fd);
}
bare_loop int bare_facts(enum bare_calls calls, int folder, const char *name, struct stat *ret)
{
    return calls == BARE_DIRECT ? direct_stat(folder, name, ret, AT_SYMLINK_NOFOLLOW)
                                : fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW);
}
bare_loop int bare_unlink(enum bare_calls calls, int folder, const char *name)
{
    return calls == BARE_DIRECT ? direct_unlink(folder, name, 0) : unlinkat(folder, name, 0);
}
bare_loop long bare_entries(enum bare_calls calls, int folder, char *buffer)
{
    return calls == BARE_DIRECT ? direct_list(folder, buffer, BARE_LIST_BYTES)
                                : getdents64(folder, buffer, BARE_LIST_BYTES);
}

typedef void bare_fn(int folder, char (*names)[BARE_NAME], uint64_t n);

bare_loop void bare_create_by(enum bare_calls calls, int folder, char (*names)[BARE_NAME],
                              uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        int fd = bare_open(calls, folder, names[i]);
        if (fd < 0 || bare_close(calls, fd) < 0)
            err(1, "cannot create %s", names[i]);
    }
}

bare_loop void bare_stat_by(enum bare_calls calls, int folder, char (*names)[BARE_NAME], uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct stat facts;
        if (bare_facts(calls, folder, names[i], &facts) < 0)
            err(1, "cannot stat %s", names[i]);
    }
}

bare_loop void bare_remove_by(enum bare_calls calls, int folder, char (*names)[BARE_NAME],
                              uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (bare_unlink(calls, folder, names[i]) < 0)
            err(1, "cannot remove %s", names[i]);
}

/* One call: how many entries it gave, . and .. among them; 0 at the end. */
typedef uint64_t bare_list_fn(int folder, char *buffer);

bare_loop uint64_t bare_list_by(enum bare_calls calls, int folder, char *buffer)
{
    uint64_t found = 0;
    long got = bare_entries(calls, folder, buffer);
    if (got < 0)
        err(1, "cannot list the directory");
    for (long at = 0; at < got; found++)
        at += ((const struct bare_entry *)(const void *)(buffer + at))->length;
    return found;
}

/* The loops by either kind of calls. */
struct bare {
    bare_fn *create, *stat, *remove;
    bare_list_fn *list;
};

#define BARE_LOOP(what, kind, calls)                                                         \
    static inline void bare_##what##_##kind(int folder, char(*names)[BARE_NAME], uint64_t n) \
    {                                                                                        \
        bare_##what##_by(calls, folder, names, n);                                           \
    }
#define BARE(kind, calls)                                                          \
    BARE_LOOP(create, kind, calls)                                                 \
    BARE_LOOP(stat, kind, calls)                                                   \
    BARE_LOOP(remove, kind, calls)                                                 \
    static inline uint64_t bare_list_##kind(int folder, char *buffer)              \
    {                                                                              \
        return bare_list_by(calls, folder, buffer);                                \
    }                                                                              \
    static const struct bare bare_##kind = { bare_create_##kind, bare_stat_##kind, \
                                             bare_remove_##kind, bare_list_##kind };

BARE(library, BARE_LIBRARY)
BARE(direct, BARE_DIRECT)
