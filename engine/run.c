/* A run from its beginning to its clean-up; what happens within a phase is in run_phase.c. */
#include "engine/base/text.h"
#include "engine/host.h"
#include "engine/run_inside.h"
#include "engine/workload/workload.h"
#include "engine/workspace.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#define CLEAN_EVERY NSEC_PER_SEC
#define HOST_LEAST \
    (100 *         \
     NSEC_PER_MSEC) /* a shorter look tells nothing: the kernel counts in ticks of 1 to 10 ms */

int run_new(const struct run_options *options, struct run **ret, struct problem *why)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return problem_memory(why);
    run->with = *options;
    run->cancelled_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (run->cancelled_fd < 0) {
        free(run);
        return problem_errno(why, errno, "cannot make an eventfd");
    }
    run->scale = tick_calibrate();
    run->epoch = clock_monotonic();
    run->last_host = run->epoch;
    run->next_host = run->epoch + HOST_EVERY;
    if (options->made && ledger_copy(options->made, &run->made, why)) {
        run_free(run);
        return -1;
    }
    run->made_told = run->made.n;
    *ret = run;
    return 0;
}

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    names->n = 0;
}

struct run *run_free(struct run *run)
{
    if (!run)
        return NULL;
    names_done(&run->foreign);
    names_done(&run->spared);
    ledger_done(&run->made);
    close(run->cancelled_fd);
    free(run);
    return NULL;
}

struct workspace *run_workspace(struct run *run)
{
    return run->with.workspace;
}

bool run_is_null(const struct run *run)
{
    return run->with.null;
}

const struct target *run_target(const struct run *run)
{
    return run->with.target;
}

const char *run_name(const struct run *run)
{
    return run->with.name;
}

struct ledger *run_made(struct run *run)
{
    return &run->made;
}

int run_made_tell(struct run *run, struct problem *why)
{
    const struct run_options *with = &run->with;
    if (journal_made(with->journal, with->run, with->leg, &run->made, run->made_told, why))
        return -1;
    run->made_told = run->made.n;
    run->made.shares.told = run->made.shares.n;
    return journal_sync(with->journal, why);
}

const struct phase_total *run_phases(const struct run *run, size_t *ret_n)
{
    *ret_n = run->phases_n;
    return run->phases;
}

/* --- signals and time --- */

bool run_take_signals(const struct run *run)
{
    struct signalfd_siginfo info;
    bool any = false;
    while (run->with.signals >= 0 && read(run->with.signals, &info, sizeof info) == sizeof info)
        any = true;
    return any;
}

bool run_is_cancelled(struct run *run)
{
    if (run_take_signals(run) && !atomic_exchange(&run->cancelled, true))
        eventfd_write(run->cancelled_fd, 1);
    return run->cancelled;
}

int run_cancelled_fd(const struct run *run)
{
    return run->cancelled_fd;
}

/* --- the host beside it --- */

int run_look_at_host(struct run *run, nsec now, struct problem *why)
{
    const struct run_options *with = &run->with;
    struct host_sample sample;
    if (!with->host)
        return 0;
    while (run->next_host <= now)
        run->next_host += HOST_EVERY;
    host_sampler_read(with->host, now - run->epoch, &sample);
    sample.job_cpu_wait = run->queue_untold || now <= run->last_host
                              ? NAN
                              : seconds_of(run->queued) / seconds_of(now - run->last_host);
    run->last_host = now;
    run->queued = 0;
    return journal_host(with->journal, with->run, with->leg, &sample, 1, why);
}

/* What is left since the last whole second, so that a short run has its host beside it, too. */
static int look_once_more(struct run *run, struct problem *why)
{
    nsec now = clock_monotonic();
    return now - run->last_host < HOST_LEAST ? 0 : run_look_at_host(run, now, why);
}

/* --- the whole --- */

/* Returns the outcome, or that it could not be told. */
static enum job_state tell_end(struct run *run, enum job_state outcome, struct problem *why)
{
    const struct run_options *with = &run->with;
    const char *const *foreign = (const char *const *)run->foreign.at;
    struct problem unsaid = { 0 };
    if (why->code && with->called && *with->called)
        problem_during(why, "%s: ", with->called);
    bool over = outcome != JOB_SUCCEEDED || !with->more;
    int told = over ? journal_end(with->journal, with->run, with->leg, outcome, why, foreign,
                                  run->foreign.n, &unsaid)
                    : journal_run_end(with->journal, with->run, with->leg, foreign, run->foreign.n,
                                      &unsaid);
    if (told == 0 && journal_sync(with->journal, &unsaid) == 0)
        return outcome;
    if (!why->code)
        *why = unsaid;
    return JOB_FAILED;
}

/* What is to stay is told before the run has succeeded: no crash in between can lose it. */
static int tell_kept(struct run *run, const struct workload *workload, const void *params,
                     struct problem *why)
{
    const struct run_options *with = &run->with;
    struct kept_files kept = { .workspace = with->name };
    if (with->null || !workload->keeps || !workload->keeps(params))
        return 0;
    workload->count_kept(run, &kept);
    if (kept.files == 0)
        return 0;
    if (journal_kept(with->journal, with->run, with->leg, &kept, why))
        return -1;
    run->keeps = true;
    return 0;
}

enum job_state run_execute(struct run *run, const struct workload *workload, const void *params,
                           struct problem *why)
{
    enum job_state outcome = JOB_SUCCEEDED;
    int result = workload->run(run, params, why);
    if (run->rebooting)
        return JOB_REBOOTING;
    if (result == 0)
        result = look_once_more(run, why);
    if (result || tell_kept(run, workload, params, why))
        outcome = why->code == PROBLEM_CANCELLED ? JOB_CANCELLED : JOB_FAILED;
    return tell_end(run, outcome, why);
}

/* --- clean-up --- */

/* JSON and people want text: bytes that are not printable become \xNN. */
static char *printable(const char *name)
{
    struct text text = { 0 };
    if (text_is_plain(name))
        return text_new("%s", name);
    for (const char *p = name; *p; p++)
        if (isprint((unsigned char)*p))
            text_add(&text, p, 1);
        else
            text_addf(&text, "\\x%02x", (unsigned char)*p);
    return text_take(&text);
}

static bool names_have(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return true;
    return false;
}

void run_foreign(struct run *run, const char *name)
{
    struct names *names = &run->foreign;
    scoped_free char *shown = printable(name);
    if (shown && names->n < FOREIGN_MOST && !names_have(names, shown))
        names->at[names->n++] = steal(&shown);
}

int run_spare(struct run *run, const char *name, struct problem *why)
{
    struct names *names = &run->spared;
    if (names_have(names, name) || names->n == FOREIGN_MOST)
        return 0;
    names->at[names->n] = strdup(name);
    return names->at[names->n] ? (names->n++, 0) : problem_memory(why);
}

bool run_spares(const struct run *run, const char *name)
{
    if (run->spared.n == 0)
        return false;
    scoped_free char *shown = printable(name);
    return !shown || names_have(&run->spared, shown);
}

const char *const *run_foreign_names(const struct run *run, size_t *ret_n)
{
    *ret_n = run->foreign.n;
    return (const char *const *)run->foreign.at;
}

uint64_t run_removed_count(const struct run *run)
{
    return run->removed;
}

static int tell_cleanup(struct run *run, enum cleanup_state state, struct problem *why)
{
    return journal_cleanup(run->with.journal, run->with.run, run->with.leg, state, run->removed,
                           (const char *const *)run->foreign.at, run->foreign.n, why);
}

/* Told to stop between two runs. Returns the outcome, or that it could not be told. */
static enum job_state end_between(struct run *run, struct problem *why)
{
    problem_set(why, PROBLEM_CANCELLED, "stopped on request after its end");
    return tell_end(run, JOB_CANCELLED, why);
}

int run_removed(struct run *run, uint64_t n, struct problem *why)
{
    nsec now = clock_monotonic();
    run->removed += n;
    if (run->between && run_is_cancelled(run)) {
        struct problem stopped = { 0 };
        run->between = false;
        if (end_between(run, &stopped) != JOB_CANCELLED) {
            *why = stopped;
            return -1;
        }
    }
    if (run->with.second_signal_stops_cleaning && run_take_signals(run))
        return problem_set(why, PROBLEM_CANCELLED, "clean-up was stopped on request");
    if (now < run->next_clean)
        return 0;
    run->next_clean = now + CLEAN_EVERY;
    return tell_cleanup(run, CLEANUP_RUNNING, why);
}

/* The last record of a clean-up that is not done says why: the reason is never empty. */
static int tell_blocked(struct run *run, const struct problem *cause, struct problem *why)
{
    struct problem reason = *cause;
    if (run->foreign.n)
        problem_set(&reason, PROBLEM_CONFLICT,
                    "the run directory holds what the run did not make, and was left");
    return journal_cleanup_blocked(run->with.journal, run->with.run, run->with.leg, run->removed,
                                   (const char *const *)run->foreign.at, run->foreign.n, &reason,
                                   why);
}

int run_clean(struct run *run, const struct workload *workload, const void *params,
              enum cleanup_state *ret, struct problem *why)
{
    if (run->keeps) {
        *ret = CLEANUP_KEPT;
        return 0;
    }
    run->next_clean = clock_monotonic() + CLEAN_EVERY;
    for (size_t i = 0; i < run->foreign.n; i++)
        if (run_spare(run, run->foreign.at[i], why))
            return -1;
    names_done(&run->foreign); /* only what is still there is listed */
    if (tell_cleanup(run, CLEANUP_RUNNING, why))
        return -1;
    int result = workload->clean(run, params, why);
    enum cleanup_state state = result || run->foreign.n ? CLEANUP_BLOCKED : CLEANUP_DONE;
    struct problem unsaid = { 0 };
    int told = state == CLEANUP_BLOCKED ? tell_blocked(run, why, &unsaid)
                                        : tell_cleanup(run, state, &unsaid);
    if (told || journal_sync(run->with.journal, &unsaid)) {
        if (!why->code)
            *why = unsaid;
        return -1;
    }
    if (result == 0)
        *ret = state;
    return result;
}

enum job_state run_clean_between(struct run *run, const struct workload *workload,
                                 const void *params, enum cleanup_state *ret, struct problem *why)
{
    run->between = true;
    int result = run_clean(run, workload, params, ret, why);
    bool ended = !run->between;
    run->between = false;
    if (!ended && result) {
        problem_during(why, "it could not be cleaned up: ");
        return tell_end(run, JOB_FAILED, why);
    }
    if (!ended && run_is_cancelled(run))
        return end_between(run, why);
    if (!run->cancelled)
        return JOB_SUCCEEDED;
    problem_set(why, PROBLEM_CANCELLED, "stopped on request after its end");
    return JOB_CANCELLED;
}
