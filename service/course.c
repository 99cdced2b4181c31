#include "service/course.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "service/recovery.h"

#include <errno.h>
#include <signal.h>

#define GAP_FIRST    (100 * NSEC_PER_MSEC)
#define GAP_MOST     (5 * NSEC_PER_SEC)
#define LOCK_EVERY   (2 * NSEC_PER_SEC) /* a writer without a known process: ask for its lock */
#define START_GRACE  (5 * NSEC_PER_SEC) /* a runner makes its journal within that */
#define TERM_EVERY   (2 * NSEC_PER_SEC) /* told again: the first may have come before its handler */
#define STUCK_AFTER  (10 * NSEC_PER_SEC) /* a batch's system call usually returns sooner */
#define CLEAN_GAP    (5 * NSEC_PER_SEC)  /* and twice that before the third */
#define REBOOT_EVERY (5 * NSEC_PER_SEC)  /* whether a machine that is to be restarted is late */
#define KILL_AFTER   (60 * NSEC_PER_SEC) /* neither ended nor held by the kernel: it is broken */

struct course *course_new(struct store *store, const struct launcher *launcher, struct job *job,
                          struct process process, struct problem *why)
{
    char journal[PATH_MAX], folder[PATH_MAX];
    if (launcher_path(launcher, job->id, JOURNAL_FILE, journal, why) < 0 ||
        launcher_path(launcher, job->id, "", folder, why) < 0)
        return NULL;
    struct course *course = calloc(1, sizeof *course);
    if (!course) {
        problem_memory(why);
        return NULL;
    }
    course->store = store;
    course->launcher = launcher;
    course->process = process;
    course->cancel = job->state == JOB_CANCELLING;
    course->stuck = job->stuck;
    course->starts = process.fd >= 0;
    course->since = clock_monotonic();
    course->dirty = true;
    course->look = COURSE_IDLE;
    course->watch = -1;
    snprintf(course->folder, sizeof course->folder, "%s", folder);
    follow_init(&course->follow, store, job, journal);
    course->job = *job;
    *job = (struct job){ 0 };
    return course;
}

struct course *course_free(struct course *course)
{
    if (!course)
        return NULL;
    follow_done(&course->follow);
    process_leave(&course->process);
    job_done(&course->job);
    free(course);
    return NULL;
}

static void look_by(struct course *course, nsec when)
{
    if (when < course->look)
        course->look = when;
}

/* ---- the runner's process ---- */

static void note_end(struct course *course)
{
    process_close(&course->process, course->fate);
    course->unwritten = true;
}

/* The begin record names the runner: a daemon that was restarted finds it by that. */
static void find_process(struct course *course)
{
    struct follow *follow = &course->follow;
    struct problem ignored = { 0 };
    if (course->process.fd >= 0 || course->unwritten || !follow->pid)
        return;
    if (process_find(follow->pid, follow->pid_start, follow->boot_id, &course->process, &ignored) ==
        1)
        log_job(LOG_NOTICE, course->job.id, "its runner, process %d, is alive: adopted",
                (int)follow->pid);
    else
        follow->pid = 0; /* it was another one's: only the lock tells */
}

/* Before the journal is read, so that reading it afterwards sees everything that was written. */
static int look_at_writer(struct course *course, nsec now, struct problem *why)
{
    if (course->process.fd >= 0) {
        if (process_ended(&course->process))
            note_end(course);
        return 0;
    }
    if (course->unwritten)
        return 0;
    if (!course->follow.began && now < course->since + START_GRACE) {
        /* Perhaps a runner that has not come that far; asking for its lock could get in its way. */
        look_by(course, course->since + START_GRACE);
        return 0;
    }
    int lives = follow_exists(&course->follow) ? journal_writer_lives(course->follow.path, why) : 0;
    if (lives < 0)
        return -1;
    if (lives)
        look_by(course, now + LOCK_EVERY);
    else
        course->unwritten = true;
    return 0;
}

static int start(struct course *course, enum launch what, nsec now, struct problem *why)
{
    if (launcher_start(course->launcher, &course->job, what, &course->process, why) < 0)
        return -1;
    course->unwritten = false;
    course->since = now;
    course->dirty = true;
    return 0;
}

/* ---- cancelling ---- */

static int set_stuck(struct course *course, bool stuck, bool *changed, struct problem *why)
{
    /* Not beside an open transaction of the journal, which may hold the job's row. */
    if (course->stuck == stuck || course->follow.pending)
        return 0;
    if (store_job_stuck(course->store, course->job.id, stuck, why) < 0)
        return -1;
    course->stuck = stuck;
    *changed = true;
    if (stuck)
        log_job(LOG_WARNING, course->job.id,
                "the kernel holds its runner, which was told to stop: its target stays busy");
    return 0;
}

static int cancel(struct course *course, nsec now, bool *changed, struct problem *why)
{
    /* Once the job has ended its runner only cleans up, and is left to it. */
    if (!course->cancel || course->follow.ended || course->process.fd < 0)
        return 0;
    if (!course->cancelled_at)
        course->cancelled_at = now;
    nsec waited = now - course->cancelled_at;
    enum process_rest rest = waited >= STUCK_AFTER ? process_rest(&course->process) : PROCESS_RUNS;
    int signal = waited >= KILL_AFTER && rest != PROCESS_HELD ? SIGKILL : SIGTERM;
    if (signal == SIGKILL && !course->killed)
        log_job(LOG_WARNING, course->job.id,
                "its runner has not stopped within %.0f s: it is killed", seconds_of(KILL_AFTER));
    course->killed = signal == SIGKILL;
    look_by(course, now + TERM_EVERY);
    if (set_stuck(course, rest != PROCESS_RUNS, changed, why) < 0)
        return -1;
    return launcher_signal(course->launcher, course->job.id, &course->process, signal, why);
}

/* ---- after the runner ---- */

static int finish(struct course *course, enum job_state outcome, struct problem *why)
{
    struct problem problem = course->cause;
    char words[256];
    if (course->damage.code)
        problem_set(&problem, PROBLEM_INTERRUPTED, "its journal is damaged: %s",
                    course->damage.message);
    launcher_last_words(course->launcher, course->job.id, words, sizeof words);
    problem_set(&problem, PROBLEM_INTERRUPTED, "the runner %s before its job ended%s%s",
                course->fate[0] ? course->fate : "ended", words[0] ? "; its last words: " : "",
                words);
    bool failed = outcome == JOB_FAILED;
    if (store_job_finish(course->store, course->job.id, outcome,
                         course->follow.began || course->damage.code ? CLEANUP_PENDING
                                                                     : CLEANUP_NONE,
                         failed ? &problem : NULL, why) < 0)
        return -1;
    course->follow.ended = true;
    if (failed)
        log_job(LOG_ERROR, course->job.id, "%s", problem.message);
    return 0;
}

static int clean(struct course *course, nsec now, struct problem *why)
{
    if (store_job_cleanup(course->store, course->job.id, CLEANUP_RUNNING, why) < 0)
        return -1;
    course->cleans++;
    return start(course, LAUNCH_CLEAN, now, why);
}

/* Kept files that could not be removed stay kept, so that the target stays free, and the job stays. */
static enum cleanup_state when_blocked(const struct job *job)
{
    return job->deleting ? CLEANUP_KEPT : CLEANUP_BLOCKED;
}

static int give_up_cleaning(struct course *course, const struct job *job, struct problem *why)
{
    char words[256], reason[400];
    launcher_last_words(course->launcher, job->id, words, sizeof words);
    snprintf(reason, sizeof reason,
             "it has not come to its end in %d attempts: the last one %s%s%s", CLEANS_MOST,
             course->fate[0] ? course->fate : "ended", words[0] ? "; its last words: " : "", words);
    if (store_job_cleanup_because(course->store, job->id, when_blocked(job), reason, why) < 0)
        return -1;
    log_job(LOG_ERROR, job->id, "clean-up is blocked: %s", reason);
    return 0;
}

/* Its clean-up has ended, by its own words. */
static int settle(struct course *course, const struct job *job, struct problem *why)
{
    const char *reason = job->cleanup_reason ? job->cleanup_reason : "no reason was told";
    if (job->cleanup != CLEANUP_BLOCKED)
        return 0;
    log_job(LOG_ERROR, job->id, "clean-up is blocked: %s", reason);
    return job->deleting
               ? store_job_cleanup_because(course->store, job->id, CLEANUP_KEPT, reason, why)
               : 0;
}

static void blame_reboot(struct course *course, const struct remains *remains)
{
    course->cause = (struct problem){ 0 };
    if (remains->rebooted)
        problem_set(&course->cause, PROBLEM_INTERRUPTED,
                    "the machine, which the job restarted, was not up again in time");
    else
        problem_set(&course->cause, PROBLEM_INTERRUPTED,
                    "the machine was to be restarted by the job, and was not");
}

/* The runner is gone and its journal is in the database. Returns enum course_result or -1. */
static int go_on(struct course *course, nsec now, struct problem *why)
{
    scoped(job_done) struct job job = { 0 };
    if (store_job_get(course->store, course->job.id, &job, why) < 0)
        return -1;
    course->cancel = course->cancel || job.state == JOB_CANCELLING;
    const struct remains remains = {
        .journal = follow_exists(&course->follow),
        .ended = job_state_final(job.state),
        .cancelling = job.state == JOB_CANCELLING,
        .rebooting = job.state == JOB_REBOOTING,
        .rebooted = !process_this_boot(job.boot_id),
        .overdue = job.reboot_by && clock_wall() > job.reboot_by,
        .resumes = course->resumes,
        .cleanup = job.cleanup,
        .starts = course->starts,
        .cleans = course->cleans,
    };
    course->follow.ended = remains.ended;
    enum next_step next = recovery_next(&remains);
    if (next == NEXT_WAIT) {
        look_by(course, now + REBOOT_EVERY);
        return COURSE_GOES_ON;
    }
    nsec not_before = course->since + course->cleans * CLEAN_GAP;
    if (next == NEXT_CLEAN && course->cleans && now < not_before) {
        look_by(course, not_before);
        return COURSE_GOES_ON;
    }
    course->dirty = true;
    switch (next) {
    case NEXT_START:
        course->starts++;
        log_job(LOG_WARNING, job.id, "its runner %s without a journal: started once more",
                course->fate[0] ? course->fate : "ended");
        return start(course, LAUNCH_RUN, now, why) < 0 ? -1 : COURSE_GOES_ON;
    case NEXT_WAIT:
        break; /* above */
    case NEXT_RESUME:
        course->resumes++;
        log_job(LOG_NOTICE, job.id, "the machine was restarted for it: it goes on");
        return start(course, LAUNCH_RUN, now, why) < 0 ? -1 : COURSE_GOES_ON;
    case NEXT_OVERDUE:
        blame_reboot(course, &remains);
        return finish(course, JOB_FAILED, why) < 0 ? -1 : COURSE_CHANGED;
    case NEXT_INTERRUPTED:
        return finish(course, JOB_FAILED, why) < 0 ? -1 : COURSE_CHANGED;
    case NEXT_CANCELLED:
        return finish(course, JOB_CANCELLED, why) < 0 ? -1 : COURSE_CHANGED;
    case NEXT_CLEAN:
        return clean(course, now, why) < 0 ? -1 : COURSE_CHANGED;
    case NEXT_BLOCKED:
        return give_up_cleaning(course, &job, why) < 0 ? -1 : COURSE_DONE;
    case NEXT_CLOSE:
        return settle(course, &job, why) < 0 ? -1 : COURSE_DONE;
    }
    return COURSE_DONE;
}

/* ---- all of it ---- */

/* Returns enum followed, or -1. */
static int read_journal(struct course *course, bool *changed, struct problem *why)
{
    nsec due = 0;
    bool committed = false;
    if (course->damage.code || (!course->follow.reader && !follow_exists(&course->follow)))
        return FOLLOWED_ALL;
    bool began = course->follow.began;
    int followed = follow_step(&course->follow, &due, &committed, why);
    *changed = *changed || committed;
    if (followed == FOLLOWED_DUE)
        look_by(course, due);
    if (followed == FOLLOWED_MORE || course->follow.began != began)
        course->dirty = true;
    if (followed < 0 && course->follow.broken) {
        /* What it measures from here on could not be stored. */
        course->damage = *why;
        course->cancel = true;
        *why = (struct problem){ 0 };
        return FOLLOWED_ALL;
    }
    return followed;
}

static int attend(struct course *course, nsec now, bool *changed, struct problem *why)
{
    if (look_at_writer(course, now, why) < 0)
        return -1;
    int followed = read_journal(course, changed, why);
    if (followed < 0)
        return -1;
    find_process(course);
    if (cancel(course, now, changed, why) < 0)
        return -1;
    if (course->process.fd >= 0 || !course->unwritten || followed != FOLLOWED_ALL)
        return COURSE_GOES_ON;
    return go_on(course, now, why);
}

enum course_result course_attend(struct course *course, nsec now)
{
    struct problem why = { 0 };
    bool changed = false;
    course->dirty = false;
    course->look = COURSE_IDLE;
    int result = attend(course, now, &changed, &why);
    if (why.code == PROBLEM_NOT_FOUND)
        return COURSE_DONE; /* it was deleted */
    if (why.code)
        outage_begin(&course->outage, "following the job", course->job.id, &why);
    else
        outage_end(&course->outage, "following the job", course->job.id);
    if (result < 0) {
        course->gap = course->gap ? course->gap * 2 : GAP_FIRST;
        if (course->gap > GAP_MOST)
            course->gap = GAP_MOST;
        course->dirty = false;
        course->look = now + course->gap;
        return COURSE_GOES_ON;
    }
    course->gap = 0;
    return result == COURSE_GOES_ON && changed ? COURSE_CHANGED : (enum course_result)result;
}
