#include "engine/job.h"

#define X(code, name) name,
const char *const job_states[] = { JOB_STATES(X) NULL };
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
