#include "tests/bench/alternation/alternation.h"

#include "engine/device.h"
#include "engine/host.h"
#include "engine/recorder.h"
#include "engine/workspace.h"
#include "tests/bench/bare.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

enum side { OURS, BARE };

struct alternation *alternation;

/* --- blocks begin and end together in all lanes --- */

static void turn_page(struct alternation *a, struct block *place)
{
    nsec now = clock_monotonic();
    if (a->running && place) {
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
        turn_page(a, place);
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

static void bare_block(struct alternation *a, unsigned lane, unsigned n)
{
    if (a->alone)
        bare_single();
    begin_block(a);
    nsec cpu = clock_thread_cpu();
    uint64_t ops = a->bare(a, lane, n);
    cpu = clock_thread_cpu() - cpu;
    bare_threaded();
    end_block(a, BARE, n, cpu, ops, STAYS);
}

/* --- a lane's turns --- */

static void begin_ours(struct alternation *a, struct lane *lane)
{
    struct seat *seat = &a->seats[lane->index];
    begin_block(a);
    lane_prepared(lane); /* no sample contains the time between */
    lane->due = lane->last + lane->interval;
    seat->ops = lane->ops;
    seat->cpu = clock_thread_cpu();
}

bool alternation_begun(const struct lane *lane)
{
    return alternation->seats[lane->index].begun;
}

void alternation_begin(struct lane *lane)
{
    struct timespec recorder;
    nsec none = 0;
    clock_gettime(alternation->recorder, &recorder);
    atomic_compare_exchange_strong(&alternation->recorder_start, &none,
                                   (nsec)recorder.tv_sec * NSEC_PER_SEC + recorder.tv_nsec);
    alternation->seats[lane->index].begun = true;
    atomic_fetch_add(&alternation->startup, clock_thread_cpu() - lane->cpu); /* since it went */
    begin_ours(alternation, lane);
}

static unsigned end_ours(struct alternation *a, struct lane *lane, enum stay stay)
{
    struct seat *seat = &a->seats[lane->index];
    nsec cpu = clock_thread_cpu() - seat->cpu;
    unsigned n = seat->blocks++;
    seat->last_ops = lane->ops - seat->ops;
    end_block(a, OURS, n, cpu, seat->last_ops, stay);
    return n;
}

void alternation_turn(struct lane *lane)
{
    unsigned n = end_ours(alternation, lane, STAYS);
    if (n % 2 == 0) {
        bare_block(alternation, lane->index, n);
        bare_block(alternation, lane->index, n + 1);
    }
    begin_ours(alternation, lane);
}

void alternation_end(struct lane *lane)
{
    end_ours(alternation, lane, LEAVES);
}

void alternation_leave(struct lane *lane)
{
    struct alternation *a = alternation;
    (void)lane;
    pthread_mutex_lock(&a->lock);
    arrive(a, NULL, LEAVES);
    pthread_mutex_unlock(&a->lock);
}

/* --- phases --- */

int __real_recorder_drain(struct recorder *recorder, enum drain drain, struct problem *why);
int __wrap_recorder_drain(struct recorder *recorder, enum drain drain, struct problem *why);
int __wrap_recorder_drain(struct recorder *recorder, enum drain drain, struct problem *why)
{
    nsec before = clock_thread_cpu();
    int result = __real_recorder_drain(recorder, drain, why);
    nsec now = clock_thread_cpu();
    alternation->drain_cpu += now - before;
    alternation->recorder_cpu = now - alternation->recorder_start;
    return result;
}

static void begin_phase(struct alternation *a, const struct phase *phase)
{
    a->lanes = phase->lanes;
    a->waiting = 0;
    a->running = false;
    a->startup = 0;
    memset(a->blocks, 0, sizeof a->blocks);
    memset(a->seats, 0, sizeof a->seats);
    a->judged = a->judges(a, phase);
    a->alone = phase->lanes == 1;
    a->recorder_start = a->recorder_cpu = a->drain_cpu = 0;
    pthread_getcpuclockid(pthread_self(), &a->recorder);
}

static double per(nsec amount, uint64_t ops)
{
    return (double)amount / (double)ops;
}

static struct block sum(const struct block blocks[BLOCKS_MOST])
{
    struct block all = { 0 };
    for (unsigned i = 0; i < BLOCKS_MOST; i++) {
        all.ops += blocks[i].ops;
        all.wall += blocks[i].wall;
    }
    return all;
}

/* What the recorder does by the clock, such as its look at the host, counts for the time that ours had. */
static nsec recorder_share(const struct alternation *a, const struct block *ours,
                           const struct block *bare)
{
    double share = (double)ours->wall / (double)(ours->wall + bare->wall);
    return a->drain_cpu + (nsec)((double)(a->recorder_cpu - a->drain_cpu) * share);
}

static void end_phase(const struct alternation *a, const char *phase)
{
    /* What the phase cost beside its blocks, for each operation. */
    const struct block all[2] = { sum(a->blocks[OURS]), sum(a->blocks[BARE]) };
    uint64_t ops = all[OURS].ops;
    double recorder = ops ? per(recorder_share(a, &all[OURS], &all[BARE]), ops) : 0;
    double start = ops ? per(atomic_load(&a->startup), ops) : 0, more = recorder + start;
    for (unsigned i = 0; i < BLOCKS_MOST; i++) {
        const struct block *ours = &a->blocks[OURS][i], *bare = &a->blocks[BARE][i];
        if (ours->ops * 2 < bare->ops || bare->ops * 2 < ours->ops || bare->ops == 0)
            continue; /* the rest of a phase, or of the twin */
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
    begin_phase(alternation, phase);
    int result = __real_run_phase(run, phase, ret_limited, why);
    if (result == 0 && alternation->judged)
        end_phase(alternation, phase->name);
    return result;
}

/* --- the job --- */

int alternation_folder(const char *where, const char *name)
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

static struct journal *open_journal(struct problem *why)
{
    char folder[] = "/tmp/plimsoll-bench-XXXXXX";
    struct journal *journal = NULL;
    if (!mkdtemp(folder))
        err(1, "cannot make %s", folder);
    int fd = alternation_folder(folder, ".");
    int result = journal_create(fd, JOURNAL_FILE, &journal, why);
    unlinkat(fd, JOURNAL_FILE, 0);
    close(fd);
    rmdir(folder);
    return result ? NULL : journal;
}

static int run_and_clean(struct run *run, const struct alternation *a, struct problem *why)
{
    const struct workload *workload = workload_find(a->workload);
    enum cleanup_state cleanup;
    if (run_execute(run, workload, a->with, why) != JOB_SUCCEEDED ||
        run_clean(run, workload, a->with, &cleanup, why))
        return -1;
    return cleanup == CLEANUP_DONE ? 0 : problem_set(why, PROBLEM_INTERNAL, "clean-up was blocked");
}

static int job(struct alternation *a, const char *where, struct problem *why)
{
    struct workspace *workspace = NULL;
    struct host_sampler *host = NULL;
    struct run *run = NULL;
    char name[WORKSPACE_NAME], nonce[17];
    struct journal *journal = open_journal(why);
    snprintf(nonce, sizeof nonce, "%016llx", (unsigned long long)clock_wall());
    if (a->bare_first)
        a->twin_make(a, where);
    if (!journal || workspace_name(name, 0, 1, nonce, why) ||
        workspace_make(where, name, &workspace, why))
        return -1;
    if (!a->bare_first)
        a->twin_make(a, where);
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
    int result = run_new(&options, &run, why) ? -1 : run_and_clean(run, a, why);
    run_free(run);
    host_sampler_close(host);
    workspace_close(workspace);
    journal_close(journal);
    return result;
}

/* --- arguments --- */

static int read_param(const struct alternation *a, const char *argument, struct problem *why)
{
    const struct field *table = workload_find(a->workload)->params;
    const char *equals = strchr(argument, '=');
    char name[64];
    if (!equals)
        return problem_field(why, argument, "no name=value: %s", argument);
    snprintf(name, sizeof name, "%.*s", (int)(equals - argument), argument);
    const struct field *field = field_named(table, name);
    return field ? field_parse(field, equals + 1, name, a->with, why)
                 : field_unknown(table, name, name, why);
}

static int read_arguments(struct alternation *a, char **argv, struct problem *why)
{
    if (fields_preset(workload_find(a->workload)->params, a->with, why))
        return -1;
    for (; *argv; argv++) {
        bool valued = strcmp(*argv, "--block") == 0 || strcmp(*argv, "--first") == 0;
        if (valued && !argv[1])
            return problem_field(why, *argv, "%s wants a value", *argv);
        if (strcmp(*argv, "--block") == 0)
            a->block = strtoull(*++argv, NULL, 10);
        else if (strcmp(*argv, "--first") == 0)
            a->bare_first = strcmp(*++argv, "bare") == 0;
        else if (strcmp(*argv, "--direct") == 0)
            a->direct = true;
        else if (read_param(a, *argv, why))
            return -1;
    }
    return a->check(a, why);
}

int alternation_main(struct alternation *a, int argc, char **argv)
{
    struct problem why = { 0 };
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->turned, NULL);
    alternation = a;
    if (argc < 2)
        errx(2, "usage: %s DIR [--block %s] [--first bare] [--direct] [name=value ...]", argv[0],
             a->block_is);
    if (read_arguments(a, argv + 2, &why))
        errx(2, "%s", why.message);
    if (job(a, argv[1], &why))
        errx(1, "%s", why.message);
    a->twin_remove(a);
    return 0;
}
