/* A job and the bare loop by turns, in one process and the same threads: what the engine costs, told from
 * blocks of some milliseconds that follow one another, so that whatever else the machine does falls on both.
 *
 *     alternate DIR [--block BATCHES] [--first bare] [--direct] [name=value ...]     as plimsoll-runner run create-scaling
 *
 * Runs one job below DIR with all that belongs to one: lanes, samples, recorder, journal, a look at the host
 * each second. Whenever its lanes have done a block of batches they hold on before the next one, and do the
 * same to a twin of the run directory with bare calls (bare.h); in the order ours bare, bare ours, ours bare...,
 * so that both grow alike. The engine is the one that is shipped: its lane_claim, lane_begin, run_phase and
 * recorder_drain are caught by the linker (--wrap) on their way in. For each pair of blocks it prints
 *
 *     PHASE OURS_CPU_NS_PER_OP BARE_CPU_NS_PER_OP OURS_OPS_PER_SECOND BARE_OPS_PER_SECOND
 *
 * CPU is that of the lanes (CLOCK_THREAD_CPUTIME_ID); to ours are added, spread evenly over the phase's
 * operations, the whole CPU time of the recorder's thread from when the lanes go, as in the runner's own figure,
 * and of the lanes before their first batch. Names are made within the clock on both sides, for the engine counts
 * them up in place, between two calls, where nothing can be left out. The bare calls are those of the C library
 * with one lane as in a program without threads; --direct has them inlined. --first bare makes the twin before
 * the run directory, which some filesystems place by. */
#include "engine/crew.h"
#include "engine/device.h"
#include "engine/host.h"
#include "engine/recorder.h"
#include "engine/workload/create_scaling.h"
#include "engine/workload/workload.h"
#include "tests/bench/bare.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    LANES_MOST = 16,
    BLOCKS_MOST = 4096,
    BLOCK_MOST = 1000, /* batches */
    BLOCK_USUAL = 20,  /* 2,000 files: 1.5 to 40 ms */
    LIST_BLOCK = 4,    /* a batch is one call of 2,048 files there */
};

enum side { OURS, BARE };

/* What all lanes together spent on one block. */
struct block {
    uint64_t ops;
    nsec cpu, wall;
};

struct seat {
    bool begun;
    unsigned blocks; /* of ours, ended */
    uint64_t ops;    /* the lane's, when the present block began */
    nsec cpu;        /* likewise */
    uint64_t made;   /* files in this lane's own folder of the twin */
    int folder;      /* of the twin */
    char (*names)[BARE_NAME];
    char *entries;
};

struct alternation {
    const struct create_scaling *with;
    uint64_t block_batches;
    bool bare_first;
    const struct bare *calls;
    char twin[4096];
    struct seat seats[LANES_MOST];

    /* of this phase */
    bool judged;
    bare_fn *visit; /* NULL: list */
    uint64_t batches;
    clockid_t recorder;
    _Atomic nsec recorder_start; /* its CPU time when the first lane went; 0: not yet */
    nsec recorder_cpu;
    _Atomic nsec startup; /* CPU of the lanes before their first batch */
    struct block blocks[2][BLOCKS_MOST];

    _Alignas(64) _Atomic uint64_t taken; /* batches of the present block */

    pthread_mutex_t lock;
    pthread_cond_t turned;
    unsigned lanes,
        waiting;      /* lock: lanes that still work; those of them that wait for the others */
    uint64_t turns;   /* lock */
    bool running;     /* lock: a block is being measured */
    nsec started;     /* lock */
    struct block now; /* lock */
};

/* What the caught functions have no argument for. */
static struct alternation *current;

/* --- blocks begin and end together in all lanes --- */

static void turn(struct alternation *a, struct block *place)
{
    nsec now = clock_monotonic();
    if (a->running) {
        a->now.wall = now - a->started;
        *place = a->now;
    }
    a->running = !a->running;
    a->now = (struct block){ 0 };
    atomic_store(&a->taken, 0);
    a->started = now;
}

enum stay { LEAVES, STAYS };

/* The last lane to arrive turns the page. */
static void arrive(struct alternation *a, struct block *place, enum stay stay)
{
    if (stay == STAYS)
        a->waiting++;
    else
        a->lanes--;
    if (a->waiting == a->lanes) {
        turn(a, place);
        a->waiting = 0;
        a->turns++;
        pthread_cond_broadcast(&a->turned);
    } else if (stay == STAYS) {
        for (uint64_t turns = a->turns; turns == a->turns;)
            pthread_cond_wait(&a->turned, &a->lock);
    }
}

static void begin_block(struct alternation *a)
{
    pthread_mutex_lock(&a->lock);
    arrive(a, NULL, STAYS);
    pthread_mutex_unlock(&a->lock);
}

static void end_block(struct alternation *a, enum side side, unsigned n, nsec cpu, uint64_t ops,
                      enum stay stay)
{
    if (n >= BLOCKS_MOST)
        errx(1, "more than %u blocks: a larger --block is wanted", BLOCKS_MOST);
    pthread_mutex_lock(&a->lock);
    a->now.cpu += cpu;
    a->now.ops += ops;
    arrive(a, &a->blocks[side][n], stay);
    pthread_mutex_unlock(&a->lock);
}

/* --- the bare side --- */

/* Names are made a batch at a time, as by the raw loop in a process of its own. */
static uint64_t bare_batches(struct alternation *a, struct seat *seat, unsigned n)
{
    uint64_t ops = 0, batch = a->with->batch, before = n * a->batches;
    bool own = a->with->layout == LAYOUT_PRIVATE;
    for (uint64_t i;
         (i = atomic_fetch_add_explicit(&a->taken, 1, memory_order_relaxed)) < a->batches;)
        if (!a->visit) {
            ops += a->calls->list(seat->folder, seat->entries);
        } else {
            bare_names(seat->names, own ? seat->made + ops : (before + i) * batch, batch);
            a->visit(seat->folder, seat->names, batch);
            ops += batch;
        }
    return ops;
}

static void bare_block(struct alternation *a, struct seat *seat, unsigned n)
{
    if (a->visit && (n + 1) * a->batches * a->with->batch > a->with->files)
        return;
    if (a->with->threads == 1)
        bare_single();
    begin_block(a);
    nsec cpu = clock_thread_cpu();
    uint64_t ops = bare_batches(a, seat, n);
    cpu = clock_thread_cpu() - cpu;
    bare_threaded();
    seat->made += ops;
    end_block(a, BARE, n, cpu, ops, STAYS);
}

/* --- ours: between two batches of a lane --- */

static void begin_ours(struct alternation *a, struct seat *seat, struct lane *lane)
{
    begin_block(a);
    lane_prepared(lane); /* no sample contains the time between */
    seat->ops = lane->ops;
    seat->cpu = clock_thread_cpu();
}

static void first_batch(struct alternation *a, struct seat *seat, struct lane *lane)
{
    struct timespec recorder;
    nsec none = 0;
    clock_gettime(a->recorder, &recorder);
    atomic_compare_exchange_strong(&a->recorder_start, &none,
                                   (nsec)recorder.tv_sec * NSEC_PER_SEC + recorder.tv_nsec);
    seat->begun = true;
    atomic_fetch_add(&a->startup, clock_thread_cpu());
    begin_ours(a, seat, lane);
}

/* A lane has ended a batch and holds the next one, or there is none. */
static void between_batches(struct alternation *a, struct lane *lane, bool more)
{
    struct seat *seat = &a->seats[lane->index];
    if (!seat->begun) {
        first_batch(a, seat, lane);
        return;
    }
    /* A block takes as many batches as are held when it begins and then claimed in it. */
    if (more && atomic_fetch_add_explicit(&a->taken, 1, memory_order_relaxed) + a->with->threads <
                    a->batches)
        return;
    nsec cpu = clock_thread_cpu() - seat->cpu;
    unsigned n = seat->blocks++;
    end_block(a, OURS, n, cpu, lane->ops - seat->ops, more ? STAYS : LEAVES);
    if (!more)
        return;
    if (n % 2 == 0) {
        bare_block(a, seat, n);
        bare_block(a, seat, n + 1);
    }
    begin_ours(a, seat, lane);
}

uint64_t __real_lane_claim(struct lane *lane, uint64_t *ret_first);
uint64_t __wrap_lane_claim(struct lane *lane, uint64_t *ret_first);
uint64_t __wrap_lane_claim(struct lane *lane, uint64_t *ret_first)
{
    uint64_t n = __real_lane_claim(lane, ret_first);
    if (current->judged)
        between_batches(current, lane, n > 0);
    return n;
}

bool __real_lane_begin(struct lane *lane);
bool __wrap_lane_begin(struct lane *lane);
bool __wrap_lane_begin(struct lane *lane)
{
    bool more = __real_lane_begin(lane);
    if (current->judged)
        between_batches(current, lane, more);
    return more;
}

/* --- phases --- */

int __real_recorder_drain(struct recorder *recorder, enum drain drain, struct problem *why);
int __wrap_recorder_drain(struct recorder *recorder, enum drain drain, struct problem *why);
int __wrap_recorder_drain(struct recorder *recorder, enum drain drain, struct problem *why)
{
    int result = __real_recorder_drain(recorder, drain, why);
    if (drain == DRAIN_ALL)
        current->recorder_cpu = clock_thread_cpu() - current->recorder_start;
    return result;
}

/* The loop that stands beside a phase; NULL: the list's, or none. */
static bare_fn *loop_beside(const struct alternation *a, const char *phase)
{
    return strcmp(phase, "create") == 0   ? a->calls->create
           : strcmp(phase, "stat") == 0   ? a->calls->stat
           : strcmp(phase, "remove") == 0 ? a->calls->remove
                                          : NULL;
}

static void begin_phase(struct alternation *a, const struct phase *phase)
{
    a->visit = loop_beside(a, phase->name);
    a->judged = a->visit || strcmp(phase->name, "list") == 0;
    /* Only creations need no more of a lane than its turn. */
    if (phase->lanes > 1 && a->visit != a->calls->create)
        a->judged = false;
    if (!a->judged)
        return;
    a->batches = a->visit ? a->block_batches : LIST_BLOCK;
    a->lanes = phase->lanes;
    a->waiting = 0;
    a->running = false;
    a->startup = 0;
    memset(a->blocks, 0, sizeof a->blocks);
    for (unsigned lane = 0; lane < phase->lanes; lane++) {
        a->seats[lane].begun = false;
        a->seats[lane].blocks = 0;
        a->seats[lane].made = 0;
        if (!a->visit && lseek(a->seats[lane].folder, 0, SEEK_SET) < 0)
            err(1, "cannot rewind the twin");
    }
    a->recorder_start = 0;
    pthread_getcpuclockid(pthread_self(), &a->recorder);
}

static double per(nsec amount, uint64_t ops)
{
    return (double)amount / (double)ops;
}

static uint64_t ops_of(const struct block blocks[BLOCKS_MOST])
{
    uint64_t ops = 0;
    for (unsigned i = 0; i < BLOCKS_MOST; i++)
        ops += blocks[i].ops;
    return ops;
}

static void end_phase(const struct alternation *a, const char *phase)
{
    /* What the phase cost beside its blocks, for each operation. */
    uint64_t ops = ops_of(a->blocks[OURS]);
    double recorder = ops ? per(a->recorder_cpu, ops) : 0;
    double start = ops ? per(atomic_load(&a->startup), ops) : 0, more = recorder + start;
    for (unsigned i = 0; i < BLOCKS_MOST; i++) {
        const struct block *ours = &a->blocks[OURS][i], *bare = &a->blocks[BARE][i];
        if (ours->ops * 2 < bare->ops || bare->ops * 2 < ours->ops || bare->ops == 0)
            continue; /* the rest of a phase, or of a directory */
        printf("%s %.2f %.2f %.1f %.1f\n", phase, per(ours->cpu, ours->ops) + more,
               per(bare->cpu, bare->ops), 1e9 / per(ours->wall, ours->ops),
               1e9 / per(bare->wall, bare->ops));
    }
    fprintf(stderr, "%s: %.1f ns an operation for the recorder, %.1f for the lanes' start\n", phase,
            recorder, start);
}

int __real_run_phase(struct run *run, const struct phase *phase, bool *ret_limited,
                     struct problem *why);
int __wrap_run_phase(struct run *run, const struct phase *phase, bool *ret_limited,
                     struct problem *why);
int __wrap_run_phase(struct run *run, const struct phase *phase, bool *ret_limited,
                     struct problem *why)
{
    begin_phase(current, phase);
    int result = __real_run_phase(run, phase, ret_limited, why);
    if (result == 0 && current->judged)
        end_phase(current, phase->name);
    return result;
}

/* --- the twin --- */

static int open_below(const char *where, const char *name)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", where, name);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        err(1, "cannot make %s", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err(1, "cannot open %s", path);
    return fd;
}

static void twin_make(struct alternation *a, const char *where)
{
    snprintf(a->twin, sizeof a->twin, "%s/bare-XXXXXX", where);
    if (!mkdtemp(a->twin))
        err(1, "cannot make %s", a->twin);
    for (unsigned i = 0; i < a->with->threads; i++) {
        struct seat *seat = &a->seats[i];
        char lane[FOLDER_NAME] = ".";
        if (a->with->layout == LAYOUT_PRIVATE)
            folder_name(lane, i);
        seat->folder = open_below(a->twin, lane);
        seat->names = malloc(a->with->batch * sizeof *seat->names);
        seat->entries = malloc(BARE_LIST_BYTES);
        if (!seat->names || !seat->entries)
            err(1, "cannot name the files");
    }
}

static void empty(int folder)
{
    DIR *listing = fdopendir(dup(folder));
    if (!listing)
        err(1, "cannot list the twin");
    rewinddir(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (entry->d_name[0] == PREFIX_MADE && unlinkat(folder, entry->d_name, 0) < 0)
            err(1, "cannot remove %s", entry->d_name);
    closedir(listing);
}

static void twin_remove(struct alternation *a)
{
    for (unsigned i = 0; i < a->with->threads; i++) {
        char path[sizeof a->twin + FOLDER_NAME], lane[FOLDER_NAME];
        empty(a->seats[i].folder);
        close(a->seats[i].folder);
        free(a->seats[i].names);
        free(a->seats[i].entries);
        folder_name(lane, i);
        snprintf(path, sizeof path, "%s/%s", a->twin, lane);
        if (a->with->layout == LAYOUT_PRIVATE && rmdir(path) < 0)
            err(1, "cannot remove %s", path);
    }
    if (rmdir(a->twin) < 0)
        err(1, "cannot remove %s", a->twin);
}

/* --- the job --- */

static struct journal *open_journal(struct problem *why)
{
    char folder[] = "/tmp/plimsoll-bench-XXXXXX";
    struct journal *journal = NULL;
    if (!mkdtemp(folder))
        err(1, "cannot make %s", folder);
    int fd = open_below(folder, ".");
    int result = journal_create(fd, JOURNAL_FILE, &journal, why);
    unlinkat(fd, JOURNAL_FILE, 0);
    close(fd);
    rmdir(folder);
    return result ? NULL : journal;
}

static int run_and_clean(struct run *run, struct create_scaling *with, struct problem *why)
{
    const struct workload *workload = workload_find("create-scaling");
    enum cleanup_state cleanup;
    if (run_execute(run, workload, with, why) != JOB_SUCCEEDED ||
        run_clean(run, workload, with, &cleanup, why))
        return -1;
    return cleanup == CLEANUP_DONE ? 0 : problem_set(why, PROBLEM_INTERNAL, "clean-up was blocked");
}

static int job(struct alternation *a, const char *where, struct create_scaling *with,
               struct problem *why)
{
    struct workspace *workspace = NULL;
    struct host_sampler *host = NULL;
    struct run *run = NULL;
    char name[WORKSPACE_NAME], nonce[17];
    struct journal *journal = open_journal(why);
    snprintf(nonce, sizeof nonce, "%016llx", (unsigned long long)clock_wall());
    if (a->bare_first)
        twin_make(a, where);
    if (!journal || workspace_name(name, 0, 1, nonce, why) ||
        workspace_make(where, name, &workspace, why))
        return -1;
    if (!a->bare_first)
        twin_make(a, where);
    if (host_sampler_open(device_of(workspace_fd(workspace)), &host, why))
        return -1;
    const struct run_options options = { .journal = journal,
                                         .workspace = workspace,
                                         .name = name,
                                         .run = 1,
                                         .leg = 1,
                                         .reserve = 0.01,
                                         .signals = -1,
                                         .host = host };
    int result = run_new(&options, &run, why) ? -1 : run_and_clean(run, with, why);
    run_free(run);
    host_sampler_close(host);
    workspace_close(workspace);
    journal_close(journal);
    return result;
}

static int read_param(struct create_scaling *with, const char *argument, struct problem *why)
{
    const struct field *table = workload_find("create-scaling")->params;
    const char *equals = strchr(argument, '=');
    char name[64];
    if (!equals)
        return problem_field(why, argument, "no name=value: %s", argument);
    snprintf(name, sizeof name, "%.*s", (int)(equals - argument), argument);
    const struct field *field = field_named(table, name);
    return field ? field_parse(field, equals + 1, name, with, why)
                 : field_unknown(table, name, name, why);
}

static int fits(const struct alternation *a, struct problem *why)
{
    const struct create_scaling *with = a->with;
    uint64_t files = a->block_batches * with->batch;
    if (a->block_batches <= with->threads || a->block_batches > BLOCK_MOST)
        return problem_set(why, PROBLEM_BAD_FIELD, "--block must be more than threads, at most %u",
                           BLOCK_MOST);
    if (with->threads > LANES_MOST || with->files % (2 * files) != 0 ||
        with->files / files > BLOCKS_MOST)
        return problem_set(
            why, PROBLEM_BAD_FIELD,
            "threads must be at most %u, and files a multiple of two blocks, %llu, and "
            "at most %u of them",
            LANES_MOST, (unsigned long long)(2 * files), BLOCKS_MOST / 2);
    if (with->layout == LAYOUT_FANOUT || with->create_call != CREATE_BY_OPEN || with->file_bytes ||
        with->sync || with->name_length != NAME_LEAST || with->order != ORDER_CREATED)
        return problem_set(why, PROBLEM_BAD_FIELD, "the bare loop makes empty files, one way only");
    return 0;
}

static int read_arguments(struct alternation *a, struct create_scaling *with, char **argv,
                          struct problem *why)
{
    if (fields_preset(workload_find("create-scaling")->params, with, why))
        return -1;
    for (; *argv; argv++) {
        bool valued = strcmp(*argv, "--block") == 0 || strcmp(*argv, "--first") == 0;
        if (valued && !argv[1])
            return problem_field(why, *argv, "%s wants a value", *argv);
        if (strcmp(*argv, "--block") == 0)
            a->block_batches = strtoull(*++argv, NULL, 10);
        else if (strcmp(*argv, "--first") == 0)
            a->bare_first = strcmp(*++argv, "bare") == 0;
        else if (strcmp(*argv, "--direct") == 0)
            a->calls = &bare_direct;
        else if (read_param(with, *argv, why))
            return -1;
    }
    return fits(a, why);
}

int main(int argc, char **argv)
{
    struct problem why = { 0 };
    struct create_scaling with = { 0 };
    static struct alternation a = { .block_batches = BLOCK_USUAL,
                                    .calls = &bare_library,
                                    .lock = PTHREAD_MUTEX_INITIALIZER,
                                    .turned = PTHREAD_COND_INITIALIZER };
    a.with = &with;
    current = &a;
    if (argc < 2)
        errx(2,
             "usage: alternate DIR [--block BATCHES] [--first bare] [--direct] [name=value ...]");
    if (read_arguments(&a, &with, argv + 2, &why))
        errx(2, "%s", why.message);
    if (job(&a, argv[1], &with, &why))
        errx(1, "%s", why.message);
    twin_remove(&a);
    return 0;
}
