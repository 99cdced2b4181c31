/* The spec says names and parameters only. Where a target is and what is allowed there is read from the
 * settings again, and the parameters are bound again, so a spec cannot lead anywhere else. */
#include "engine/cli/job.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/place.h"
#include "engine/restart.h"
#include "engine/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>

/* The last leg that the journal tells of. */
struct leg_left {
    job_id job;
    unsigned run, leg;
    char boot_id[40];
    bool rebooted; /* its last record is `reboot`, and this is another boot */
    struct resumed resumed;
};

struct job {
    struct place place;
    struct spec spec;
    const struct target *target;
    char *where; /* the target's path */
    struct journal *journal;
    struct runs runs;
    struct run_left *left; /* of each run, told by earlier processes */
    struct leg_left last;
    struct restarter *restarter;
    nsec began; /* wall */
    int signals;
};
#define JOB_NONE ((struct job){ .place = { .folder = -1 }, .signals = -1 })

static void job_done(struct job *job)
{
    place_done(&job->place);
    spec_done(&job->spec);
    free(job->where);
    journal_close(job->journal);
    for (unsigned i = 0; job->left && i < job->runs.n; i++)
        texts_done(&job->left[i].foreign), ledger_done(&job->left[i].made);
    free(job->left);
    free(job->last.resumed.state);
    runs_done(&job->runs);
    restarter_close(job->restarter);
    if (job->signals >= 0)
        close(job->signals);
}

static int find_place(struct job *job, const struct job_named *named, struct problem *why)
{
    job->spec.job = (uint64_t)named->job; /* for the log, until the spec is read */
    return named->spec ? place_of_spec(named->spec, named->settings, &job->place, why)
                       : place_of_job(named->job, named->settings, &job->place, why);
}

static int find_target(struct job *job, struct problem *why)
{
    job->target = targets_find(&job->place.targets, job->spec.target);
    if (!job->target)
        return problem_field(why, "/target", "the settings have no target %s", job->spec.target);
    return workload_fits(workload_find(job->spec.workload), job->target, why);
}

static const char *place_of(const struct job *job)
{
    return job->where ? job->where : target_place(job->target);
}

/* A link on the way to the target is followed only for those who have no more rights than who made it. */
static int find_where(struct job *job, struct problem *why)
{
    const char *path = job->target->path;
    char *real = job->place.job || !path ? NULL : realpath(path, NULL);
    job->where = real ? real : path ? strdup(path) : NULL;
    if (path && !job->where)
        return problem_memory(why);
    return journal_hide(job->journal, place_of(job), job->target->name, why);
}

/* Whoever may see the job reads its problems; where the target lies is the administrator's affair. */
static struct problem public(const struct job *job, const struct problem *problem)
{
    struct problem told = *problem;
    problem_hide(&told, place_of(job), job->target->name);
    return told;
}

/* Everything that is asked of the request. */
static int read_job(struct job *job, struct problem *why)
{
    if (place_spec(&job->place, &job->spec, why) || find_target(job, why))
        return -1;
    const struct sweep_asked asked = { .workload = workload_find(job->spec.workload),
                                       .params = job->spec.params.object,
                                       .matrix = &job->spec.matrix,
                                       .repeat = job->spec.repeat,
                                       .seed = job->spec.seed,
                                       .target = job->target };
    return runs_init(&asked, &job->runs, why);
}

/* For good: root measures something else, since it uses reserved blocks and no quota holds it. */
static int become(const char *user, struct problem *why)
{
    errno = 0;
    const struct passwd *entry = user ? getpwnam(user) : NULL;
    if (!user || geteuid() != 0)
        return 0;
    if (!entry)
        return problem_set(why, PROBLEM_UNSUPPORTED, "there is no user %s to run as", user);
    /* What it measures is not how little memory that user may lock, which uring does. */
    (void)setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
    if (initgroups(user, entry->pw_gid) != 0 ||
        setresgid(entry->pw_gid, entry->pw_gid, entry->pw_gid) != 0 ||
        setresuid(entry->pw_uid, entry->pw_uid, entry->pw_uid) != 0)
        return problem_errno(why, errno, "cannot become the user %s", user);
    return 0;
}

/* While it is still root: whether it may have the machine restarted, if any run asks for that. */
static int prepare_restart(struct job *job, struct problem *why)
{
    const struct runs *runs = &job->runs;
    const char *asks = NULL;
    for (uint64_t point = 0; runs->workload->reboots && point < runs->points && !asks; point++) {
        void *params = NULL;
        if (runs_params(runs, point, &params, why))
            return -1;
        asks = runs->workload->reboots(params);
        fields_done(runs->workload->params, params);
        free(params);
    }
    if (!asks || !job->target->allow_reboot) /* which the run that asks for it is told */
        return 0;
    if (restarter_open(&job->restarter, why) == 0)
        return 0;
    snprintf(why->field, sizeof why->field, "%s", asks);
    return -1;
}

static struct plan plan_of(struct job *job)
{
    return (struct plan){
        .runs = &job->runs,
        .seed = job->spec.seed,
        .job = (job_id)job->spec.job,
        .run = 1,
        .leg = 1,
        .restarter = job->restarter,
        .target = job->target,
        .where = job->where,
        .nonce = job->spec.nonce,
        .reserve = job->target->reserve,
        .state = job->place.state,
        .journal = job->journal,
        .signals = job->signals,
    };
}

static enum runner_exit tell(const struct job *job, const struct outcome *outcome)
{
    struct problem told = public(job, &outcome->problem);
    if (told.code)
        log_job(outcome->state == JOB_CANCELLED ? LOG_NOTICE : LOG_ERROR, (long long)job->spec.job,
                "%s", told.message);
    return outcome_exit(outcome);
}

/* Refused before anything was done: said in the journal too, since the service reads only that. */
static enum runner_exit refuse(struct job *job, const struct problem *problem)
{
    struct problem unsaid = { 0 };
    log_job(LOG_ERROR, (long long)job->spec.job, "%s%s%s", problem->field,
            problem->field[0] ? ": " : "", problem->message);
    if (job->journal && journal_end(job->journal, 1, 1, JOB_FAILED, problem, NULL, 0, &unsaid) == 0)
        (void)!journal_sync(job->journal, &unsaid);
    return EXIT_USAGE;
}

/* Made by root, the journal is the service's to read and not to write. */
static int create_journal(struct job *job, struct problem *why)
{
    const struct place *place = &job->place;
    if (journal_create(place->folder, JOURNAL_FILE, &job->journal, why))
        return -1;
    return place->job ? journal_share(job->journal, place->readers, why) : 0;
}

/* --- what an earlier process left --- */

static int keep_name(struct texts *names, const char *name, struct problem *why)
{
    char **larger = realloc(names->at, (names->n + 1) * sizeof *larger);
    if (!larger)
        return problem_memory(why);
    names->at = larger;
    names->at[names->n] = strdup(name);
    if (!names->at[names->n])
        return problem_memory(why);
    names->n++;
    return 0;
}

/* The names that one record lists as not made by the run. */
static int keep_foreign(struct run_left *left, const struct journal_record *record,
                        struct problem *why)
{
    size_t n = json_array_size(json_object_get(record->json, "foreign"));
    for (size_t i = 0; i < n && left->foreign.n < FOREIGN_MOST; i++) {
        const char *name =
            json_string_value(json_array_get(json_object_get(record->json, "foreign"), i));
        if (name && keep_name(&left->foreign, name, why))
            return -1;
    }
    return 0;
}

static int keep_place(struct run_left *left, const struct journal_record *record,
                      struct problem *why)
{
    const char *place = json_string_value(json_object_get(record->json, "place"));
    if (place && text_fit(left->place, sizeof left->place, "%s", place))
        return problem_set(why, PROBLEM_BAD_SYNTAX, "the place in the journal is too long");
    return 0;
}

static enum clock_sync sync_of(const json_t *told)
{
    int sync = json_is_string(told) ? name_index(clock_syncs, json_string_value(told)) : -1;
    return sync < 0 ? CLOCK_SYNC_UNKNOWN : (enum clock_sync)sync;
}

static int keep_leg(struct leg_left *last, const struct journal_record *record, struct problem *why)
{
    char boot_id[sizeof last->boot_id];
    const char *state;
    switch (record->kind) {
    case RECORD_BEGIN:
        last->job = record->job;
        last->run = record->run;
        last->leg = record->leg;
        memcpy(last->boot_id, record->boot_id, sizeof last->boot_id);
        last->rebooted = false;
        return 0;
    case RECORD_REBOOT:
        state = json_string_value(json_object_get(record->json, "state"));
        free(last->resumed.state);
        last->resumed.state = strdup(state ? state : "");
        last->resumed.rebooted_at = record->wall;
        last->resumed.batch = (uint64_t)json_integer_value(json_object_get(record->json, "batch"));
        last->resumed.clock_then = sync_of(json_object_get(record->json, "clock"));
        last->rebooted = last->run == record->run && last->leg == record->leg &&
                         strcmp(journal_boot_id(boot_id), last->boot_id) != 0;
        return last->resumed.state ? 0 : problem_memory(why);
    default:
        last->rebooted = false;
        return 0;
    }
}

static int keep_record(struct job *job, const struct journal_record *record, struct problem *why)
{
    if (record->run < 1 || record->run > job->runs.n)
        return 0;
    if (keep_leg(&job->last, record, why))
        return -1;
    struct run_left *left = &job->left[record->run - 1];
    switch (record->kind) {
    case RECORD_BEGIN:
        left->began = true;
        return keep_place(left, record, why);
    case RECORD_CLEANUP:
        left->clean = record->cleanup == CLEANUP_DONE;
        return keep_foreign(left, record, why);
    case RECORD_MADE:
        return journal_read_made(record, &left->made, why);
    case RECORD_RUN_END:
    case RECORD_END:
        return keep_foreign(left, record, why);
    default:
        return 0;
    }
}

/* A damaged journal tells what it can: a clean-up is needed all the same. */
static int read_journal(struct job *job, struct problem *why)
{
    struct journal_reader *reader = NULL;
    const struct journal_record *record;
    struct problem damaged = { 0 };
    scoped_free char *path = text_new("/proc/self/fd/%d/" JOURNAL_FILE, job->place.folder);
    int result = 0;
    job->left = calloc(job->runs.n, sizeof *job->left);
    if (!path || !job->left)
        return problem_memory(why);
    if (journal_reader_open(path, 0, &reader, &damaged))
        return 0;
    while (result == 0 && journal_next(reader, &record, &damaged) > 0)
        result = keep_record(job, record, why);
    journal_reader_close(reader);
    for (unsigned i = 1; i < job->runs.n; i++) /* all work in one folder */
        if (!job->left[i].began)
            memcpy(job->left[i].place, job->left[i - 1].place, sizeof job->left[i].place);
    return result;
}

/* --- run --- */

static bool journal_is_there(const struct job *job)
{
    return faccessat(job->place.folder, JOURNAL_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A journal that is there already is gone on with only if the machine was restarted on purpose, and has been. */
static int reopen_journal(struct job *job, struct problem *why)
{
    if (read_job(job, why) || journal_reopen(job->place.folder, JOURNAL_FILE, &job->journal, why) ||
        read_journal(job, why))
        return -1;
    if (job->last.rebooted && job->last.job == (job_id)job->spec.job)
        return 0;
    job->last.rebooted = false;
    job->journal = journal_close(job->journal); /* what it says stands */
    return problem_set(why, PROBLEM_CONFLICT,
                       "there is a journal already, and its last record is no reboot that has come "
                       "to pass");
}

static enum runner_exit execute(struct job *job)
{
    scoped(outcome_done) struct outcome outcome = { 0 };
    struct problem why = { 0 };
    if (prepare_restart(job, &why) || become(job->target->run_as, &why) || find_where(job, &why))
        return refuse(job, &why);
    struct plan plan = plan_of(job);
    if (job->last.rebooted) {
        plan.run = job->last.run;
        plan.leg = job->last.leg + 1;
        job->last.resumed.resumed_at = job->began;
        plan.resumed = &job->last.resumed;
        plan.made = &job->left[plan.run - 1].made;
        plan.place = job->left[plan.run - 1].place;
        log_job(LOG_NOTICE, (long long)job->spec.job, "run %u goes on after a reboot, in leg %u",
                plan.run, plan.leg);
    }
    session_run(&plan, &outcome);
    return tell(job, &outcome);
}

enum runner_exit job_run(const struct job_named *named)
{
    struct problem why = { 0 };
    scoped(job_done) struct job job = JOB_NONE;
    job.began = clock_wall();
    job.signals = session_signals(&why);
    if (job.signals < 0 || find_place(&job, named, &why))
        return refuse(&job, &why);
    bool again = journal_is_there(&job);
    if (again ? reopen_journal(&job, &why) : create_journal(&job, &why)) {
        refuse(&job, &why);
        return EXIT_FAILED;
    }
    if (!again && read_job(&job, &why))
        return refuse(&job, &why);
    return execute(&job);
}

/* --- clean --- */

/* A runner that died before it made its journal leaves none. */
static int open_journal(struct job *job, struct problem *why)
{
    if (!journal_is_there(job) && errno == ENOENT)
        return create_journal(job, why);
    return journal_reopen(job->place.folder, JOURNAL_FILE, &job->journal, why);
}

enum runner_exit job_clean(const struct job_named *named)
{
    struct problem why = { 0 };
    scoped(job_done) struct job job = JOB_NONE;
    scoped(outcome_done) struct outcome outcome = { 0 };
    if (find_place(&job, named, &why) || read_job(&job, &why)) {
        log_job(LOG_ERROR, (long long)job.spec.job, "%s", why.message);
        return EXIT_USAGE;
    }
    if (open_journal(&job, &why) || read_journal(&job, &why) || become(job.target->run_as, &why) ||
        find_where(&job, &why)) {
        log_job(LOG_ERROR, (long long)job.spec.job, "%s", why.message);
        return EXIT_FAILED;
    }
    const struct plan plan = plan_of(&job);
    session_clean(&plan, job.left, &outcome);
    return tell(&job, &outcome);
}
