/* Whether a phase has become slower than it was: so many wall-time batches in a row, each longer than a
 * multiple of the median of the first ones. The recorder asks it while the lanes work. */
#pragma once
#include "engine/base/field.h"
#include "engine/job.h"
#include "engine/sample.h"

enum {
    SLOWDOWN_FIRST = 20, /* whose median is what the phase was */
    SLOWDOWN_ROW = 5,    /* in a row: one long batch is no slower filesystem */
};

/* For a workload's table, and for its check(). */
#define FIELD_SLOWER(T)                                                                       \
    FIELD_NUMBER(T, stop_when_slower_than,                                                    \
                 "Ends a phase when 5 batches in a row take longer than this many times the " \
                 "median of its first 20; 0: never. Reaching it is a limit, not a failure.",  \
                 .max = 1e6, .unit = "times")
must_check int slowdown_check(double factor, struct problem *why);

/* A wall-time batch is one batch of each lane: what all of them did, by the time that passed over it. One
 * lane's own time would not do for several: they wait for each other. */
struct slowdown {
    double factor; /* 0: never */
    unsigned lanes;
    uint64_t batch; /* operations of one lane's batch */

    unsigned samples; /* of the wall-time batch that is being gathered */
    uint64_t ops;
    nsec busy;  /* its lanes' own time, added up */
    nsec began; /* since the leg began; -1: before the first */

    unsigned first_n, row;
    double first[SLOWDOWN_FIRST]; /* seconds per operation */
    double usual;
};
void slowdown_init(struct slowdown *slowdown, double factor, unsigned lanes, uint64_t batch);
/* The next sample, in the order of `at`, while every lane works. Whether the phase has become slower; then
 * *ret is the limit but for `at`. */
bool slowdown_note(struct slowdown *slowdown, const struct sample *sample, struct limit *ret);
