#include "engine/device.h"

#include "engine/base/text.h"
#include "engine/mountinfo.h"
#include "engine/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
    DEPTH_MOST = 8, /* a loop on a loop on LVM on RAID ...: more is a circle */
    SECTOR = 512,
};

static void closedir_cell(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

dev_t device_of(int fd)
{
    struct stat st;
    struct mountinfo mount;
    struct problem why = { 0 };
    if (fstat(fd, &st) < 0)
        return 0;
    if (major(st.st_dev) != 0)
        return st.st_dev;
    if (mountinfo_of(fd, &mount, &why) == 0 && mount.source[0] == '/' &&
        stat(mount.source, &st) == 0 && S_ISBLK(st.st_mode))
        return st.st_rdev;
    return 0;
}

/* The device's folder in sysfs, or -1. */
static int open_device(dev_t number)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(number), minor(number));
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_partition(int device)
{
    return faccessat(device, "partition", F_OK, 0) == 0;
}

static dev_t number_in(int folder, const char *path)
{
    char text[32];
    unsigned major_part, minor_part;
    if (procfs_line(folder, path, text, sizeof text) < 0 ||
        sscanf(text, "%u:%u", &major_part, &minor_part) != 2)
        return 0;
    return makedev(major_part, minor_part);
}

static int64_t integer_in(int folder, const char *path)
{
    char text[32];
    int64_t value;
    return procfs_line(folder, path, text, sizeof text) == 0 &&
                   sscanf(text, "%" SCNd64, &value) == 1
               ? value
               : -1;
}

/* "[mq-deadline] none" → "mq-deadline"; the text is cut. */
static const char *bracketed(char *text)
{
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    if (!close)
        return text;
    *close = '\0';
    return open + 1;
}

static void name_of(int device, char *name, size_t size)
{
    char text[512]; /* uevent: "MAJOR=...\nMINOR=...\nDEVNAME=vda\n..." */
    scoped_fd int fd = openat(device, "uevent", O_RDONLY | O_CLOEXEC);
    const char *found = procfs_read(fd, text, sizeof text) > 0 ? strstr(text, "DEVNAME=") : NULL;
    if (found)
        snprintf(name, size, "%.*s", (int)strcspn(found + 8, "\n"), found + 8);
}

static void read_backing(int device, struct device *ret)
{
    char path[sizeof ret->backing_file];
    struct mountinfo mount;
    struct problem why = { 0 };
    if (procfs_line(device, "loop/backing_file", path, sizeof path) < 0)
        return;
    ret->is_loop = true;
    text_shown(path, ret->backing_file, sizeof ret->backing_file);
    scoped_fd int file = open(path, O_PATH | O_CLOEXEC);
    if (file >= 0 && mountinfo_of(file, &mount, &why) == 0)
        text_shown(mount.type, ret->backing_filesystem, sizeof ret->backing_filesystem);
}

int device_read(dev_t number, struct device *ret, struct problem *why)
{
    struct device device = { .number = number, .size = -1 };
    char text[256];
    scoped_fd int folder = open_device(number);
    if (folder < 0)
        return problem_errno(why, errno, "cannot find block device %u:%u", major(number),
                             minor(number));
    /* A partition has neither queue nor model: they are its disk's. */
    scoped_fd int disk =
        openat(folder, is_partition(folder) ? ".." : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    name_of(folder, device.name, sizeof device.name);
    int64_t sectors = integer_in(folder, "size");
    device.size = sectors < 0 ? -1 : sectors * SECTOR;
    device.rotational = (int)integer_in(disk, "queue/rotational");
    device.queue_depth = integer_in(disk, "queue/nr_requests");
    if (procfs_line(disk, "queue/scheduler", text, sizeof text) == 0)
        text_shown(bracketed(text), device.scheduler, sizeof device.scheduler);
    if (procfs_line(disk, "device/model", text, sizeof text) == 0) {
        size_t n = strlen(text);
        while (n > 0 && text[n - 1] == ' ')
            text[--n] = '\0';
        text_shown(text, device.model, sizeof device.model);
    }
    read_backing(folder, &device);
    *ret = device;
    return 0;
}

struct disks {
    size_t n;
    dev_t *at;
};

static void gather(dev_t number, unsigned depth, struct disks *disks);

/* 1: it stands on others, which are gathered. */
static int gather_slaves(int folder, unsigned depth, struct disks *disks)
{
    int found = 0, fd = openat(folder, "slaves", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped(closedir_cell) DIR *slaves = fd < 0 ? NULL : fdopendir(fd);
    if (!slaves)
        return 0;
    for (struct dirent *entry; (entry = readdir(slaves));) {
        char path[300];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/dev", entry->d_name);
        dev_t slave = number_in(dirfd(slaves), path);
        if (slave)
            gather(slave, depth + 1, disks);
        found = 1;
    }
    return found;
}

static int gather_backing(int folder, unsigned depth, struct disks *disks)
{
    char path[4096];
    if (procfs_line(folder, "loop/backing_file", path, sizeof path) < 0)
        return 0;
    scoped_fd int file = open(path, O_PATH | O_CLOEXEC);
    dev_t under = file < 0 ? 0 : device_of(file);
    if (!under)
        return 0;
    gather(under, depth + 1, disks);
    return 1;
}

static void gather(dev_t number, unsigned depth, struct disks *disks)
{
    scoped_fd int folder = open_device(number);
    if (folder < 0 || depth == DEPTH_MOST)
        return;
    if (is_partition(folder)) {
        dev_t disk = number_in(folder, "../dev");
        if (disk)
            gather(disk, depth + 1, disks);
        return;
    }
    if (gather_slaves(folder, depth, disks) || gather_backing(folder, depth, disks))
        return;
    for (size_t i = 0; i < disks->n; i++)
        if (disks->at[i] == number)
            return;
    if (disks->n < DISKS_MOST)
        disks->at[disks->n++] = number;
}

size_t device_disks(dev_t number, dev_t ret[DISKS_MOST])
{
    struct disks disks = { 0, ret };
    gather(number, 0, &disks);
    return disks.n;
}

bool device_shared(dev_t a, dev_t b)
{
    dev_t of_a[DISKS_MOST], of_b[DISKS_MOST];
    if (a == b)
        return a != 0;
    size_t n = device_disks(a, of_a), m = device_disks(b, of_b);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            if (of_a[i] == of_b[j])
                return true;
    return false;
}
