/* Starts runners. This one spawns them as children in a session of their own, so that they outlive
 * the daemon. */
#pragma once
#include "schema/store.h"
#include "service/cpus.h"
#include "service/process.h"

#include <limits.h>

struct launcher {
    const char *state, *runner, *settings; /* paths */
    struct cpus cpus;
};

enum launch { LAUNCH_RUN, LAUNCH_CLEAN };

/* Makes jobs/ID with its spec.json, if they are not there, and starts a runner on it. */
must_check int launcher_start(const struct launcher *launcher, const struct job *job,
                              enum launch what, struct process *ret, struct problem *why);
/* STATE/jobs/ID/NAME */
must_check int launcher_path(const struct launcher *launcher, job_id id, const char *name,
                             char path[PATH_MAX], struct problem *why);
/* The last line that the job's runners wrote to their log; "" if they wrote none. */
void launcher_last_words(const struct launcher *launcher, job_id id, char *text, size_t size);
