/* The best one-regime law of cost over load: what a break must beat (ANALYSIS 3). */
#pragma once
#include "engine/analysis/bins.h"

struct smooth {
    double rss;             /* weighted, scaled */
    double rest[BINS_MOST]; /* weighted residuals */
};
void smooth_of(const struct bins *bins, struct smooth *ret);

/* Two lines that meet at psi: a + b X + d (X - psi)+, between bins from..to-1. */
struct bend {
    double psi, rss; /* psi in X */
    double a, b, d;
};
/* The best bend with at least `shortest` bins on either side. false: no room. */
bool bend_of(const struct bins *bins, size_t from, size_t to, size_t shortest, struct bend *ret);
/* The best bend with psi given. */
struct bend bend_at(const struct bins *bins, size_t from, size_t to, double psi);
