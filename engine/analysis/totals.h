/* Totals of a run: its rate and the straight line through the cumulative time (ANALYSIS 0). */
#pragma once
#include "engine/analysis/series.h"

struct totals {
    double seconds, units; /* summed, compensated */
    double rate;           /* units per second */
    double rate_low,
        rate_high; /* 95 %, from batch means; NAN: too few batches; high NAN: unbounded */
    double secant; /* seconds per unit, through (start, 0) and the end */
    double slope, intercept, r2; /* least squares of cumulative seconds over load */
    double bow, bow_at; /* the largest departure from the straight line, as a share; where */
};

struct totals totals_of(const struct batches *batches);
