/* Block devices as sysfs knows them: what a filesystem stands on, down to the disks. */
#pragma once
#include "engine/base/problem.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The block device under an open file or folder: its st_dev, or, where a filesystem has a number of
 * its own (btrfs), that of its mount's source. 0: none (tmpfs, NFS). */
dev_t device_of(int fd);

struct device {
    dev_t number;
    char name[64];       /* "vda", "loop3" */
    char model[128];     /* "" unknown, as the others */
    char scheduler[32];  /* the one in use */
    int64_t size;        /* bytes; -1 unknown, as the others */
    int rotational;      /* 0 or 1 */
    int64_t queue_depth; /* requests */
    bool is_loop;
    char backing_file[256]; /* of a loop device */
    char backing_filesystem[32];
};
must_check int device_read(dev_t number, struct device *ret, struct problem *why);

enum { DISKS_MOST = 16 };
/* The disks at the bottom, through partitions, device mapper, md and loop devices. Returns how many
 * of them are in ret, 0 if sysfs does not know the device. */
size_t device_disks(dev_t number, dev_t ret[DISKS_MOST]);
/* Whether the two stand on one disk. */
bool device_shared(dev_t a, dev_t b);
