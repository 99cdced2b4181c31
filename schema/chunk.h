/* Inside this folder only: groups of samples as rows of the table chunk. */
#pragma once
#include "schema/database.h"

/* The columns of a sample that are stored with min, max and sum; lane and at come before them in
 * every query that reads or writes the arrays. */
#define SAMPLE_SERIES(X) \
    X(load)              \
    X(elapsed)           \
    X(ops)               \
    X(bytes)             \
    X(errors)            \
    X(cpu)               \
    X(switches)          \
    X(p50)               \
    X(p99)               \
    X(max)

enum {
#define X(name) +1
    SAMPLE_SERIES_N = 0 SAMPLE_SERIES(X),
#undef X
};

struct chunk {
    job_id job;
    unsigned run, leg;
    const char *phase;
    uint64_t seq, seq_last; /* journal records */
    bool small;
    size_t n; /* 1 to SAMPLE_GROUP */
    const struct sample *samples;
};
must_check int chunk_add(struct connection *connection, const struct chunk *chunk,
                         struct problem *why);

/* Reads the arrays, `lane` at `column` and the others after it, in the order of queries/chunk_add.sql.
 * Returns how many samples; -1 if they are not what chunk_add writes. */
must_check int chunk_samples(const PGresult *result, int row, int column,
                             struct sample ret[SAMPLE_GROUP], struct problem *why);
/* One bigint array. Returns how many elements, at most SAMPLE_GROUP; -1 as above. */
must_check int chunk_array(const PGresult *result, int row, int column, int64_t ret[SAMPLE_GROUP],
                           struct problem *why);
/* By at, then lane, then load: one order, whatever the groups were before. */
void samples_sort(struct sample *samples, size_t n);
