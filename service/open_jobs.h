/* The jobs that a daemon has to do with, as they stood when it looked: queued, under way, not cleaned up, or
 * to be deleted. */
#pragma once
#include "schema/store.h"
#include "service/prober.h"

struct open_job {
    job_id id;
    int state, cleanup;
    bool deleting;
    char *target;
};
struct open_jobs {
    size_t n, room;
    struct open_job *at;
};
must_check int open_jobs_list(struct store *store, const char *host, struct open_jobs *jobs,
                              struct problem *why);
void open_jobs_done(struct open_jobs *jobs);

/* Whether it works on its target, measuring or cleaning. */
bool open_job_under_way(const struct open_job *job);
bool open_jobs_wait(const struct open_jobs *jobs); /* whether any is queued */
/* Whether none under way works on the target's device, through another target. One whose filesystem has not
 * been seen yet is not free. */
bool open_jobs_leave_free(const struct open_jobs *jobs, struct prober *prober,
                          const struct targets *targets, const struct target *target);
