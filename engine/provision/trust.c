/* Tools, mounts and shares go by path, and whoever may rename a folder of a path can lead it elsewhere: root's mkfs
 * to a disk, root's export to /etc. */
#include "engine/provision/provisioner.h"

#include <errno.h>

static bool is_roots_alone(const struct stat *st)
{
    /* In a folder with the sticky bit others rename only what is theirs. */
    return st->st_uid == 0 && (!(st->st_mode & (S_IWGRP | S_IWOTH)) || st->st_mode & S_ISVTX);
}

int provision_trusts(const char *path, struct problem *why)
{
    scoped_free char *folder = realpath(path, NULL);
    struct stat st;
    if (!folder)
        return problem_errno(why, errno, "cannot look at %s", path);
    for (;;) {
        const char *shown = folder[0] ? folder : "/";
        if (lstat(shown, &st) != 0)
            return problem_errno(why, errno, "cannot look at %s", shown);
        if (!is_roots_alone(&st))
            return problem_set(why, PROBLEM_FORBIDDEN,
                               "%s is not root's alone: whoever may change it could lead what root "
                               "does by path elsewhere; chown root and chmod go-w allow it",
                               shown);
        char *last = strrchr(folder, '/');
        if (!last || !folder[0])
            return 0;
        *last = '\0';
    }
}
