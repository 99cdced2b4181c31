/* Every sample as CSV, streamed: memory is bounded by one group, whatever the job's size. */
#pragma once
#include "api/api.h"

struct csv_query {
    job_id job;
    const char *phase; /* NULL: all */
    unsigned run;      /* 0: all */
    bool by_load;      /* from and to are of the load; otherwise of at, in seconds */
    double from, to;   /* NAN: open */
};

/* OVERLOADED when EXPORTS_MOST are being read already. */
must_check int samples_csv(struct api *api, const struct csv_query *query, struct reply *out,
                           struct problem *why);
