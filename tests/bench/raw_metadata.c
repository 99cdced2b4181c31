/* The bare loop that metadata figures are held against: create, list, stat and remove empty files with
 * one call after another (bare.h), in a process of their own.
 *
 *     raw_metadata DIR [files=N] [threads=N] [batch=N] [layout=shared|private] [operations=create,...]
 *                  [calls=library|direct]
 *
 * Works in a fresh directory DIR/raw-XXXXXX, removes it, and prints a line per phase:
 *
 *     PHASE OPS CPU_NS_PER_OP OPS_PER_SECOND
 *
 * CPU is user and system time of the whole process during the phase (getrusage). With one thread the
 * loop runs in the main thread: a process without threads, the cheapest there is. Names are made a
 * batch at a time, as the runner makes them; with several threads, whoever is free takes the next batch
 * of the shared directory, so that none waits for the slowest. */
#include "engine/base/clock.h"
#include "tests/bench/bare.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>

enum {
    THREADS_MOST = 64,
    BATCH_MOST = 1000,
};

struct options {
    uint64_t files, threads, batch;
    bool private;
    const char *operations;
    const struct bare *calls;
};

/* What the threads of one phase share. */
struct work {
    const struct options *options;
    int folder[THREADS_MOST]; /* the same one in each place when it is shared */
    bare_fn *visit;           /* of each file; NULL: they are listed */
    _Alignas(64) atomic_ullong next;
    _Alignas(64) atomic_ullong listed;
    pthread_barrier_t start;
};

struct seat {
    struct work *work;
    unsigned thread;
    pthread_t id;
};

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

static void each_file(struct work *work, unsigned thread)
{
    char names[BATCH_MOST][BARE_NAME];
    for (uint64_t own = 0, first, n; (n = claim(work, thread, &own, &first)) > 0;) {
        bare_names(names, first, n);
        work->visit(work->folder[thread], names, n);
    }
}

/* A shared directory has one position, so one thread reads it. */
static void list_files(struct work *work, unsigned thread)
{
    _Alignas(struct bare_entry) char buffer[BARE_LIST_BYTES];
    int folder = work->folder[thread];
    if (!work->options->private && thread > 0)
        return;
    if (lseek(folder, 0, SEEK_SET) < 0)
        err(1, "cannot rewind the directory");
    uint64_t found = 0;
    for (uint64_t n; (n = work->options->calls->list(folder, buffer)) > 0; found += n)
        ;
    atomic_fetch_add(&work->listed, found - 2); /* without . and .. */
}

static void go(struct work *work, unsigned thread)
{
    (work->visit ? each_file : list_files)(work, thread);
}

static void *sit(void *arg)
{
    struct seat *seat = arg;
    pthread_barrier_wait(&seat->work->start);
    go(seat->work, seat->thread);
    return NULL;
}

static nsec cpu_used(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return ((nsec)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * NSEC_PER_SEC +
           ((nsec)used.ru_utime.tv_usec + used.ru_stime.tv_usec) * NSEC_PER_USEC;
}

static void phase(struct work *work, const char *name, bare_fn *visit)
{
    unsigned threads = (unsigned)work->options->threads;
    struct seat seats[THREADS_MOST];
    work->visit = visit;
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
        go(work, 0);
    }
    wall = clock_monotonic() - wall;
    cpu = cpu_used() - cpu;

    uint64_t files = work->options->files;
    if (!visit && atomic_load(&work->listed) != files)
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
        else if (strcmp(*argv, "calls=library") == 0 || strcmp(*argv, "calls=direct") == 0)
            options->calls = strcmp(*argv, "calls=direct") == 0 ? &bare_direct : &bare_library;
        else
            errx(2, "unknown argument %s", *argv);
    }
}

int main(int argc, char **argv)
{
    struct options options = {
        .files = 200000,
        .threads = 1,
        .batch = 100,
        .operations = "create,list,stat,remove",
        .calls = &bare_library,
    };
    if (argc < 2)
        errx(2, "usage: raw_metadata DIR [files=N] [threads=N] [batch=N] [layout=shared|private] "
                "[operations=create,list,stat,remove] [calls=library|direct]");
    read_options(argv + 2, &options);
    const struct {
        const char *name;
        bare_fn *visit;
        bool always; /* the others only as asked; create and remove belong to every run */
    } phases[] = {
        { "create", options.calls->create, true },
        { "list", NULL, false },
        { "stat", options.calls->stat, false },
        { "remove", options.calls->remove, true },
    };

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
        phase(&work, phases[i].name, phases[i].visit);
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
