/* The picture of a phase. */
#pragma once
#include "api/api.h"
#include "api/chart_svg.h"

struct chart_query {
    char *phase;
    int y;
    uint64_t run, width, height;
};
extern const struct field chart_query[];
extern const char *const chart_types[];

/* Of a phase that the job has, with what was found of it marked; the caller frees *ret. */
must_check int phase_chart(struct api *api, const struct job *job, const struct phase_total *phase,
                           const struct chart_query *query, enum chart_place place, char **ret,
                           struct problem *why);
