#include "engine/procfs.h"

#include "engine/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>

enum { SECTOR = 512 }; /* bytes; what the kernel counts in, whatever the disk's own sector is */

ssize_t procfs_read(int fd, char *text, size_t size)
{
    size_t n = 0;
    if (fd < 0)
        return -1;
    while (n + 1 < size) {
        ssize_t got = pread(fd, text + n, size - 1 - n, (off_t)n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    text[n] = '\0';
    return (ssize_t)n;
}

int procfs_line(int folder, const char *path, char *text, size_t size)
{
    scoped_fd int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (procfs_read(fd, text, size) <= 0)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    return text[0] ? 0 : -1;
}

int procfs_parse_load(const char *text, struct procfs_load *ret)
{
    struct procfs_load load;
    if (sscanf(text, "%lf %lf %lf %lf/", &load.load1, &load.load5, &load.load15, &load.running) !=
        4)
        return -1;
    *ret = load;
    return 0;
}

int procfs_parse_cpu(const char *text, struct procfs_cpu *ret)
{
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
    if (sscanf(text,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64,
               &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 8)
        return -1;
    *ret = (struct procfs_cpu){ user + nice, system + irq + softirq, iowait, steal, idle };
    return 0;
}

double procfs_parse_memory(const char *text, const char *name)
{
    size_t n = strlen(name);
    uint64_t kib;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == ':' &&
            sscanf(line + n + 1, "%" SCNu64, &kib) == 1)
            return (double)kib * 1024;
    }
    return NAN;
}

int procfs_parse_disk(const char *text, struct procfs_disk *ret)
{
    uint64_t reads, read, writes, written, busy;
    if (sscanf(text, "%" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %*u %" SCNu64,
               &reads, &read, &writes, &written, &busy) != 5)
        return -1;
    *ret = (struct procfs_disk){ reads, writes, read * SECTOR, written * SECTOR, busy };
    return 0;
}

int procfs_parse_network(const char *text, struct procfs_network *ret)
{
    struct procfs_network network = { 0 };
    bool found = false;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        line += strspn(line, " ");
        const char *name_end = line + strcspn(line, ":\n"); /* the headings have no colon */
        uint64_t received, sent;
        if (*name_end != ':' ||
            sscanf(name_end + 1, "%" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &received,
                   &sent) != 2)
            continue;
        found = true;
        if (text_starts(line, "lo:"))
            continue;
        network.received += received;
        network.sent += sent;
    }
    if (found)
        *ret = network;
    return found ? 0 : -1;
}

double procfs_parse_pressure(const char *text)
{
    double percent;
    return sscanf(text, "some avg10=%lf", &percent) == 1 ? percent / 100 : NAN;
}

int procfs_parse_usage(const char *text, uint64_t *ret_usec)
{
    const char *line = strstr(text, "usage_usec ");
    return line && sscanf(line, "usage_usec %" SCNu64, ret_usec) == 1 ? 0 : -1;
}

/* "8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0"; a group that did nothing has no line. */
int procfs_parse_io(const char *text, struct procfs_io *ret)
{
    struct procfs_io io = { 0 };
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        uint64_t read, written;
        if (sscanf(line, "%*u:%*u rbytes=%" SCNu64 " wbytes=%" SCNu64, &read, &written) == 2) {
            io.read += read;
            io.written += written;
        }
    }
    *ret = io;
    return 0;
}

int procfs_parse_cgroup(const char *text, char *path, size_t size)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (text_starts(line, "0::/"))
            return text_fit(path, size, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    }
    return -1;
}
