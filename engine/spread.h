/* What several runs of one point came to, phase by phase: beside each other, never hidden in one average. */
#pragma once
#include "engine/job.h"

struct run_rates {
    uint64_t point;     /* the same of runs that are to be set beside each other */
    const char *params; /* borrowed: JSON text of what the point sets; NULL: nothing */
    size_t phases_n;
    const struct phase_total *phases; /* borrowed */
};
struct spread {
    uint64_t point;
    const char *params;       /* borrowed */
    const char *phase, *unit; /* borrowed from the phases */
    size_t n;                 /* runs that finished the phase */
    double median, low, high; /* of what the unit says, per second */
};
/* Of each phase of each point, in the order of points and then of phases; the caller frees *ret. A phase in
 * several legs counts as one. */
must_check int spreads_of(const struct run_rates *runs, size_t n, struct spread **ret,
                          size_t *ret_n, struct problem *why);
/* (high - low) / median; NAN of fewer than two. */
double spread_share(const struct spread *spread);
