/* At most BINS_MOST equal groups of batches, with the noise of each: what the break model works on
 * (ANALYSIS 2), so that two million batches cost little more than two thousand. */
#pragma once
#include "engine/analysis/series.h"
#include "engine/analysis/zones.h"

enum { BINS_MOST = 512 };

struct bins {
    size_t n, each;      /* bins; batches in a bin (the last one takes the rest) */
    size_t total;        /* batches */
    double x[BINS_MOST]; /* load in the middle */
    double z[BINS_MOST]; /* midmean cost, spikes clipped */
    double s[BINS_MOST]; /* its standard deviation */
    /* scaled for fitting: X in [-1/2, 1/2], y = (z - median) / median(s), w = (median(s) / s)^2 */
    double X[BINS_MOST], y[BINS_MOST], w[BINS_MOST];
    double x_middle, x_span, y_middle, y_span;
};

/* scratch: as many doubles as there are batches. */
void bins_of(const struct costs *costs, const struct zones *zones, double *scratch,
             struct bins *ret);
/* A line in scaled coordinates, in seconds per unit over load. */
struct line bins_line(const struct bins *bins, struct line scaled);

static inline size_t bins_first(const struct bins *bins, size_t bin)
{
    return bin >= bins->n ? bins->total : bin * bins->each;
}
