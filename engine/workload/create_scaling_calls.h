/* The calls that the loops of create-scaling make. Each loop is written once over a table of them and compiled
 * twice: with the system's calls, and with calls that return at once, which shows what the engine itself
 * costs. Private to the files create_scaling_*.c. */
#pragma once
#include "engine/direct.h"

#define loop_of static inline __attribute__((always_inline)) int

struct calls {
    int (*open)(int folder, const char *name, int flags, mode_t mode);
    ssize_t (*write)(int fd, const void *bytes, size_t n);
    int (*fsync)(int fd);
    int (*close)(int fd);
    int (*stat)(int folder, const char *name, struct stat *ret, int flags);
    int (*unlink)(int folder, const char *name, int flags);
    int (*mknod)(int folder, const char *name, mode_t mode);
    int (*rename)(int folder, const char *from, const char *to, unsigned flags);
};

static const struct calls system_calls = {
    direct_open, direct_write,  direct_fsync, direct_close,
    direct_stat, direct_unlink, direct_mknod, direct_rename
};

static inline int null_open(int folder, const char *name, int flags, mode_t mode)
{
    (void)folder, (void)name, (void)flags, (void)mode;
    return 0;
}
static inline ssize_t null_write(int fd, const void *bytes, size_t n)
{
    (void)fd, (void)bytes;
    return (ssize_t)n;
}
static inline int null_fd(int fd)
{
    (void)fd;
    return 0;
}
static inline int null_stat(int folder, const char *name, struct stat *ret, int flags)
{
    (void)folder, (void)name, (void)ret, (void)flags;
    return 0;
}
static inline int null_unlink(int folder, const char *name, int flags)
{
    (void)folder, (void)name, (void)flags;
    return 0;
}
static inline int null_mknod(int folder, const char *name, mode_t mode)
{
    (void)folder, (void)name, (void)mode;
    return 0;
}
static inline int null_rename(int folder, const char *from, const char *to, unsigned flags)
{
    (void)folder, (void)from, (void)to, (void)flags;
    return 0;
}
static const struct calls null_calls = { null_open, null_write,  null_fd,    null_fd,
                                         null_stat, null_unlink, null_mknod, null_rename };
