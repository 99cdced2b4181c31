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
