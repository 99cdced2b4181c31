/* Zones of dispersion: stretches of load over which batches scatter alike (ANALYSIS 1). */
#pragma once
#include "engine/analysis/series.h"

enum { ZONES_MOST = 7 };

struct zone {
    size_t first, end;      /* batches [first, end) */
    double from, to;        /* load */
    double to_low, to_high; /* interval of the boundary that ends it; of the last: to itself */
    double level, spread;   /* median cost and its scale (a standard deviation), seconds per unit */
};

struct zones {
    unsigned n;
    bool relative; /* dispersion goes with the level: spread / level is what is constant */
    struct zone at[ZONES_MOST];
};

/* scratch: 3 n doubles. */
void zones_of(const struct costs *costs, double *scratch, struct zones *ret);
