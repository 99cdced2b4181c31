/* Everything that is found in the batches of one phase of one run. */
#pragma once
#include "engine/analysis/growth.h"
#include "engine/analysis/knee.h"
#include "engine/analysis/totals.h"
#include "engine/analysis/zones.h"
#include "engine/base/problem.h"

enum { ANALYSIS_VERSION = 3 }; /* rises when the same series may give other findings */

struct phase_findings {
    struct totals totals;
    struct zones zones;
    struct knee knee;
    struct growth growth;        /* of the whole; not known when there is a knee */
    struct growth before, after; /* of the knee: over load, and over load beyond it */
};

/* Batches with no width or no time are left out. Fails only without memory. */
must_check int phase_findings_of(const struct batches *batches, struct phase_findings *ret,
                                 struct problem *why);
