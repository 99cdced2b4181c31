#include "engine/flush.h"

#include "engine/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

enum { MEMINFO = 8 << 10 };

struct flush {
    _Atomic unsigned holders; /* the thread and whoever waits; the last one frees */
    int folder;               /* its own descriptor: the run directory may be closed before */
    int over;                 /* an eventfd */
    nsec took;                /* before `done` */
    int error;                /* before `done` */
    _Atomic bool done;
};

static void drop(struct flush *flush)
{
    if (atomic_fetch_sub(&flush->holders, 1) > 1)
        return;
    if (flush->folder >= 0)
        close(flush->folder);
    if (flush->over >= 0)
        close(flush->over);
    free(flush);
}

static void *flush_main(void *arg)
{
    struct flush *flush = arg;
    nsec start = clock_monotonic();
    flush->error = syncfs(flush->folder) == 0 ? 0 : errno;
    flush->took = clock_monotonic() - start;
    atomic_store(&flush->done, true);
    eventfd_write(flush->over, 1);
    drop(flush);
    return NULL;
}

static int start(struct flush *flush, struct problem *why)
{
    pthread_t thread;
    if (flush->folder < 0 || flush->over < 0)
        return problem_errno(why, errno, "cannot get a descriptor for the flush");
    atomic_store(&flush->holders, 2);
    int error = pthread_create(&thread, NULL, flush_main, flush);
    if (error) {
        atomic_store(&flush->holders, 1);
        return problem_errno(why, error, "cannot start a thread for the flush");
    }
    pthread_detach(thread);
    return 0;
}

int flush_start(int folder, struct flush **ret, struct problem *why)
{
    struct flush *flush = calloc(1, sizeof *flush);
    if (!flush)
        return problem_memory(why);
    flush->holders = 1;
    flush->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    flush->folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    if (start(flush, why)) {
        drop(flush);
        return -1;
    }
    *ret = flush;
    return 0;
}

int flush_fd(const struct flush *flush)
{
    return flush->over;
}

bool flush_over(const struct flush *flush, nsec *ret_took, int *ret_error)
{
    if (!atomic_load(&flush->done))
        return false;
    *ret_took = flush->took;
    *ret_error = flush->error;
    return true;
}

struct flush *flush_leave(struct flush *flush)
{
    if (flush)
        drop(flush);
    return NULL;
}

uint64_t flush_pending(void)
{
    char text[MEMINFO];
    scoped_fd int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || procfs_read(fd, text, sizeof text) < 0)
        return 0;
    double bytes = procfs_parse_memory(text, "Dirty") + procfs_parse_memory(text, "Writeback");
    return bytes > 0 ? (uint64_t)bytes : 0; /* NAN is not */
}
