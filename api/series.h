/* The samples of a job: thinned for a chart, or all of them as CSV. */
#pragma once
#include "api/reply.h"

struct series_get_query {
    char *phase;
    int x, y, format;
    uint64_t points, run;
    double from, to;
};
extern const struct field series_get_query[], series_answer[];
extern const char *const series_types[];
enum { SERIES_RATE = 1, SERIES_OPS = 4, SERIES_MEASURES = 10, SERIES_UNIT = 48 };
extern const char *const series_measures[]; /* what y can be */
/* "s", "files", "files/s". Returns text. */
const char *series_unit(int y, const char *phase_unit, char text[SERIES_UNIT]);

/* Which phase is asked for (NULL: the first) and of which run (0: the first): NULL if a job that is still
 * going on does not have it yet. */
must_check int job_phase(const struct job *job, const char *asked, uint64_t run,
                         const struct phase_total **ret, struct problem *why);
/* What GET /jobs/{id}/series answers of it as JSON. */
must_check int job_columns(struct api *api, const struct job *job, const struct phase_total *phase,
                           const struct series_get_query *query, json_t **ret, struct problem *why);

struct host_get_query {
    int of; /* enum host_origin */
    uint64_t points, run;
};
extern const struct field host_get_query[], host_answer[];
