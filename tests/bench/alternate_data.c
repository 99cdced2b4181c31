/* Bytes: throughput and a bare loop of pread and pwrite by turns, block by block (alternation/alternation.h says how,
 * and what is printed).
 *
 *     alternate_data DIR [--block MILLISECONDS] [--first bare] [--direct] [name=value ...]   as plimsoll-runner run throughput
 *
 * A block is an interval of the job, with the sample that ends it: many more samples than a job usually has. The
 * bare loop does no more than choose the offset, make the call and look at its result: no clock, and data that never
 * change. Random offsets come from the generator of the job, in the same order: one that has a record twice finds it
 * in the CPU's cache, and even of two that have each once one may cost 2 % more. */
#include "engine/workload/throughput.h"
#include "tests/bench/alternation/alternation.h"
#include "tests/bench/bare.h"

#include <err.h>
#include <sys/mman.h>

enum {
    BLOCK_USUAL = 20, /* ms */
    RECORD_MOST = 16 << 20,
};

/* One lane's. */
struct loop {
    int fd;
    char *data;       /* `buffers` of a record each */
    unsigned buffers; /* to write from in turn, as ours */
    unsigned turn;
    uint64_t done; /* records, in this phase */
    struct scatter order;
};

struct data {
    struct alternation a; /* first */
    struct throughput with;
    struct loop loops[LANES_MOST];

    /* of this phase */
    bool writes, random;
};

/* --- the bare side --- */

/* As a program would have it that does nothing else: the compiler makes a loop of its own for each phase. */
bare_loop void go(struct loop *loop, uint64_t n, size_t record, bool writes, bool random,
                  bool direct)
{
    int fd = loop->fd;
    unsigned turn = loop->turn;
    char *data = loop->data;
    for (uint64_t i = loop->done, end = i + n; i < end; i++) {
        off_t offset = (off_t)((random ? scatter_of(&loop->order, i) : i) * record);
        ssize_t moved;
        if (writes) {
            turn = turn + 1 == loop->buffers ? 0 : turn + 1;
            char *from = data + turn * record;
            moved =
                direct ? direct_pwrite(fd, from, record, offset) : pwrite(fd, from, record, offset);
        } else { /* what is read may go to the same place again and again */
            moved =
                direct ? direct_pread(fd, data, record, offset) : pread(fd, data, record, offset);
        }
        if (moved != (ssize_t)record)
            err(1, "%zd of %zu bytes", moved, record);
    }
    loop->turn = turn;
    loop->done += n;
}

bare_loop void go_about(struct loop *loop, uint64_t n, size_t record, const struct data *d,
                        bool direct)
{
    if (d->random)
        d->writes ? go(loop, n, record, true, true, direct)
                  : go(loop, n, record, false, true, direct);
    else
        d->writes ? go(loop, n, record, true, false, direct)
                  : go(loop, n, record, false, false, direct);
}

static uint64_t bare(struct alternation *a, unsigned lane, unsigned block)
{
    struct data *d = (struct data *)a;
    struct loop *loop = &d->loops[lane];
    uint64_t n = a->seats[lane].last_ops;
    (void)block;
    if (loop->done + n > data_records(&d->with))
        return 0;
    if (a->direct)
        go_about(loop, n, d->with.record_bytes, d, true);
    else
        go_about(loop, n, d->with.record_bytes, d, false);
    return n;
}

/* --- ours: between two intervals of a lane --- */

bool __real_lane_begin(struct lane *lane);
bool __wrap_lane_begin(struct lane *lane);
bool __wrap_lane_begin(struct lane *lane)
{
    bool more = __real_lane_begin(lane);
    if (!alternation->judged || !more)
        return more;
    if (!alternation_begun(lane))
        alternation_begin(lane);
    else
        alternation_turn(lane);
    return more;
}

/* What comes after the last interval that was a whole one is no block. */
int __real_throughput_lane(struct lane *lane, const void *arg, struct problem *why);
int __wrap_throughput_lane(struct lane *lane, const void *arg, struct problem *why);
int __wrap_throughput_lane(struct lane *lane, const void *arg, struct problem *why)
{
    int result = __real_throughput_lane(lane, arg, why);
    if (alternation->judged)
        alternation_leave(lane);
    return result;
}

static const struct {
    const char *phase;
    enum throughput_operation operation;
    bool random;
} phases[] = {
    { "write", DO_WRITE, false },
    { "rewrite", DO_REWRITE, false },
    { "read", DO_READ, false },
    { "reread", DO_REREAD, false },
    { "random-read", DO_RANDOM_READ, true },
    { "random-write", DO_RANDOM_WRITE, true },
};

/* A phase's last interval is no block, so that of what ours wrote the twin lacks the end. */
static void complete(struct loop *loop, const struct throughput *with)
{
    off_t end = lseek(loop->fd, 0, SEEK_END);
    for (off_t record = (off_t)with->record_bytes; end < (off_t)with->file_bytes; end += record)
        if (pwrite(loop->fd, loop->data, with->record_bytes, end) != record)
            err(1, "cannot complete the twin");
}

static bool judges(struct alternation *a, const struct phase *phase)
{
    struct data *d = (struct data *)a;
    size_t i = 0;
    while (i < COUNT_OF(phases) && strcmp(phases[i].phase, phase->name) != 0)
        i++;
    if (i == COUNT_OF(phases))
        return false;
    d->writes = operation_writes(phases[i].operation);
    d->random = phases[i].random;
    for (unsigned lane = 0; lane < phase->lanes; lane++) {
        if (strcmp(phase->name, "write") != 0)
            complete(&d->loops[lane], &d->with);
        struct order order;
        order_init(&order, &d->with, phases[i].operation, lane, data_records(&d->with));
        d->loops[lane].order = order.scatter;
        d->loops[lane].done = 0;
    }
    return true;
}

/* --- the twin: a file of each lane, that goes when it is closed --- */

static void loop_init(struct loop *loop, const struct throughput *with, const char *where,
                      unsigned lane)
{
    char path[4096];
    size_t record = with->record_bytes;
    snprintf(path, sizeof path, "%s/bare-XXXXXX", where);
    *loop =
        (struct loop){ .fd = mkstemp(path),
                       .buffers = record < BUFFERS_LEAST ? BUFFERS_LEAST / (unsigned)record : 1 };
    if (loop->fd < 0 || unlink(path) < 0)
        err(1, "cannot make %s", path);
    size_t bytes = loop->buffers * record;
    loop->data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (loop->data == MAP_FAILED)
        err(1, "no memory");
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = mix64_of(lane, i);
        memcpy(loop->data + i, &word, sizeof word);
    }
}

static void twin_make(struct alternation *a, const char *where)
{
    struct data *d = (struct data *)a;
    for (unsigned i = 0; i < d->with.threads; i++)
        loop_init(&d->loops[i], &d->with, where, i);
}

static void twin_remove(struct alternation *a)
{
    struct data *d = (struct data *)a;
    for (unsigned i = 0; i < d->with.threads; i++)
        close(d->loops[i].fd);
}

/* --- the whole --- */

static int check(struct alternation *a, struct problem *why)
{
    struct throughput *with = &((struct data *)a)->with;
    if (a->block < 10 || a->block > 1000)
        return problem_set(why, PROBLEM_BAD_FIELD, "--block must be 10 to 1000 ms");
    if (with->threads > LANES_MOST || with->record_bytes > RECORD_MOST)
        return problem_set(why, PROBLEM_BAD_FIELD,
                           "threads must be at most %u, and record_bytes at most %u", LANES_MOST,
                           RECORD_MOST);
    if (with->layout != LAYOUT_OWN || with->queue_depth > 1 || with->direct || with->sync ||
        with->verify || with->rate_limit || with->compressible_percent)
        return problem_set(why, PROBLEM_BAD_FIELD,
                           "the bare loop reads and writes a file of each lane, one way only");
    with->interval = (nsec)a->block * NSEC_PER_MSEC;
    return 0;
}

int main(int argc, char **argv)
{
    static struct data d = {
        .a = { .workload = "throughput",
               .block_is = "MILLISECONDS",
               .with = &d.with,
               .block = BLOCK_USUAL,
               .check = check,
               .twin_make = twin_make,
               .twin_remove = twin_remove,
               .judges = judges,
               .bare = bare },
    };
    return alternation_main(&d.a, argc, argv);
}
