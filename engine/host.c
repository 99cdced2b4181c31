#include "engine/host.h"

#include "engine/base/text.h"
#include "engine/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/sysmacros.h>

enum { TEXT_ROOM = 64 * 1024 }; /* the longest of the files: /proc/stat of a large machine */

#define FILES(X)                                                     \
    X(LOAD, "/proc/loadavg")                                         \
    X(CPU, "/proc/stat")                                             \
    X(MEMORY, "/proc/meminfo")                                       \
    X(NETWORK, "/proc/net/dev")                                      \
    X(PRESSURE_CPU, "/proc/pressure/cpu")                            \
    X(PRESSURE_IO, "/proc/pressure/io")                              \
    X(PRESSURE_MEMORY, "/proc/pressure/memory")                      \
    X(DISK, NULL)          /* depends on the target */               \
    X(JOB_CPU, "cpu.stat") /* from here on in the runner's cgroup */ \
    X(JOB_MEMORY, "memory.current")                                  \
    X(JOB_IO, "io.stat")                                             \
    X(JOB_PRESSURE_CPU, "cpu.pressure")                              \
    X(JOB_PRESSURE_IO, "io.pressure")                                \
    X(JOB_PRESSURE_MEMORY, "memory.pressure")

enum {
#define X(file, path) FILE_##file,
    FILES(X)
#undef X
        FILE_COUNT
};

static const char *const paths[FILE_COUNT] = {
#define X(file, path) path,
    FILES(X)
#undef X
};

/* Counters of one moment; `has_` tells whether the machine gave them. */
struct counters {
    nsec at;
    bool has_cpu, has_disk, has_network, has_usage, has_io;
    struct procfs_cpu cpu;
    struct procfs_disk disk;
    struct procfs_network network;
    uint64_t usage_usec; /* of the runner's cgroup; likewise io */
    struct procfs_io io;
};

struct host_sampler {
    int files[FILE_COUNT];
    struct counters last;
    char text[TEXT_ROOM];
};

static const char *read_text(struct host_sampler *sampler, int file)
{
    if (procfs_read(sampler->files[file], sampler->text, sizeof sampler->text) < 0)
        return "";
    return sampler->text;
}

static void read_counters(struct host_sampler *s, struct counters *ret)
{
    ret->at = clock_monotonic();
    ret->has_cpu = procfs_parse_cpu(read_text(s, FILE_CPU), &ret->cpu) == 0;
    ret->has_disk = procfs_parse_disk(read_text(s, FILE_DISK), &ret->disk) == 0;
    ret->has_network = procfs_parse_network(read_text(s, FILE_NETWORK), &ret->network) == 0;
    ret->has_usage = procfs_parse_usage(read_text(s, FILE_JOB_CPU), &ret->usage_usec) == 0;
    ret->has_io =
        s->files[FILE_JOB_IO] >= 0 && procfs_parse_io(read_text(s, FILE_JOB_IO), &ret->io) == 0;
}

int host_sampler_open(dev_t device, struct host_sampler **ret, struct problem *why)
{
    struct host_sampler *sampler = calloc(1, sizeof *sampler);
    char disk[64];
    if (!sampler)
        return problem_memory(why);
    snprintf(disk, sizeof disk, "/sys/dev/block/%u:%u/stat", major(device), minor(device));
    for (int i = 0; i < FILE_COUNT; i++)
        sampler->files[i] =
            i < FILE_JOB_CPU ? open(i == FILE_DISK ? disk : paths[i], O_RDONLY | O_CLOEXEC) : -1;
    read_counters(sampler, &sampler->last);
    *ret = sampler;
    return 0;
}

bool host_own_cgroup(char *path, size_t size)
{
    char text[4096], below[3072];
    scoped_fd int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    if (procfs_read(fd, text, sizeof text) < 0 ||
        procfs_parse_cgroup(text, below, sizeof below) < 0)
        return false;
    const char *unit = strrchr(below, '/');
    return unit && text_starts(unit, "/plimsoll-runner@") &&
           text_fit(path, size, "/sys/fs/cgroup%s", below) == 0;
}

void host_sampler_watch(struct host_sampler *sampler, const char *cgroup)
{
    scoped_fd int folder = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = FILE_JOB_CPU; i < FILE_COUNT; i++) {
        close_cell(&sampler->files[i]);
        sampler->files[i] = folder < 0 ? -1 : openat(folder, paths[i], O_RDONLY | O_CLOEXEC);
    }
    read_counters(sampler, &sampler->last);
}

struct host_sampler *host_sampler_close(struct host_sampler *sampler)
{
    for (int i = 0; sampler && i < FILE_COUNT; i++)
        close_cell(&sampler->files[i]);
    free(sampler);
    return NULL;
}

/* The growth of a counter; one that fell was reset (an interface went away) and tells nothing. */
static double growth(uint64_t before, uint64_t now, double per)
{
    return now >= before && per > 0 ? (double)(now - before) / per : NAN;
}

static void fill_cpu(const struct counters *before, const struct counters *now,
                     struct host_sample *ret)
{
    const struct procfs_cpu *a = &before->cpu, *b = &now->cpu;
    uint64_t all_before = a->user + a->system + a->iowait + a->steal + a->idle;
    uint64_t all = b->user + b->system + b->iowait + b->steal + b->idle;
    double ticks = before->has_cpu && now->has_cpu && all > all_before
                       ? (double)(all - all_before)
                       : 0; /* growth() makes NAN of it */
    ret->cpu_user = growth(a->user, b->user, ticks);
    ret->cpu_system = growth(a->system, b->system, ticks);
    ret->cpu_iowait = growth(a->iowait, b->iowait, ticks);
    ret->cpu_steal = growth(a->steal, b->steal, ticks);
    ret->cpu_idle = growth(a->idle, b->idle, ticks);
}

static void fill_traffic(const struct counters *before, const struct counters *now,
                         struct host_sample *ret)
{
    double seconds = seconds_of(now->at - before->at);
    double disk = before->has_disk && now->has_disk ? seconds : 0;
    double network = before->has_network && now->has_network ? seconds : 0;
    ret->disk_read = growth(before->disk.read, now->disk.read, disk);
    ret->disk_written = growth(before->disk.written, now->disk.written, disk);
    ret->disk_reads = growth(before->disk.reads, now->disk.reads, disk);
    ret->disk_writes = growth(before->disk.writes, now->disk.writes, disk);
    /* The kernel counts whole milliseconds, so a short interval may come out above 1. */
    ret->disk_busy = growth(before->disk.busy_ms, now->disk.busy_ms, disk * 1e3);
    if (ret->disk_busy > 1)
        ret->disk_busy = 1;
    ret->net_received = growth(before->network.received, now->network.received, network);
    ret->net_sent = growth(before->network.sent, now->network.sent, network);
}

static void fill_job(struct host_sampler *s, const struct counters *now, struct host_sample *ret)
{
    const struct counters *before = &s->last;
    double seconds = seconds_of(now->at - before->at);
    double io = before->has_io && now->has_io ? seconds : 0;
    unsigned long long memory;
    ret->job_cpu = growth(before->usage_usec, now->usage_usec,
                          before->has_usage && now->has_usage ? seconds * 1e6 : 0);
    ret->job_memory =
        sscanf(read_text(s, FILE_JOB_MEMORY), "%llu", &memory) == 1 ? (double)memory : NAN;
    ret->job_read = growth(before->io.read, now->io.read, io);
    ret->job_written = growth(before->io.written, now->io.written, io);
    ret->job_pressure_cpu = procfs_parse_pressure(read_text(s, FILE_JOB_PRESSURE_CPU));
    ret->job_pressure_io = procfs_parse_pressure(read_text(s, FILE_JOB_PRESSURE_IO));
    ret->job_pressure_memory = procfs_parse_pressure(read_text(s, FILE_JOB_PRESSURE_MEMORY));
}

void host_sampler_read(struct host_sampler *s, nsec since_leg, struct host_sample *ret)
{
    struct procfs_load load = { NAN, NAN, NAN, NAN };
    struct counters now = { 0 };
    *ret = (struct host_sample){ .at = since_leg };
    (void)procfs_parse_load(read_text(s, FILE_LOAD), &load);
    ret->load1 = load.load1;
    ret->load5 = load.load5;
    ret->load15 = load.load15;
    const char *memory = read_text(s, FILE_MEMORY);
    ret->memory_available = procfs_parse_memory(memory, "MemAvailable");
    ret->dirty = procfs_parse_memory(memory, "Dirty");
    ret->writeback = procfs_parse_memory(memory, "Writeback");
    ret->pressure_cpu = procfs_parse_pressure(read_text(s, FILE_PRESSURE_CPU));
    ret->pressure_io = procfs_parse_pressure(read_text(s, FILE_PRESSURE_IO));
    ret->pressure_memory = procfs_parse_pressure(read_text(s, FILE_PRESSURE_MEMORY));
    read_counters(s, &now);
    fill_cpu(&s->last, &now, ret);
    fill_traffic(&s->last, &now, ret);
    fill_job(s, &now, ret);
    s->last = now;
}
