/* One measurement from its run directory to its clean-up, the same by hand and for the service. */
#pragma once
#include "engine/run.h"
#include "engine/workload/workload.h"

enum runner_exit {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_CANCELLED = 3,
    EXIT_BLOCKED = 4
};

struct plan {
    const struct workload *workload;
    void *params; /* of the workload's table */
    job_id job;   /* 0: by hand */
    unsigned run, leg;
    const struct target *target; /* by hand one without a name */
    const char *where; /* the folder in which the run directory is made; NULL: it has none here */
    bool null;         /* nothing is done at all */
    const char *nonce;
    double reserve;
    const char *state; /* the state directory, for the environment; NULL by hand */
    struct journal *journal;
    int signals;
    bool by_hand;
    void (*progress)(void *arg, const struct phase_total *phase);
    void *progress_arg;
};

/* What came of it. */
struct outcome {
    enum job_state state;
    struct problem problem; /* of the run; or, if that has none, of the clean-up */
    enum cleanup_state cleanup;
    struct run *run; /* its phases and counts; NULL when it never began */
    char *path;      /* of the run directory */
};
void outcome_done(struct outcome *outcome);

/* Blocks SIGTERM, SIGINT and SIGHUP, which from then on arrive at the descriptor it returns;
 * ignores SIGPIPE and SIGXFSZ. */
must_check int session_signals(struct problem *why);
/* Runs, records and cleans up. Whatever goes wrong is in *ret and, if it can be written, the journal. */
void session_run(const struct plan *plan, struct outcome *ret);
/* Cleans up what an earlier process of the same plan left. `foreign` names what is known not to be its;
 * `place` says where it worked, "" if that is not known. */
void session_clean(const struct plan *plan, const struct texts *foreign, const char *place,
                   struct outcome *ret);
enum runner_exit outcome_exit(const struct outcome *outcome);
