/* One execution of a job: phases in order, each worked by lanes that start together. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"
#include "engine/job.h"
#include "engine/journal.h"
#include "engine/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct run;
struct lane; /* one worker thread within a phase: engine/lane.h */
struct target;
struct workload;
struct workspace;
struct ledger;
struct restarter; /* engine/restart.h */

/* Works until lane_claim() gives nothing more. */
typedef int lane_fn(struct lane *lane, const void *arg, struct problem *why);

struct phase {
    const char *name; /* "create" */
    const char
        *unit; /* what load counts: "files"; "bytes" are those moved, all others operations */
    unsigned lanes;
    uint64_t total;        /* to do, in what load counts */
    const uint64_t *quota; /* of each lane, together `total`; NULL: lanes claim from one pool */
    uint64_t batch;        /* operations timed together */
    nsec interval;         /* not 0: a batch is what a lane does in this time; `batch` is 1 */
    uint64_t stride;       /* then: how many operations a lane asks for at once, by lane_admit() */
    uint64_t overlap; /* and how many it may have under way that take room only when they end */
    nsec duration;    /* a deadline; 0: none */
    double slower;    /* ends when it has become so many times slower: slowdown.h; 0: never */
    struct cost cost; /* what an operation takes from the target; zero: nothing */
    room_fn *room; /* who tells what the target has, where run_workspace() is NULL; NULL: nobody */
    void *room_arg;
    const char *cache; /* how it was before: "warm", or by what it was emptied; NULL: not said */
    bool
        at_load; /* a sample is of the load that the lane put into lane->load, not of a batch that ends there */
    bool paced; /* lanes hold their rate: an operation's latency counts from when it was due */
    uint64_t resident; /* bytes of its files in this host's memory before it */
    uint64_t
        before;  /* done in earlier legs: numbers and load go on from there; `total` counts them */
    nsec worked; /* and in what time, for the deadline */
    lane_fn *body;
    const void *arg; /* shared by every lane, hence const */
};

/* --- for workloads --- */

/* Starts the lanes together, records every batch, joins them. The first lane to fail stops the rest.
 * A limit (the reserve, ENOSPC, a deadline ...) is a recorded result: returns 0 and *ret_limited is
 * true. -1 with CANCELLED when the run was told to stop. */
must_check int run_phase(struct run *run, const struct phase *phase, bool *ret_limited,
                         struct problem *why);
/* A phase that is worked in stretches, between which others go on. Its time, rate and deadline are those of
 * its stretches. run_phase() is one with a single stretch. */
struct stage;
must_check int stage_open(struct run *run, const struct phase *phase, struct stage **ret,
                          struct problem *why);
/* Works until `until` operations are done in all: 0; 1 when a limit, a failure or a request to stop ended it,
 * and stage_end() will tell which. */
must_check int stage_work(struct stage *stage, uint64_t until, struct problem *why);
/* Writes its totals; what it came to is as of run_phase(). */
must_check int stage_end(struct stage *stage, bool *ret_limited, struct problem *why);
/* The time of its stretches, with those of earlier legs. */
nsec stage_worked(const struct stage *stage);
struct stage *stage_free(struct stage *stage);
/* A phase of one measurement that no lane made, since it began before the leg did: it ends now, and took so
 * long at that load. */
must_check int run_measured(struct run *run, const char *phase, const char *unit, uint64_t load,
                            nsec took, struct problem *why);
/* The run directory; NULL when the operations do nothing (run_is_null), or when the target has no folder
 * of this host (nfs, zfs): then the workload makes what is named run_name() there by itself. */
struct workspace *run_workspace(struct run *run);
/* Where the run works. By hand it has no name. */
const struct target *run_target(const struct run *run);
/* plimsoll-JOB-RUN-NONCE: what the run makes on the target lies under this name alone. */
const char *run_name(const struct run *run);
/* Whether operations are to return at once, which shows what the engine itself costs. */
bool run_is_null(const struct run *run);
/* Whether the run was told to stop; takes the signals that tell it. Lanes look at lane_stopped(), which costs
 * nothing, and ask this within long waits alone. */
bool run_is_cancelled(struct run *run);
/* A descriptor that is readable once it was told to stop: for tools that lanes wait for. */
int run_cancelled_fd(const struct run *run);
/* Restarts the machine; the run goes on in its next leg, where run_resumed() gives `state`. Always -1, which the
 * workload returns: the leg is over; or, as any other problem, it was told to stop before (then nothing is
 * restarted), or may not or cannot restart. */
must_check int run_reboot(struct run *run, const struct reboot *reboot, struct problem *why);
/* What the leg before left; NULL: the run begins. */
struct resumed {
    char *state; /* as it was given */
    uint64_t batch;
    nsec rebooted_at;           /* wall: just before the machine was restarted */
    enum clock_sync clock_then; /* and how its clock was */
    nsec resumed_at;            /* wall: when this leg's runner was started */
};
const struct resumed *run_resumed(const struct run *run);
/* Tells the journal what that restart came to. */
must_check int run_booted(struct run *run, const struct boot *boot, struct problem *why);
/* An entry of the run directory that the run did not make: it is left and listed. `name` may be any
 * bytes. Clean-up ends `blocked`. Not for lanes. */
void run_foreign(struct run *run, const char *name);
/* A name that clean-up must leave although it looks like one of the run's: it was there before. What was
 * told by run_foreign() while the run went on is spared too. */
must_check int run_spare(struct run *run, const char *name, struct problem *why);
bool run_spares(const struct run *run, const char *name);
/* What the run has made so far, as far as it keeps account of it; in clean-up after another process what that
 * one told. */
struct ledger *run_made(struct run *run);
/* Tells it to the journal, on stable storage: after each batch, and before the next one begins. */
must_check int run_made_tell(struct run *run, struct problem *why);
/* Clean-up removed n entries more. Records its progress about once a second; -1 when it is to stop
 * (by hand: a second Ctrl-C). */
must_check int run_removed(struct run *run, uint64_t n, struct problem *why);

/* --- for the program --- */

struct run_options {
    struct journal *journal;     /* borrowed */
    struct workspace *workspace; /* borrowed; NULL: the target has no folder here, or null */
    const struct target *target; /* borrowed */
    const char *name;            /* borrowed */
    bool null;                   /* operations return at once */
    unsigned run, leg;
    bool more;          /* runs follow: its success does not end the job */
    const char *called; /* borrowed; what problems say of it, "run 3 (threads 4)"; "": nothing */
    const struct resumed *resumed; /* borrowed; NULL: from the beginning */
    const struct ledger *made;     /* borrowed: in earlier legs; NULL: nothing */
    struct restarter *restarter;   /* borrowed: of the machine; NULL: it cannot be restarted */
    double reserve;
    int signals; /* a signalfd: anything on it cancels; -1: none */
    bool second_signal_stops_cleaning;
    struct host_sampler *host; /* borrowed; NULL: no host records */
    /* Told what a phase has done so far, a few times a second; NULL: nobody. */
    void (*progress)(void *arg, const struct phase_total *phase);
    void *progress_arg;
};
must_check int run_new(const struct run_options *options, struct run **ret, struct problem *why);
struct run *run_free(struct run *run);

/* Runs the workload's phases, then writes `end`; or `run_end` when it succeeded and more runs follow. What
 * came of it: succeeded, failed or cancelled, with the problem in *why for the latter two; or rebooting: then
 * `reboot` was the last record, and nothing is to be cleaned. */
enum job_state run_execute(struct run *run, const struct workload *workload, const void *params,
                           struct problem *why);
/* Removes what the run made, with `cleanup` records; done or blocked; kept when this run has just told that
 * its files stay. -1: it could not go on, and what
 * is left is listed as far as it is known. */
must_check int run_clean(struct run *run, const struct workload *workload, const void *params,
                         enum cleanup_state *ret, struct problem *why);
/* The same when more runs follow. A request to stop ends the job at once, while cleaning goes on; that it
 * could not be cleaned ends it too, with `end` in both cases. Succeeded: the next run may begin. */
enum job_state run_clean_between(struct run *run, const struct workload *workload,
                                 const void *params, enum cleanup_state *ret, struct problem *why);
/* Phases so far, in order; valid until the next phase. */
const struct phase_total *run_phases(const struct run *run, size_t *ret_n);
uint64_t run_removed_count(const struct run *run);
const char *const *run_foreign_names(const struct run *run, size_t *ret_n);
