#include "engine/mountinfo.h"

#include "engine/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* Spaces and backslashes are written as \040 and \134. */
static void unescape(const char *from, size_t n, char *to, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + 1 < size; i++) {
        unsigned code;
        if (from[i] == '\\' && i + 3 < n && sscanf(from + i + 1, "%3o", &code) == 1) {
            to[used++] = (char)code;
            i += 3;
        } else {
            to[used++] = from[i];
        }
    }
    to[used] = '\0';
}

/* The next word of a line; false at its end. */
static bool next_word(const char **line, const char **word, size_t *n)
{
    *word = *line + strspn(*line, " \n");
    *n = strcspn(*word, " \n");
    *line = *word + *n;
    return *n > 0;
}

static bool next_text(const char **line, char *to, size_t size)
{
    const char *word;
    size_t n;
    if (!next_word(line, &word, &n))
        return false;
    unescape(word, n, to, size);
    return true;
}

static bool has_option(const char *options, const char *option, size_t n)
{
    for (const char *p = options; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && strncmp(p, option, n) == 0)
            return true;
    return false;
}

/* Adds what the filesystem says to what the mount says; "rw" is in both. */
static void merge_options(char *options, size_t size, const char *more)
{
    size_t used = strlen(options);
    while (*more) {
        size_t n = strcspn(more, ",");
        if (!has_option(options, more, n) && used + n + 2 <= size) {
            options[used++] = ',';
            memcpy(options + used, more, n);
            used += n;
            options[used] = '\0';
        }
        more += n + (more[n] == ',');
    }
}

/* 36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue */
int mountinfo_parse(const char *line, uint64_t *ret_id, struct mountinfo *ret)
{
    struct mountinfo mount = { 0 };
    char more[sizeof mount.options];
    uint64_t id;
    int used = 0;
    if (sscanf(line, "%" SCNu64 " %*u %u:%u%n", &id, &mount.major, &mount.minor, &used) != 3 ||
        !next_text((line += used, &line), mount.root, sizeof mount.root) ||
        !next_text(&line, mount.point, sizeof mount.point) ||
        !next_text(&line, mount.options, sizeof mount.options))
        return -1;
    const char *word;
    size_t n;
    do
        if (!next_word(&line, &word, &n))
            return -1;
    while (n != 1 || *word != '-');
    if (!next_text(&line, mount.type, sizeof mount.type) ||
        !next_text(&line, mount.source, sizeof mount.source))
        return -1;
    if (next_text(&line, more, sizeof more))
        merge_options(mount.options, sizeof mount.options, more);
    *ret_id = id;
    *ret = mount;
    return 0;
}

/* The line of that mount, or else one of the same device: 1; 0: neither. */
static int find_line(const char *path, const struct statx *st, bool *ret_itself,
                     struct mountinfo *ret)
{
    scoped_file FILE *table = fopen(path, "re");
    scoped_free char *line = NULL;
    size_t room = 0;
    uint64_t id;
    int found = 0;
    struct mountinfo mount;
    *ret_itself = false;
    while (table && !*ret_itself && getline(&line, &room, table) > 0) {
        if (mountinfo_parse(line, &id, &mount) < 0)
            continue;
        *ret_itself = id == st->stx_mnt_id;
        if (!*ret_itself &&
            (found || mount.major != st->stx_dev_major || mount.minor != st->stx_dev_minor))
            continue;
        *ret = mount;
        found = 1;
    }
    return found;
}

static const char *type_by_magic(long magic)
{
    static const struct {
        unsigned long magic;
        const char *type;
    } types[] = {
        { EXT4_SUPER_MAGIC, "ext4" },   { XFS_SUPER_MAGIC, "xfs" },
        { BTRFS_SUPER_MAGIC, "btrfs" }, { TMPFS_MAGIC, "tmpfs" },
        { NFS_SUPER_MAGIC, "nfs" },     { OVERLAYFS_SUPER_MAGIC, "overlay" },
        { FUSE_SUPER_MAGIC, "fuse" },   { 0x2fc12fc1, "zfs" },
    };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].magic == (unsigned long)magic)
            return types[i].type;
    return "unknown";
}

static void options_of(const struct statvfs *fs, char *options, size_t size)
{
    static const struct {
        unsigned long flag;
        const char *option;
    } flags[] = {
        { ST_NOSUID, "nosuid" },   { ST_NODEV, "nodev" },       { ST_NOEXEC, "noexec" },
        { ST_NOATIME, "noatime" }, { ST_RELATIME, "relatime" }, { ST_SYNCHRONOUS, "sync" },
    };
    snprintf(options, size, "%s", fs->f_flag & ST_RDONLY ? "ro" : "rw");
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (fs->f_flag & flags[i].flag)
            merge_options(options, size, flags[i].option);
}

/* In a chroot "/" need not be a mount, and then the mount it lies on is in no table that can be seen. What
 * the filesystem itself says is told, with type and source from another of its mounts if there is one. */
static int mountinfo_without_line(int fd, const struct statx *st, const struct mountinfo *other,
                                  struct mountinfo *ret, struct problem *why)
{
    struct statfs facts;
    struct statvfs fs;
    if (fstatfs(fd, &facts) < 0 || fstatvfs(fd, &fs) < 0)
        return problem_errno(why, errno, "cannot find the mount of the target");
    struct mountinfo mount = { .major = st->stx_dev_major,
                               .minor = st->stx_dev_minor,
                               .point = "/",
                               .root = "/",
                               .source = "unknown" };
    snprintf(mount.type, sizeof mount.type, "%s", type_by_magic(facts.f_type));
    options_of(&fs, mount.options, sizeof mount.options);
    if (other) {
        memcpy(mount.type, other->type, sizeof mount.type);
        memcpy(mount.source, other->source, sizeof mount.source);
    }
    *ret = mount;
    return 0;
}

int mountinfo_of(int fd, struct mountinfo *ret, struct problem *why)
{
    struct statx st;
    struct mountinfo mount;
    bool itself;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0)
        return problem_errno(why, errno, "cannot find the mount of the target");
    int found = find_line("/proc/self/mountinfo", &st, &itself, &mount);
    if (!itself)
        return mountinfo_without_line(fd, &st, found ? &mount : NULL, ret, why);
    *ret = mount;
    return 0;
}

static bool is_below(const char *path, const char *point)
{
    size_t n = strlen(point);
    if (n == 1)
        return true; /* "/" */
    return strncmp(path, point, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* The mount of that table with the longest way to the path; of several at one point, the last. */
static bool find_by_path(FILE *table, const char *path, struct mountinfo *ret)
{
    scoped_free char *line = NULL;
    size_t room = 0, best = 0;
    uint64_t id;
    struct mountinfo mount;
    while (getline(&line, &room, table) > 0)
        if (mountinfo_parse(line, &id, &mount) == 0 && is_below(path, mount.point) &&
            strlen(mount.point) >= best) {
            best = strlen(mount.point);
            *ret = mount;
        }
    return best > 0;
}

int mountinfo_of_host(int fd, struct mountinfo *ret, struct problem *why)
{
    struct mountinfo ours, theirs;
    char link[64], path[PATH_MAX];
    if (mountinfo_of(fd, &ours, why) < 0)
        return -1;
    *ret = ours;
    scoped_file FILE *table = fopen("/proc/1/mountinfo", "re");
    if (!table || text_fit(link, sizeof link, "/proc/self/fd/%d", fd) < 0)
        return 0;
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return 0;
    path[n] = '\0';
    if (find_by_path(table, path, &theirs) && theirs.major == ours.major &&
        theirs.minor == ours.minor)
        *ret = theirs;
    return 0;
}

bool mountinfo_has(const struct mountinfo *mount, const char *option)
{
    return has_option(mount->options, option, strlen(option));
}
