#include "engine/cli/session.h"

#include "engine/base/field_json.h"
#include "engine/device.h"
#include "engine/environment.h"
#include "engine/host.h"
#include "engine/workspace.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/signalfd.h>

struct session {
    const struct plan *plan;
    char name[WORKSPACE_NAME];
    struct workspace *workspace;
    struct host_sampler *host;
};

static void session_done(struct session *session)
{
    workspace_close(session->workspace);
    host_sampler_close(session->host);
}

void outcome_done(struct outcome *outcome)
{
    run_free(outcome->run);
    free(outcome->path);
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

static int begin(struct session *session, struct problem *why)
{
    const struct plan *plan = session->plan;
    char place[WORKSPACE_PLACE] = "";
    scoped_json json_t *environment = NULL;
    scoped_json json_t *params = fields_render(plan->workload->params, plan->params);
    if (!params)
        return problem_memory(why);
    if (session->workspace && workspace_place(session->workspace, place, why))
        return -1;
    int folder = session->workspace ? workspace_fd(session->workspace) : -1;
    if (!plan->null && !(environment = environment_read(folder, plan->state)))
        return problem_memory(why);
    const struct journal_begin record = {
        .job = plan->job,
        .run = plan->run,
        .leg = plan->leg,
        .workload = plan->workload->name,
        .target = plan->target->name,
        .workspace = plan->null ? "" : session->name,
        .place = place,
        .params = params,
        .environment = environment,
    };
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

static int make_run(struct session *session, struct outcome *outcome)
{
    const struct plan *plan = session->plan;
    const struct run_options options = {
        .journal = plan->journal,
        .workspace = session->workspace,
        .target = plan->target,
        .name = session->name,
        .null = plan->null,
        .run = plan->run,
        .leg = plan->leg,
        .reserve = plan->reserve,
        .signals = plan->signals,
        .second_signal_stops_cleaning = plan->by_hand,
        .host = session->host,
        .progress = plan->progress,
        .progress_arg = plan->progress_arg,
    };
    return run_new(&options, &outcome->run, &outcome->problem);
}

static int prepare(struct session *session, struct outcome *outcome)
{
    const struct plan *plan = session->plan;
    struct problem *why = &outcome->problem;
    if (workspace_name(session->name, plan->job, plan->run, plan->nonce, why) ||
        (plan->where && workspace_make(plan->where, session->name, &session->workspace, why)))
        return -1;
    if (session->workspace && !(outcome->path = strdup(workspace_path(session->workspace))))
        return problem_memory(why);
    if (open_host(session, why) || begin(session, why))
        return -1;
    return make_run(session, outcome);
}

/* The run never began: the journal says why, and an empty run directory goes. */
static void give_up(struct session *session, struct outcome *outcome)
{
    const struct plan *plan = session->plan;
    struct problem unsaid = { 0 };
    outcome->state = JOB_FAILED;
    if (session->workspace && workspace_remove(session->workspace, &unsaid) != 0)
        outcome->cleanup = CLEANUP_BLOCKED;
    if (journal_end(plan->journal, plan->run, plan->leg, JOB_FAILED, &outcome->problem, NULL, 0,
                    &unsaid) == 0 &&
        session->workspace)
        (void)!journal_cleanup(plan->journal, plan->run, plan->leg,
                               outcome->cleanup ? CLEANUP_BLOCKED : CLEANUP_DONE, 0, NULL, 0,
                               &unsaid);
}

static void clean_up(const struct plan *plan, struct outcome *outcome)
{
    struct problem why = { 0 };
    outcome->cleanup = CLEANUP_BLOCKED;
    if (run_clean(outcome->run, plan->workload, plan->params, &outcome->cleanup, &why) &&
        !outcome->problem.code)
        outcome->problem = why;
}

void session_run(const struct plan *plan, struct outcome *ret)
{
    scoped(session_done) struct session session = { .plan = plan };
    *ret = (struct outcome){ 0 };
    if (prepare(&session, ret)) {
        give_up(&session, ret);
        return;
    }
    ret->state = run_execute(ret->run, plan->workload, plan->params, &ret->problem);
    if (!plan->null)
        clean_up(plan, ret);
}

static int spare(struct run *run, const struct texts *names, struct problem *why)
{
    for (size_t i = 0; i < names->n; i++)
        if (run_spare(run, names->at[i], why))
            return -1;
    return 0;
}

void session_clean(const struct plan *plan, const struct texts *foreign, const char *place,
                   struct outcome *ret)
{
    scoped(session_done) struct session session = { .plan = plan };
    *ret = (struct outcome){ .state = JOB_SUCCEEDED };
    struct problem *why = &ret->problem;
    int found = workspace_name(session.name, plan->job, plan->run, plan->nonce, why) ? -1
                : !plan->where
                    ? 1 /* whether anything is there, the workload finds out */
                    : workspace_find(plan->where, session.name, place, &session.workspace, why);
    if (found > 0 && make_run(&session, ret) == 0 && spare(ret->run, foreign, why) == 0) {
        clean_up(plan, ret);
        return;
    }
    struct problem unsaid = { 0 };
    ret->cleanup = found == 0 ? CLEANUP_DONE : CLEANUP_BLOCKED;
    if (journal_cleanup(plan->journal, plan->run, plan->leg, ret->cleanup, 0, NULL, 0, &unsaid) &&
        !why->code)
        *why = unsaid;
}

enum runner_exit outcome_exit(const struct outcome *outcome)
{
    if (outcome->state == JOB_CANCELLED)
        return EXIT_CANCELLED;
    if (outcome->state != JOB_SUCCEEDED)
        return EXIT_FAILED;
    if (outcome->cleanup == CLEANUP_BLOCKED)
        return EXIT_BLOCKED;
    return outcome->problem.code ? EXIT_FAILED : EXIT_DONE;
}
