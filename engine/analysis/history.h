/* Changes in the history of one figure, one value a run (ANALYSIS 10). A single bad run is no change. */
#pragma once
#include <stddef.h>

enum { HISTORY_MOST = 2000, CHANGES_MOST = 64 };

struct change {
    size_t at;     /* the first run of the new level */
    double effect; /* new level / old level - 1 */
    double p;      /* Mann-Whitney, of the runs on either side (40 at most) */
};

/* values: positive, oldest first; the last HISTORY_MOST are looked at. Returns how many changes. */
size_t history_changes(const double *values, size_t n, struct change ret[CHANGES_MOST]);
