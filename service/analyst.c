#include "service/analyst.h"

#include "engine/analysis/phase.h"
#include "engine/base/lock.h"
#include "engine/base/log.h"
#include "service/outage.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#define LOOK_EVERY (30 * NSEC_PER_SEC) /* hints can be lost */
#define GAP        (2 * NSEC_PER_SEC)  /* after a failure of the database */
enum { NICE = 10, HOST_MOST = 20000 };

struct analyst {
    struct analyst_settings settings;
    pthread_t thread;
    struct outage outage; /* the thread's */

    pthread_mutex_t lock;
    pthread_cond_t wake; /* CLOCK_MONOTONIC */
    bool nudged, stop;   /* lock */
};

static bool is_stopped(struct analyst *analyst)
{
    scoped_lock(&analyst->lock);
    return analyst->stop;
}

/* --- one job --- */

/* What the host did during one leg, whose times count from its own beginning. */
struct leg_host {
    unsigned run, leg;
    struct host_sample *at;
    size_t n;
};

struct work {
    struct job job;
    size_t hosts_n;
    struct leg_host *hosts;
    struct host_sample *host; /* what it did during the phase that is read, in the times of that */
    size_t host_n;
    struct series_kept *series; /* of the phase that is being read */
    const struct phase_total *phase;
    struct samples_cursor *cursor;
    struct findings findings;
};

static void work_done(struct work *work)
{
    job_done(&work->job);
    for (size_t i = 0; i < work->hosts_n; i++)
        free(work->hosts[i].at);
    free(work->hosts);
    free(work->host);
    series_kept_free(work->series);
    samples_close(work->cursor);
    findings_done(&work->findings);
}

static const struct phase_total *phase_of(const struct job *job, const char *name, unsigned run)
{
    for (size_t i = 0; i < job->phases_n; i++) {
        const struct phase_total *phase = &job->phases[i];
        if (phase->run == run && strcmp(phase->name, name) == 0)
            return phase;
    }
    return NULL;
}

static struct leg_host *host_of(const struct work *work, const struct phase_total *part)
{
    for (size_t i = work->hosts_n; i-- > 0;)
        if (work->hosts[i].run == part->run && work->hosts[i].leg == part->leg)
            return &work->hosts[i];
    return NULL;
}

static int read_hosts(struct store *store, struct work *work, struct problem *why)
{
    work->hosts = calloc(work->job.parts_n + 1, sizeof *work->hosts);
    if (!work->hosts)
        return problem_memory(why);
    for (size_t i = 0; i < work->job.parts_n; i++) {
        const struct phase_total *part = &work->job.parts[i];
        if (host_of(work, part))
            continue;
        const struct host_query query = {
            .job = work->job.id, .run = part->run, .leg = part->leg, .points = HOST_MOST
        };
        struct leg_host *host = &work->hosts[work->hosts_n];
        *host = (struct leg_host){ .run = part->run, .leg = part->leg };
        if (store_host(store, &query, &host->at, &host->n, why) < 0)
            return -1;
        work->hosts_n++;
    }
    return 0;
}

/* What the host did during one leg of a phase, or of all when it has no other, by the times of the whole. */
static int add_host(struct work *work, const struct phase_total *part, bool only, nsec shift,
                    struct problem *why)
{
    const struct leg_host *host = host_of(work, part);
    if (!host || host->n == 0)
        return 0;
    struct host_sample *more = reallocarray(work->host, work->host_n + host->n, sizeof *work->host);
    if (!more)
        return problem_memory(why);
    work->host = more;
    for (size_t i = 0; i < host->n; i++) {
        struct host_sample sample = host->at[i];
        if (!only && (sample.at < part->first_start || sample.at > part->last_done + NSEC_PER_SEC))
            continue;
        sample.at += shift;
        work->host[work->host_n++] = sample;
    }
    return 0;
}

static int gather_host(struct work *work, const struct phase_total *phase, struct problem *why)
{
    struct phase_total whole = { 0 };
    work->host_n = 0;
    for (size_t i = 0; i < work->job.parts_n; i++) {
        const struct phase_total *part = &work->job.parts[i];
        if (part->run != phase->run || strcmp(part->name, phase->name) != 0)
            continue;
        nsec shift = 0;
        if (whole.run)
            shift = phase_join(&whole, part);
        else
            whole = *part;
        if (add_host(work, part, phase->legs < 2, shift, why) < 0)
            return -1;
    }
    return 0;
}

/* All samples of a phase are read: what they say. */
static int conclude(struct work *work, struct problem *why)
{
    if (!work->series)
        return 0;
    if (gather_host(work, work->phase, why) < 0)
        return -1;
    if (work->host_n)
        series_kept_host(work->series, work->host, work->host_n);
    if (findings_of_phase(work->series, &work->findings, why) < 0 ||
        findings_of_host(work->phase, work->host, work->host_n, &work->findings, why) < 0)
        return -1;
    work->series = series_kept_free(work->series);
    return 0;
}

static int begin(struct work *work, const struct phase_total *phase, struct problem *why)
{
    if (phase == work->phase)
        return 0;
    if (conclude(work, why) < 0)
        return -1;
    work->phase = phase;
    return phase ? series_kept_new(phase, &work->series, why) : 0;
}

static int read_series(struct analyst *analyst, struct work *work, struct problem *why)
{
    const char *name;
    unsigned run, leg;
    const struct sample *samples;
    size_t n;
    int more;
    if (samples_open_whole(analyst->settings.store, work->job.id, NULL, &work->cursor, why) < 0)
        return -1;
    while ((more = samples_next(work->cursor, &name, &run, &leg, &samples, &n, why)) > 0) {
        if (is_stopped(analyst))
            return problem_set(why, PROBLEM_CANCELLED, "the daemon is stopping");
        if (begin(work, phase_of(&work->job, name, run), why) < 0 ||
            (work->series && series_kept_add(work->series, samples, n, why) < 0))
            return -1;
    }
    return more < 0 ? -1 : begin(work, NULL, why);
}

/* What the runs of each point came to, beside each other. */
static int compare_runs(struct work *work, struct problem *why)
{
    const struct job *job = &work->job;
    scoped_free struct run_rates *rates = calloc(job->runs_n + 1, sizeof *rates);
    if (!rates)
        return problem_memory(why);
    if (job->runs_n < 2)
        return 0;
    for (size_t i = 0; i < job->runs_n; i++)
        rates[i] = job_run_rates(job, &job->runs[i]);
    return findings_of_runs(rates, job->runs_n, &work->findings, why) < 0
               ? -1
               : findings_of_lanes(rates, job->runs_n, &work->findings, why);
}

/* What this look misses the next one finds: it goes over the whole history. */
static void look_at_baselines(struct analyst *analyst, const struct job *job)
{
    const struct baselines_settings settings = { analyst->settings.store,
                                                 analyst->settings.prober };
    struct problem why = { 0 };
    if (baselines_look(&settings, job, &why) < 0)
        log_job(LOG_ERROR, job->id, "cannot look at its baselines: %s", why.message);
}

static int analyse(struct analyst *analyst, job_id id, bool shared_device, struct problem *why)
{
    struct store *store = analyst->settings.store;
    scoped(work_done) struct work work = { 0 };
    if (store_job_get(store, id, &work.job, why) < 0 || read_hosts(store, &work, why) < 0 ||
        read_series(analyst, &work, why) < 0 || compare_runs(&work, why) < 0)
        return -1;
    if (shared_device && work.job.phases_n > 0 &&
        findings_of_shared_device(&work.findings, why) < 0)
        return -1;
    if (store_findings_put(store, id, ANALYSIS_VERSION, &work.findings, why) < 0)
        return -1;
    look_at_baselines(analyst, &work.job);
    analyst->settings.changed(analyst->settings.arg, id);
    return 0;
}

/* It would fail the same way again: it is told once and stands without findings, until somebody asks
 * for another analysis. A job that was deleted meanwhile is no failure. */
static int give_up(struct analyst *analyst, job_id id, struct problem *why)
{
    const struct findings none = { 0 };
    struct problem cause = *why;
    *why = (struct problem){ 0 };
    if (cause.code == PROBLEM_NOT_FOUND)
        return 0;
    log_job(LOG_ERROR, id, "cannot say what its numbers mean: %s", cause.message);
    return store_findings_put(analyst->settings.store, id, ANALYSIS_VERSION, &none, why);
}

/* --- the thread --- */

/* All that there is to do. -1: the database went away; what is left is done later. */
static int pass(struct analyst *analyst, struct problem *why)
{
    job_id id;
    bool shared_device;
    while (!is_stopped(analyst)) {
        int found = store_job_unanalysed(analyst->settings.store, analyst->settings.host, 0, &id,
                                         &shared_device, why);
        if (found <= 0)
            return found;
        if (analyse(analyst, id, shared_device, why) == 0)
            continue;
        if (why->code == PROBLEM_STORE_FAILED || why->code == PROBLEM_CANCELLED)
            return -1;
        if (give_up(analyst, id, why) < 0)
            return -1;
    }
    return 0;
}

static bool rest(struct analyst *analyst, nsec deadline)
{
    scoped_lock(&analyst->lock);
    while (!analyst->stop && !analyst->nudged)
        if (!cond_wait_until(&analyst->wake, &analyst->lock, deadline))
            break;
    analyst->nudged = false;
    return !analyst->stop;
}

static void *work_on(void *arg)
{
    struct analyst *analyst = arg;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    for (bool on = true; on;) {
        struct problem why = { 0 };
        bool done = pass(analyst, &why) == 0;
        if (done)
            outage_end(&analyst->outage, "analysing", 0);
        else if (why.code != PROBLEM_CANCELLED)
            outage_begin(&analyst->outage, "analysing", 0, &why);
        on = rest(analyst, clock_monotonic() + (done ? LOOK_EVERY : GAP));
    }
    return NULL;
}

int analyst_start(const struct analyst_settings *settings, struct analyst **ret,
                  struct problem *why)
{
    struct analyst *analyst = calloc(1, sizeof *analyst);
    if (!analyst)
        return problem_memory(why);
    analyst->settings = *settings;
    pthread_mutex_init(&analyst->lock, NULL);
    cond_init(&analyst->wake);
    int error = pthread_create(&analyst->thread, NULL, work_on, analyst);
    if (error) {
        pthread_cond_destroy(&analyst->wake);
        pthread_mutex_destroy(&analyst->lock);
        free(analyst);
        return problem_errno(why, error, "cannot start the analyst");
    }
    *ret = analyst;
    return 0;
}

void analyst_nudge(struct analyst *analyst)
{
    scoped_lock(&analyst->lock);
    analyst->nudged = true;
    pthread_cond_signal(&analyst->wake);
}

struct analyst *analyst_stop(struct analyst *analyst)
{
    if (!analyst)
        return NULL;
    {
        scoped_lock(&analyst->lock);
        analyst->stop = true;
        pthread_cond_signal(&analyst->wake);
    }
    pthread_join(analyst->thread, NULL);
    pthread_cond_destroy(&analyst->wake);
    pthread_mutex_destroy(&analyst->lock);
    free(analyst);
    return NULL;
}
