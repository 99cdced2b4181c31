#include "service/exporter.h"

#include "engine/base/text.h"
#include "service/exposition.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* What is read: the metric, the label that says of what it is one (NULL: it has none), and where it goes. */
struct figure {
    const char *metric, *label;
    const char *value; /* of the label; NULL: any that counts */
    size_t offset;
    bool sums;
};
#define PLAIN(metric, member)                                                \
    {                                                                        \
        metric, NULL, NULL, offsetof(struct exporter_reading, member), false \
    }
#define SUM(metric, member)                                                 \
    {                                                                       \
        metric, NULL, NULL, offsetof(struct exporter_reading, member), true \
    }
#define CPU(mode, member)                                                                       \
    {                                                                                           \
        "node_cpu_seconds_total", "mode", mode, offsetof(struct exporter_reading, member), true \
    }
#define DEVICE(metric, member)                                                  \
    {                                                                           \
        metric, "device", NULL, offsetof(struct exporter_reading, member), true \
    }
static const struct figure figures[] = {
    PLAIN("node_load1", load1),
    PLAIN("node_load5", load5),
    PLAIN("node_load15", load15),
    PLAIN("node_memory_MemAvailable_bytes", memory_available),
    PLAIN("node_memory_Dirty_bytes", dirty),
    PLAIN("node_memory_Writeback_bytes", writeback),
    CPU("user", user),
    CPU("nice", user),
    CPU("system", system),
    CPU("irq", system),
    CPU("softirq", system),
    CPU("iowait", iowait),
    CPU("steal", steal),
    CPU("idle", idle),
    DEVICE("node_disk_read_bytes_total", disk_read),
    DEVICE("node_disk_written_bytes_total", disk_written),
    DEVICE("node_disk_reads_completed_total", disk_reads),
    DEVICE("node_disk_writes_completed_total", disk_writes),
    DEVICE("node_network_receive_bytes_total", net_received),
    DEVICE("node_network_transmit_bytes_total", net_sent),
    SUM("node_pressure_cpu_waiting_seconds_total", pressure_cpu),
    SUM("node_pressure_io_waiting_seconds_total", pressure_io),
    SUM("node_pressure_memory_waiting_seconds_total", pressure_memory),
};
#define BUSY "node_disk_io_time_seconds_total"

/* Whether what it carries is counted elsewhere too, or goes to no device: layers on top of disks, memory
 * that poses as a disk, the host's talk with itself. */
static bool is_counted_elsewhere(const char *device)
{
    static const char *const layers[] = { "dm-",  "md",  "drbd", "bcache", "zd",
                                          "loop", "ram", "zram", "sr",     "fd" };
    for (size_t i = 0; i < COUNT_OF(layers); i++) {
        size_t n = strlen(layers[i]);
        if (strncmp(device, layers[i], n) == 0 && device[n] >= '0' && device[n] <= '9')
            return true;
    }
    return strcmp(device, "lo") == 0;
}

static bool is_of(const struct metric *metric, const struct figure *figure)
{
    if (strcmp(metric->name, figure->metric) != 0)
        return false;
    if (!figure->label)
        return true;
    const char *value = metric_label(metric, figure->label);
    if (!value)
        return false;
    return figure->value ? strcmp(value, figure->value) == 0 : !is_counted_elsewhere(value);
}

static void note(const struct metric *metric, const struct figure *figure,
                 struct exporter_reading *reading)
{
    char *at = (char *)reading + figure->offset;
    if (!figure->sums) {
        *(double *)(void *)at = isfinite(metric->value) ? metric->value : NAN;
        return;
    }
    struct exporter_sum *sum = (struct exporter_sum *)(void *)at;
    sum->value += metric->value;
    sum->n++;
}

/* Returns whether it is one of a node exporter. */
static bool take(const struct metric *metric, struct exporter_reading *reading)
{
    const char *device = metric_label(metric, "device");
    if (!text_starts(metric->name, "node_"))
        return false;
    for (size_t i = 0; i < COUNT_OF(figures); i++)
        if (is_of(metric, &figures[i])) {
            note(metric, &figures[i], reading);
            return true;
        }
    if (strcmp(metric->name, BUSY) == 0 && device && !is_counted_elsewhere(device) &&
        reading->busy_n < EXPORTER_DISKS)
        reading->busy[reading->busy_n++] = metric->value;
    return false;
}

int exporter_read(char *text, size_t n, struct exporter_reading *ret, struct problem *why)
{
    struct exposition exposition = { .at = text, .end = text + n };
    struct exporter_reading reading = { .load1 = NAN,
                                        .load5 = NAN,
                                        .load15 = NAN,
                                        .memory_available = NAN,
                                        .dirty = NAN,
                                        .writeback = NAN };
    struct metric metric;
    size_t known = 0;
    int more;
    while ((more = exposition_next(&exposition, &metric, why)) > 0)
        known += take(&metric, &reading);
    if (more < 0)
        return -1;
    if (!known)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "its figures are not those of a node exporter: none is of load, CPUs, "
                           "memory, disks or networks");
    *ret = reading;
    return 0;
}

/* --- differences --- */

static double growth(struct exporter_sum before, struct exporter_sum now, double per)
{
    double grown = (now.value - before.value) / per;
    bool told = now.n > 0 && now.n == before.n && per > 0 && grown >= 0 && isfinite(grown);
    return told ? grown : NAN;
}

/* Of what the kernel counts more coarsely than we read it. */
static double share(double seconds)
{
    return seconds > 1 ? 1 : seconds;
}

static void fill_cpu(const struct exporter_reading *a, const struct exporter_reading *b,
                     struct host_sample *ret)
{
    double user = growth(a->user, b->user, 1), system = growth(a->system, b->system, 1),
           iowait = growth(a->iowait, b->iowait, 1), idle = growth(a->idle, b->idle, 1);
    /* An exporter elsewhere than on Linux has no steal. */
    double steal = a->steal.n || b->steal.n ? growth(a->steal, b->steal, 1) : 0;
    double all = user + system + iowait + steal + idle;
    if (!(all > 0)) /* also when any of them is not told */
        return;
    ret->cpu_user = user / all;
    ret->cpu_system = system / all;
    ret->cpu_iowait = iowait / all;
    ret->cpu_steal = steal / all;
    ret->cpu_idle = idle / all;
}

static double busiest(const struct exporter_reading *a, const struct exporter_reading *b,
                      double seconds)
{
    double most = NAN;
    for (unsigned i = 0; a->busy_n == b->busy_n && i < b->busy_n; i++) {
        const struct exporter_sum before = { a->busy[i], 1 }, now = { b->busy[i], 1 };
        most = fmax(most, growth(before, now, seconds)); /* the other one, when one is NAN */
    }
    return share(most);
}

/* What needs no difference; the rest is not told. */
static void fill_state(const struct exporter_reading *now, nsec at, struct host_sample *ret)
{
    *ret = (struct host_sample){ .at = at };
#define X(column, unit) ret->column = NAN;
    HOST_COLUMNS(X)
#undef X
    ret->load1 = now->load1;
    ret->load5 = now->load5;
    ret->load15 = now->load15;
    ret->memory_available = now->memory_available;
    ret->dirty = now->dirty;
    ret->writeback = now->writeback;
}

void exporter_sample(const struct exporter_reading *before, const struct exporter_reading *now,
                     nsec at, struct host_sample *ret)
{
    fill_state(now, at, ret);
    if (!before)
        return;
    double seconds = seconds_of(now->at - before->at);
    fill_cpu(before, now, ret);
#define RATE(member) ret->member = growth(before->member, now->member, seconds)
    RATE(disk_read);
    RATE(disk_written);
    RATE(disk_reads);
    RATE(disk_writes);
    RATE(net_received);
    RATE(net_sent);
    RATE(pressure_cpu);
    RATE(pressure_io);
    RATE(pressure_memory);
#undef RATE
    ret->pressure_cpu = share(ret->pressure_cpu);
    ret->pressure_io = share(ret->pressure_io);
    ret->pressure_memory = share(ret->pressure_memory);
    ret->disk_busy = busiest(before, now, seconds);
}
