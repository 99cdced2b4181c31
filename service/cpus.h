/* Which CPUs the daemon and its database use, so that the lanes have the others to themselves. */
#pragma once
#include "engine/base/problem.h"

#include <sched.h>
#include <stdbool.h>

struct cpus {
    bool set;             /* false: nothing was asked for, nothing is changed */
    cpu_set_t everything; /* what the daemon was started with */
    cpu_set_t ours, lanes;
};

/* "0" or "0-1,4"; the problem names the key cpus. */
must_check int cpus_parse(const char *text, cpu_set_t *ret, struct problem *why);
/* Moves the calling thread, and all that it starts later, to `text` (NULL: nowhere). To be called
 * before any other thread exists. Lanes get the rest; all, when nothing would be left. */
must_check int cpus_take(const char *text, struct cpus *ret, struct problem *why);
/* Around the start of a runner: what a thread spawns inherits that thread's CPUs. */
void cpus_lanes(const struct cpus *cpus);
void cpus_ours(const struct cpus *cpus);
