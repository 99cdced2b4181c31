#include "engine/base/field_json.h"
#include "engine/base/text.h"
#include "engine/device.h"
#include "engine/environment.h"
#include "engine/host.h"
#include "engine/procfs.h"
#include "engine/virtualisation.h"
#include "tests/unit/cmocka_first.h"

#include <fcntl.h>
#include <math.h>
#include <sys/sysmacros.h>

static void reads_load_averages(void **state)
{
    (void)state;
    struct procfs_load load;
    assert_int_equal(procfs_parse_load("1.78 1.31 0.66 2/187 15042\n", &load), 0);
    assert_float_equal(load.load1, 1.78, 1e-9);
    assert_float_equal(load.load5, 1.31, 1e-9);
    assert_float_equal(load.load15, 0.66, 1e-9);
    assert_float_equal(load.running, 2, 1e-9);
    assert_int_equal(procfs_parse_load("1.78 1.31", &load), -1);
    assert_int_equal(procfs_parse_load("", &load), -1);
}

static void reads_the_split_of_cpu_time(void **state)
{
    (void)state;
    struct procfs_cpu cpu;
    assert_int_equal(
        procfs_parse_cpu("cpu  30929 1967 5432 267557 779 11 350 24 5 6\ncpu0 1 2 3\n", &cpu), 0);
    assert_int_equal(cpu.user, 30929 + 1967);
    assert_int_equal(cpu.system, 5432 + 11 + 350);
    assert_int_equal(cpu.idle, 267557);
    assert_int_equal(cpu.iowait, 779);
    assert_int_equal(cpu.steal, 24);
    assert_int_equal(procfs_parse_cpu("intr 5\n", &cpu), -1);
}

static void reads_memory_in_bytes(void **state)
{
    (void)state;
    static const char text[] = "MemTotal:       24731708 kB\nMemAvailable:   24204548 kB\n"
                               "Dirty:              3316 kB\nWriteback:             0 kB\n"
                               "WritebackTmp:          7 kB\n";
    assert_float_equal(procfs_parse_memory(text, "MemTotal"), 24731708.0 * 1024, 0.5);
    assert_float_equal(procfs_parse_memory(text, "Dirty"), 3316.0 * 1024, 0.5);
    assert_float_equal(procfs_parse_memory(text, "Writeback"), 0, 0.5);
    assert_true(isnan(procfs_parse_memory(text, "MemFree")));
    assert_true(isnan(procfs_parse_memory("", "MemTotal")));
}

static void reads_disk_counters(void **state)
{
    (void)state;
    struct procfs_disk disk;
    assert_int_equal(procfs_parse_disk("   58335    12981  4595058    11846   121241    15305  "
                                       "3326800    11471        0     9884    24421    11543       "
                                       "67   614984      593    28919      510\n",
                                       &disk),
                     0);
    assert_int_equal(disk.reads, 58335);
    assert_int_equal(disk.read, 4595058LL * 512);
    assert_int_equal(disk.writes, 121241);
    assert_int_equal(disk.written, 3326800LL * 512);
    assert_int_equal(disk.busy_ms, 9884);
    assert_int_equal(procfs_parse_disk("", &disk), -1);
}

static void sums_networks_without_loopback(void **state)
{
    (void)state;
    struct procfs_network network;
    static const char text[] =
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
        "    lo: 68970709  610611    0    0    0     0          0         0 68970709  610611 0 0\n"
        "  eth0: 1000 10    0    0    0     0          0         0 500  5 0 0 0 0 0 0\n"
        "enp1s0:20000 10    0    0    0     0          0         0 7  5 0 0 0 0 0 0\n";
    assert_int_equal(procfs_parse_network(text, &network), 0);
    assert_int_equal(network.received, 21000);
    assert_int_equal(network.sent, 507);
    assert_int_equal(procfs_parse_network("nothing\n", &network), -1);
}

static void reads_pressure_as_a_share(void **state)
{
    (void)state;
    assert_float_equal(procfs_parse_pressure("some avg10=12.50 avg60=0.00 avg300=0.00 total=1\n"
                                             "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
                       0.125, 1e-9);
    assert_true(isnan(procfs_parse_pressure("")));
}

static void knows_hypervisors(void **state)
{
    (void)state;
    assert_string_equal(virtual_by_signature("KVMKVMKVM"), "kvm");
    assert_string_equal(virtual_by_signature("TCGTCGTCGTCG"), "qemu");
    assert_null(virtual_by_signature("GenuineIntel"));
    assert_null(virtual_by_signature(""));
    assert_string_equal(virtual_by_maker("innotek GmbH"), "oracle");
    assert_null(virtual_by_maker("Dell Inc."));
}

/* The real files of this machine, twice. */
static void samples_this_host(void **state)
{
    (void)state;
    struct host_sampler *sampler;
    struct host_sample sample;
    struct problem why = { 0 };
    scoped_fd int here = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(host_sampler_open(device_of(here), &sampler, &why), 0);
    volatile uint64_t work = 0; /* so that some ticks of CPU time are used */
    nsec until = clock_thread_cpu() + NSEC_PER_SEC / 10;
    while (clock_thread_cpu() < until)
        work++;
    for (int i = 0; i < 2; i++) {
        host_sampler_read(sampler, 7 + i, &sample);
        assert_int_equal(sample.at, 7 + i);
        assert_true(sample.load1 >= 0);
        assert_true(sample.memory_available > 0);
        if (i == 0) {
            double all = sample.cpu_user + sample.cpu_system + sample.cpu_iowait +
                         sample.cpu_steal + sample.cpu_idle;
            assert_float_equal(all, 1, 1e-6);
            assert_true(sample.cpu_user > 0);
        }
        assert_true(isnan(sample.disk_busy) || (sample.disk_busy >= 0 && sample.disk_busy <= 1));
    }
    sampler = host_sampler_close(sampler);
    assert_null(sampler);
    assert_null(host_sampler_close(NULL));
}

static void tells_nothing_of_a_disk_that_is_not_there(void **state)
{
    (void)state;
    struct host_sampler *sampler;
    struct host_sample sample;
    struct problem why = { 0 };
    assert_int_equal(host_sampler_open(makedev(0, 0), &sampler, &why), 0);
    host_sampler_read(sampler, 1, &sample);
    assert_true(isnan(sample.disk_read) && isnan(sample.disk_busy));
    host_sampler_close(sampler);
}

static void put(const char *folder, const char *name, const char *content)
{
    scoped_free char *path = text_new("%s/%s", folder, name);
    scoped_file FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
}

/* As the kernel writes the files of a group that has a runner in it. */
static void samples_the_cgroup_of_a_runner(void **state)
{
    (void)state;
    char folder[] = "/tmp/plimsoll-test-XXXXXX";
    static const char *const names[] = { "cpu.stat",     "memory.current", "io.stat",
                                         "cpu.pressure", "io.pressure",    "memory.pressure" };
    struct host_sampler *sampler;
    struct host_sample sample;
    struct problem why = { 0 };
    assert_non_null(mkdtemp(folder));
    put(folder, "cpu.stat", "usage_usec 1000000\nuser_usec 1\nsystem_usec 2\n");
    put(folder, "memory.current", "8192000\n");
    put(folder, "io.stat",
        "8:0 rbytes=100 wbytes=200 rios=1 wios=1 dbytes=0 dios=0\n"
        "8:16 rbytes=1 wbytes=2 rios=1 wios=1 dbytes=0 dios=0\n");
    put(folder, "cpu.pressure", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1\n");
    put(folder, "io.pressure", "some avg10=25.00 avg60=0.00 avg300=0.00 total=1\n");
    assert_int_equal(host_sampler_open(makedev(0, 0), &sampler, &why), 0);
    host_sampler_read(sampler, 1, &sample);
    assert_true(isnan(sample.job_cpu) && isnan(sample.job_memory) && isnan(sample.job_read));
    nsec before = clock_monotonic();
    host_sampler_watch(sampler, folder);
    put(folder, "cpu.stat", "usage_usec 3000000\nuser_usec 1\nsystem_usec 2\n");
    put(folder, "io.stat",
        "8:0 rbytes=100 wbytes=200 rios=1 wios=1 dbytes=0 dios=0\n"
        "8:16 rbytes=1 wbytes=1000002 rios=1 wios=1 dbytes=0 dios=0\n");
    host_sampler_read(sampler, 2, &sample);
    double seconds = seconds_of(clock_monotonic() - before);
    assert_true(sample.job_cpu >= 2 / seconds); /* two seconds of CPU in at most that time */
    assert_true(sample.job_written >= 1e6 / seconds);
    assert_float_equal(sample.job_read, 0, 0);
    assert_float_equal(sample.job_written / sample.job_cpu, 5e5, 1);
    assert_float_equal(sample.job_memory, 8192000, 0);
    assert_float_equal(sample.job_pressure_cpu, 0.015, 1e-9);
    assert_float_equal(sample.job_pressure_io, 0.25, 1e-9);
    assert_true(isnan(sample.job_pressure_memory));
    host_sampler_close(sampler);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        scoped_free char *path = text_new("%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void finds_the_unified_cgroup(void **state)
{
    (void)state;
    char path[64];
    assert_int_equal(
        procfs_parse_cgroup("9:name=systemd:/a\n0::/system.slice/x@1.service\n", path, sizeof path),
        0);
    assert_string_equal(path, "/system.slice/x@1.service");
    assert_int_equal(procfs_parse_cgroup("9:name=systemd:/a\n", path, sizeof path), -1);
}

static const json_t *at(const json_t *json, const char *first, const char *second)
{
    const json_t *value = json_object_get(json, first);
    return second ? json_object_get(value, second) : value;
}

static void describes_this_machine(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        json_type type;
    } rows[] = {
        { "engine", "version", JSON_STRING },
        { "engine", "uid", JSON_INTEGER },
        { "system", "hostname", JSON_STRING },
        { "system", "kernel", JSON_STRING },
        { "system", "boot_id", JSON_STRING },
        { "filesystem", "type", JSON_STRING },
        { "filesystem", "mount_point", JSON_STRING },
        { "filesystem", "mount_options", JSON_STRING },
        { "filesystem", "space_used", JSON_INTEGER },
        { "cpu", "online", JSON_INTEGER },
        { "memory_total", NULL, JSON_INTEGER },
        { "network", NULL, JSON_ARRAY },
        { "clock", "cost_ns", JSON_REAL },
        { "host_before", "load1", JSON_REAL },
        { "shared_device", NULL, JSON_TRUE },
    };
    scoped_fd int here = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_json json_t *json = environment_read(here, "/tmp");
    assert_non_null(json);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const json_t *value = at(json, rows[i].first, rows[i].second);
        if (!value || json_typeof(value) != rows[i].type)
            fail_msg("%s.%s is missing or of another type", rows[i].first,
                     rows[i].second ? rows[i].second : "");
    }
    double cost = json_real_value(at(json, "clock", "cost_ns"));
    if (cost < 1 || cost > 100000)
        fail_msg("clock_gettime cannot cost %g ns", cost);
}

static void leaves_out_what_it_cannot_know(void **state)
{
    (void)state;
    scoped_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_json json_t *json = environment_read(proc, NULL);
    assert_true(json_is_null(at(json, "device", NULL)));
    assert_true(json_is_null(at(json, "shared_device", NULL)));
    assert_true(json_is_null(at(json, "filesystem", "inodes_total")));
}

static void finds_the_disks_of_a_device(void **state)
{
    (void)state;
    dev_t disks[DISKS_MOST];
    assert_int_equal(device_disks(makedev(0, 1), disks), 0);
    assert_false(device_shared(0, 0));
    scoped_fd int here = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dev_t root = device_of(here);
    if (!root || device_disks(root, disks) == 0)
        skip(); /* a root on no block device, as in a container */
    struct device device;
    struct problem why = { 0 };
    assert_true(device_shared(root, disks[0]));
    assert_int_equal(device_read(disks[0], &device, &why), 0);
    assert_true(device.name[0] && device.size > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_load_averages),
        cmocka_unit_test(reads_the_split_of_cpu_time),
        cmocka_unit_test(reads_memory_in_bytes),
        cmocka_unit_test(reads_disk_counters),
        cmocka_unit_test(sums_networks_without_loopback),
        cmocka_unit_test(reads_pressure_as_a_share),
        cmocka_unit_test(knows_hypervisors),
        cmocka_unit_test(samples_this_host),
        cmocka_unit_test(tells_nothing_of_a_disk_that_is_not_there),
        cmocka_unit_test(samples_the_cgroup_of_a_runner),
        cmocka_unit_test(finds_the_unified_cgroup),
        cmocka_unit_test(describes_this_machine),
        cmocka_unit_test(leaves_out_what_it_cannot_know),
        cmocka_unit_test(finds_the_disks_of_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
