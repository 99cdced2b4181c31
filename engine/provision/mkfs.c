/* Filesystems on loop images in the run directory: iN, the image, and mN, where it is mounted. An image is known
 * again by its inode and when that was made, as numbers of inodes are used again; a mount by the loop device whose
 * backing file that inode is: the id of the mount would be another one after each cycle, and given to others. */
#include "engine/provision/provisioner.h"

#include "engine/base/spawn.h"
#include "engine/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define TOOL_DEADLINE (60 * NSEC_PER_SEC)
enum { LOOP_MAJOR_NUMBER = 7, PATH = 4096 };
extern const struct provisioner provision_mkfs;

struct pool {
    struct provision with;
};

static const char *const kinds[] = { [MKFS_EXT4] = "ext4", [MKFS_XFS] = "xfs" };

static int open_pool(const struct provision *with, struct pool **ret, struct problem *why)
{
    if (with->mounted && geteuid() != 0)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "mounting loop images takes root, and the runner is not");
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

static int path_of(const struct pool *pool, char prefix, uint64_t number, char path[PATH],
                   struct problem *why)
{
    char name[FILESYSTEM_NAME];
    filesystem_name(name, prefix, number);
    int n = snprintf(path, PATH, "%s/%s", pool->with.path, name);
    return n < PATH ? 0 : problem_set(why, PROBLEM_INTERNAL, "the path of %s is too long", name);
}

static int make_image(struct pool *pool, uint64_t number)
{
    char name[FILESYSTEM_NAME];
    filesystem_name(name, 'i', number);
    scoped_fd int fd =
        openat(pool->with.folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 || ftruncate(fd, (off_t)pool->with.image_bytes) != 0 ? errno : 0;
}

static int create(struct pool *pool, uint64_t number, struct problem *why)
{
    char path[PATH], name[FILESYSTEM_NAME];
    int error = make_image(pool, number);
    if (error)
        return error;
    if (path_of(pool, 'i', number, path, why))
        return -1;
    const char *const ext4[] = { "mkfs.ext4", "-q", "-F", path, NULL };
    const char *const xfs[] = { "mkfs.xfs", "-q", path, NULL };
    if (spawn_run_until(pool->with.stop, pool->with.filesystem == MKFS_EXT4 ? ext4 : xfs,
                        TOOL_DEADLINE, NULL, 0, why) == 0)
        return 0;
    filesystem_name(name, 'i', number);
    unlinkat(pool->with.folder, name, 0); /* it is no filesystem, and not to be counted as one */
    return -1;
}

static int mount_image(struct pool *pool, uint64_t number, struct problem *why)
{
    char image[PATH], point[PATH];
    if (path_of(pool, 'i', number, image, why) || path_of(pool, 'm', number, point, why))
        return -1;
    const char *const argv[] = {
        "mount", "-t", kinds[pool->with.filesystem], "-o", "loop,nodev,nosuid,noexec", image,
        point,   NULL
    };
    return spawn_run_until(pool->with.stop, argv, TOOL_DEADLINE, NULL, 0, why);
}

static int mount_one(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[FILESYSTEM_NAME];
    filesystem_name(name, 'm', number);
    if (mkdirat(pool->with.folder, name, 0700) != 0)
        return errno;
    return mount_image(pool, number, why);
}

/* Of one entry; the device is the run directory's, and has another number after a restart. */
static int inode_text(struct pool *pool, const char *name, char text[IDENTITY])
{
    struct statx facts;
    if (statx(pool->with.folder, name, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &facts) != 0)
        return -1;
    nsec born = facts.stx_mask & STATX_BTIME
                    ? facts.stx_btime.tv_sec * NSEC_PER_SEC + facts.stx_btime.tv_nsec
                    : 0;
    snprintf(text, IDENTITY, "%llx:%llx", (unsigned long long)facts.stx_ino,
             (unsigned long long)born);
    return 0;
}

static int identify(struct pool *pool, uint64_t end, struct problem *why)
{
    char name[FILESYSTEM_NAME], inode[IDENTITY];
    for (uint64_t i = pool->with.made->n; i < end; i++) {
        filesystem_name(name, 'i', i);
        if (inode_text(pool, name, inode) != 0)
            return problem_errno(why, errno, "cannot look at %s", name);
        if (ledger_add(pool->with.made, inode, why))
            return -1;
    }
    return 0;
}

/* Not by umount(8), which would look the device up in every table of mounts for each. */
static int unmount(struct pool *pool, uint64_t number, struct problem *why)
{
    char point[PATH];
    if (path_of(pool, 'm', number, point, why))
        return -1;
    return umount2(point, UMOUNT_NOFOLLOW) == 0
               ? 0
               : problem_errno(why, errno, "cannot unmount %s", point);
}

static int cycle(struct pool *pool, uint64_t n, struct problem *why)
{
    for (uint64_t i = 0; i < n; i++)
        if (unmount(pool, i, why))
            return -1;
    for (uint64_t i = 0; i < n; i++)
        if (mount_image(pool, i, why))
            return -1;
    return 0;
}

static int is_mounted(struct pool *pool, uint64_t number, bool *ret, struct problem *why)
{
    char name[FILESYSTEM_NAME];
    struct statx here, there;
    filesystem_name(name, 'm', number);
    if (statx(pool->with.folder, name, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &there) != 0 ||
        statx(pool->with.folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &here) != 0)
        return problem_errno(why, errno, "cannot look at %s", name);
    *ret = here.stx_mnt_id != there.stx_mnt_id;
    return 0;
}

/* Nobody's fstab has them: each is mounted as a line of it would be. */
static int boot(struct pool *pool, uint64_t n, uint64_t *ret_brought_back, struct problem *why)
{
    uint64_t brought_back = 0;
    bool mounted;
    for (uint64_t i = 0; pool->with.mounted && i < n; i++) {
        if (is_mounted(pool, i, &mounted, why))
            return -1;
        if (!mounted && mount_image(pool, i, why))
            return -1;
        brought_back += !mounted;
    }
    *ret_brought_back = brought_back;
    return 0;
}

static void closedir_cell(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static int place(struct pool *pool, char root[SHARE_ROOT], char *prefix, struct problem *why)
{
    return provision_place(&pool->with, 'm', root, prefix, why);
}

static int list(struct pool *pool, uint64_t *ret, struct problem *why)
{
    return provision_count(pool->with.folder, 'i', pool->with.made->claimed, ret, why);
}

/* Whether the loop device has this image behind it. */
static bool backed_by(const char *device, const struct stat *image)
{
    struct loop_info64 info;
    scoped_fd int fd = open(device, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == image->st_dev &&
           info.lo_inode == image->st_ino;
}

/* 0: nothing is mounted there any more; 1: what is mounted there is not of this image. */
static int release(struct pool *pool, uint64_t number, const struct stat *image,
                   struct problem *why)
{
    char name[FILESYSTEM_NAME], device[32];
    struct statx here, there;
    filesystem_name(name, 'm', number);
    for (int tries = 0; tries < 4; tries++) {
        if (statx(pool->with.folder, name, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID | STATX_TYPE,
                  &there) != 0)
            return errno == ENOENT ? 0 : problem_errno(why, errno, "cannot look at %s", name);
        if (statx(pool->with.folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &here) != 0)
            return problem_errno(why, errno, "cannot look at the run directory");
        if (here.stx_mnt_id == there.stx_mnt_id)
            return 0;
        snprintf(device, sizeof device, "/dev/loop%u", there.stx_dev_minor);
        if (!image || there.stx_dev_major != LOOP_MAJOR_NUMBER || !backed_by(device, image))
            return 1;
        if (unmount(pool, number, why))
            return -1;
    }
    return 1;
}

/* By its inode; one that was being made when the runner died, by its mark. */
static bool is_ours(struct pool *pool, const char *name, uint64_t number, const struct stat *image)
{
    const char *known = ledger_identity(pool->with.made, number);
    char inode[IDENTITY];
    if (!S_ISREG(image->st_mode) || !provision_owns(pool->with.made, image))
        return false;
    return !known[0] || (inode_text(pool, name, inode) == 0 && strcmp(known, inode) == 0);
}

/* 0; 1: what stands where it was mounted is not ours. */
static int remove_point(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[FILESYSTEM_NAME];
    struct stat st;
    filesystem_name(name, 'm', number);
    if (fstatat(pool->with.folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : problem_errno(why, errno, "cannot look at %s", name);
    if (!provision_owns(pool->with.made, &st))
        return 1;
    if (unlinkat(pool->with.folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return errno == EBUSY || errno == ENOTEMPTY || errno == ENOTDIR
               ? 1
               : problem_errno(why, errno, "cannot remove %s", name);
}

static int remove_both(struct pool *pool, uint64_t number, bool image, struct problem *why)
{
    char name[FILESYSTEM_NAME];
    int foreign = remove_point(pool, number, why);
    if (foreign)
        return foreign;
    filesystem_name(name, 'i', number);
    if (image && unlinkat(pool->with.folder, name, 0) != 0 && errno != ENOENT)
        return problem_errno(why, errno, "cannot remove %s", name);
    return 0;
}

static int destroy(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[FILESYSTEM_NAME];
    struct stat image;
    filesystem_name(name, 'i', number);
    bool there = fstatat(pool->with.folder, name, &image, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT)
        return problem_errno(why, errno, "cannot look at %s", name);
    bool ours = there && is_ours(pool, name, number, &image);
    int foreign = release(pool, number, ours ? &image : NULL, why);
    if (foreign)
        return foreign;
    foreign = remove_both(pool, number, ours, why);
    return foreign ? foreign : there && !ours;
}

/* The number of the image behind a loop device, by its name, which is not yet proof; UINT64_MAX: none. */
static uint64_t number_behind(const char *loop, char name[FILESYSTEM_NAME])
{
    char path[300], file[PATH];
    snprintf(path, sizeof path, "/sys/block/%s/loop/backing_file", loop);
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, file, sizeof file - 1);
    if (n <= 0)
        return UINT64_MAX;
    file[n] = '\0';
    file[strcspn(file, "\n")] = '\0';
    const char *last = strrchr(file, '/');
    if (!last || last[1] != 'i')
        return UINT64_MAX;
    uint64_t number = strtoull(last + 2, NULL, 10);
    filesystem_name(name, 'i', number);
    return strcmp(name, last + 1) == 0 ? number : UINT64_MAX;
}

/* Loop devices that a mount which did not come to its end has left with an image of ours; of one that is in use
 * the system lets go with its last user. */
static int detach_all(struct pool *pool, struct problem *why)
{
    scoped(closedir_cell) DIR *dir = opendir("/sys/block");
    char device[300], name[FILESYSTEM_NAME];
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat image;
        uint64_t number = strncmp(entry->d_name, "loop", 4) == 0
                              ? number_behind(entry->d_name, name)
                              : UINT64_MAX;
        snprintf(device, sizeof device, "/dev/%s", entry->d_name);
        if (number >= pool->with.made->claimed ||
            fstatat(pool->with.folder, name, &image, AT_SYMLINK_NOFOLLOW) != 0 ||
            !is_ours(pool, name, number, &image) || !backed_by(device, &image))
            continue;
        scoped_fd int fd = open(device, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && ioctl(fd, LOOP_CLR_FD) != 0 && errno != ENXIO)
            return problem_errno(why, errno, "cannot detach %s", device);
    }
    return 0;
}

static int clean(struct pool *pool, struct run *run, struct problem *why)
{
    const struct made nothing = { .prefix = 'i', .below = 0 };
    const struct numbers all = { .n = pool->with.made->claimed };
    if (detach_all(pool, why) || provision_destroy_all(&provision_mkfs, pool, &all, 'i', run, why))
        return -1;
    return workspace_sweep(run, pool->with.folder, &nothing, why);
}

const struct provisioner provision_mkfs = {
    .name = "mkfs",
    .cycles = 1 << CYCLE_REMOUNT | 1 << CYCLE_REBOOT,
    .mounts = true,
    .by_path = true,
    .demolishers = 4, /* each waits for its own filesystem to be written back */
    .open = open_pool,
    .close = close_pool,
    .create = create,
    .mount = mount_one,
    .identify = identify,
    .place = place,
    .list = list,
    .cycle = cycle,
    .boot = boot,
    .destroy = destroy,
    .clean = clean,
};
