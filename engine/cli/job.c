/* The spec says names and parameters only. Where a target is and what is allowed there is read from the
 * settings again, and the parameters are bound again, so a spec cannot lead anywhere else. */
#include "engine/cli/job.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <pwd.h>

struct job {
    char *folder; /* jobs/ID, which holds spec and journal */
    char *state;  /* the state directory, two above */
    struct spec spec;
    struct targets targets;
    const struct target *target;
    struct journal *journal;
    struct texts foreign; /* told by earlier processes */
    int signals;
};

static void job_done(struct job *job)
{
    free(job->folder);
    free(job->state);
    spec_done(&job->spec);
    targets_done(&job->targets);
    journal_close(job->journal);
    for (size_t i = 0; i < job->foreign.n; i++)
        free(job->foreign.at[i]);
    free(job->foreign.at);
    if (job->signals >= 0)
        close(job->signals);
}

static int find_places(struct job *job, const char *spec, struct problem *why)
{
    scoped_free char *copy = strdup(spec);
    job->folder = copy ? strdup(dirname(copy)) : NULL;
    job->state = job->folder ? text_new("%s/../..", job->folder) : NULL;
    return job->state ? 0 : problem_memory(why);
}

static int open_folder(const struct job *job, struct problem *why)
{
    int folder = open(job->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder < 0 ? problem_errno(why, errno, "cannot open %s", job->folder) : folder;
}

static int read_target(struct job *job, const char *settings, struct problem *why)
{
    if (targets_load(settings, &job->targets, why))
        return -1;
    job->target = targets_find(&job->targets, job->spec.target);
    if (!job->target)
        return problem_field(why, "/target", "the settings have no target %s", job->spec.target);
    if (!job->target->path)
        return problem_field(why, "/target", "target %s has no path", job->spec.target);
    return 0;
}

/* Everything that is asked of the request. */
static int read_job(struct job *job, const char *spec, const char *settings, struct problem *why)
{
    if (spec_read(spec, &job->spec, why) || read_target(job, settings, why))
        return -1;
    const struct workload *workload = workload_find(job->spec.workload);
    return workload->check ? workload->check(job->spec.params.object, job->target, why) : 0;
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
    if (initgroups(user, entry->pw_gid) != 0 ||
        setresgid(entry->pw_gid, entry->pw_gid, entry->pw_gid) != 0 ||
        setresuid(entry->pw_uid, entry->pw_uid, entry->pw_uid) != 0)
        return problem_errno(why, errno, "cannot become the user %s", user);
    return 0;
}

static struct plan plan_of(struct job *job)
{
    return (struct plan){
        .workload = workload_find(job->spec.workload),
        .params = job->spec.params.object,
        .job = (job_id)job->spec.job,
        .run = 1,
        .leg = 1,
        .target = job->target->name,
        .where = job->target->path,
        .nonce = job->spec.nonce,
        .reserve = job->target->reserve,
        .state = job->state,
        .journal = job->journal,
        .signals = job->signals,
    };
}

static enum runner_exit tell(const struct job *job, const struct outcome *outcome)
{
    if (outcome->problem.code)
        log_job(outcome->state == JOB_CANCELLED ? LOG_NOTICE : LOG_ERROR, (long long)job->spec.job,
                "%s", outcome->problem.message);
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

enum runner_exit job_run(const char *spec, const char *settings)
{
    struct problem why = { 0 };
    scoped(job_done) struct job job = { .signals = -1 };
    scoped(outcome_done) struct outcome outcome = { 0 };
    job.signals = session_signals(&why);
    if (job.signals < 0 || find_places(&job, spec, &why))
        return refuse(&job, &why);
    scoped_fd int folder = open_folder(&job, &why);
    if (folder < 0 || journal_create(folder, JOURNAL_FILE, &job.journal, &why)) {
        refuse(&job, &why);
        return EXIT_FAILED;
    }
    if (read_job(&job, spec, settings, &why) || become(job.target->run_as, &why))
        return refuse(&job, &why);
    const struct plan plan = plan_of(&job);
    session_run(&plan, &outcome);
    return tell(&job, &outcome);
}

/* --- clean --- */

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
static int keep_foreign(struct job *job, const struct journal_record *record, struct problem *why)
{
    size_t n = json_array_size(json_object_get(record->json, "foreign"));
    for (size_t i = 0; i < n && job->foreign.n < FOREIGN_MOST; i++) {
        const char *name =
            json_string_value(json_array_get(json_object_get(record->json, "foreign"), i));
        if (name && keep_name(&job->foreign, name, why))
            return -1;
    }
    return 0;
}

/* A damaged journal tells what it can: a clean-up is needed all the same. */
static int read_foreign(struct job *job, struct problem *why)
{
    struct journal_reader *reader = NULL;
    const struct journal_record *record;
    struct problem damaged = { 0 };
    scoped_free char *path = text_new("%s/" JOURNAL_FILE, job->folder);
    int result = 0;
    if (!path)
        return problem_memory(why);
    if (journal_reader_open(path, 0, &reader, &damaged))
        return 0;
    while (result == 0 && journal_next(reader, &record, &damaged) > 0)
        if (record->kind == RECORD_END || record->kind == RECORD_CLEANUP)
            result = keep_foreign(job, record, why);
    journal_reader_close(reader);
    return result;
}

/* A runner that died before it made its journal leaves none. */
static int open_journal(struct job *job, struct problem *why)
{
    scoped_fd int folder = open_folder(job, why);
    if (folder < 0)
        return -1;
    if (faccessat(folder, JOURNAL_FILE, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return journal_create(folder, JOURNAL_FILE, &job->journal, why);
    return journal_reopen(folder, JOURNAL_FILE, &job->journal, why);
}

enum runner_exit job_clean(const char *spec, const char *settings)
{
    struct problem why = { 0 };
    scoped(job_done) struct job job = { .signals = -1 };
    scoped(outcome_done) struct outcome outcome = { 0 };
    if (find_places(&job, spec, &why) || read_job(&job, spec, settings, &why)) {
        log_job(LOG_ERROR, (long long)job.spec.job, "%s", why.message);
        return EXIT_USAGE;
    }
    if (open_journal(&job, &why) || read_foreign(&job, &why) || become(job.target->run_as, &why)) {
        log_job(LOG_ERROR, (long long)job.spec.job, "%s", why.message);
        return EXIT_FAILED;
    }
    const struct plan plan = plan_of(&job);
    session_clean(&plan, &job.foreign, &outcome);
    return tell(&job, &outcome);
}
