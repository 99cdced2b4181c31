/* Where the cost of a batch begins to rise for good (ANALYSIS 3 to 6): a jump, a bend, or a rise just
 * before the run ended. No knee unless neither smooth growth nor autocorrelated noise explains it. */
#pragma once
#include "engine/analysis/bins.h"

enum knee_shape { KNEE_NONE, KNEE_BEND, KNEE_JUMP, KNEE_LATE };
enum knee_why { WHY_FOUND, WHY_TOO_FEW, WHY_NO_BREAK, WHY_SMOOTH, WHY_NOISE, WHY_SMALL };

struct knee {
    enum knee_shape shape;
    enum knee_why why;         /* there is none, or WHY_FOUND */
    double at, low, high;      /* load; 95 % interval (late: what the method tells, one bin wide) */
    double effect;             /* relative rise, as far beyond the knee as the run was before it */
    struct line before, after; /* seconds per unit over load */
    double warm_up;            /* load until which the run warmed up; 0: none seen */
};

enum { KNEE_FEWEST = 12 }; /* batches */

void knee_of(const struct costs *costs, const struct zones *zones, const struct bins *bins,
             double *scratch, struct knee *ret);
