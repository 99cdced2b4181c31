/* The phases of several sides beside each other: a side is the runs of one job, or of several. */
#pragma once
#include "api/api.h"
#include "engine/comparison.h"

enum { SIDES_MOST = 8, SIDE_JOBS_MOST = 32 };

struct jobs_side {
    size_t n;
    const struct job *at[SIDE_JOBS_MOST]; /* borrowed */
};
/* Each phase of side 0 with that of every other side, added to lists[k] as comparison_fields says. like[k]: its
 * parameters are those of side 0; otherwise no verdict is told. Between export_begin and export_end. */
must_check int compare_sides(struct api *api, const struct jobs_side *sides, size_t n,
                             const bool like[], json_t *const lists[], struct problem *why);
