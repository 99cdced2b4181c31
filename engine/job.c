#include "engine/job.h"

#include <math.h>

#define X(code, name) name,
const char *const job_states[] = { JOB_STATES(X) NULL };
const char *const run_states[] = { RUN_STATES(X) NULL };
const char *const cleanup_states[] = { CLEANUP_STATES(X) NULL };
const char *const limit_reasons[] = { LIMIT_REASONS(X) NULL };
#undef X

int name_index(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

bool job_state_final(enum job_state state)
{
    return state >= JOB_SUCCEEDED;
}

nsec phase_join(struct phase_total *whole, const struct phase_total *leg)
{
    nsec shift = whole->last_done - leg->first_start;
    struct latency *all = &whole->latency, before = whole->latency;
    const struct latency *more = &leg->latency;
    if (more->count)
        *all = (struct latency){ .count = before.count + more->count,
                                 .sum = before.sum + more->sum,
                                 .min = before.count && before.min < more->min ? before.min
                                                                               : more->min,
                                 .max = before.max > more->max ? before.max : more->max };
    whole->legs = (whole->legs ? whole->legs : 1) + 1;
    whole->ops += leg->ops;
    whole->bytes += leg->bytes;
    whole->errors += leg->errors;
    whole->first_ops += leg->first_ops;
    whole->first_bytes += leg->first_bytes;
    whole->first_done = leg->first_done + shift;
    whole->last_done = leg->last_done + shift;
    whole->paused += leg->paused;
    whole->cpu += leg->cpu;
    whole->flush += leg->flush;
    whole->sync += leg->sync;
    whole->finished = leg->finished;
    if (leg->limit.reached)
        whole->limit = leg->limit;
    return shift;
}

bool phase_counts_bytes(const struct phase_total *phase)
{
    return strcmp(phase->unit, "bytes") == 0;
}

double phase_rate(const struct phase_total *phase)
{
    double seconds = phase_seconds(phase);
    return seconds > 0 && !phase->at_load ? (double)phase_load(phase) / seconds : NAN;
}

double phase_first_rate(const struct phase_total *phase)
{
    double seconds = seconds_of(phase->first_done - phase->first_start);
    uint64_t load = phase_counts_bytes(phase) ? phase->first_bytes : phase->first_ops;
    return load && seconds > 0 ? (double)load / seconds : NAN;
}

double phase_rate_with_flush(const struct phase_total *phase)
{
    double seconds = phase_seconds(phase) + seconds_of(phase->flush);
    return phase->flush > 0 && seconds > 0 ? (double)phase_load(phase) / seconds : NAN;
}
