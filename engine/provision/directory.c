/* Plain directories: the floor to compare filesystems with. */
#include "engine/provision/provisioner.h"
#include "engine/workspace.h"

#include <dirent.h>
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

static void closedir_cell(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static int list(struct pool *pool, uint64_t *ret, struct problem *why)
{
    uint64_t n = 0;
    int fd = openat(pool->with.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped(closedir_cell) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return problem_errno(why, errno, "cannot list the run directory");
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] == 'f';
    *ret = n;
    return 0;
}

static int destroy(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[FILESYSTEM_NAME];
    filesystem_name(name, 'f', number);
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
                                 .inside = &nothing };
    return workspace_sweep(run, pool->with.folder, &folder, why);
}

const struct provisioner provision_directory = {
    .name = "directory",
    .open = open_pool,
    .close = close_pool,
    .create = create,
    .list = list,
    .destroy = destroy,
    .clean = clean,
};
