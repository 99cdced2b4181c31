/* Brings jobs and runners together: adopts the open jobs of this host that nobody follows (after a
 * restart, or a claim whose answer was lost), claims queued ones and starts their runners. One thread,
 * which sleeps until it is nudged or a few seconds have passed. */
#pragma once
#include "schema/store.h"
#include "service/ingester.h"
#include "service/observer.h"
#include "service/prober.h"

struct dispatcher;

struct dispatcher_settings {
    struct store *store;
    const char *host;
    struct ingester *ingester;
    struct prober *prober;
    const struct launcher *launcher;
    struct observer *observer;
    void (*changed)(void *arg, job_id id); /* a job was claimed */
    void (*watched)(void *arg, job_id id); /* some daemon changed a job: the store's hint */
    void (*ready)(void *arg);              /* for the first time */
    void (*waiting)(void *arg, const struct problem *why); /* the database is not there yet */
    void (*refused)(void *arg, const struct problem *why); /* it never will be: stop */
    void *arg;
};

must_check int dispatcher_new(const struct dispatcher_settings *settings, struct dispatcher **ret,
                              struct problem *why);
must_check int dispatcher_start(struct dispatcher *dispatcher, struct problem *why);
/* Look now: a job was queued, a cancel asked for, a target freed. Any thread. */
void dispatcher_nudge(struct dispatcher *dispatcher);
/* 0 when jobs are taken; otherwise why not. */
must_check int dispatcher_ready(struct dispatcher *dispatcher, struct problem *why);
/* Nothing is claimed any more; it can still be nudged and asked. */
void dispatcher_stop(struct dispatcher *dispatcher);
struct dispatcher *dispatcher_free(struct dispatcher *dispatcher);
