/* When what is blocked is tried again: soon at first, then with growing gaps, as long as it stays blocked. */
#pragma once
#include "engine/base/clock.h"
#include "engine/job.h"

#include <stdbool.h>
#include <stddef.h>

#define RETRY_FIRST (5 * NSEC_PER_SEC)
#define RETRY_MOST  (3600 * NSEC_PER_SEC)

struct retry {
    job_id id;
    nsec at, gap;
    bool seen; /* in this round */
};
struct retries {
    size_t n, room;
    struct retry *at;
};
void retries_done(struct retries *retries);
/* A round asks for every job that is blocked; those it did not ask for are forgotten at its end. */
void retries_round(struct retries *retries);
/* It is being tried just now: not forgotten. */
void retries_keep(struct retries *retries, job_id id);
/* Whether this one is due; then its next turn comes after twice the gap. Without memory: not now. */
bool retries_due(struct retries *retries, job_id id, nsec now);
