/* A job's runs: every point of its matrix, `repeat` times. They come in rounds, each of which has every point
 * once, in an order of its own that the seed fixes: what drifts while the job goes on (fill, ageing, other
 * load) falls on all points alike, and a job that ends early has measured all of them about equally often. */
#pragma once
#include "engine/base/matrix.h"
#include "engine/workload/workload.h"

enum { REPEAT_MOST = 100, JOB_RUNS_MOST = 1000 };
#define SEED_MOST 4294967295.0 /* easily typed, and exact in any JSON reader */

/* What is asked for; all borrowed. */
struct sweep_asked {
    const struct workload *workload;
    const void *params;          /* what the matrix does not vary */
    const struct matrix *matrix; /* NULL: nothing is varied */
    uint64_t repeat, seed;       /* repeat: at least 1 */
    const struct target *target; /* NULL: by hand */
};

struct runs {
    const struct workload *workload;
    const void *params;   /* borrowed */
    struct matrix matrix; /* with the axes of the ladder */
    uint64_t points;
    unsigned n;
    uint16_t *point; /* of run 1, 2, ... */
};

/* Checks every point by the workload's rules: a problem names the value, "/matrix/threads/2". */
must_check int runs_init(const struct sweep_asked *asked, struct runs *ret, struct problem *why);
void runs_done(struct runs *runs);
/* From 1. */
uint64_t runs_point(const struct runs *runs, unsigned run);
/* The parameters of a point: a new object of the workload's table. */
must_check int runs_params(const struct runs *runs, uint64_t point, void **ret,
                           struct problem *why);
/* What distinguishes a point: "threads 4, sync fsync"; "" when nothing is varied. Cut to what fits. */
const char *runs_words(const struct runs *runs, uint64_t point, char *text, size_t size);
