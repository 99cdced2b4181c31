#include "service/open_jobs.h"

void open_jobs_done(struct open_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        free(jobs->at[i].target);
    free(jobs->at);
}

static int note_open(void *arg, const struct job *job, struct problem *why)
{
    struct open_jobs *jobs = arg;
    if (jobs->n == jobs->room) {
        size_t room = jobs->room ? 2 * jobs->room : 16;
        struct open_job *at = realloc(jobs->at, room * sizeof *at);
        if (!at)
            return problem_memory(why);
        jobs->at = at;
        jobs->room = room;
    }
    char *target = strdup(job->target);
    if (!target)
        return problem_memory(why);
    jobs->at[jobs->n++] =
        (struct open_job){ job->id, job->state, job->cleanup, job->deleting, target };
    return 0;
}

int open_jobs_list(struct store *store, const char *host, struct open_jobs *jobs,
                   struct problem *why)
{
    return store_job_open(store, host, note_open, jobs, why);
}

bool open_job_under_way(const struct open_job *job)
{
    if (job->state == JOB_QUEUED)
        return false;
    return !job_state_final(job->state) || job->cleanup == CLEANUP_PENDING ||
           job->cleanup == CLEANUP_RUNNING;
}

bool open_jobs_wait(const struct open_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        if (jobs->at[i].state == JOB_QUEUED)
            return true;
    return false;
}

/* ---- what is free ---- */

/* Whether a job under way works on the same device, through another target. */
static bool device_busy(struct prober *prober, const struct targets *targets,
                        const struct target *target, const struct target_facts *facts,
                        const struct open_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++) {
        const struct open_job *job = &jobs->at[i];
        struct target_facts other;
        if (!open_job_under_way(job) || strcmp(job->target, target->name) == 0)
            continue;
        const struct target *beside = targets_find(targets, job->target);
        if (target->concurrent && (!beside || beside->concurrent))
            continue;
        if (prober_facts(prober, job->target, &other) && other.device == facts->device)
            return true;
    }
    return false;
}

bool open_jobs_leave_free(const struct open_jobs *jobs, struct prober *prober,
                          const struct targets *targets, const struct target *target)
{
    struct target_facts facts;
    return prober_facts(prober, target->name, &facts) &&
           !device_busy(prober, targets, target, &facts, jobs);
}
