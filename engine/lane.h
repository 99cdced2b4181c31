/* One worker thread within a phase, as a workload's body sees it. What a lane does for each operation
 * stands here, so that it is compiled into the body's loop: no lock, no system call. */
#pragma once
#include "engine/histogram.h"
#include "engine/ring.h"
#include "engine/run.h"
#include "engine/tick.h"

#include <pthread.h>

struct crew; /* what the lanes of a phase share: engine/crew.h */

enum {
    TICKS = 128
}; /* a usual batch, so that its latencies are worked out when its clock has stopped */

struct lane {
    /* touched by every operation */
    struct tick_scale scale;
    const atomic_int *stop; /* of the crew; not 0: end after this operation */
    const atomic_int *over; /* of the crew; 1: another lane has ended */
    uint64_t due;           /* the tick at which a batch of time ends */
    uint64_t bytes;         /* of this batch */
    unsigned pending;       /* ticks not yet in the histogram */
    uint64_t last;          /* the tick before the first of them */
    uint64_t ticks[TICKS];  /* at the end of each operation */

    /* touched by every batch */
    struct histogram *batch; /* of this batch; emptied into `whole` when it ends */
    struct histogram *whole; /* of the phase */
    struct ring ring;
    _Atomic bool closing; /* its next sample's `at` may be older than what the recorder reads now */
    bool open;            /* a batch is being timed */
    bool cut;             /* a batch has ended since the first lane was done */
    bool overlapping;     /* an operation may have been issued before its batch began */
    uint64_t interval;    /* of a batch of time, in ticks */
    uint64_t stride;      /* operations that one lane_admit() admits */
    uint64_t began;       /* of this batch: a tick */
    nsec cpu;             /* of the thread, when this batch began */
    uint64_t switches;    /* involuntary, of the thread, when last read */
    nsec queued;          /* what it waited for a CPU, likewise */
    uint64_t errors;      /* of this batch */
    uint64_t claimed;     /* of this lane's quota */
    uint64_t load;        /* of this batch, where the phase is at_load */

    nsec recorded; /* the recorder's: `at` of the last sample it took */

    struct crew *crew;
    unsigned index;
    pthread_t thread;

    /* totals, read after the join */
    uint64_t ops, all_bytes, all_errors;
    uint64_t first_ops, first_bytes; /* when the first lane was done */
    nsec sync;                       /* what it spent on making data stable */
    nsec first_start, last_done;     /* since the leg began; last_done 0: it did nothing */
    struct problem why;
};

/* Puts the pending ticks into the histogram and starts the clock afresh. */
void lane_settle(struct lane *lane);
/* The next batch for this lane: how many operations, and the number of the first. 0: stop now. */
uint64_t lane_claim(struct lane *lane, uint64_t *ret_first);
/* The next batch of as many operations as the body finds. False: stop now. */
bool lane_begin(struct lane *lane);
/* What came since the batch began prepared its operations: its clock starts now. Before the first of them. */
void lane_prepared(struct lane *lane);
/* Operation `number` failed with this errno. A limit of the target ends the phase: returns 0. Anything
 * else is a failure: -1, "operation NUMBER: cannot <doing> <name>: ...". */
enum attempt {
    ATTEMPT_NAME,
    ATTEMPT_OTHER
}; /* to make a new name in a directory, or anything else */
must_check int lane_refused(struct lane *lane, int error, enum attempt attempt, uint64_t number,
                            const char *doing, const char *name, struct problem *why);

/* A limit of the target that no errno tells: ends the phase, as a result. */
void lane_limit(struct lane *lane, const struct limit *limit);

static inline unsigned lane_index(const struct lane *lane)
{
    return lane->index;
}
static inline bool lane_stopped(const struct lane *lane)
{
    return atomic_load_explicit(lane->stop, memory_order_relaxed) != 0;
}
/* Starts the clock afresh: what came since the last operation belongs to none. */
static inline void lane_restart(struct lane *lane)
{
    if (lane->pending)
        lane_settle(lane);
    else
        lane->last = tick_read(&lane->scale);
}
/* An operation ended now; the next one starts now. False: end here. */
static inline bool lane_note(struct lane *lane, uint64_t bytes)
{
    lane->ticks[lane->pending++] = tick_read(&lane->scale);
    lane->bytes += bytes;
    if (lane->pending == TICKS)
        lane_settle(lane);
    return !lane_stopped(lane);
}
/* The same for n operations, of which the body has put the ticks behind the pending ones; there is room for them. */
static inline void lane_note_pending(struct lane *lane, unsigned n, uint64_t bytes)
{
    lane->pending += n;
    lane->bytes += bytes;
    if (lane->pending == TICKS)
        lane_settle(lane);
}
/* --- batches of time (phase.interval), and operations that overlap --- */

/* Waits until every lane has come here: what each prepared on its own is then behind all. False: stop now. */
bool lane_together(struct lane *lane);
/* Whether phase.stride operations more may start, as far as the target has room. False: stop now. */
bool lane_admit(struct lane *lane);
/* Whether it is the request to stop for which it is to end: then nothing is waited for. */
bool lane_cancelled(const struct lane *lane);
/* Sleeps until that moment (monotonic). False: stop now. */
bool lane_sleep(struct lane *lane, nsec until);
/* An operation from `issued` to `done`, in ticks. */
static inline void lane_note_from(struct lane *lane, uint64_t issued, uint64_t done, uint64_t bytes)
{
    histogram_note(lane->batch, tick_nsec(&lane->scale, done - issued), 1);
    lane->bytes += bytes;
}
/* Whether its batch is to end, so that lane_begin() starts the next one: its time is over, or the first lane
 * has ended and what all did until then is to be known. */
static inline bool lane_due(const struct lane *lane, uint64_t now)
{
    return (int64_t)(now - lane->due) >= 0 ||
           (!lane->cut && atomic_load_explicit(lane->over, memory_order_relaxed));
}

/* n operations that one call did end now; each counts with its share of the time. False: end here. */
bool lane_note_many(struct lane *lane, uint64_t n, uint64_t bytes);
