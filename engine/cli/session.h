/* A job's runs, each from its run directory to its clean-up, the same by hand and for the service. */
#pragma once
#include "engine/ledger.h"
#include "engine/run.h"
#include "engine/runs.h"
#include "engine/workspace.h"

enum runner_exit {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_CANCELLED = 3,
    EXIT_BLOCKED = 4,
    EXIT_REBOOTING = 5
};

struct plan {
    const struct runs *runs;
    uint64_t seed;                 /* of their order */
    job_id job;                    /* 0: by hand */
    unsigned run, leg;             /* to begin with */
    const struct resumed *resumed; /* by the first run; NULL: it begins */
    const char *place;             /* where that one worked before; "" if that is not known */
    const struct ledger *made;     /* and what it made; NULL: nothing */
    struct restarter *restarter;   /* borrowed: of the machine; NULL: it cannot be restarted */
    const struct target *target;   /* by hand one without a name */
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

/* What came of one run. */
struct run_result {
    unsigned run;
    uint64_t point;
    size_t phases_n;
    struct phase_total *phases;
    enum cleanup_state cleanup;
    uint64_t removed;
    struct texts foreign;
    char *path; /* of the run directory; NULL when it has none */
};
/* What came of all. */
struct outcome {
    enum job_state state;
    struct problem problem;     /* of the run that ended it; or, if that has none, of a clean-up */
    enum cleanup_state cleanup; /* done when all are */
    size_t n;
    struct run_result *at; /* of those that began, in their order */
};
void outcome_done(struct outcome *outcome);

/* Blocks SIGTERM, SIGINT and SIGHUP, which from then on arrive at the descriptor it returns;
 * ignores SIGPIPE and SIGXFSZ. */
must_check int session_signals(struct problem *why);
/* Runs, records and cleans up, one run after the other, until one does not succeed. Whatever goes wrong is in *ret and, if it can be written, the journal. */
void session_run(const struct plan *plan, struct outcome *ret);
/* What is known of a run that an earlier process of the same plan began. */
struct run_left {
    bool began, clean;
    struct texts foreign;        /* told by it not to be its */
    struct ledger made;          /* told by it to be its */
    char place[WORKSPACE_PLACE]; /* where it worked; "" if that is not known */
};
/* Cleans up what an earlier process of the same plan left: `left` is of run 1, 2, ... */
void session_clean(const struct plan *plan, const struct run_left *left, struct outcome *ret);
enum runner_exit outcome_exit(const struct outcome *outcome);
