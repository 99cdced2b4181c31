#include "engine/io/descriptor.h"

#include "engine/io/backend.h"

#include <errno.h>
#include <fcntl.h>

int descriptor_open(int folder, const char *name, unsigned flags, struct problem *why)
{
    int how = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    if (flags & IO_CREATE)
        how |= O_CREAT | O_EXCL;
    if (flags & IO_DIRECT)
        how |= O_DIRECT;
    int fd = openat(folder, name, how, 0600);
    if (fd >= 0)
        return fd;
    if (errno == EINVAL && flags & IO_DIRECT)
        return problem_field(why, "/params/direct",
                             "direct must be no here: the target's filesystem refuses O_DIRECT");
    if (errno == EEXIST)
        return problem_set(why, PROBLEM_CONFLICT, "%s is there already", name);
    return problem_errno(why, errno, "cannot %s %s", flags & IO_CREATE ? "create" : "open", name);
}
