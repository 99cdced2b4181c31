/* Looks after every job that has a runner: takes its journal into the database, notices its end,
 * cancels it, and does what recovery.h says when the runner is gone. One thread for all of them. */
#pragma once
#include "schema/store.h"
#include "service/launcher.h"
#include "service/process.h"

struct ingester;

struct ingester_settings {
    struct store *store;
    const struct launcher *launcher;
    void (*changed)(void *arg, job_id id); /* a job changed in the database; any thread */
    void (*freed)(void *arg);              /* a target may be free now */
    void *arg;
};

must_check int ingester_start(const struct ingester_settings *settings, struct ingester **ret,
                              struct problem *why);
/* Takes the job's contents over, and its runner's process (PROCESS_NONE: to be found, or dead). */
must_check int ingester_follow(struct ingester *ingester, struct job *job, struct process process,
                               struct problem *why);
/* A cancel was asked for; again: the same. Nothing for a job that is not followed. */
void ingester_cancel(struct ingester *ingester, job_id id);
bool ingester_follows(struct ingester *ingester, job_id id);
/* Stops following; runners go on. Returns NULL. */
struct ingester *ingester_stop(struct ingester *ingester);
