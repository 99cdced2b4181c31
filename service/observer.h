/* Reads what the server of a target does, where the target names its exporter, once a second while a job
 * runs there, and stores it beside what this host does. A thread for each such job. A reading that fails
 * is told once and is missing; no job notices. */
#pragma once
#include "service/open_jobs.h"

struct observer;

must_check int observer_start(struct store *store, struct prober *prober, struct observer **ret,
                              struct problem *why);
/* These are the jobs now: those that run are observed, others no more. One thread at a time. */
void observer_follow(struct observer *observer, const struct open_jobs *jobs);
struct observer *observer_stop(struct observer *observer);
