#include "engine/environment.h"

#include "engine/base/clock.h"
#include "engine/base/field_json.h"
#include "engine/base/text.h"
#include "engine/device.h"
#include "engine/journal.h"
#include "engine/ledger.h"
#include "engine/mountinfo.h"
#include "engine/procfs.h"
#include "engine/target.h"
#include "engine/virtualisation.h"

#include <dirent.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <zlib.h>

enum {
    NETWORKS_MOST = 32,
    CPUS_MOST = 1024,
    CLOCK_BLOCKS =
        31, /* of which the median counts: an interrupt spoils one block, not the figure */
    CLOCK_CALLS = 200,
};

/* --- JSON of facts that may be missing --- */

static json_t *text_json(const char *text)
{
    char shown[512];
    return text && *text ? json_string(text_shown(text, shown, sizeof shown)) : json_null();
}

static json_t *line_json(int folder, const char *path)
{
    char text[512];
    return procfs_line(folder, path, text, sizeof text) == 0 ? text_json(text) : json_null();
}

static json_t *count_json(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *bytes_json(double value)
{
    return isfinite(value) ? json_integer((json_int_t)value) : json_null();
}

static int64_t integer_at(int folder, const char *path)
{
    char text[64], *end;
    if (procfs_line(folder, path, text, sizeof text) < 0)
        return -1;
    int64_t value = strtoll(text, &end, 10);
    return end == text ? -1 : value;
}

/* --- system --- */

static json_t *os_json(void)
{
    scoped_file FILE *file = fopen("/etc/os-release", "re");
    scoped_free char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) > 0)
        if (text_starts(line, "PRETTY_NAME=")) {
            char *name = line + strlen("PRETTY_NAME=");
            name += strspn(name, "\"'");
            name[strcspn(name, "\"'\n")] = '\0';
            return text_json(name);
        }
    return json_null();
}

static json_t *container_json(void)
{
    char text[64];
    if (procfs_line(AT_FDCWD, "/run/systemd/container", text, sizeof text) == 0)
        return text_json(text);
    if (access("/run/.containerenv", F_OK) == 0)
        return json_string("podman");
    if (access("/.dockerenv", F_OK) == 0)
        return json_string("docker");
    return json_null();
}

static json_t *system_json(void)
{
    struct utsname name;
    if (uname(&name) < 0)
        return json_null();
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "hostname", text_json(name.nodename),
                     "kernel", text_json(name.release), "kernel_version", text_json(name.version),
                     "machine", text_json(name.machine), "os", os_json(), "virtualisation",
                     text_json(virtual_machine()), "container", container_json(), "boot_id",
                     line_json(AT_FDCWD, "/proc/sys/kernel/random/boot_id"));
}

static json_t *user_json(void)
{
    struct passwd entry, *found = NULL;
    char room[4096];
    if (getpwuid_r(geteuid(), &entry, room, sizeof room, &found) != 0 || !found)
        return json_null();
    return text_json(found->pw_name);
}

static json_t *engine_json(void)
{
    return json_pack("{s:s,s:i,s:o,s:I,s:{s:s,s:s,s:s}}", "version", PLIMSOLL_VERSION,
                     "journal_format", JOURNAL_FORMAT, "user", user_json(), "uid",
                     (json_int_t)geteuid(), "libraries", "glibc", gnu_get_libc_version(), "jansson",
                     jansson_version_str(), "zlib", zlibVersion());
}

/* --- filesystem and device --- */

static json_t *filesystem_json(int target)
{
    struct mountinfo mount;
    struct statvfs fs;
    struct problem why = { 0 };
    if (mountinfo_of(target, &mount, &why) < 0 || fstatvfs(target, &fs) < 0)
        return json_null();
    json_int_t unit = (json_int_t)fs.f_frsize, blocks = (json_int_t)fs.f_blocks;
    bool counts_inodes = fs.f_files > 0;
    return json_pack("{s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I,s:o,s:o,s:o}", "type", text_json(mount.type),
                     "mount_point", text_json(mount.point), "mount_options",
                     text_json(mount.options), "source", text_json(mount.source), "block_size",
                     (json_int_t)fs.f_bsize, "space_total", blocks * unit, "space_used",
                     (blocks - (json_int_t)fs.f_bfree) * unit, "space_available",
                     (json_int_t)fs.f_bavail * unit, "inodes_total",
                     count_json(counts_inodes ? (int64_t)fs.f_files : -1), "inodes_used",
                     count_json(counts_inodes ? (int64_t)(fs.f_files - fs.f_ffree) : -1),
                     "inodes_available", count_json(counts_inodes ? (int64_t)fs.f_favail : -1));
}

static json_t *one_device_json(dev_t number)
{
    struct device device;
    struct problem why = { 0 };
    if (device_read(number, &device, &why) < 0)
        return json_null();
    json_t *json = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "name", text_json(device.name), "model",
                             text_json(device.model), "size", count_json(device.size), "scheduler",
                             text_json(device.scheduler), "rotational",
                             device.rotational < 0 ? json_null() : json_boolean(device.rotational),
                             "queue_depth", count_json(device.queue_depth));
    if (device.is_loop)
        json_object_set_new(json, "backing_filesystem", text_json(device.backing_filesystem));
    return json;
}

/* The device that the filesystem names, and the disks at the bottom when they are others. */
static json_t *device_json(dev_t number)
{
    dev_t disks[DISKS_MOST];
    json_t *json = number ? one_device_json(number) : json_null();
    if (!json_is_object(json))
        return json;
    size_t n = device_disks(number, disks);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, one_device_json(disks[i]));
    json_object_set_new(json, "disks", list);
    return json;
}

/* Whether what the service writes meanwhile goes to the disk that is measured. */
static json_t *shared_json(int target, const char *state)
{
    struct stat ours, theirs;
    scoped_fd int folder = state ? open(state, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0 || fstat(folder, &ours) < 0 || fstat(target, &theirs) < 0)
        return json_null();
    return json_boolean(ours.st_dev == theirs.st_dev ||
                        device_shared(device_of(folder), device_of(target)));
}

/* --- processors --- */

struct cpus {
    uint64_t n, sockets, cores;
    int64_t highest_khz, limit_khz; /* -1 unknown */
    char governors[128];            /* each once */
    char model[128];
};

static void add_once(char *list, size_t size, const char *name)
{
    size_t used = strlen(list), n = strlen(name);
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && strncmp(p, name, n) == 0)
            return;
    if (used + n + 2 <= size)
        snprintf(list + used, size - used, "%s%s", used ? "," : "", name);
}

/* Adds to a set of numbers; true if it is new there. */
static bool note(int64_t *set, uint64_t *n, int64_t value)
{
    for (uint64_t i = 0; i < *n; i++)
        if (set[i] == value)
            return false;
    if (*n < CPUS_MOST)
        set[(*n)++] = value;
    return true;
}

static void read_cpu(int folder, struct cpus *cpus, int64_t *sockets, int64_t *cores)
{
    char governor[32];
    int64_t socket = integer_at(folder, "topology/physical_package_id");
    int64_t core = integer_at(folder, "topology/core_id");
    cpus->n++;
    if (socket >= 0)
        note(sockets, &cpus->sockets, socket);
    if (core >= 0)
        note(cores, &cpus->cores, (socket < 0 ? 0 : socket) * (1 << 20) + core);
    if (procfs_line(folder, "cpufreq/scaling_governor", governor, sizeof governor) == 0)
        add_once(cpus->governors, sizeof cpus->governors, governor);
    int64_t now = integer_at(folder, "cpufreq/scaling_cur_freq");
    int64_t limit = integer_at(folder, "cpufreq/scaling_max_freq");
    if (now > cpus->highest_khz)
        cpus->highest_khz = now;
    if (limit > cpus->limit_khz)
        cpus->limit_khz = limit;
}

/* The model, and the clock rate where cpufreq does not tell it. */
static void read_cpuinfo(struct cpus *cpus)
{
    scoped_file FILE *file = fopen("/proc/cpuinfo", "re");
    scoped_free char *line = NULL;
    size_t room = 0;
    double mhz;
    while (file && getline(&line, &room, file) > 0) {
        const char *value = strchr(line, ':');
        if (!value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        line[strcspn(line, "\n")] = '\0';
        if (!cpus->model[0] && text_starts(line, "model name"))
            text_shown(value, cpus->model, sizeof cpus->model);
        if (text_starts(line, "cpu MHz") && sscanf(value, "%lf", &mhz) == 1 &&
            (int64_t)(mhz * 1e3) > cpus->highest_khz)
            cpus->highest_khz = (int64_t)(mhz * 1e3);
    }
}

static json_t *cpu_json(void)
{
    struct cpus cpus = { .highest_khz = -1, .limit_khz = -1 };
    scoped_free int64_t *sockets = calloc(CPUS_MOST, sizeof *sockets);
    scoped_free int64_t *cores = calloc(CPUS_MOST, sizeof *cores);
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    if (!sockets || !cores)
        return NULL;
    for (long i = 0; i < configured && i < CPUS_MOST; i++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld", i);
        scoped_fd int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0 && integer_at(folder, "online") != 0)
            read_cpu(folder, &cpus, sockets, cores);
    }
    read_cpuinfo(&cpus);
    cpu_set_t allowed;
    int usable = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : -1;
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "model", text_json(cpus.model), "sockets",
                     count_json(cpus.sockets ? (int64_t)cpus.sockets : -1), "cores",
                     count_json(cpus.cores ? (int64_t)cpus.cores : -1), "online",
                     count_json(sysconf(_SC_NPROCESSORS_ONLN)), "allowed", count_json(usable),
                     "governor", text_json(cpus.governors), "frequency_hz",
                     count_json(cpus.highest_khz < 0 ? -1 : cpus.highest_khz * 1000),
                     "frequency_limit_hz",
                     count_json(cpus.limit_khz < 0 ? -1 : cpus.limit_khz * 1000));
}

/* --- clock --- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

enum way { THROUGH_LIBRARY, THROUGH_KERNEL };

/* Nanoseconds of one call: the median of several blocks. */
static double clock_cost(enum way way)
{
    double blocks[CLOCK_BLOCKS];
    struct timespec t;
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        nsec begin = clock_monotonic();
        for (int call = 0; call < CLOCK_CALLS; call++)
            if (way == THROUGH_KERNEL)
                syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
            else
                (void)clock_monotonic();
        blocks[i] = (double)(clock_monotonic() - begin) / CLOCK_CALLS;
    }
    qsort(blocks, COUNT_OF(blocks), sizeof blocks[0], by_value);
    return blocks[COUNT_OF(blocks) / 2];
}

/* The vDSO answers without the kernel unless the clock source does not allow it; then a call costs
 * what a system call does, and every latency with it. */
static json_t *clock_json(void)
{
    double cost = clock_cost(THROUGH_LIBRARY), kernel = clock_cost(THROUGH_KERNEL);
    bool vdso = getauxval(AT_SYSINFO_EHDR) != 0 && cost < kernel * 0.7;
    return json_pack(
        "{s:o,s:f,s:f,s:b}", "source",
        line_json(AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "cost_ns", cost, "system_call_ns", kernel, "vdso", vdso);
}

/* --- memory, network, load --- */

static json_t *host_before_json(const char *meminfo)
{
    struct procfs_load load = { NAN, NAN, NAN, NAN };
    char text[128];
    if (procfs_line(AT_FDCWD, "/proc/loadavg", text, sizeof text) == 0)
        (void)procfs_parse_load(text, &load);
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "load1", number_json(load.load1), "load5",
                     number_json(load.load5), "load15", number_json(load.load15), "running",
                     bytes_json(load.running), "memory_available",
                     bytes_json(procfs_parse_memory(meminfo, "MemAvailable")), "dirty",
                     bytes_json(procfs_parse_memory(meminfo, "Dirty")));
}

static json_t *driver_json(int nic)
{
    char path[256];
    ssize_t n = readlinkat(nic, "device/driver", path, sizeof path - 1);
    if (n <= 0)
        return json_null();
    path[n] = '\0';
    const char *slash = strrchr(path, '/');
    return text_json(slash ? slash + 1 : path);
}

static json_t *nic_json(int folder, const char *name)
{
    scoped_fd int nic = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int64_t megabits = integer_at(nic, "speed"); /* -1 without a link */
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "name", text_json(name), "driver", driver_json(nic),
                     "speed_bits", count_json(megabits < 0 ? -1 : megabits * 1000000), "mtu",
                     count_json(integer_at(nic, "mtu")), "state", line_json(nic, "operstate"));
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "lo") != 0;
}

static json_t *network_json(void)
{
    static const char where[] = "/sys/class/net";
    struct dirent **entries;
    scoped_fd int folder = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = folder < 0 ? -1 : scandir(where, &entries, is_shown, alphasort);
    if (n < 0)
        return json_null();
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        if (i < NETWORKS_MOST)
            json_array_append_new(list, nic_json(folder, entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    return list;
}

json_t *environment_read(int target, const char *state)
{
    char meminfo[8192] = "";
    scoped_fd int memory = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    if (procfs_read(memory, meminfo, sizeof meminfo) < 0)
        meminfo[0] = '\0';
    /* The load first: the rest of this adds to it. */
    json_t *before = host_before_json(meminfo);
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "engine", engine_json(), "system",
                     system_json(), "filesystem", filesystem_json(target), "device",
                     device_json(device_of(target)), "shared_device", shared_json(target, state),
                     "cpu", cpu_json(), "memory_total",
                     bytes_json(procfs_parse_memory(meminfo, "MemTotal")), "network",
                     network_json(), "clock", clock_json(), "host_before", before);
}

static json_t *counted(bool is_counted, uint64_t n)
{
    return count_json(is_counted ? (int64_t)n : -1);
}

static json_t *texts_json(const struct texts *texts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < texts->n; i++)
        json_array_append_new(list, json_string(texts->at[i]));
    return list;
}

void environment_of_share(json_t *environment, const struct target *target)
{
    if (target && target->share)
        json_object_set_new(environment, "share",
                            json_pack("{s:s, s:o, s:o}", "means", share_means[target->share],
                                      "clients", texts_json(&target->share_clients), "options",
                                      texts_json(&target->share_options)));
}

void environment_of_target(json_t *environment, const struct target *target)
{
    struct target_facts facts = { 0 };
    struct problem why = { 0 };
    if (target_probe(target, &facts, &why) < 0 || !facts.filesystem[0])
        return;
    bool inodes = facts.inodes_total > 0;
    json_object_set_new(environment, "filesystem",
                        json_pack("{s:o,s:o,s:o,s:I,s:I,s:o,s:o}", "type",
                                  text_json(facts.filesystem), "mount_options",
                                  text_json(facts.mount_options), "source", text_json(facts.source),
                                  "space_total", (json_int_t)facts.space_total, "space_available",
                                  (json_int_t)facts.space_available, "inodes_total",
                                  counted(inodes, facts.inodes_total), "inodes_available",
                                  counted(inodes, facts.inodes_available)));
}
