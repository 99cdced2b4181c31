#include "engine/cli/session.h"

#include "engine/base/field_json.h"
#include "engine/device.h"
#include "engine/environment.h"
#include "engine/host.h"
#include "engine/restart.h"
#include "engine/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>

#define MOUNTED_WITHIN (5 * 60 * NSEC_PER_SEC) /* of the daemon's coming up after a reboot */

/* One run. */
struct session {
    const struct plan *plan;
    unsigned number, leg;
    uint64_t point;
    void *params;
    char name[WORKSPACE_NAME], called[240];
    struct workspace *workspace;
    struct host_sampler *host;
    struct run *run; /* NULL: it never began */
};

static void session_done(struct session *session)
{
    run_free(session->run);
    workspace_close(session->workspace);
    host_sampler_close(session->host);
    if (session->params)
        fields_done(session->plan->runs->workload->params, session->params);
    free(session->params);
}

void outcome_done(struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->n; i++) {
        free(outcome->at[i].phases);
        texts_done(&outcome->at[i].foreign);
        free(outcome->at[i].path);
    }
    free(outcome->at);
    *outcome = (struct outcome){ 0 };
}

int session_signals(struct problem *why)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGHUP);
    /* Whoever reads the progress may go, and a file may reach the limit of the process: errors of a call,
     * which end the run as errors do, with its clean-up. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &wanted, NULL) != 0)
        return problem_errno(why, errno, "cannot block signals");
    int fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? problem_errno(why, errno, "cannot make a signalfd") : fd;
}

/* How full the target's filesystem is: what a run finds is part of its result. */
static void note_use(int folder, struct journal_begin *record)
{
    struct statvfs fs;
    if (folder < 0 || fstatvfs(folder, &fs) != 0)
        return;
    record->used_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
    if (fs.f_files)
        record->used_inodes = fs.f_files - fs.f_ffree;
}

static int begin(struct session *session, struct problem *why)
{
    const struct plan *plan = session->plan;
    const struct workload *workload = plan->runs->workload;
    char place[WORKSPACE_PLACE] = "";
    scoped_json json_t *environment = NULL;
    scoped_json json_t *params = fields_render(workload->params, session->params);
    if (!params)
        return problem_memory(why);
    if (session->workspace && workspace_place(session->workspace, place, why))
        return -1;
    int folder = session->workspace ? workspace_fd(session->workspace) : -1;
    bool first = session->number == plan->run; /* the later ones find the same machine */
    if (first && !plan->null && !(environment = environment_read(folder, plan->state)))
        return problem_memory(why);
    if (environment && folder < 0)
        environment_of_target(environment, plan->target);
    if (environment)
        environment_of_share(environment, plan->target);
    struct journal_begin record = {
        .job = plan->job,
        .run = session->number,
        .leg = session->leg,
        .workload = workload->name,
        .target = plan->target->name,
        .workspace = plan->null ? "" : session->name,
        .place = place,
        .params = params,
        .environment = environment,
        .runs = plan->runs->n,
        .point = session->point,
    };
    note_use(folder, &record);
    return journal_begin(plan->journal, &record, why);
}

static int open_host(struct session *session, struct problem *why)
{
    if (session->plan->null)
        return 0;
    char cgroup[PATH_MAX];
    dev_t device = session->workspace ? device_of(workspace_fd(session->workspace)) : 0;
    if (host_sampler_open(device, &session->host, why))
        return -1;
    if (host_own_cgroup(cgroup, sizeof cgroup))
        host_sampler_watch(session->host, cgroup);
    return 0;
}

static int make_run(struct session *session, struct problem *why)
{
    const struct plan *plan = session->plan;
    bool on = session->leg > 1;
    const struct run_options options = {
        .journal = plan->journal,
        .workspace = session->workspace,
        .target = plan->target,
        .name = session->name,
        .null = plan->null,
        .run = session->number,
        .leg = session->leg,
        .more = session->number < plan->runs->n,
        .called = session->called,
        .resumed = on ? plan->resumed : NULL,
        .made = on ? plan->made : NULL,
        .restarter = plan->restarter,
        .reserve = plan->reserve,
        .signals = plan->signals,
        .second_signal_stops_cleaning = plan->by_hand,
        .host = session->host,
        .progress = plan->progress,
        .progress_arg = plan->progress_arg,
    };
    return run_new(&options, &session->run, why);
}

/* What it is called in problems; nothing when it is the only one. */
static void name_run(struct session *session)
{
    const struct runs *runs = session->plan->runs;
    char words[160];
    runs_words(runs, session->point, words, sizeof words);
    if (runs->n > 1)
        snprintf(session->called, sizeof session->called, "run %u of %u%s%s%s", session->number,
                 runs->n, *words ? " (" : "", words, *words ? ")" : "");
}

static int choose(struct session *session, struct problem *why)
{
    const struct plan *plan = session->plan;
    session->point = runs_point(plan->runs, session->number);
    name_run(session);
    return workspace_name(session->name, plan->job, session->number, plan->nonce, why) ||
                   runs_params(plan->runs, session->point, &session->params, why)
               ? -1
               : 0;
}

/* After a boot the filesystem may be mounted later than the daemon comes up: until then another folder is where it
 * will be. */
static int find_again(struct session *session, struct problem *why)
{
    const struct plan *plan = session->plan;
    nsec deadline = clock_monotonic() + MOUNTED_WITHIN;
    scoped_fd int mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    for (;;) {
        struct problem words = { 0 };
        int found =
            workspace_find(plan->where, session->name, plan->place, &session->workspace, &words);
        nsec left = deadline - clock_monotonic();
        if (found >= 0)
            return found;
        struct pollfd waits[] = { { .fd = mounts, .events = POLLPRI },
                                  { .fd = plan->signals, .events = POLLIN } };
        if (mounts < 0 || left <= 0 ||
            poll(waits, COUNT_OF(waits), (int)(left / NSEC_PER_MSEC) + 1) < 0 || waits[1].revents)
            return *why = words, -1;
    }
}

/* The run directory: a new one, or the one that the leg before left. */
static int enter(struct session *session, struct problem *why)
{
    const struct plan *plan = session->plan;
    const struct workload *workload = plan->runs->workload;
    bool reboots = workload->reboots && workload->reboots(session->params);
    if (session->leg > 1 && !reboots)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "%s with these parameters does not go on after a reboot",
                           workload->name);
    if (reboots && !plan->null && reboot_allowed(plan->target, plan->restarter, why)) {
        snprintf(why->field, sizeof why->field, "%s", workload->reboots(session->params));
        return -1;
    }
    if (!plan->where)
        return 0;
    if (session->leg == 1)
        return workspace_make(plan->where, session->name, &session->workspace, why);
    int found = find_again(session, why);
    return found ? (found > 0 ? 0 : -1)
                 : problem_set(why, PROBLEM_CONFLICT,
                               "the run directory %s is gone after the reboot", session->name);
}

static int prepare(struct session *session, struct problem *why)
{
    if (choose(session, why) || enter(session, why))
        return -1;
    if (open_host(session, why) || begin(session, why))
        return -1;
    return make_run(session, why);
}

/* --- what came of it --- */

static int keep_names(struct texts *names, const char *const *from, size_t n)
{
    names->at = calloc(n + 1, sizeof *names->at);
    for (size_t i = 0; names->at && i < n; i++)
        if ((names->at[names->n] = strdup(from[i])))
            names->n++;
    return names->at && names->n == n ? 0 : -1;
}

/* Room for one result more. */
static struct run_result *result_new(struct outcome *outcome, const struct session *session)
{
    struct run_result *at = reallocarray(outcome->at, outcome->n + 1, sizeof *at);
    if (!at) {
        problem_memory(&outcome->problem);
        return NULL;
    }
    outcome->at = at;
    at += outcome->n++;
    *at = (struct run_result){ .run = session->number, .point = session->point };
    return at;
}

/* Adds to the outcome what is to be told of a run. */
static void keep_result(struct outcome *outcome, const struct session *session,
                        enum cleanup_state cleanup)
{
    struct run_result *result = result_new(outcome, session);
    size_t n = 0, foreign_n = 0;
    const struct phase_total *phases = session->run ? run_phases(session->run, &n) : NULL;
    const char *const *foreign = session->run ? run_foreign_names(session->run, &foreign_n) : NULL;
    if (cleanup == CLEANUP_BLOCKED || outcome->cleanup != CLEANUP_BLOCKED)
        outcome->cleanup = cleanup;
    if (!result)
        return;
    result->cleanup = cleanup;
    result->removed = session->run ? run_removed_count(session->run) : 0;
    bool whole = keep_names(&result->foreign, foreign, foreign_n) == 0;
    if (session->workspace)
        whole = (result->path = strdup(workspace_path(session->workspace))) && whole;
    if (n && (result->phases = calloc(n, sizeof *phases))) {
        memcpy(result->phases, phases, n * sizeof *phases);
        result->phases_n = n;
    }
    if (!whole || result->phases_n != n)
        problem_memory(&outcome->problem);
}

/* The run never began: the journal says why, and an empty run directory goes. What an earlier leg made is left
 * to a clean-up of its own. */
static void give_up(struct session *session, struct outcome *outcome)
{
    const struct plan *plan = session->plan;
    struct problem left = { 0 }, unsaid = { 0 };
    enum cleanup_state cleanup = CLEANUP_NONE;
    outcome->state = JOB_FAILED;
    if (session->called[0])
        problem_during(&outcome->problem, "%s: ", session->called);
    if (session->workspace && session->leg == 1)
        cleanup = workspace_remove(session->workspace, &left) ? CLEANUP_BLOCKED : CLEANUP_DONE;
    if (cleanup == CLEANUP_BLOCKED)
        problem_set(&left, PROBLEM_CONFLICT, "something stands in the new run directory");
    int told = journal_end(plan->journal, session->number, session->leg, JOB_FAILED,
                           &outcome->problem, NULL, 0, &unsaid);
    if (told == 0 && cleanup == CLEANUP_BLOCKED)
        (void)!journal_cleanup_blocked(plan->journal, session->number, session->leg, 0, NULL, 0,
                                       &left, &unsaid);
    else if (told == 0 && cleanup == CLEANUP_DONE)
        (void)!journal_cleanup(plan->journal, session->number, session->leg, CLEANUP_DONE, 0, NULL,
                               0, &unsaid);
    keep_result(outcome, session, cleanup);
}

/* --- running --- */

static void clean_up(const struct session *session, struct outcome *outcome)
{
    struct problem why = { 0 };
    enum cleanup_state cleanup = CLEANUP_BLOCKED;
    if (run_clean(session->run, session->plan->runs->workload, session->params, &cleanup, &why) &&
        !outcome->problem.code)
        outcome->problem = why;
    keep_result(outcome, session, cleanup);
}

static void clean_between(const struct session *session, struct outcome *outcome)
{
    enum cleanup_state cleanup = CLEANUP_BLOCKED;
    outcome->state = run_clean_between(session->run, session->plan->runs->workload, session->params,
                                       &cleanup, &outcome->problem);
    keep_result(outcome, session, cleanup);
}

/* One run, in full. */
static void run_one(const struct plan *plan, unsigned number, struct outcome *outcome)
{
    scoped(session_done) struct session session = { .plan = plan,
                                                    .number = number,
                                                    .leg = number == plan->run ? plan->leg : 1 };
    if (prepare(&session, &outcome->problem)) {
        give_up(&session, outcome);
        return;
    }
    outcome->state =
        run_execute(session.run, plan->runs->workload, session.params, &outcome->problem);
    bool more = outcome->state == JOB_SUCCEEDED && number < plan->runs->n;
    if (plan->null || outcome->state == JOB_REBOOTING)
        keep_result(outcome, &session, CLEANUP_NONE);
    else if (more)
        clean_between(&session, outcome);
    else
        clean_up(&session, outcome);
}

void session_run(const struct plan *plan, struct outcome *ret)
{
    *ret = (struct outcome){ .state = JOB_SUCCEEDED };
    for (unsigned run = plan->run; run <= plan->runs->n && ret->state == JOB_SUCCEEDED; run++)
        run_one(plan, run, ret);
}

/* --- cleaning up after another process --- */

static int spare(struct run *run, const struct texts *names, struct problem *why)
{
    for (size_t i = 0; i < names->n; i++)
        if (run_spare(run, names->at[i], why))
            return -1;
    return 0;
}

/* A run of which nothing is known may have made its directory and died before it could say so; only if it
 * did, there is something to tell. */
static void clean_one(const struct plan *plan, unsigned number, const struct run_left *left,
                      bool tell_nothing, struct outcome *outcome)
{
    scoped(session_done) struct session session = { .plan = plan, .number = number, .leg = 1 };
    struct problem why = { 0 }, unsaid = { 0 };
    int found = choose(&session, &why) ? -1
                : !plan->where         ? 1 /* whether anything is there, the workload finds out */
                                       : workspace_find(plan->where, session.name, left->place,
                                                        &session.workspace, &why);
    if (found == 0 && !tell_nothing)
        return;
    bool shared = left->made.shares.claimed > 0; /* which may be so still without its directory */
    if ((found > 0 || (found == 0 && shared)) && make_run(&session, &why) == 0 &&
        spare(session.run, &left->foreign, &why) == 0 &&
        ledger_copy(&left->made, run_made(session.run), &why) == 0) {
        clean_up(&session, outcome);
        return;
    }
    enum cleanup_state cleanup = found == 0 ? CLEANUP_DONE : CLEANUP_BLOCKED;
    int told = found == 0 ? journal_cleanup(plan->journal, number, session.leg, cleanup, 0, NULL, 0,
                                            &unsaid)
                          : journal_cleanup_blocked(plan->journal, number, session.leg, 0, NULL, 0,
                                                    &why, &unsaid);
    if (told && !why.code)
        why = unsaid;
    if (!outcome->problem.code)
        outcome->problem = why;
    keep_result(outcome, &session, cleanup);
}

void session_clean(const struct plan *plan, const struct run_left *left, struct outcome *ret)
{
    unsigned last = 0; /* that began */
    *ret = (struct outcome){ .state = JOB_SUCCEEDED };
    for (unsigned i = 0; i < plan->runs->n; i++)
        if (left[i].began)
            last = i + 1;
    for (unsigned run = 1; run <= plan->runs->n && run <= last + 1; run++)
        if (!left[run - 1].clean || run == last)
            clean_one(plan, run, &left[run - 1], left[run - 1].began || run == 1, ret);
}

enum runner_exit outcome_exit(const struct outcome *outcome)
{
    if (outcome->state == JOB_CANCELLED)
        return EXIT_CANCELLED;
    if (outcome->state == JOB_REBOOTING)
        return EXIT_REBOOTING;
    if (outcome->state != JOB_SUCCEEDED)
        return EXIT_FAILED;
    if (outcome->cleanup == CLEANUP_BLOCKED)
        return EXIT_BLOCKED;
    return outcome->problem.code ? EXIT_FAILED : EXIT_DONE;
}
