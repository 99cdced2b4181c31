/* Plain directories: the floor to compare filesystems with. */
#include "engine/provision/provisioner.h"
#include "engine/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct pool {
    struct provision with;
};

static int open_pool(const struct provision *with, struct pool **ret, struct problem *why)
{
    struct pool *pool = malloc(sizeof *pool);
    if (!pool)
        return problem_memory(why);
    pool->with = *with;
    *ret = pool;
    return 0;
}

static struct pool *close_pool(struct pool *pool)
{
    free(pool);
    return NULL;
}

static int create(struct pool *pool, uint64_t number, struct problem *why unused)
{
    char name[FILESYSTEM_NAME];
    filesystem_name(name, 'f', number);
    return mkdirat(pool->with.folder, name, 0700) == 0 ? 0 : errno;
}

static int place(struct pool *pool, char root[SHARE_ROOT], char *prefix, struct problem *why)
{
    return provision_place(&pool->with, 'f', root, prefix, why);
}

static int list(struct pool *pool, uint64_t *ret, struct problem *why)
{
    return provision_count(pool->with.folder, 'f', pool->with.made->claimed, ret, why);
}

static int destroy(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[FILESYSTEM_NAME];
    struct stat st;
    filesystem_name(name, 'f', number);
    if (fstatat(pool->with.folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : problem_errno(why, errno, "cannot look at %s", name);
    if (!provision_owns(pool->with.made, &st))
        return 1;
    if (unlinkat(pool->with.folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTEMPTY || errno == EBUSY || errno == ENOTDIR)
        return 1;
    return problem_errno(why, errno, "cannot remove %s", name);
}

static int clean(struct pool *pool, struct run *run, struct problem *why)
{
    const struct made nothing = { .prefix = 'f', .below = 0 };
    const struct made folder = { .prefix = 'f',
                                 .digits = FILESYSTEM_DIGITS,
                                 .below = pool->with.made->claimed,
                                 .group = pool->with.made->group,
                                 .inside = &nothing };
    return workspace_sweep(run, pool->with.folder, &folder, why);
}

const struct provisioner provision_directory = {
    .name = "directory",
    .cycles = 1 << CYCLE_REBOOT,
    .open = open_pool,
    .close = close_pool,
    .create = create,
    .place = place,
    .list = list,
    .destroy = destroy,
    .clean = clean,
};
