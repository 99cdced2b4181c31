/* The nouns that everybody shares: a job, its phases, its limit, its fate. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/field.h"
#include "engine/base/problem.h"

#include <stdbool.h>
#include <stdint.h>

typedef int64_t job_id;

/* In JSON, SQL and the journal by these names. Skipped: the job ended before the run's turn came. */
#define JOB_STATES(X)           \
    X(QUEUED, "queued")         \
    X(RUNNING, "running")       \
    X(CANCELLING, "cancelling") \
    X(REBOOTING, "rebooting")   \
    X(SUCCEEDED, "succeeded")   \
    X(FAILED, "failed")         \
    X(CANCELLED, "cancelled")
#define RUN_STATES(X)         \
    X(QUEUED, "queued")       \
    X(RUNNING, "running")     \
    X(SUCCEEDED, "succeeded") \
    X(FAILED, "failed")       \
    X(CANCELLED, "cancelled") \
    X(SKIPPED, "skipped")
#define CLEANUP_STATES(X) \
    X(NONE, "none")       \
    X(PENDING, "pending") \
    X(RUNNING, "running") \
    X(DONE, "done")       \
    X(BLOCKED, "blocked") \
    X(KEPT, "kept")
#define LIMIT_REASONS(X)                  \
    X(SPACE, "space")                     \
    X(INODES, "inodes")                   \
    X(QUOTA, "quota")                     \
    X(LINKS, "links")                     \
    X(DIRECTORY_INDEX, "directory-index") \
    X(NAME, "name")                       \
    X(PERMISSION, "permission")           \
    X(DEADLINE, "deadline")               \
    X(RESERVE, "reserve")                 \
    X(SLOWER, "slower")

enum job_state {
#define X(code, name) JOB_##code,
    JOB_STATES(X)
#undef X
};
enum run_state {
#define X(code, name) RUN_##code,
    RUN_STATES(X)
#undef X
};
enum cleanup_state {
#define X(code, name) CLEANUP_##code,
    CLEANUP_STATES(X)
#undef X
};
enum limit_reason {
#define X(code, name) LIMIT_##code,
    LIMIT_REASONS(X)
#undef X
};

/* NULL-terminated, in the order of the enums, for FT_CHOICE. */
extern const char *const job_states[], *const run_states[], *const cleanup_states[],
                                                                *const limit_reasons[];
int name_index(const char *const *names, const char *name); /* -1: none */
bool job_state_final(enum job_state state);

/* A phase ended here, and why: a result, not a failure. */
struct limit {
    bool reached;
    uint64_t at;      /* load when it ended */
    int reason;       /* enum limit_reason */
    int error;        /* errno that the target gave; 0: a floor or deadline of ours */
    char detail[256]; /* one sentence with the figures */
};

/* How latencies were spread; exact count, sum, min and max, ns. */
struct latency {
    uint64_t count;
    double sum;
    nsec min, max, p50, p90, p99, p999;
};

/* One phase as the journal and the database know it: while it runs, its totals so far. */
struct phase_total {
    char name[32], unit[32];
    unsigned run, leg;
    unsigned legs; /* of how many its figures are the sum: phase_join(); 0: of its own leg alone */
    uint64_t lanes, batch, total;            /* planned */
    uint64_t ops, bytes, errors;             /* done */
    uint64_t first_ops, first_bytes;         /* done by all lanes when the first one was */
    nsec first_start, first_done, last_done; /* since the leg began; first_done: the first lane */
    nsec paused;                             /* within that time, while other phases went on */
    nsec cpu;          /* of the whole runner meanwhile, lanes and recorder; when finished */
    nsec flush;        /* syncfs() after it; 0: none was timed */
    nsec sync;         /* within it: the most that a lane spent on making data stable */
    bool paced;        /* its rate was bounded: latencies count from when an operation was due */
    uint64_t resident; /* bytes of its files in this host's memory when it began */
    char cache[16];    /* before it: "warm", or by what it was emptied; "": not said */
    uint64_t dirty_before; /* bytes that the machine held back when it began */
    bool finished;
    bool at_load; /* each value was measured at its load, not for the batch that ends there */
    struct latency latency;
    struct limit limit;
};

/* Adds what the same phase did in a later leg, but for the percentiles, which no sum gives: they are 0 then. Returns
 * by how much the times of that leg are to be shifted so that they go on from those before it. */
nsec phase_join(struct phase_total *whole, const struct phase_total *leg);
bool phase_counts_bytes(const struct phase_total *phase);
/* How far it is, in what its load counts. */
static inline uint64_t phase_load(const struct phase_total *phase)
{
    return phase_counts_bytes(phase) ? phase->bytes : phase->ops;
}
/* The seconds that a rate divides by: last end - first start, in wall time, without what lay
 * between its stretches. 0 before any batch. */
static inline double phase_seconds(const struct phase_total *phase)
{
    return seconds_of(phase->last_done - phase->first_start - phase->paused);
}
/* What one of its batches adds to the load: of bytes, on the mean. */
static inline double phase_batch_load(const struct phase_total *phase)
{
    double each =
        phase_counts_bytes(phase) && phase->ops ? (double)phase->bytes / (double)phase->ops : 1;
    return each * (double)phase->batch;
}
/* Of what its load counts, per second; NAN before any batch. */
double phase_rate(const struct phase_total *phase);
/* The same until the first lane had nothing left; NAN while that is not known. */
double phase_first_rate(const struct phase_total *phase);
/* phase_rate() with the flush after the phase counted in; NAN where none was timed. */
double phase_rate_with_flush(const struct phase_total *phase);
