/* The mount that something stands on, from /proc/PID/mountinfo. */
#pragma once
#include "engine/base/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct mountinfo {
    char type[32];              /* "ext4" */
    char point[256], root[256]; /* where it is mounted, and what of the filesystem */
    char options[512];          /* of the mount and then of the filesystem, each once */
    char source[256];           /* "/dev/sda1", "filer:/export" */
    unsigned major, minor;
};

/* Reads one line; -1 if it is not one. *ret_id is the mount's id. */
int mountinfo_parse(const char *line, uint64_t *ret_id, struct mountinfo *ret);
/* The mount of an open file or folder (O_PATH will do). Of one that lies on no mount that this process sees
 * (in a chroot whose "/" is none), what the filesystem says of itself. */
must_check int mountinfo_of(int fd, struct mountinfo *ret, struct problem *why);
/* The same as the machine's first process sees it: a service in a sandbox of its own sees everything
 * mounted read-only. What that process does not see, as we do. */
must_check int mountinfo_of_host(int fd, struct mountinfo *ret, struct problem *why);
bool mountinfo_has(const struct mountinfo *mount, const char *option);
