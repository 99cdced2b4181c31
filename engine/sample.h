/* What one batch measured. One shape for every workload; rates are derived, never stored. */
#pragma once
#include "engine/base/clock.h"

#include <stddef.h>
#include <stdint.h>

struct sample {
    uint64_t
        load; /* the x axis, always rising: in place (create, write) or done so far; all lanes */
    nsec at;  /* the batch's end, since the leg began */
    nsec elapsed; /* what its lane spent on it; lanes overlap, so rates use wall time */
    uint32_t lane;
    uint32_t switches; /* involuntary, of the lane during this batch: was the machine busy? */
    uint64_t ops, bytes, errors;
    nsec cpu;           /* the lane's own CPU time in this batch */
    nsec p50, p99, max; /* latency of one operation within the batch */
};

enum { SAMPLE_GROUP = 512 }; /* at most, in a journal line and in a chunk row */

/* What the host did meanwhile; one a second. Counters are rates per second over the interval that
 * ends at `at`; a figure that the host does not tell is NAN. */
struct host_sample {
    nsec at; /* since the leg began */
    double load1, load5, load15;
    double cpu_user, cpu_system, cpu_iowait, cpu_steal, cpu_idle; /* shares of all CPUs, 0 to 1 */
    double memory_available, dirty, writeback;                    /* bytes */
    double disk_read, disk_written;                               /* bytes/s, the target's device */
    double disk_reads, disk_writes;                               /* operations/s */
    double disk_busy;                                             /* share of time, 0 to 1 */
    double net_received, net_sent;                                /* bytes/s, without loopback */
    double pressure_cpu, pressure_io, pressure_memory;            /* PSI some avg10, 0 to 1 */

    /* The runner alone, where it is a unit of its own with a cgroup (version 2). */
    double job_cpu;               /* CPUs in use: 1 is one of them all the time */
    double job_memory;            /* bytes, page cache included */
    double job_read, job_written; /* bytes/s, what it made the devices do */
    double job_pressure_cpu, job_pressure_io, job_pressure_memory;

    double
        job_cpu_wait; /* lanes that waited in the queue for a CPU: 1 is one of them all the time */
};

/* The columns of a host_sample, in order: the one list for journal, table and chart. */
#define HOST_COLUMNS(X)             \
    X(load1, "")                    \
    X(load5, "")                    \
    X(load15, "")                   \
    X(cpu_user, "share")            \
    X(cpu_system, "share")          \
    X(cpu_iowait, "share")          \
    X(cpu_steal, "share")           \
    X(cpu_idle, "share")            \
    X(memory_available, "bytes")    \
    X(dirty, "bytes")               \
    X(writeback, "bytes")           \
    X(disk_read, "bytes/s")         \
    X(disk_written, "bytes/s")      \
    X(disk_reads, "operations/s")   \
    X(disk_writes, "operations/s")  \
    X(disk_busy, "share")           \
    X(net_received, "bytes/s")      \
    X(net_sent, "bytes/s")          \
    X(pressure_cpu, "share")        \
    X(pressure_io, "share")         \
    X(pressure_memory, "share")     \
    X(job_cpu, "CPUs")              \
    X(job_memory, "bytes")          \
    X(job_read, "bytes/s")          \
    X(job_written, "bytes/s")       \
    X(job_pressure_cpu, "share")    \
    X(job_pressure_io, "share")     \
    X(job_pressure_memory, "share") \
    X(job_cpu_wait, "lanes")
