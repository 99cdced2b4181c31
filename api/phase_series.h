/* All samples of one phase, as analysis takes them. */
#pragma once
#include "api/api.h"

/* Of this phase's run, all its legs. Holds one connection of the store meanwhile: between export_begin and
 * export_end. */
must_check int phase_series_read(struct api *api, job_id job, const struct phase_total *phase,
                                 struct series_kept **ret, struct problem *why);
static inline void series_kept_cell(struct series_kept **series)
{
    series_kept_free(*series);
}
#define scoped_series scoped(series_kept_cell)
