/* Starts runners, each on a job of its own, so that they outlive the daemon: as children in a session of
 * their own (launcher_spawn.c), or as units of systemd (launcher_systemd.c). */
#pragma once
#include "schema/store.h"
#include "service/cpus.h"
#include "service/process.h"

#include <limits.h>

#define RUNNER_LOG "runner.log" /* in a job's folder: what spawned runners say */

enum launch { LAUNCH_RUN, LAUNCH_CLEAN };

struct launcher;
struct launcher_way {
    const char *name;
    /* The job's folder and spec are there. PROCESS_NONE when the runner has ended already. */
    int (*start)(const struct launcher *launcher, job_id id, enum launch what, struct process *ret,
                 struct problem *why);
    /* 0 also when it has ended. */
    int (*signal)(const struct launcher *launcher, job_id id, const struct process *process,
                  int signal, struct problem *why);
    void (*last_words)(const struct launcher *launcher, job_id id, char *text, size_t size);
};
extern const struct launcher_way launcher_spawn, launcher_systemd;

struct launcher {
    const struct launcher_way *way;
    const char *state, *runner, *settings; /* paths */
    struct cpus cpus;
};

/* Whether systemd runs this daemon as its unit does, with these settings. */
bool launcher_under_systemd(const char *settings);

/* Makes jobs/ID with its spec.json, if they are not there, and starts a runner on it. Another job's
 * folder under that number is put aside before. */
must_check int launcher_start(const struct launcher *launcher, const struct job *job,
                              enum launch what, struct process *ret, struct problem *why);
/* Signals the runner that measures the job. */
must_check int launcher_signal(const struct launcher *launcher, job_id id,
                               const struct process *process, int signal, struct problem *why);
/* STATE/jobs/ID/NAME */
must_check int launcher_path(const struct launcher *launcher, job_id id, const char *name,
                             char path[PATH_MAX], struct problem *why);
/* What the job's runners said last, or where that can be read; "" if they said nothing. */
void launcher_last_words(const struct launcher *launcher, job_id id, char *text, size_t size);
/* Removes jobs/ID and the files in it that launcher_start and its runners made; no folder is as good.
 * CONFLICT, and nothing is removed, when there is anything else in it. */
must_check int launcher_forget(const struct launcher *launcher, job_id id, struct problem *why);
