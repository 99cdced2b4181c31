/* The bare loop that metadata figures are held against: create, list, stat and remove empty files with
 * one system call after another; no clock, no histogram, no checks beyond the call's own result.
 *
 *     raw_metadata DIR [files=N] [threads=N] [batch=N] [layout=shared|private] [operations=create,...]
 *
 * Works in a fresh directory DIR/raw-XXXXXX, removes it, and prints a line per phase:
 *
 *     PHASE OPS CPU_NS_PER_OP OPS_PER_SECOND
 *
 * CPU is user and system time of the whole process during the phase (getrusage). With one thread the
 * loop runs in the main thread: a process without threads, the cheapest there is. Names are made a
 * batch at a time, as the runner makes them; with several threads, whoever is free takes the next batch
 * of the shared directory, so that none waits for the slowest. */
#include "engine/base/attr.h"
#include "engine/base/clock.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
    THREADS_MOST = 64,
    BATCH_MOST = 1000,
    NAME_SIZE = 12,         /* f, ten digits and the end */
    LIST_BYTES = 32 * 1024, /* what readdir(3) asks for; larger ones were not faster */
};

struct options {
    uint64_t files, threads, batch;
    bool private;
    const char *operations;
};

/* What the threads of one phase share. */
struct work {
    const struct options *options;
    int folder[THREADS_MOST]; /* the same one in each place when it is shared */
    void (*body)(struct work *work, unsigned thread);
    _Alignas(64) atomic_ullong next;
    _Alignas(64) atomic_ullong listed;
    pthread_barrier_t start;
};

struct seat {
    struct work *work;
    unsigned thread;
    pthread_t id;
};

struct dirent64_raw {
    uint64_t ino;
    int64_t off;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* The names of files first to first + n - 1. Counted up in place: formatting each costs 2 to 3 %. */
static void name_batch(char (*names)[NAME_SIZE], uint64_t first, uint64_t n)
{
    snprintf(names[0], NAME_SIZE, "f%010llu", (unsigned long long)first % 10000000000);
    for (uint64_t i = 1; i < n; i++) {
        memcpy(names[i], names[i - 1], NAME_SIZE);
        char *digit = &names[i][NAME_SIZE - 2];
        while (*digit == '9')
            *digit-- = '0';
        ++*digit;
    }
}

/* The next batch: its first file and how many; 0 when there is none. */
static uint64_t claim(struct work *work, unsigned thread, uint64_t *own, uint64_t *ret_first)
{
    const struct options *o = work->options;
    uint64_t first, end = o->files;
    if (o->private) {
        end = o->files * (thread + 1) / o->threads;
        first = o->files * thread / o->threads + *own;
        *own += o->batch;
    } else {
        first = atomic_fetch_add_explicit(&work->next, o->batch, memory_order_relaxed);
    }
    *ret_first = first;
    if (first >= end)
        return 0;
    return end - first < o->batch ? end - first : o->batch;
}

static void create_files(struct work *work, unsigned thread)
{
    char names[BATCH_MOST][NAME_SIZE];
    int folder = work->folder[thread];
    for (uint64_t own = 0, first, n; (n = claim(work, thread, &own, &first)) > 0;) {
        name_batch(names, first, n);
        for (uint64_t i = 0; i < n; i++) {
            long fd = syscall(SYS_openat, folder, names[i], O_CREAT | O_EXCL | O_WRONLY, 0600);
            if (fd < 0 || syscall(SYS_close, fd) < 0)
                err(1, "cannot create %s", names[i]);
        }
    }
}

static void stat_files(struct work *work, unsigned thread)
{
    char names[BATCH_MOST][NAME_SIZE];
    int folder = work->folder[thread];
    for (uint64_t own = 0, first, n; (n = claim(work, thread, &own, &first)) > 0;) {
        name_batch(names, first, n);
        for (uint64_t i = 0; i < n; i++) {
            struct stat facts;
            if (fstatat(folder, names[i], &facts, AT_SYMLINK_NOFOLLOW) < 0)
                err(1, "cannot stat %s", names[i]);
        }
    }
}

static void remove_files(struct work *work, unsigned thread)
{
    char names[BATCH_MOST][NAME_SIZE];
    int folder = work->folder[thread];
    for (uint64_t own = 0, first, n; (n = claim(work, thread, &own, &first)) > 0;) {
        name_batch(names, first, n);
        for (uint64_t i = 0; i < n; i++)
            if (unlinkat(folder, names[i], 0) < 0)
                err(1, "cannot remove %s", names[i]);
    }
}

/* A shared directory has one position, so one thread reads it. */
static void list_files(struct work *work, unsigned thread)
{
    _Alignas(struct dirent64_raw) char buffer[LIST_BYTES];
    int folder = work->folder[thread];
    if (!work->options->private && thread > 0)
        return;
    if (lseek(folder, 0, SEEK_SET) < 0)
        err(1, "cannot rewind the directory");
    uint64_t found = 0;
    for (;;) {
        long got = syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
        if (got < 0)
            err(1, "cannot list the directory");
        if (got == 0)
            break;
        for (long at = 0; at < got; found++)
            at += ((const struct dirent64_raw *)(const void *)(buffer + at))->length;
    }
    atomic_fetch_add(&work->listed, found - 2); /* without . and .. */
}

static void *sit(void *arg)
{
    struct seat *seat = arg;
    pthread_barrier_wait(&seat->work->start);
    seat->work->body(seat->work, seat->thread);
    return NULL;
}

static nsec cpu_used(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return ((nsec)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * NSEC_PER_SEC +
           ((nsec)used.ru_utime.tv_usec + used.ru_stime.tv_usec) * NSEC_PER_USEC;
}

static void phase(struct work *work, const char *name, void (*body)(struct work *, unsigned))
{
    unsigned threads = (unsigned)work->options->threads;
    struct seat seats[THREADS_MOST];
    work->body = body;
    atomic_store(&work->next, 0);
    atomic_store(&work->listed, 0);
    if (threads > 1) {
        pthread_barrier_init(&work->start, NULL, threads + 1);
        for (unsigned i = 0; i < threads; i++) {
            seats[i] = (struct seat){ .work = work, .thread = i };
            if ((errno = pthread_create(&seats[i].id, NULL, sit, &seats[i])))
                err(1, "cannot start a thread");
        }
    }

    nsec cpu = cpu_used(), wall = clock_monotonic();
    if (threads > 1) {
        pthread_barrier_wait(&work->start);
        for (unsigned i = 0; i < threads; i++)
            pthread_join(seats[i].id, NULL);
        pthread_barrier_destroy(&work->start);
    } else {
        body(work, 0);
    }
    wall = clock_monotonic() - wall;
    cpu = cpu_used() - cpu;

    uint64_t files = work->options->files;
    if (body == list_files && atomic_load(&work->listed) != files)
        errx(1, "listed %llu of %llu files", atomic_load(&work->listed), (unsigned long long)files);
    printf("%s %llu %.2f %.1f\n", name, (unsigned long long)files, (double)cpu / (double)files,
           (double)files / seconds_of(wall));
}

static uint64_t number(const char *text, uint64_t min, uint64_t max)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || value < min || value > max)
        errx(2, "%s: a number from %llu to %llu is wanted", text, (unsigned long long)min,
             (unsigned long long)max);
    return value;
}

static void read_options(char **argv, struct options *options)
{
    for (; *argv; argv++) {
        if (strncmp(*argv, "files=", 6) == 0)
            options->files = number(*argv + 6, 1, 9999999999);
        else if (strncmp(*argv, "threads=", 8) == 0)
            options->threads = number(*argv + 8, 1, THREADS_MOST);
        else if (strncmp(*argv, "batch=", 6) == 0)
            options->batch = number(*argv + 6, 1, BATCH_MOST);
        else if (strcmp(*argv, "layout=shared") == 0 || strcmp(*argv, "layout=private") == 0)
            options->private = strcmp(*argv, "layout=private") == 0;
        else if (strncmp(*argv, "operations=", 11) == 0)
            options->operations = *argv + 11;
        else
            errx(2, "unknown argument %s", *argv);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*body)(struct work *, unsigned);
        bool always; /* the others only as asked; create and remove belong to every run */
    } phases[] = {
        { "create", create_files, true },
        { "list", list_files, false },
        { "stat", stat_files, false },
        { "remove", remove_files, true },
    };
    struct options options = {
        .files = 200000, .threads = 1, .batch = 100, .operations = "create,list,stat,remove"
    };
    if (argc < 2)
        errx(2, "usage: raw_metadata DIR [files=N] [threads=N] [batch=N] [layout=shared|private] "
                "[operations=create,list,stat,remove]");
    read_options(argv + 2, &options);

    char path[4096];
    snprintf(path, sizeof(path), "%s/raw-XXXXXX", argv[1]);
    if (!mkdtemp(path))
        err(1, "cannot make %s", path);
    int folder = open(path, O_RDONLY | O_DIRECTORY);
    if (folder < 0)
        err(1, "cannot open %s", path);
    struct work work = { .options = &options };
    char lane[16];
    for (unsigned i = 0; i < options.threads; i++) {
        work.folder[i] = folder;
        if (!options.private)
            continue;
        snprintf(lane, sizeof(lane), "d%04u", i);
        if (mkdirat(folder, lane, 0700) < 0 ||
            (work.folder[i] = openat(folder, lane, O_RDONLY | O_DIRECTORY)) < 0)
            err(1, "cannot make %s/%s", path, lane);
    }

    for (size_t i = 0; i < COUNT_OF(phases); i++) {
        if (!phases[i].always && !strstr(options.operations, phases[i].name))
            continue;
        if (syncfs(folder) < 0) /* as the runner does: no phase pays for the one before */
            err(1, "cannot flush %s", path);
        phase(&work, phases[i].name, phases[i].body);
    }

    for (unsigned i = 0; options.private && i < options.threads; i++) {
        snprintf(lane, sizeof(lane), "d%04u", i);
        if (unlinkat(folder, lane, AT_REMOVEDIR) < 0)
            err(1, "cannot remove %s/%s", path, lane);
    }
    if (rmdir(path) < 0)
        err(1, "cannot remove %s", path);
    return 0;
}
