/* The bare calls and tools of filesystem-scaling: a loop that makes N filesystems, mounts them, destroys them, with
 * nothing known, told or timed. Prints what CPU this process took for each, in microseconds, and how many a second
 * it made; children do not count.
 *
 *     raw_filesystems directory|btrfs|mkfs|zfs TARGET N [mounted] [remount] [xfs] */
#include "engine/base/clock.h"
#include "engine/base/problem.h"

#include <btrfsutil.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

static const char *target, *mkfs = "mkfs.ext4", *type = "ext4";
static int folder = -1;
static char device[256]; /* of the btrfs */

static int fail(const char *what)
{
    fprintf(stderr, "raw_filesystems: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void run(const char *const argv[])
{
    union {
        const char *const *given;
        char *const *taken;
    } words = { argv }; /* posix_spawn changes nothing in them */
    pid_t pid;
    int status;
    if ((errno = posix_spawnp(&pid, argv[0], NULL, NULL, words.taken, environ)) ||
        waitpid(pid, &status, 0) != pid || status != 0)
        fail(argv[0]);
}
#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL })

struct names {
    char name[32], image[32], path[512], image_path[512];
};
static struct names names_of(unsigned n)
{
    struct names names;
    snprintf(names.name, sizeof names.name, "f%010u", n);
    snprintf(names.image, sizeof names.image, "i%010u", n);
    snprintf(names.path, sizeof names.path, "%s/%s", target, names.name);
    snprintf(names.image_path, sizeof names.image_path, "%s/%s", target, names.image);
    return names;
}

static void directory_make(const struct names *names)
{
    if (mkdirat(folder, names->name, 0700) != 0)
        fail("mkdir");
}
static void directory_destroy(const struct names *names)
{
    if (unlinkat(folder, names->name, AT_REMOVEDIR) != 0)
        fail("rmdir");
}

static void btrfs_make(const struct names *names)
{
    if (btrfs_util_create_subvolume_fd(folder, names->name, 0, NULL, NULL) != BTRFS_UTIL_OK)
        fail("create a subvolume");
}
static void btrfs_mount(const struct names *names)
{
    uint64_t id;
    char options[48];
    if (btrfs_util_subvolume_id(names->path, &id) != BTRFS_UTIL_OK)
        fail("ask for a subvolume's id");
    snprintf(options, sizeof options, "subvolid=%llu", (unsigned long long)id);
    if (mount(device, names->path, "btrfs", MS_NODEV | MS_NOSUID | MS_NOEXEC, options) != 0)
        fail("mount");
}
static void btrfs_destroy(const struct names *names)
{
    if (btrfs_util_delete_subvolume_fd(folder, names->name, 0) != BTRFS_UTIL_OK)
        fail("delete a subvolume");
}

static void mkfs_make(const struct names *names)
{
    int fd = openat(folder, names->image, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 512 << 20) != 0)
        fail("make an image");
    close(fd);
    RUN(mkfs, "-q", names->image_path);
}
static void mkfs_remount(const struct names *names)
{
    RUN("mount", "-t", type, "-o", "loop,nodev,nosuid,noexec", names->image_path, names->path);
}
static void mkfs_mount(const struct names *names)
{
    directory_make(names);
    mkfs_remount(names);
}
static void mkfs_destroy(const struct names *names)
{
    directory_destroy(names);
    if (unlinkat(folder, names->image, 0) != 0)
        fail("unlink");
}

static void zfs_make(const struct names *names)
{
    RUN("zfs", "create", names->path);
}
static void zfs_destroy(const struct names *names)
{
    RUN("zfs", "destroy", names->path);
}

static void unmount(const struct names *names)
{
    if (umount2(names->path, UMOUNT_NOFOLLOW) != 0)
        fail("unmount");
}

static const struct kind {
    const char *name;
    void (*make)(const struct names *), (*mount)(const struct names *),
        (*remount)(const struct names *), (*destroy)(const struct names *);
} kinds[] = {
    { "directory", directory_make, NULL, NULL, directory_destroy },
    { "btrfs", btrfs_make, btrfs_mount, btrfs_mount, btrfs_destroy },
    { "mkfs", mkfs_make, mkfs_mount, mkfs_remount, mkfs_destroy },
    { "zfs", zfs_make, NULL, NULL, zfs_destroy },
};

static void each(unsigned n, void (*operate)(const struct names *))
{
    for (unsigned i = 0; operate && i < n; i++) {
        struct names names = names_of(i);
        operate(&names);
    }
}

int main(int argc, char **argv)
{
    bool mounted = false, remount = false;
    const struct kind *kind = NULL;
    for (size_t i = 0; argc > 3 && i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            kind = &kinds[i];
    if (!kind) {
        fputs(
            "usage: raw_filesystems directory|btrfs|mkfs|zfs TARGET N [mounted] [remount] [xfs]\n",
            stderr);
        return 2;
    }
    target = argv[2];
    unsigned n = (unsigned)strtoul(argv[3], NULL, 10);
    for (int i = 4; i < argc; i++) {
        mounted |= strcmp(argv[i], "mounted") == 0;
        remount |= strcmp(argv[i], "remount") == 0;
        if (strcmp(argv[i], "xfs") == 0)
            mkfs = "mkfs.xfs", type = "xfs";
    }
    if (kind->make != zfs_make && (folder = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        fail(target);
    FILE *mounts = fopen("/proc/self/mounts", "re");
    char line[1024], from[256], at[512];
    while (mounts && fgets(line, sizeof line, mounts))
        if (sscanf(line, "%255s %511s", from, at) == 2 && strcmp(at, target) == 0)
            memcpy(device, from, sizeof device);

    nsec cpu = clock_process_cpu(), began = clock_monotonic();
    each(n, kind->make);
    nsec made = clock_monotonic();
    if (mounted)
        each(n, kind->mount);
    if (remount) {
        each(n, unmount);
        each(n, kind->remount);
    }
    if (mounted)
        each(n, kind->mount ? unmount : NULL);
    each(n, kind->destroy);
    cpu = clock_process_cpu() - cpu;
    printf("%.3f %.1f\n", (double)cpu / n / 1000, n / seconds_of(made - began));
    return 0;
}
