#include "service/baselines.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/workload/workload.h"

#include <math.h>
#include <stdlib.h>

enum {
    ALERTS_MOST = 64, /* of a baseline, the newest */
    NEAR = 3,         /* runs: a change that is found anew may lie a little beside */
};

/* One baseline, as the end of one job finds it, for one point of its matrix. */
struct look {
    const struct baselines_settings *settings;
    const struct baseline *baseline;
    const struct job *job;
    struct baseline_run *runs;
    size_t n;
    struct baseline_history history;
    bool known; /* the last level's change has an alert, open or not */
};

static const struct baseline_level *last_level(const struct look *look)
{
    return &look->history.at[look->history.n - 1];
}

/* Which run an alert's job has in this history: n when it is not there. */
static size_t place_of(const struct look *look, const struct alert *alert)
{
    size_t i = 0;
    while (i < look->n && (look->runs[i].job != alert->job || look->runs[i].run != alert->run))
        i++;
    return i;
}

/* The level whose change is the alert's; 0: none is. */
static size_t level_of(const struct look *look, size_t place, double effect)
{
    for (size_t k = 1; k < look->history.n; k++) {
        const struct baseline_level *level = &look->history.at[k];
        size_t apart = level->from > place ? level->from - place : place - level->from;
        if (apart < NEAR && (level->effect > 0) == (effect > 0))
            return k;
    }
    return 0;
}

/* The numbers and words of the last level's change; fingerprint and sentence are borrowed. */
static void describe(const struct look *look, struct alert *alert, char sentence[BASELINE_SENTENCE])
{
    const struct baseline *baseline = look->baseline;
    size_t k = look->history.n - 1;
    const struct baseline_level *now = &look->history.at[k];
    alert->before = now[-1].level;
    alert->after = now->level;
    alert->effect = now->effect;
    alert->p = now->p;
    alert->runs_before = now[-1].n;
    alert->runs_after = now->n;
    alert->sentence = say_regression(baseline->rule.figure, baseline->phase, baseline->target,
                                     look->runs, &look->history, k, sentence);
}

static int resolve(const struct look *look, const struct alert *alert, const char *why_resolved,
                   struct problem *why)
{
    log_job(LOG_NOTICE, look->job->id, "alert %lld is resolved: %s", (long long)alert->id,
            why_resolved);
    return store_alert_resolve(look->settings->store, alert->id, "", why_resolved, NULL, why);
}

static int refresh(const struct look *look, const struct alert *old, struct problem *why)
{
    char sentence[BASELINE_SENTENCE];
    struct alert now = { .id = old->id };
    describe(look, &now, sentence);
    return store_alert_refresh(look->settings->store, &now, why);
}

/* An alert that exists: it stands, the level has returned, or a later change has taken its place. */
static int see_alert(void *arg, const struct alert *alert, struct problem *why)
{
    struct look *look = arg;
    size_t place = place_of(look, alert);
    if (place == look->n) /* of other parameters, deleted, or long ago */
        return 0;
    size_t k = level_of(look, place, alert->effect);
    bool last = k > 0 && k == look->history.n - 1;
    look->known |= last;
    if (alert->state == ALERT_RESOLVED)
        return 0;
    if (last && look->history.at[k].regression)
        return refresh(look, alert, why);
    if (baseline_returned(&look->baseline->rule, look->runs, look->n, alert->before, alert->effect))
        return resolve(look, alert, "the level has returned", why);
    return k > 0 && !last ? resolve(look, alert, "a later change has taken its place", why) : 0;
}

static int open_alert(const struct look *look, struct problem *why)
{
    const struct baseline *baseline = look->baseline;
    const struct baseline_run *first = &look->runs[last_level(look)->from];
    char sentence[BASELINE_SENTENCE], unit[40], fingerprint[160];
    if (text_fit(fingerprint, sizeof fingerprint, "baseline-%lld-%s-%s-job-%lld-%u",
                 (long long)baseline->id, baseline->phase, baseline_figures[baseline->rule.figure],
                 (long long)first->job, first->run))
        return problem_set(why, PROBLEM_INTERNAL, "the name of a phase is too long");
    struct alert alert = { .fingerprint = fingerprint,
                           .baseline = baseline->id,
                           .job = first->job,
                           .run = first->run,
                           .unit = baseline_unit(baseline->rule.figure, first, unit) };
    describe(look, &alert, sentence);
    int opened = store_alert_open(look->settings->store, &alert, why);
    if (opened > 0)
        log_job(LOG_WARNING, look->job->id, "baseline %s: %s", baseline->name, sentence);
    return opened < 0 ? -1 : 0;
}

/* ---- one more measurement ---- */

/* Whether this target is still there, and the workload fits it. */
static bool is_usable(const struct look *look)
{
    struct prober *prober = look->settings->prober;
    const struct workload *workload = workload_find(look->baseline->workload);
    const struct targets *targets = prober_hold(prober);
    const struct target *target = targets_find(targets, look->baseline->target);
    struct target_facts facts = { 0 };
    struct problem ignored = { 0 };
    bool usable = workload && target && workload_fits(workload, target, &ignored) == 0 &&
                  prober_facts(prober, target->name, &facts) && facts.usable;
    prober_release(prober, targets);
    return usable;
}

static int confirm(const struct look *look, struct problem *why)
{
    const struct baseline *baseline = look->baseline;
    const struct baseline_run *run = &look->runs[look->n - 1];
    char note[BASELINE_SENTENCE], by[96];
    job_id repeat = 0;
    say_suspect(baseline->rule.figure, baseline->phase, run, &look->history, note);
    if (!is_usable(look)) {
        log_job(LOG_WARNING, run->job, "cannot be measured once more: target %s is not usable",
                baseline->target);
        return 0;
    }
    if (text_fit(by, sizeof by, "baseline %s", baseline->name))
        return problem_set(why, PROBLEM_INTERNAL, "the name of a baseline is too long");
    int queued =
        store_job_confirm(look->settings->store, run->job, run->run, by, note, &repeat, why);
    if (queued > 0)
        log_job(LOG_NOTICE, repeat, "baseline %s: %s", baseline->name, note);
    return queued < 0 ? -1 : 0;
}

/* The history of one baseline at the point of that run. */
static int look_at_point(struct look look, unsigned run, struct problem *why)
{
    const struct baseline *baseline = look.baseline;
    struct store *store = look.settings->store;
    if (store_baseline_history(store, baseline, look.job->id, run, &look.runs, &look.n, why) < 0)
        return -1;
    scoped_free struct baseline_run *held = look.runs;
    baseline_judge(&baseline->rule, held, look.n, &look.history);
    if (look.history.n == 0)
        return 0;
    const struct alert_filter filter = { .baseline = baseline->id, .limit = ALERTS_MOST };
    if (store_alert_list(store, &filter, see_alert, &look, why) < 0)
        return -1;
    if (last_level(&look)->regression && !look.known && open_alert(&look, why) < 0)
        return -1;
    bool newest = held[look.n - 1].job == look.job->id;
    return look.history.suspect && newest && baseline->confirm && *baseline->target
               ? confirm(&look, why)
               : 0;
}

/* Each point of the job's matrix has a history of its own. */
static int look_at(void *arg, const struct baseline *baseline, struct problem *why)
{
    struct look look = *(const struct look *)arg;
    const struct job *job = look.job;
    look.baseline = baseline;
    for (size_t i = 0; i < job->runs_n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = job->runs[k].point == job->runs[i].point;
        if (!seen && look_at_point(look, job->runs[i].run, why) < 0)
            return -1;
    }
    return 0;
}

int baselines_look(const struct baselines_settings *settings, const struct job *job,
                   struct problem *why)
{
    struct look look = { .settings = settings, .job = job };
    return store_baseline_match(settings->store, job->id, look_at, &look, why);
}
