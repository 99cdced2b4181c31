/* What becomes of a job whose runner is gone: one rule for the start of the daemon and for later. */
#pragma once
#include "engine/job.h"

#include <stdbool.h>

enum {
    STARTS_MOST = 2,  /* a runner that leaves no journal is tried once more */
    RESUMES_MOST = 2, /* likewise one that is to go on after a reboot, until it has begun */
    CLEANS_MOST = 3,  /* then clean-up is blocked, until the daemon starts again */
};

/* All that is known of it once its journal has been taken in to the end and nobody writes it. */
struct remains {
    bool journal; /* there is one */
    bool ended;   /* the job is final */
    bool cancelling;
    bool
        rebooting; /* the job restarts the machine: no more is written until that has come to pass */
    bool rebooted; /* it has */
    bool overdue;  /* it should have */
    enum cleanup_state cleanup;
    unsigned starts, resumes, cleans; /* tried by this daemon */
};

enum next_step {
    NEXT_START,       /* the runner never began: start it again */
    NEXT_WAIT,        /* the machine is about to be restarted */
    NEXT_RESUME,      /* it was: start a runner that goes on */
    NEXT_OVERDUE,     /* it was not, or was not up again in time: the job has failed */
    NEXT_INTERRUPTED, /* the job has failed: its runner died */
    NEXT_CANCELLED,   /* its runner died of being cancelled */
    NEXT_CLEAN,       /* start a clean-up */
    NEXT_BLOCKED,     /* give clean-up up */
    NEXT_CLOSE,       /* all is done */
};

enum next_step recovery_next(const struct remains *remains);
