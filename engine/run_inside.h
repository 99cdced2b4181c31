/* A run, for run*.c only. */
#pragma once
#include "engine/ledger.h"
#include "engine/run.h"
#include "engine/tick.h"

enum { PHASES_MOST = 16 };
#define HOST_EVERY NSEC_PER_SEC

struct names {
    size_t n;
    char *at[FOREIGN_MOST];
};

struct run {
    struct run_options with;
    nsec epoch; /* monotonic, when the leg began */
    struct tick_scale scale;
    _Atomic bool cancelled;
    int cancelled_fd; /* an eventfd; readable: cancelled */
    nsec next_host;
    nsec last_host, queued; /* the last look, and what the lanes waited for a CPU since */
    bool queue_untold;      /* the kernel does not tell that */

    size_t phases_n;
    struct phase_total phases[PHASES_MOST];

    struct names foreign; /* found, to be listed */
    struct names spared;  /* to be left by clean-up, wherever they are found */
    uint64_t removed;
    struct ledger made;
    uint64_t made_told; /* of made.n */
    bool keeps;         /* it has told that its files stay */
    nsec next_clean;
    bool rebooting; /* the leg is over */
    bool between;   /* cleaning, and another run is to follow: a signal ends the job */
};

/* Tells the journal that a phase begins; its totals are those of phases[phases_n], which does not count it yet. */
must_check int run_begin_phase(struct run *run, const struct phase *phase, struct problem *why);
/* What the machine did since the last look goes to the journal; the next one is due in HOST_EVERY. */
must_check int run_look_at_host(struct run *run, nsec now, struct problem *why);
/* Takes what signals there are; whether there was one. */
bool run_take_signals(const struct run *run);
