/* What a Prometheus node exporter tells of its host, as the figures that this program keeps of hosts. */
#pragma once
#include "engine/base/problem.h"
#include "engine/sample.h"

enum { EXPORTER_DISKS = 64 }; /* whose time is kept one by one */

/* The sum of a metric over all devices, and how many these are: when a device has come or gone, the
 * difference of two sums tells nothing. */
struct exporter_sum {
    double value;
    unsigned n;
};

/* One reading. What the exporter does not tell is NAN, or a sum over none. */
struct exporter_reading {
    nsec at; /* monotonic; the caller's to set */
    double load1, load5, load15, memory_available, dirty, writeback;
    struct exporter_sum user, system, iowait, steal, idle;          /* seconds of CPUs */
    struct exporter_sum disk_read, disk_written;                    /* bytes, of what is no layer */
    struct exporter_sum disk_reads, disk_writes;                    /* operations */
    struct exporter_sum net_received, net_sent;                     /* bytes, without loopback */
    struct exporter_sum pressure_cpu, pressure_io, pressure_memory; /* seconds in which some wait */
    double busy[EXPORTER_DISKS]; /* seconds, in the order in which the disks are told */
    unsigned busy_n;
};

/* Takes the text apart in place. BAD_SYNTAX: it is none of the format; UNSUPPORTED: nothing in it is of a
 * node exporter. */
must_check int exporter_read(char *text, size_t n, struct exporter_reading *ret,
                             struct problem *why);
/* What the host did between two readings, as of `at`; before NULL: the first one, only what needs no
 * difference. A counter that went back, since its host was started anew, tells nothing; the shares of CPUs
 * are told all together or not at all. disk_busy is that of the busiest disk. */
void exporter_sample(const struct exporter_reading *before, const struct exporter_reading *now,
                     nsec at, struct host_sample *ret);
