/* A failure that repeats is told once, and its end once. */
#pragma once
#include "engine/base/log.h"

#include <stdbool.h>

struct outage {
    bool on;
    enum problem_code code;
};

/* job 0: of none. */
static inline void outage_begin(struct outage *outage, const char *what, long long job,
                                const struct problem *why)
{
    if (outage->on && outage->code == why->code)
        return;
    outage->on = true;
    outage->code = why->code;
    log_job(LOG_ERROR, job, "%s: %s; trying again", what, why->message);
}

static inline void outage_end(struct outage *outage, const char *what, long long job)
{
    if (!outage->on)
        return;
    outage->on = false;
    log_job(LOG_NOTICE, job, "%s: works again", what);
}
