#include "service/observer.h"

#include "engine/base/lock.h"
#include "engine/base/log.h"
#include "service/exporter.h"
#include "service/fetch.h"
#include "service/outage.h"

#include <curl/curl.h>
#include <stdlib.h>

#define EVERY NSEC_PER_SEC

struct observation {
    struct observation *next;
    struct observer *observer;
    job_id job;
    char *url;
    pthread_t thread;
    _Atomic bool stop, ended;
    bool wanted; /* observer_follow's */

    /* The thread's. */
    struct fetch *fetch;
    struct exporter_reading last;
    bool any;       /* there is a last reading */
    struct leg leg; /* the stretch under way; run 0: none yet */
    nsec leg_began; /* monotonic */
    struct outage outage;
};

struct observer {
    struct store *store;
    struct prober *prober;
    struct observation *observations; /* observer_follow's */

    pthread_mutex_t lock;
    pthread_cond_t wake; /* CLOCK_MONOTONIC: some observation is to stop */
};

/* ---- one job, in a thread of its own ---- */

/* Finds the stretch under way. When a new one has begun it is placed on the clock that no one sets. 0: it
 * has not begun. */
static int find_leg(struct observation *o, struct problem *why)
{
    struct leg leg;
    int found = store_leg(o->observer->store, o->job, &leg, why);
    if (found <= 0)
        return found;
    if (leg.run != o->leg.run || leg.leg != o->leg.leg) {
        o->leg = leg;
        o->leg_began = clock_monotonic() - (clock_wall() - leg.began_at);
    }
    return 1;
}

static int store_it(struct observation *o, const struct exporter_reading *now, struct problem *why)
{
    struct host_sample sample;
    int begun = find_leg(o, why);
    if (begun <= 0)
        return begun;
    nsec at = now->at - o->leg_began;
    if (at <= 0) /* read before it began */
        return 0;
    exporter_sample(o->any ? &o->last : NULL, now, at, &sample);
    return store_host_add(o->observer->store, o->job, &o->leg, HOST_SERVER, &sample, why);
}

static int observe(struct observation *o, struct problem *why)
{
    struct exporter_reading now;
    char *text;
    size_t n;
    if (fetch_get(o->fetch, &text, &n, why) < 0 || exporter_read(text, n, &now, why) < 0)
        return -1;
    now.at = clock_monotonic();
    int stored = store_it(o, &now, why);
    o->last = now;
    o->any = true;
    return stored;
}

/* Until `when`; false: it is to stop. */
static bool rest(struct observation *o, nsec when)
{
    scoped_lock(&o->observer->lock);
    while (!o->stop)
        if (!cond_wait_until(&o->observer->wake, &o->observer->lock, when))
            break;
    return !o->stop;
}

static void *work(void *arg)
{
    struct observation *o = arg;
    nsec next = clock_monotonic();
    do {
        struct problem why = { 0 };
        nsec now = clock_monotonic();
        if (observe(o, &why) == 0)
            outage_end(&o->outage, "reading what the server does", o->job);
        else if (!o->stop)
            outage_begin(&o->outage, "reading what the server does", o->job, &why);
        /* A reading that takes longer than a second is followed by the next at once, and no other is
         * made up for. */
        next = next + EVERY > now ? next + EVERY : now;
    } while (rest(o, next));
    o->ended = true;
    return NULL;
}

/* ---- which jobs ---- */

static void free_observation(struct observation *o)
{
    fetch_close(o->fetch);
    free(o->url);
    free(o);
}

static int begin(struct observer *observer, job_id job, const char *url, struct problem *why)
{
    struct observation *o = calloc(1, sizeof *o);
    if (!o)
        return problem_memory(why);
    *o = (struct observation){
        .observer = observer, .job = job, .url = strdup(url), .next = observer->observations
    };
    if (!o->url) {
        free(o);
        return problem_memory(why);
    }
    int failed = fetch_open(url, &o->stop, &o->fetch, why);
    int error = failed ? 0 : pthread_create(&o->thread, NULL, work, o);
    if (error)
        failed = problem_errno(why, error, "cannot start a thread");
    if (failed) {
        free_observation(o);
        return -1;
    }
    observer->observations = o;
    return 0;
}

/* The exporter that the target names, to be freed; NULL: none. */
static char *exporter_of(struct observer *observer, const char *name)
{
    const struct targets *targets = prober_hold(observer->prober);
    const struct target *target = targets_find(targets, name);
    char *url = target && target->observe ? strdup(target->observe) : NULL;
    prober_release(observer->prober, targets);
    return url;
}

static void want(struct observer *observer, const struct open_job *job)
{
    scoped_free char *url = exporter_of(observer, job->target);
    struct problem why = { 0 };
    if (!url)
        return;
    for (struct observation *o = observer->observations; o; o = o->next)
        if (o->job == job->id && strcmp(o->url, url) == 0) {
            o->wanted = true;
            return;
        }
    if (begin(observer, job->id, url, &why) < 0) {
        log_job(LOG_WARNING, job->id, "its server is not observed: %s", why.message);
        return;
    }
    observer->observations->wanted = true;
}

static void stop_unwanted(struct observer *observer)
{
    scoped_lock(&observer->lock);
    for (struct observation *o = observer->observations; o; o = o->next)
        if (!o->wanted)
            o->stop = true;
    pthread_cond_broadcast(&observer->wake);
}

/* Nobody waits for one that is still about to end. */
static void reap(struct observer *observer)
{
    for (struct observation **at = &observer->observations; *at;) {
        struct observation *o = *at;
        if (!o->stop || !o->ended) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        pthread_join(o->thread, NULL);
        free_observation(o);
    }
}

void observer_follow(struct observer *observer, const struct open_jobs *jobs)
{
    for (struct observation *o = observer->observations; o; o = o->next)
        o->wanted = false;
    for (size_t i = 0; i < jobs->n; i++)
        if (jobs->at[i].state == JOB_RUNNING || jobs->at[i].state == JOB_CANCELLING)
            want(observer, &jobs->at[i]);
    stop_unwanted(observer);
    reap(observer);
}

int observer_start(struct store *store, struct prober *prober, struct observer **ret,
                   struct problem *why)
{
    struct observer *observer = calloc(1, sizeof *observer);
    if (!observer)
        return problem_memory(why);
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
        free(observer);
        return problem_set(why, PROBLEM_INTERNAL, "cannot prepare to ask other hosts");
    }
    *observer = (struct observer){ .store = store, .prober = prober };
    pthread_mutex_init(&observer->lock, NULL);
    cond_init(&observer->wake);
    *ret = observer;
    return 0;
}

struct observer *observer_stop(struct observer *observer)
{
    if (!observer)
        return NULL;
    for (struct observation *o = observer->observations; o; o = o->next)
        o->wanted = false;
    stop_unwanted(observer);
    while (observer->observations) {
        struct observation *o = observer->observations;
        observer->observations = o->next;
        pthread_join(o->thread, NULL);
        free_observation(o);
    }
    pthread_cond_destroy(&observer->wake);
    pthread_mutex_destroy(&observer->lock);
    curl_global_cleanup();
    free(observer);
    return NULL;
}
