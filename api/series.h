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

struct host_get_query {
    uint64_t points;
};
extern const struct field host_get_query[], host_answer[];
