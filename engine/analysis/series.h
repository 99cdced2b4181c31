/* What analysis works on: the cost of each batch against the load it was measured at. Pure
 * arithmetic: no I/O, no JSON, no globals; the same series gives the same findings. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Batch i took seconds[i] and brought the load from load[i-1] (start for the first) to load[i]. */
struct batches {
    size_t n;
    double start;
    const double *load; /* rising */
    const double *seconds;
    bool at_load; /* seconds[i] was measured at load[i], not for the batch that ends there */
};

/* The unit of analysis, one point a batch: c = seconds / batch at x = the middle of the batch.
 * Never the cumulative curve, whose R2 is near 1 whatever happens. */
struct costs {
    size_t n;
    double *x, *c; /* load; seconds per unit of load */
    double *edge;  /* n + 1: the load where each batch begins, and where the last one ends */
};

/* A line in seconds per unit of load, over load. */
struct line {
    double intercept, slope;
};

static inline double line_at(struct line line, double x)
{
    return line.intercept + line.slope * x;
}
