/* How the lanes of throughput move bytes: one operation after the other where the backend waits for each, else as
 * many in flight as queue_depth says. */
#include "engine/workload/throughput.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define LOOK_EVERY  (250 * NSEC_PER_MSEC) /* at the request to stop, while nothing is done */
#define LEAVE_AFTER NSEC_PER_SEC          /* what is in flight then is left to itself */

/* One operation in flight. */
struct slot {
    struct io_op op; /* first: what is reaped is a slot */
    uint64_t index;  /* of the record in the lane's part */
    bool writes;
    uint64_t sync_from; /* ticks; not 0: it has been written and is being made stable */
    char *memory;       /* `turns` buffers */
    unsigned turn;
};

struct worker {
    struct lane *lane;
    const struct site *site;
    const struct io_backend *backend;
    enum io_verb stable; /* how records, or the file at the end */
    bool stable_each, verify, writes, paced;
    uint32_t record;
    unsigned turns, free_n;
    uint64_t credit;     /* operations that may start before the target's room is looked at */
    uint64_t broken;     /* the lowest record that could not be written; UINT64_MAX: none */
    uint64_t base, step; /* of the lane's records: where the first lies, and how far on the next */
    struct order order;
    struct content content;
    struct slot **free;

    uint64_t synced; /* ticks */
    nsec pace, pace_began;
    uint64_t pace_tick, pace_n;

    struct io_options options;
    struct io_session *session;
    struct io_file *file;
    char name[DATA_NAME];
    struct slot *slots;
    bool left; /* something is in flight for ever: its memory must stay */
};

/* --- one lane's means --- */

static int worker_memory(struct worker *worker, struct problem *why)
{
    const struct throughput *with = worker->site->with;
    size_t record = with->record_bytes, depth = worker->options.depth;
    worker->turns = 1; /* what is read may go to the same place again and again */
    if (worker->writes && depth * record < BUFFERS_LEAST)
        worker->turns = (unsigned)(BUFFERS_LEAST / (depth * record));
    size_t bytes = worker->turns * depth * record;
    worker->slots = calloc(depth, sizeof *worker->slots);
    worker->free = calloc(depth, sizeof(struct slot *));
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return problem_memory(why);
    worker->options.buffers = memory;
    worker->options.buffers_bytes = bytes;
    if (!worker->slots || !worker->free)
        return problem_memory(why);
    if (worker->writes && !worker->verify)
        content_noise(&worker->content, memory, bytes, lane_index(worker->lane));
    for (size_t i = 0; i < depth; i++) {
        worker->slots[i].memory = memory + i * worker->turns * record;
        worker->free[worker->free_n++] = &worker->slots[i];
    }
    return 0;
}

static int worker_init(struct worker *worker, struct lane *lane, const struct site *site,
                       struct problem *why)
{
    const struct throughput *with = site->with;
    unsigned index = lane_index(lane);
    uint64_t number = with->layout == LAYOUT_OWN ? index : 0;
    *worker = (struct worker){
        .lane = lane,
        .site = site,
        .backend = site->backend,
        .stable = with->sync == MAKE_STABLE_FULL ? IO_SYNC_FULL : IO_SYNC_DATA,
        .stable_each = with->sync != MAKE_STABLE_NOT && with->sync_at == SYNC_AT_RECORD,
        .verify = with->verify,
        .writes = operation_writes(site->operation),
        .paced = with->rate_limit > 0,
        .record = (uint32_t)with->record_bytes,
        .broken = UINT64_MAX,
        .options = site->options,
    };
    order_init(&worker->order, with, site->operation, index,
               site->operation == DO_WRITE ? data_records(with) : site->made[index]);
    content_init(&worker->content, with, number);
    data_name(worker->name, number);
    worker->base = data_offset(with, index, 0);
    worker->step = data_offset(with, index, 1) - worker->base;
    if (worker->paced) {
        worker->pace = (nsec)((double)with->record_bytes * (double)with->threads * 1e9 /
                              (double)with->rate_limit);
        prctl(PR_SET_TIMERSLACK, 1UL);
    }
    if (worker_memory(worker, why) ||
        worker->backend->open(&worker->options, &worker->session, why))
        return -1;
    return worker->backend->file_open(worker->session, worker->name, with->direct ? IO_DIRECT : 0,
                                      &worker->file, why);
}

static void worker_done(struct worker *worker)
{
    if (worker->session)
        worker->backend->close(worker->session);
    if (worker->left && !worker->backend->ends_at_close)
        return;
    if (worker->options.buffers)
        munmap(worker->options.buffers, worker->options.buffers_bytes);
    free(worker->slots);
    free(worker->free);
}

/* --- one operation --- */

static bool coin_says_read(const struct worker *worker, uint64_t index)
{
    uint64_t coin = mix64_of(worker->content.key ^ lane_index(worker->lane), index) % 100;
    return coin < worker->site->with->read_percent;
}

/* The next operation. Where `operation` is known to the compiler, nothing is left to decide. */
static inline __attribute__((always_inline)) void prepare_as(enum throughput_operation operation,
                                                             struct worker *worker,
                                                             struct slot *slot)
{
    struct io_op *op = &slot->op;
    uint64_t index = order_next_as(operation, &worker->order);
    bool writes =
        operation == DO_MIXED ? !coin_says_read(worker, index) : operation_writes(operation);
    slot->index = index;
    slot->writes = writes;
    if (worker->turns > 1)
        slot->turn = slot->turn + 1 == worker->turns ? 0 : slot->turn + 1;
    op->verb = writes ? IO_WRITE : IO_READ;
    op->file = worker->file;
    op->buffer = slot->memory + (size_t)slot->turn * worker->record;
    op->length = worker->record;
    op->offset = worker->base + index * worker->step;
    if (!writes)
        return;
    if (worker->verify)
        content_fill(&worker->content, op->buffer, op->length, op->offset, operation);
    else
        content_stamp(&worker->content, op->buffer, op->length, op->offset, operation);
}

static void prepare(struct worker *worker, struct slot *slot)
{
    prepare_as(worker->order.operation, worker, slot);
}

/* Another one may start, as far as the target has room: then worker->credit says how many. */
static inline bool may_issue(struct worker *worker)
{
    if (!worker->writes)
        return true;
    if (worker->credit == 0) {
        if (!lane_admit(worker->lane))
            return false;
        worker->credit = worker->lane->stride;
    }
    return true;
}
static inline bool issue_one(struct worker *worker)
{
    if (!may_issue(worker))
        return false;
    worker->credit -= worker->writes;
    return true;
}

/* It did not do what it was to do: 0 when that is a limit of the target, -1 a failure. */
static int went_wrong(struct worker *worker, const struct slot *slot, struct problem *why)
{
    const struct io_op *op = &slot->op;
    const char *doing = op->verb == IO_READ ? "read" : op->verb == IO_WRITE ? "write" : "sync";
    uint64_t number = op->offset / op->length;
    if (slot->writes && slot->index < worker->broken)
        worker->broken = slot->index;
    if (op->result == -EINVAL && worker->site->with->direct) {
        worker->lane->errors++;
        return problem_field(why, "/params/record_bytes",
                             "record_bytes must be a multiple of what the device moves at once, "
                             "often 4096, where direct is yes: the filesystem refuses to %s %u "
                             "bytes at offset %llu",
                             doing, op->length, (unsigned long long)op->offset);
    }
    if (op->result < 0)
        return lane_refused(worker->lane, (int)-op->result, ATTEMPT_OTHER, number, doing,
                            worker->name, why);
    worker->lane->errors++;
    return problem_set(
        why, PROBLEM_IO_FAILED,
        "operation %llu: %s gave %lld of %u bytes at offset %llu: the file ends there",
        (unsigned long long)number, worker->name, (long long)op->result, op->length,
        (unsigned long long)op->offset);
}

static int is_not_what_was_written(struct worker *worker, const struct slot *slot,
                                   const struct mismatch *wrong, struct problem *why)
{
    worker->lane->errors++;
    return problem_set(why, PROBLEM_IO_FAILED,
                       "operation %llu: %s has a wrong byte at offset %llu: expected 0x%02x, found "
                       "0x%02x",
                       (unsigned long long)(slot->op.offset / slot->op.length), worker->name,
                       (unsigned long long)wrong->offset, wrong->expected, wrong->found);
}

enum next { NEXT_DONE, NEXT_SYNC, NEXT_STOP };

/* It ended at `now`. NEXT_SYNC: it is to be issued again, to make its record stable. */
static inline enum next conclude(struct worker *worker, struct slot *slot, uint64_t now,
                                 struct problem *why)
{
    struct io_op *op = &slot->op;
    struct mismatch wrong;
    if (op->result != (op->verb <= IO_WRITE ? op->length : 0)) {
        (void)!went_wrong(worker, slot, why);
        return NEXT_STOP;
    }
    if (slot->sync_from) {
        worker->synced += now - slot->sync_from;
        slot->sync_from = 0;
    } else if (slot->writes && worker->stable_each) {
        op->verb = worker->stable;
        slot->sync_from = now;
        return NEXT_SYNC;
    }
    lane_note_from(worker->lane, op->issued, now, op->length);
    if (worker->verify && !slot->writes &&
        !content_check(&worker->content, op->buffer, op->length, op->offset, &wrong)) {
        (void)!is_not_what_was_written(worker, slot, &wrong, why);
        return NEXT_STOP;
    }
    return NEXT_DONE;
}

/* --- a bounded rate: latencies count from when an operation was due, however long it had to wait --- */

static void pace_begin(struct worker *worker)
{
    const struct lane *lane = worker->lane;
    nsec behind = worker->pace * lane_index(lane) / (nsec)worker->site->with->threads;
    worker->pace_tick = tick_read(&lane->scale) + tick_count(&lane->scale, behind);
    worker->pace_began = clock_monotonic() + behind;
}

static nsec pace_next(const struct worker *worker)
{
    return worker->pace_began + (nsec)worker->pace_n * worker->pace;
}

static void pace_take(struct worker *worker, struct io_op *op)
{
    op->issued =
        worker->pace_tick + tick_count(&worker->lane->scale, (nsec)worker->pace_n * worker->pace);
    worker->pace_n++;
}

/* --- one after the other --- */

/* Where nothing comes between two operations, so that the end of one is the start of the next: as many as have room
 * for their ticks and are admitted, until the batch is over. How many were done whole. */
static inline __attribute__((always_inline)) unsigned stretch_as(
    enum throughput_operation operation, struct worker *worker, unsigned most)
{
    struct lane *lane = worker->lane;
    struct slot *slot = &worker->slots[0];
    int64_t (*call)(struct io_session *, struct io_op *) = worker->backend->call;
    const struct tick_scale scale = lane->scale;
    uint64_t *ticks = lane->ticks + lane->pending, now;
    unsigned n = 0;
    do {
        prepare_as(operation, worker, slot);
        slot->op.result = call(worker->session, &slot->op);
        if (slot->op.result != worker->record)
            break;
        ticks[n++] = now = tick_read(&scale);
    } while (n < most && !lane_due(lane, now) && !lane_stopped(lane));
    return n;
}

static unsigned stretch(struct worker *worker, unsigned most)
{
    switch (worker->order.operation) { /* those by which a target is usually judged */
    case DO_WRITE:
        return stretch_as(DO_WRITE, worker, most);
    case DO_READ:
        return stretch_as(DO_READ, worker, most);
    case DO_RANDOM_READ:
        return stretch_as(DO_RANDOM_READ, worker, most);
    case DO_RANDOM_WRITE:
        return stretch_as(DO_RANDOM_WRITE, worker, most);
    default:
        return stretch_as(worker->order.operation, worker, most);
    }
}

static uint64_t at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

static int work_plainly(struct worker *worker, struct problem *why)
{
    struct lane *lane = worker->lane;
    const struct slot *slot = &worker->slots[0];
    while (order_left(&worker->order) && !lane_stopped(lane)) {
        if (lane_due(lane, lane->pending ? lane->ticks[lane->pending - 1] : lane->last) &&
            !lane_begin(lane))
            break;
        if (!may_issue(worker))
            break;
        uint64_t most = at_most(order_left(&worker->order), TICKS - lane->pending);
        if (worker->writes)
            most = at_most(most, worker->credit);
        unsigned n = stretch(worker, (unsigned)most);
        lane_note_pending(lane, n, (uint64_t)n * worker->record);
        worker->credit -= worker->writes ? n : 0;
        if (n < most && slot->op.result != worker->record)
            return went_wrong(worker, slot, why);
    }
    return 0;
}

static int work_in_turn(struct worker *worker, struct problem *why)
{
    struct lane *lane = worker->lane;
    struct slot *slot = &worker->slots[0];
    const struct io_backend *backend = worker->backend;
    bool afresh = worker->verify; /* filling and checking are no part of an operation */
    uint64_t now = lane->last;
    while (order_left(&worker->order) && !lane_stopped(lane)) {
        if (worker->paced && !lane_sleep(lane, pace_next(worker)))
            break;
        if (lane_due(lane, now)) {
            if (!lane_begin(lane))
                break;
            now = lane->last;
        }
        if (!issue_one(worker))
            break;
        prepare(worker, slot);
        slot->op.issued = afresh ? tick_read(&lane->scale) : now;
        if (worker->paced)
            pace_take(worker, &slot->op);
        enum next next;
        do {
            slot->op.result = backend->call(worker->session, &slot->op);
            now = tick_read(&lane->scale);
            next = conclude(worker, slot, now, why);
        } while (next == NEXT_SYNC);
        if (next == NEXT_STOP)
            break;
    }
    return why->code ? -1 : 0;
}

/* --- many in flight --- */

struct flight {
    struct io_op **ops, **done;
    size_t n;           /* of ops: to be submitted next */
    unsigned in_flight; /* these included, once submitted */
    bool ending;        /* nothing new is issued */
    uint64_t heard;     /* ticks, when something was last issued or done */
    uint64_t leave;     /* not 0: ticks, when what is in flight is left to itself */
};

static void gather(struct worker *worker, struct flight *flight)
{
    nsec now = worker->paced ? clock_monotonic() : 0;
    while (worker->free_n && order_left(&worker->order)) {
        if (worker->paced && pace_next(worker) > now)
            return;
        if (!issue_one(worker)) {
            flight->ending = true;
            return;
        }
        struct slot *slot = worker->free[--worker->free_n];
        prepare(worker, slot);
        if (worker->paced)
            pace_take(worker, &slot->op);
        flight->ops[flight->n++] = &slot->op;
    }
}

static int issue(struct worker *worker, struct flight *flight, struct problem *why)
{
    uint64_t now = tick_read(&worker->lane->scale);
    if (flight->n == 0)
        return 0;
    for (size_t i = 0; i < flight->n; i++) {
        struct slot *slot = (struct slot *)flight->ops[i];
        if (!slot->sync_from && !worker->paced)
            slot->op.issued = now;
    }
    if (flight->in_flight == 0)
        flight->heard = now;
    if (worker->backend->submit(worker->session, flight->ops, flight->n, why))
        return -1;
    flight->in_flight += (unsigned)flight->n;
    flight->n = 0;
    return 0;
}

/* Whether the target has been silent for too long. */
static bool is_silent(const struct worker *worker, const struct flight *flight, uint64_t now)
{
    return tick_nsec(&worker->lane->scale, now - flight->heard) > worker->options.patience;
}

static int take_done(struct worker *worker, struct flight *flight, int n, uint64_t now,
                     struct problem *why)
{
    for (int i = 0; i < n; i++) {
        struct slot *slot = (struct slot *)flight->done[i];
        flight->in_flight--;
        switch (conclude(worker, slot, now, why)) {
        case NEXT_SYNC:
            flight->ops[flight->n++] = &slot->op;
            break;
        case NEXT_STOP:
            flight->ending = true;
            worker->free[worker->free_n++] = slot;
            break;
        case NEXT_DONE:
            worker->free[worker->free_n++] = slot;
            break;
        }
    }
    if (n)
        flight->heard = now;
    else if (flight->in_flight && is_silent(worker, flight, now))
        return problem_set(why, PROBLEM_IO_FAILED,
                           "%u operations on %s were not answered within %g s", flight->in_flight,
                           worker->name, seconds_of(worker->options.patience));
    return why->code ? -1 : 0;
}

/* The next moment at which there is something to do although nothing ended. */
static nsec look_again(const struct worker *worker, const struct flight *flight)
{
    nsec until = clock_monotonic() + LOOK_EVERY;
    if (worker->paced && worker->free_n && !flight->ending && order_left(&worker->order) &&
        pace_next(worker) < until)
        return pace_next(worker);
    return until;
}

/* After a failure, or when the run is to stop: what is in flight has a moment to end. */
static void leave(struct worker *worker, struct flight *flight)
{
    struct problem ignored = { 0 };
    nsec until = clock_monotonic() + LEAVE_AFTER;
    while (flight->in_flight && clock_monotonic() < until) {
        int n = worker->backend->reap(worker->session, flight->done, 1, flight->in_flight, until,
                                      &ignored);
        if (n < 0)
            break;
        flight->in_flight -= (unsigned)n;
    }
    worker->left = flight->in_flight > 0;
}

static int fly(struct worker *worker, struct flight *flight, struct problem *why)
{
    struct lane *lane = worker->lane;
    uint64_t now = lane->last;
    for (;;) {
        if (lane_stopped(lane))
            flight->ending = true;
        else if (lane_due(lane, now) && !lane_begin(lane))
            flight->ending = true;
        if (lane_cancelled(lane))
            return 0;
        if (!flight->ending)
            gather(worker, flight);
        if (issue(worker, flight, why))
            return -1;
        if (flight->in_flight == 0) {
            if (flight->ending || !order_left(&worker->order))
                return 0;
            if (!lane_sleep(lane, pace_next(worker)))
                flight->ending = true;
            now = tick_read(&lane->scale);
            continue;
        }
        int n = worker->backend->reap(worker->session, flight->done, 1, flight->in_flight,
                                      look_again(worker, flight), why);
        now = tick_read(&lane->scale);
        if (n < 0 || take_done(worker, flight, n, now, why))
            return -1;
    }
}

static int work_overlapping(struct worker *worker, struct problem *why)
{
    size_t depth = worker->options.depth;
    scoped_free struct io_op **ops = calloc(2 * depth, sizeof(struct io_op *));
    if (!ops)
        return problem_memory(why);
    struct flight flight = { .ops = ops, .done = ops + depth };
    int result = fly(worker, &flight, why);
    if (flight.in_flight)
        leave(worker, &flight);
    return result;
}

/* --- the whole --- */

/* All that the lane wrote, within its time. */
static int make_stable(struct worker *worker, struct problem *why)
{
    struct lane *lane = worker->lane;
    struct slot *slot = &worker->slots[0];
    struct io_op *op = &slot->op, *done;
    uint64_t began = tick_read(&lane->scale);
    int n = 1;
    *op = (struct io_op){ .verb = worker->stable, .file = worker->file, .length = worker->record };
    if (worker->backend->call) {
        op->result = worker->backend->call(worker->session, op);
    } else {
        if (worker->backend->submit(worker->session, &op, 1, why))
            return -1;
        nsec until = clock_monotonic() + worker->options.patience;
        do
            n = worker->backend->reap(worker->session, &done, 1, 1, clock_monotonic() + LOOK_EVERY,
                                      why);
        while (n == 0 && clock_monotonic() < until && !lane_cancelled(lane));
    }
    worker->synced += tick_read(&lane->scale) - began;
    worker->left = n <= 0;
    if (n == 0 && !lane_cancelled(lane))
        return problem_set(why, PROBLEM_IO_FAILED, "%s was not made stable within %g s",
                           worker->name, seconds_of(worker->options.patience));
    if (n == 1 && op->result) {
        worker->broken = 0; /* what of it is there is not known */
        return went_wrong(worker, slot, why);
    }
    return n < 0 ? -1 : 0;
}

static int work(struct worker *worker, struct problem *why)
{
    const struct throughput *with = worker->site->with;
    struct lane *lane = worker->lane;
    if (!lane_together(lane) || order_left(&worker->order) == 0 || !lane_begin(lane))
        return 0;
    if (worker->paced)
        pace_begin(worker);
    int result = !worker->backend->call ? work_overlapping(worker, why)
                 : worker->paced || worker->verify || worker->stable_each
                     ? work_in_turn(worker, why)
                     : work_plainly(worker, why);
    if (result)
        return -1;
    if (worker->writes && with->sync != MAKE_STABLE_NOT && with->sync_at == SYNC_AT_END &&
        !lane_cancelled(lane))
        return make_stable(worker, why);
    return 0;
}

/* What was written, as far as it is whole from the beginning. */
static uint64_t in_place(const struct worker *worker)
{
    return worker->broken < worker->order.done ? worker->broken : worker->order.done;
}

int throughput_lane(struct lane *lane, const void *arg, struct problem *why)
{
    const struct site *site = arg;
    struct worker worker;
    int result = worker_init(&worker, lane, site, why) || work(&worker, why) ? -1 : 0;
    lane->sync += tick_nsec(&lane->scale, worker.synced);
    if (site->operation == DO_WRITE)
        site->made[lane_index(lane)] = in_place(&worker);
    int late = worker.file ? worker.backend->file_close(worker.session, worker.file) : 0;
    if (late && result == 0 && worker.writes)
        result =
            lane_refused(lane, late, ATTEMPT_OTHER, worker.order.done, "close", worker.name, why);
    worker_done(&worker);
    return result;
}
