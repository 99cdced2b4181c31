/* Subvolumes of a btrfs, each known again by its uuid. Bringing them back means that each is mounted on
 * itself, as a filesystem of its own, and that all are unmounted and mounted again. */
#include "engine/mountinfo.h"
#include "engine/provision/provisioner.h"
#include "engine/workspace.h"

#include <btrfsutil.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

extern const struct provisioner provision_btrfs;

struct pool {
    struct provision with;
    char source[256]; /* the device that mounts name */
    uint64_t mount;   /* the id of the run directory's */
};

static int mount_id(int fd, uint64_t *ret)
{
    struct statx facts;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &facts) != 0)
        return -1;
    *ret = facts.stx_mnt_id;
    return 0;
}

static int open_pool(const struct provision *with, struct pool **ret, struct problem *why)
{
    struct statfs facts;
    struct mountinfo mount;
    if (fstatfs(with->folder, &facts) != 0)
        return problem_errno(why, errno, "cannot look at the target");
    if (facts.f_type != BTRFS_SUPER_MAGIC)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "%s is not on btrfs, which a target of kind btrfs has to be",
                           with->path ? with->path : "the target");
    if (with->cycle == CYCLE_REMOUNT && geteuid() != 0)
        return problem_field(why, "/params/cycle", "mounting subvolumes takes root");
    if (mountinfo_of(with->folder, &mount, why))
        return -1;
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return problem_memory(why);
    pool->with = *with;
    snprintf(pool->source, sizeof pool->source, "%s", mount.source);
    if (mount_id(with->folder, &pool->mount) != 0) {
        free(pool);
        return problem_errno(why, errno, "cannot ask for the mount of the run directory");
    }
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
    if (btrfs_util_create_subvolume_fd(pool->with.folder, name, 0, NULL, NULL) == BTRFS_UTIL_OK)
        return 0;
    return errno ? errno : EIO;
}

static int open_one(struct pool *pool, const char *name)
{
    return openat(pool->with.folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void uuid_text(char text[IDENTITY], const uint8_t uuid[16])
{
    for (int i = 0, at = 0; i < 16; i++)
        at += snprintf(text + at, (size_t)(IDENTITY - at), "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static int identify(struct pool *pool, uint64_t end, struct problem *why)
{
    struct btrfs_util_subvolume_info facts;
    char name[FILESYSTEM_NAME], uuid[IDENTITY];
    for (uint64_t i = pool->with.made->n; i < end; i++) {
        filesystem_name(name, 'f', i);
        scoped_fd int fd = open_one(pool, name);
        if (fd < 0 || btrfs_util_subvolume_info_fd(fd, 0, &facts) != BTRFS_UTIL_OK)
            return problem_errno(why, errno, "cannot ask for the uuid of subvolume %s", name);
        uuid_text(uuid, facts.uuid);
        if (ledger_add(pool->with.made, uuid, why))
            return -1;
    }
    return 0;
}

static int path_of(const struct pool *pool, const char *name, char path[4096], struct problem *why)
{
    int n = snprintf(path, 4096, "%s/%s", pool->with.path, name);
    return n < 4096 ? 0 : problem_set(why, PROBLEM_INTERNAL, "the path of %s is too long", name);
}

static int mount_one(struct pool *pool, uint64_t number, struct problem *why)
{
    struct btrfs_util_subvolume_info facts;
    char name[FILESYSTEM_NAME], path[4096], options[48];
    filesystem_name(name, 'f', number);
    scoped_fd int fd = open_one(pool, name);
    if (fd < 0 || btrfs_util_subvolume_info_fd(fd, 0, &facts) != BTRFS_UTIL_OK)
        return errno;
    snprintf(options, sizeof options, "subvolid=%llu", (unsigned long long)facts.id);
    if (path_of(pool, name, path, why))
        return -1;
    return mount(pool->source, path, "btrfs", MS_NODEV | MS_NOSUID | MS_NOEXEC, options) == 0
               ? 0
               : errno;
}

static int cycle(struct pool *pool, uint64_t n, struct problem *why)
{
    char name[FILESYSTEM_NAME], path[4096];
    for (uint64_t i = 0; i < n; i++) {
        filesystem_name(name, 'f', i);
        if (path_of(pool, name, path, why))
            return -1;
        if (umount2(path, UMOUNT_NOFOLLOW) != 0)
            return problem_errno(why, errno, "cannot unmount %s", name);
    }
    for (uint64_t i = 0; i < n; i++) {
        int error = mount_one(pool, i, why);
        filesystem_name(name, 'f', i);
        if (error > 0)
            return problem_errno(why, error, "cannot mount %s again", name);
        if (error < 0)
            return -1;
    }
    return 0;
}

static int place(struct pool *pool, char root[SHARE_ROOT], char *prefix, struct problem *why)
{
    return provision_place(&pool->with, 'f', root, prefix, why);
}

static int list(struct pool *pool, uint64_t *ret, struct problem *why)
{
    return provision_count(pool->with.folder, 'f', pool->with.made->claimed, ret, why);
}

/* Ours and not mounted on itself, ours and mounted, not ours; or nothing has the name. One that was being made
 * when the runner died has no uuid told: then it must bear the mark, and be no snapshot. */
enum state { PLAIN, MOUNTED, FOREIGN, GONE };
static enum state look(struct pool *pool, const char *name, uint64_t number)
{
    struct btrfs_util_subvolume_info facts;
    static const uint8_t none[16];
    const char *known = ledger_identity(pool->with.made, number);
    char uuid[IDENTITY];
    uint64_t id;
    struct stat st;
    scoped_fd int fd = open_one(pool, name);
    if (fd < 0)
        return errno == ENOENT ? GONE : FOREIGN;
    if (fstat(fd, &st) != 0 || mount_id(fd, &id) != 0 ||
        btrfs_util_is_subvolume_fd(fd) != BTRFS_UTIL_OK ||
        btrfs_util_subvolume_info_fd(fd, 0, &facts) != BTRFS_UTIL_OK)
        return FOREIGN;
    uuid_text(uuid, facts.uuid);
    bool ours =
        known[0] ? strcmp(known, uuid) == 0
                 : provision_owns(pool->with.made, &st) && memcmp(facts.parent_uuid, none, 16) == 0;
    return !ours ? FOREIGN : id != pool->mount ? MOUNTED : PLAIN;
}

static int destroy(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[FILESYSTEM_NAME], path[4096];
    filesystem_name(name, 'f', number);
    enum state state = look(pool, name, number);
    if (state == MOUNTED) {
        if (path_of(pool, name, path, why))
            return -1;
        if (umount2(path, UMOUNT_NOFOLLOW) != 0)
            return errno == EBUSY ? 1 : problem_errno(why, errno, "cannot unmount %s", name);
        state = look(pool, name, number);
    }
    if (state == GONE)
        return 0;
    if (state != PLAIN)
        return 1;
    if (btrfs_util_delete_subvolume_fd(pool->with.folder, name, 0) == BTRFS_UTIL_OK)
        return 0;
    return errno == EBUSY || errno == ENOTEMPTY
               ? 1
               : problem_errno(why, errno, "cannot delete subvolume %s", name);
}

static int clean(struct pool *pool, struct run *run, struct problem *why)
{
    const struct made nothing = { .prefix = 'f', .below = 0 };
    const struct numbers all = { .n = pool->with.made->claimed };
    if (provision_destroy_all(&provision_btrfs, pool, &all, 'f', run, why))
        return -1;
    return workspace_sweep(run, pool->with.folder, &nothing, why);
}

const struct provisioner provision_btrfs = {
    .name = "btrfs",
    .cycles = 1 << CYCLE_REMOUNT | 1 << CYCLE_REBOOT,
    .mounts = true,
    .open = open_pool,
    .close = close_pool,
    .create = create,
    .mount = mount_one,
    .identify = identify,
    .place = place,
    .list = list,
    .cycle = cycle,
    .destroy = destroy,
    .clean = clean,
};
