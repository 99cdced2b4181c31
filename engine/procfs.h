/* Texts of /proc and /sys, read and taken apart. What a text does not hold is NAN or -1. */
#pragma once
#include "engine/base/attr.h"

#include <stdint.h>

/* The whole of a small file from its beginning, NUL-terminated; its length, or -1. */
ssize_t procfs_read(int fd, char *text, size_t size);
/* The first line of a file below `folder` (or an absolute path), without its end; -1 if there is
 * none or it is empty. */
int procfs_line(int folder, const char *path, char *text, size_t size);

/* /proc/loadavg: three averages and the running threads. */
struct procfs_load {
    double load1, load5, load15, running;
};
int procfs_parse_load(const char *text, struct procfs_load *ret);

/* The first line of /proc/stat, in ticks since the boot. */
struct procfs_cpu {
    uint64_t user, system, iowait, steal, idle; /* user with nice; system with interrupts */
};
int procfs_parse_cpu(const char *text, struct procfs_cpu *ret);

/* A row of /proc/meminfo, in bytes; NAN if it is not there. */
double procfs_parse_memory(const char *text, const char *name);

/* /sys/dev/block/MAJOR:MINOR/stat. */
struct procfs_disk {
    uint64_t reads, writes, read, written; /* operations; bytes */
    uint64_t busy_ms;
};
int procfs_parse_disk(const char *text, struct procfs_disk *ret);

/* /proc/net/dev, all interfaces but lo, bytes. */
struct procfs_network {
    uint64_t received, sent;
};
int procfs_parse_network(const char *text, struct procfs_network *ret);

/* /proc/pressure/NAME: "some", over 10 s, 0 to 1; NAN if it is not there. */
double procfs_parse_pressure(const char *text);

/* A cgroup's cpu.stat, io.stat and /proc/PID/cgroup. */
int procfs_parse_usage(const char *text, uint64_t *ret_usec);
struct procfs_io {
    uint64_t read, written; /* bytes, of all devices */
};
int procfs_parse_io(const char *text, struct procfs_io *ret);
/* The path of the process in the unified hierarchy. */
int procfs_parse_cgroup(const char *text, char *path, size_t size);
