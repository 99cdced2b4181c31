#include "service/dispatcher.h"

#include "engine/base/lock.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "service/open_jobs.h"
#include "service/outage.h"
#include "service/retries.h"

#include <errno.h>
#include <fcntl.h>

enum { DESCRIPTORS = 8 }; /* to start a runner and to follow it */

#define LOOK_EVERY (5 * NSEC_PER_SEC) /* hints can be lost; this is what is relied upon */
#define GAP_FIRST  (100 * NSEC_PER_MSEC)
#define GAP_MOST   (5 * NSEC_PER_SEC)

struct dispatcher {
    struct dispatcher_settings settings;
    pthread_t thread;
    bool started;           /* its owner's */
    bool migrated, adopted; /* the thread's */
    struct outage outage;   /* the thread's */
    struct retries retries; /* the thread's: of blocked clean-ups */

    pthread_mutex_t lock;
    pthread_cond_t wake;    /* CLOCK_MONOTONIC */
    bool nudged, stop;      /* lock */
    struct problem problem; /* lock: why jobs are not taken; code 0: they are */
};

/* ---- adopting ---- */

enum again { AS_IT_IS, AGAIN }; /* a clean-up that is blocked, or kept files to be removed */

/* The list may be older than the end of a job that was followed until now: the row is read again, after
 * it is known that nobody follows it. */
static int adopt(struct dispatcher *dispatcher, struct open_job *open, enum again again,
                 struct problem *why)
{
    const struct dispatcher_settings *settings = &dispatcher->settings;
    scoped(job_done) struct job job = { 0 };
    struct problem refused = { 0 };
    if (store_job_get(settings->store, open->id, &job, why) < 0)
        return -1;
    struct open_job now = { .state = job.state, .cleanup = job.cleanup };
    bool retry = again == AGAIN &&
                 (job.cleanup == CLEANUP_BLOCKED || (job.cleanup == CLEANUP_KEPT && job.deleting));
    if (!open_job_under_way(&now) && !retry)
        return 0;
    if (retry && store_job_cleanup_because(settings->store, job.id, CLEANUP_PENDING,
                                           job.cleanup_reason, &refused) < 0) {
        if (refused.code == PROBLEM_CONFLICT) /* another job uses its target: later */
            return 0;
        *why = refused;
        return -1;
    }
    if (retry)
        open->cleanup = CLEANUP_PENDING; /* the next claim is to know it */
    log_job(LOG_NOTICE, job.id, "found %s%s", job_states[job.state],
            job.deleting                 ? ", to be deleted with what it kept"
            : job_state_final(job.state) ? ", its clean-up not done"
                                         : "");
    return ingester_follow(settings->ingester, &job, PROCESS_NONE, why);
}

/* ---- deleting what keeps files ---- */

static int forget_files(void *arg, job_id id, struct problem *why)
{
    return launcher_forget(arg, id, why);
}

/* Its kept files are removed. What is in the way of the rest is told, and it stays. */
static int delete (struct dispatcher *dispatcher, job_id id, struct problem *why)
{
    const struct dispatcher_settings *settings = &dispatcher->settings;
    struct problem refused = { 0 };
    void *launcher = (void *)(uintptr_t)settings->launcher;
    int gone = store_job_delete(settings->store, id, forget_files, launcher, &refused);
    if (gone < 0 && refused.code == PROBLEM_STORE_FAILED) {
        *why = refused;
        return -1;
    }
    if (gone < 0 && refused.code != PROBLEM_NOT_FOUND) {
        log_job(LOG_ERROR, id, "cannot delete it: %s", refused.message);
        return store_job_cleanup_because(settings->store, id, CLEANUP_DONE, refused.message, why);
    }
    log_job(LOG_NOTICE, id, "deleted");
    settings->changed(settings->arg, id);
    return 0;
}

static int remove_kept(struct dispatcher *dispatcher, struct open_job *job,
                       const struct open_jobs *jobs, struct problem *why)
{
    const struct dispatcher_settings *settings = &dispatcher->settings;
    const struct targets *targets = prober_hold(settings->prober);
    const struct target *target = targets_find(targets, job->target);
    bool is_there = target != NULL;
    bool now = is_there && open_jobs_leave_free(jobs, settings->prober, targets, target);
    prober_release(settings->prober, targets);
    if (!is_there)
        return store_job_cleanup_because(settings->store, job->id, CLEANUP_KEPT,
                                         "the settings have no such target any more", why);
    return now ? adopt(dispatcher, job, AGAIN, why) : 0;
}

/* ---- all of them ---- */

static int look_after_one(struct dispatcher *dispatcher, struct open_job *job,
                          const struct open_jobs *jobs, struct problem *why)
{
    struct retries *retries = &dispatcher->retries;
    enum again again = AS_IT_IS;
    if (job->deleting && job->cleanup == CLEANUP_KEPT)
        return remove_kept(dispatcher, job, jobs, why);
    if (job->deleting && (job->cleanup == CLEANUP_DONE || job->cleanup == CLEANUP_NONE))
        return delete (dispatcher, job->id, why);
    if (job->cleanup == CLEANUP_BLOCKED) {
        again = retries_due(retries, job->id, clock_monotonic()) || !dispatcher->adopted;
        if (again == AS_IT_IS)
            return 0;
    }
    retries_keep(retries, job->id);
    return adopt(dispatcher, job, again, why);
}

static int look_after(struct dispatcher *dispatcher, struct open_jobs *jobs, struct problem *why)
{
    struct ingester *ingester = dispatcher->settings.ingester;
    retries_round(&dispatcher->retries);
    for (size_t i = 0; i < jobs->n; i++) {
        struct open_job *job = &jobs->at[i];
        if (job->state == JOB_QUEUED)
            continue;
        if (ingester_follows(ingester, job->id))
            retries_keep(&dispatcher->retries, job->id);
        else if (look_after_one(dispatcher, job, jobs, why) < 0)
            return -1;
        if (job->state == JOB_CANCELLING)
            ingester_cancel(ingester, job->id);
    }
    return 0;
}

/* ---- claiming ---- */

/* Comma-separated: the targets that a job may be claimed for. One whose filesystem has not answered is
 * left alone; one that answers but cannot be used is claimed, so that its job fails with the reason. */
static char *free_targets(struct dispatcher *dispatcher, const struct open_jobs *jobs)
{
    struct prober *prober = dispatcher->settings.prober;
    const struct targets *targets = prober_hold(prober);
    struct text text = { 0 };
    for (size_t i = 0; i < targets->n; i++) {
        const struct target *target = &targets->at[i];
        if (open_jobs_leave_free(jobs, prober, targets, target))
            text_addf(&text, "%s%s", text.n ? "," : "", target->name);
    }
    prober_release(prober, targets);
    return text_take(&text);
}

/* What cannot be started has failed: nothing of it exists on the target. */
static int refuse(struct dispatcher *dispatcher, job_id id, const struct problem *problem,
                  struct problem *why)
{
    log_job(LOG_ERROR, id, "cannot start it: %s", problem->message);
    return store_job_finish(dispatcher->settings.store, id, JOB_FAILED, CLEANUP_NONE, problem, why);
}

/* A job is not claimed when it could not be started and followed for want of descriptors: it can wait. */
static int check_descriptors(struct problem *why)
{
    int fds[DESCRIPTORS], n = 0, error = 0;
    while (n < DESCRIPTORS && !error) {
        fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        error = fds[n] < 0 ? errno : 0;
        n += !error;
    }
    for (int i = 0; i < n; i++)
        close(fds[i]);
    if (!error)
        return 0;
    return problem_set(why, PROBLEM_OVERLOADED,
                       "too few descriptors are left to start a runner: %s",
                       strerrordesc_np(error));
}

/* 1: a job was claimed; 0: there is none. */
static int claim(struct dispatcher *dispatcher, const struct open_jobs *jobs, struct problem *why)
{
    const struct dispatcher_settings *settings = &dispatcher->settings;
    scoped_free char *targets = free_targets(dispatcher, jobs);
    if (!targets)
        return problem_memory(why);
    if (!*targets)
        return 0;
    if (open_jobs_wait(jobs) && check_descriptors(why) < 0)
        return -1;
    scoped(job_done) struct job job = { 0 };
    int claimed = store_job_claim(settings->store, settings->host, targets, &job, why);
    if (claimed <= 0)
        return claimed;
    job_id id = job.id;
    struct problem problem = { 0 };
    struct process process = PROCESS_NONE;
    if (launcher_start(settings->launcher, &job, LAUNCH_RUN, &process, &problem) < 0) {
        if (refuse(dispatcher, id, &problem, why) < 0)
            return -1;
    } else {
        log_job(LOG_INFO, id, "%s on %s: runner %d", job.workload, job.target, (int)process.pid);
        if (ingester_follow(settings->ingester, &job, process, why) < 0)
            return -1;
    }
    settings->changed(settings->arg, id);
    return 1;
}

/* ---- the thread ---- */

static bool is_stopped(struct dispatcher *dispatcher)
{
    scoped_lock(&dispatcher->lock);
    return dispatcher->stop;
}

static int prepare_store(struct dispatcher *dispatcher, struct problem *why)
{
    const struct dispatcher_settings *settings = &dispatcher->settings;
    if (dispatcher->migrated)
        return 0;
    if (store_migrate(settings->store, why) < 0 ||
        store_watch(settings->store, settings->watched, settings->arg, why) < 0)
        return -1;
    dispatcher->migrated = true;
    return 0;
}

static void tell(struct dispatcher *dispatcher, const struct problem *why)
{
    scoped_lock(&dispatcher->lock);
    if (!dispatcher->stop)
        dispatcher->problem = *why;
}

/* What an earlier daemon left has been taken over. */
static void now_ready(struct dispatcher *dispatcher)
{
    if (dispatcher->adopted)
        return;
    dispatcher->adopted = true;
    tell(dispatcher, &(struct problem){ 0 });
    dispatcher->settings.ready(dispatcher->settings.arg);
}

static int pass(struct dispatcher *dispatcher, struct problem *why)
{
    const struct dispatcher_settings *settings = &dispatcher->settings;
    if (prepare_store(dispatcher, why) < 0)
        return -1;
    for (int claimed = 1; claimed > 0 && !is_stopped(dispatcher);) {
        scoped(open_jobs_done) struct open_jobs jobs = { 0 };
        if (open_jobs_list(settings->store, settings->host, &jobs, why) < 0 ||
            look_after(dispatcher, &jobs, why) < 0)
            return -1;
        now_ready(dispatcher);
        observer_follow(settings->observer, &jobs);
        if ((claimed = claim(dispatcher, &jobs, why)) < 0)
            return -1;
    }
    return 0;
}

/* Until `deadline`, a nudge or the end; false: the end. */
static bool rest(struct dispatcher *dispatcher, nsec deadline, const struct problem *why)
{
    tell(dispatcher, why);
    scoped_lock(&dispatcher->lock);
    while (!dispatcher->stop && !dispatcher->nudged)
        if (!cond_wait_until(&dispatcher->wake, &dispatcher->lock, deadline))
            break;
    dispatcher->nudged = false;
    return !dispatcher->stop;
}

static void *work(void *arg)
{
    struct dispatcher *dispatcher = arg;
    const struct dispatcher_settings *settings = &dispatcher->settings;
    nsec gap = GAP_FIRST;
    for (bool on = true; on;) {
        struct problem why = { 0 };
        if (pass(dispatcher, &why) == 0) {
            outage_end(&dispatcher->outage, "the queue", 0);
            gap = GAP_FIRST;
            on = rest(dispatcher, clock_monotonic() + LOOK_EVERY, &why);
            continue;
        }
        if (!dispatcher->migrated && why.code != PROBLEM_STORE_FAILED) {
            settings->refused(settings->arg, &why);
            break;
        }
        if (!dispatcher->adopted)
            settings->waiting(settings->arg, &why);
        else
            outage_begin(&dispatcher->outage, "the queue", 0, &why);
        on = rest(dispatcher, clock_monotonic() + gap, &why);
        gap = gap * 2 < GAP_MOST ? gap * 2 : GAP_MOST;
    }
    return NULL;
}

int dispatcher_new(const struct dispatcher_settings *settings, struct dispatcher **ret,
                   struct problem *why)
{
    struct dispatcher *dispatcher = calloc(1, sizeof *dispatcher);
    if (!dispatcher)
        return problem_memory(why);
    dispatcher->settings = *settings;
    pthread_mutex_init(&dispatcher->lock, NULL);
    cond_init(&dispatcher->wake);
    problem_set(&dispatcher->problem, PROBLEM_STORE_FAILED, "the daemon is starting");
    *ret = dispatcher;
    return 0;
}

int dispatcher_start(struct dispatcher *dispatcher, struct problem *why)
{
    int error = pthread_create(&dispatcher->thread, NULL, work, dispatcher);
    if (error)
        return problem_errno(why, error, "cannot start the dispatcher");
    dispatcher->started = true;
    return 0;
}

void dispatcher_nudge(struct dispatcher *dispatcher)
{
    scoped_lock(&dispatcher->lock);
    dispatcher->nudged = true;
    pthread_cond_signal(&dispatcher->wake);
}

int dispatcher_ready(struct dispatcher *dispatcher, struct problem *why)
{
    scoped_lock(&dispatcher->lock);
    if (!dispatcher->problem.code)
        return 0;
    return problem_set(why, dispatcher->problem.code, "%s", dispatcher->problem.message);
}

void dispatcher_stop(struct dispatcher *dispatcher)
{
    if (!dispatcher || !dispatcher->started)
        return;
    {
        scoped_lock(&dispatcher->lock);
        dispatcher->stop = true;
        problem_set(&dispatcher->problem, PROBLEM_OVERLOADED, "the daemon is stopping");
        pthread_cond_signal(&dispatcher->wake);
    }
    pthread_join(dispatcher->thread, NULL);
    dispatcher->started = false;
}

struct dispatcher *dispatcher_free(struct dispatcher *dispatcher)
{
    if (!dispatcher)
        return NULL;
    dispatcher_stop(dispatcher);
    retries_done(&dispatcher->retries);
    pthread_cond_destroy(&dispatcher->wake);
    pthread_mutex_destroy(&dispatcher->lock);
    free(dispatcher);
    return NULL;
}
