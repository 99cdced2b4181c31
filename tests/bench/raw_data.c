/* The bare loop that throughput figures are held against: one file, read or written record by record with one
 * system call after another; no clock, no histogram, no checks beyond the call's own result.
 *
 *     raw_data DIR file_bytes=N record_bytes=N operations=write,read,random-read,random-write
 *
 * Works on a fresh file DIR/raw-XXXXXX, which it writes first, removes it, and prints a line per phase:
 *
 *     PHASE OPS CPU_NS_PER_OP OPS_PER_SECOND
 *
 * CPU is user and system time of the process during the phase (getrusage). What is written comes from 256 KiB
 * of noise in turn, so that it is not the same record again and again. */
#include "engine/base/attr.h"
#include "engine/base/clock.h"
#include "engine/base/mix.h"

#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { NOISE = 256 << 10 };

struct loop {
    int fd;
    char *data;
    size_t buffers; /* of a record each */
    uint64_t records, record;
};

static nsec cpu_used(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return ((nsec)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * NSEC_PER_SEC +
           ((nsec)used.ru_utime.tv_usec + used.ru_stime.tv_usec) * NSEC_PER_USEC;
}

static inline void go(const struct loop *loop, bool writes, bool random)
{
    uint64_t x = 1, record = loop->record;
    size_t turn = 0;
    for (uint64_t i = 0; i < loop->records; i++) {
        uint64_t at = i;
        if (random) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
            at = (x >> 33) * loop->records >> 31;
        }
        char *data = loop->data + turn * record;
        if (writes) /* what is read may go to the same place again and again */
            turn = turn + 1 == loop->buffers ? 0 : turn + 1;
        long n = writes ? pwrite(loop->fd, data, record, (off_t)(at * record))
                        : pread(loop->fd, data, record, (off_t)(at * record));
        if (n != (long)record)
            err(1, "%ld of %llu bytes", n, (unsigned long long)record);
    }
}

static void phase(const struct loop *loop, const char *name)
{
    nsec cpu = cpu_used(), began = clock_monotonic();
    if (strcmp(name, "write") == 0)
        go(loop, true, false);
    else if (strcmp(name, "read") == 0)
        go(loop, false, false);
    else if (strcmp(name, "random-write") == 0)
        go(loop, true, true);
    else if (strcmp(name, "random-read") == 0)
        go(loop, false, true);
    else
        errx(2, "there is no operation %s", name);
    nsec took = clock_monotonic() - began;
    cpu = cpu_used() - cpu;
    printf("%s %llu %.2f %.1f\n", name, (unsigned long long)loop->records,
           (double)cpu / (double)loop->records, (double)loop->records / seconds_of(took));
}

int main(int argc, char **argv)
{
    uint64_t file_bytes = UINT64_C(1) << 30, record = 4096;
    char path[4096], *operations = NULL;
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value)
            errx(2, "%s is not name=value", argv[i]);
        *value++ = 0;
        if (strcmp(argv[i], "file_bytes") == 0)
            file_bytes = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "record_bytes") == 0)
            record = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "operations") == 0)
            operations = value;
        else
            errx(2, "there is no option %s", argv[i]);
    }
    if (argc < 2 || !operations || record == 0 || file_bytes < record)
        errx(2, "usage: raw_data DIR file_bytes=N record_bytes=N operations=write,read,...");
    snprintf(path, sizeof path, "%s/raw-XXXXXX", argv[1]);
    struct loop loop = { .fd = mkstemp(path),
                         .records = file_bytes / record,
                         .record = record,
                         .buffers = record < NOISE ? NOISE / record : 1 };
    if (loop.fd < 0)
        err(1, "cannot make %s", path);
    unlink(path);
    size_t bytes = loop.buffers * record;
    loop.data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (loop.data == MAP_FAILED)
        err(1, "no memory");
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word = mix64_of(1, i);
        memcpy(loop.data + i, &word, sizeof word);
    }
    for (char *name; (name = strsep(&operations, ","));)
        phase(&loop, name);
    return 0;
}
