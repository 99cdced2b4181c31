/* One execution of a job: phases in order, each worked by lanes that start together. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"
#include "engine/job.h"

#include <stdbool.h>
#include <stdint.h>

struct run;
struct lane; /* one worker thread within a phase */

/* Works until lane_claim() gives nothing more. */
typedef int lane_fn(struct lane *lane, const void *arg, struct problem *why);

struct phase {
    const char *name; /* "create" */
    const char *unit; /* what load counts: "files" */
    unsigned lanes;
    uint64_t total;   /* operations to do */
    uint64_t batch;   /* operations timed together */
    nsec duration;    /* a deadline; 0: none */
    lane_fn *body;
    const void *arg;  /* shared by every lane, hence const */
};
