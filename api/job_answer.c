/* What a job's answer says, in tables: rates and progress are derived here and stored nowhere. */
#include "api/job_answer.h"

#include "engine/base/field_json.h"

#include <math.h>

struct latency_view {
    uint64_t count, min, p50, p90, p99, p999, max;
    double mean;
};
static const struct field latency_answer[] = {
    FIELD_COUNT(struct latency_view, count, "Operations whose latency is known."),
    FIELD_COUNT(struct latency_view, min, "The shortest, exact.", .unit = "ns"),
    FIELD_NUMBER(struct latency_view, mean, "The mean, exact.", .unit = "ns"),
    FIELD_COUNT(struct latency_view, p50, "Half took no longer.", .unit = "ns"),
    FIELD_COUNT(struct latency_view, p90, "90 % took no longer.", .unit = "ns"),
    FIELD_COUNT(struct latency_view, p99, "99 % took no longer.", .unit = "ns"),
    FIELD_COUNT(struct latency_view, p999, "99.9 % took no longer.", .unit = "ns"),
    FIELD_COUNT(struct latency_view, max, "The longest, exact.", .unit = "ns"),
    FIELD_END,
};

struct limit_view {
    uint64_t at;
    int reason;
    char *detail;
    int64_t error;
};
static const struct field limit_answer[] = {
    FIELD_COUNT(struct limit_view, at, "The load at which the phase ended."),
    FIELD_CHOICE(struct limit_view, reason, "What was exhausted.", .choices = limit_reasons),
    { .name = "errno",
      .type = FT_SIGNED,
      .offset = offsetof(struct limit_view, error),
      .doc = "What the target answered; 0: a floor or deadline of ours was reached first." },
    FIELD_TEXT(struct limit_view, detail, "One sentence with the figures."),
    FIELD_END,
};

struct phase_view {
    char *name, *unit, *cache;
    uint64_t run, legs, lanes, batch, total, ops, bytes, errors;
    double seconds, first_done_seconds, first_done_rate, rate, ops_per_second, sync_seconds,
        resident_bytes, flush_seconds, rate_with_flush, dirty_before;
    bool finished, at_load, paced;
    void *latency_ns, *limited_by;
    struct latency_view latency;
    struct limit_view limit;
};
static const struct field phase_answer[] = {
    FIELD_TEXT(struct phase_view, name, "What it does: create, list, ..."),
    FIELD_COUNT(struct phase_view, run, "The pass through the phases, from 1."),
    FIELD_COUNT(struct phase_view, legs,
                "In how many stretches between two boots of the machine: the figures are of all."),
    FIELD_TEXT(struct phase_view, unit, "What its load counts."),
    FIELD_COUNT(struct phase_view, lanes, "Worker threads."),
    FIELD_COUNT(struct phase_view, batch, "Operations timed together."),
    FIELD_COUNT(struct phase_view, total, "Planned, in its unit."),
    FIELD_COUNT(struct phase_view, ops, "Operations done."),
    FIELD_COUNT(struct phase_view, bytes, "Bytes written or read.", .unit = "bytes"),
    FIELD_COUNT(struct phase_view, errors, "Operations that failed."),
    FIELD_NUMBER(struct phase_view, seconds, "From the first start to the last end, by the wall.",
                 .unit = "s"),
    FIELD_NUMBER(struct phase_view, first_done_seconds,
                 "From the first start until the first lane had nothing left; null while it runs.",
                 .unit = "s"),
    FIELD_NUMBER(struct phase_view, first_done_rate,
                 "What all lanes did until then, in its unit, over that time; null: not known.",
                 .unit = "per second"),
    FIELD_NUMBER(
        struct phase_view, rate,
        "What was done, in its unit, over seconds: bytes/s where that is bytes, else ops/s; "
        "null before the first batch.",
        .unit = "per second"),
    FIELD_NUMBER(struct phase_view, ops_per_second, "ops / seconds; null before the first batch.",
                 .unit = "per second"),
    FIELD_NUMBER(
        struct phase_view, sync_seconds,
        "The most that a lane spent on making data stable (fsync), which is in seconds too; "
        "null: nothing was.",
        .unit = "s"),
    FIELD_NUMBER(
        struct phase_view, resident_bytes,
        "How much of what it read was in the host's memory when it began; null: nothing, or "
        "not looked at.",
        .unit = "bytes"),
    FIELD_BOOL(
        struct phase_view, paced,
        "Whether its rate was bounded: latencies then count from when an operation was due."),
    FIELD_NUMBER(
        struct phase_view, flush_seconds,
        "How long the flush (syncfs) after it took, which is not in seconds; null: none was "
        "timed.",
        .unit = "s"),
    FIELD_NUMBER(struct phase_view, rate_with_flush,
                 "The same over seconds + flush_seconds; null without a flush.",
                 .unit = "per second"),
    FIELD_NUMBER(struct phase_view, dirty_before,
                 "Bytes that the machine had still to write when it began; null without a flush.",
                 .unit = "bytes"),
    FIELD_TEXT(struct phase_view, cache,
               "How it found the caches: warm, or by what they were emptied; null: not said."),
    FIELD_BOOL(struct phase_view, finished, "Whether it has ended."),
    FIELD_BOOL(struct phase_view, at_load,
               "Each value was measured at its load, not for the batch that ends there."),
    FIELD_OBJECT(struct phase_view, latency_ns,
                 "Time of one operation; null until the phase has ended.", .of = latency_answer,
                 .of_size = sizeof(struct latency_view)),
    FIELD_OBJECT(struct phase_view, limited_by,
                 "Why it ended before its total; null if it did not.", .of = limit_answer,
                 .of_size = sizeof(struct limit_view)),
    FIELD_END,
};

struct run_view {
    uint64_t run, point;
    char *params;
    int state, cleanup;
    nsec started_at, finished_at;
    double used_bytes, used_inodes;
};
static const struct field run_answer[] = {
    FIELD_COUNT(struct run_view, run, "Its number, from 1, in the order they run."),
    FIELD_COUNT(struct run_view, point,
                "Which combination of the matrix, from 0: runs of one point are repeats."),
    FIELD_JSON(struct run_view, params, "The parameters that this point sets."),
    FIELD_CHOICE(struct run_view, state, "Its fate; skipped: the job ended before its turn came.",
                 .choices = run_states),
    FIELD_TIME(struct run_view, started_at, "When it began."),
    FIELD_TIME(struct run_view, finished_at, "When it ended, without its clean-up."),
    FIELD_NUMBER(struct run_view, used_bytes,
                 "In use on the target's filesystem when it began; null: not known.",
                 .unit = "bytes"),
    FIELD_NUMBER(struct run_view, used_inodes,
                 "Inodes in use there when it began; null: not known.", .unit = "inodes"),
    FIELD_CHOICE(struct run_view, cleanup, "The removal of what it made.",
                 .choices = cleanup_states),
    FIELD_END,
};

struct progress_view {
    char *phase, *unit;
    uint64_t run, runs, done, total;
    double rate, eta_seconds;
};
static const struct field progress_answer[] = {
    FIELD_TEXT(struct progress_view, phase, "The phase that runs."),
    FIELD_COUNT(struct progress_view, run, "Of which run."),
    FIELD_COUNT(struct progress_view, runs, "How many runs there are."),
    FIELD_COUNT(struct progress_view, done, "Done in it, in its unit."),
    FIELD_COUNT(struct progress_view, total, "Planned in it."),
    FIELD_TEXT(struct progress_view, unit, "What they make or touch."),
    FIELD_NUMBER(struct progress_view, rate, "Done per second so far.", .unit = "per second"),
    FIELD_NUMBER(struct progress_view, eta_seconds,
                 "Until this phase ends at that rate; null when that is unknown.", .unit = "s"),
    FIELD_END,
};

struct job_problem_view {
    char *code, *field, *message;
};
static const struct field job_problem_answer[] = {
    FIELD_TEXT(struct job_problem_view, code, "The kind of problem."),
    FIELD_TEXT(struct job_problem_view, field, "The parameter at fault; may be empty."),
    FIELD_TEXT(struct job_problem_view, message, "One sentence."),
    FIELD_END,
};

struct kept_view {
    char *workspace;
    uint64_t files, bytes;
};
static const struct field kept_answer[] = {
    FIELD_TEXT(struct kept_view, workspace, "The folder in which they are, on the target."),
    FIELD_COUNT(struct kept_view, files, "How many there are.", .unit = "files"),
    FIELD_COUNT(struct kept_view, bytes, "What was written to them.", .unit = "bytes"),
    FIELD_END,
};

struct job_view {
    uint64_t id, removed, revision, confirms;
    char *workload, *target, *name, *host, *params, *labels, *note, *external_ref, *created_by;
    int64_t priority;
    nsec created_at, started_at, finished_at;
    char *matrix;
    uint64_t repeat, seed;
    void *progress;
    struct array runs, phases;
    char *boots, *findings, *environment;
    void *problem;
    int state, cleanup;
    char *foreign, *cleanup_reason;
    void *kept;
    bool deleting, stuck, pinned, imported;
};
const struct field job_answer[] = {
    FIELD_COUNT(struct job_view, id, "Its number; null in the answer to a dry run.",
                .nullable = true),
    FIELD_TEXT(struct job_view, workload, "What is measured."),
    FIELD_TEXT(struct job_view, target, "Where; null when it was imported."),
    FIELD_BOOL(struct job_view, imported, "It did not run here: its results were handed in."),
    FIELD_TEXT(struct job_view, name, "What an imported one was measured on; otherwise null."),
    FIELD_TEXT(struct job_view, host, "The machine whose daemon runs it."),
    FIELD_CHOICE(struct job_view, state, "Its fate; the last three are final at once.",
                 .choices = job_states),
    FIELD_JSON(struct job_view, params, "The workload's parameters, presets filled in."),
    FIELD_JSON(struct job_view, matrix, "Parameters that its runs vary, each with its values."),
    FIELD_COUNT(struct job_view, repeat, "How often each combination is measured."),
    FIELD_COUNT(struct job_view, seed, "What fixed the order of the runs."),
    FIELD_JSON(struct job_view, labels, "Names and values to find it by."),
    FIELD_TEXT(struct job_view, note, "Free text."),
    FIELD_TEXT(struct job_view, external_ref, "What it is called elsewhere: a ticket, a commit."),
    FIELD_SIGNED(struct job_view, priority, "Higher ones start first."),
    FIELD_TEXT(struct job_view, created_by, "The name of the token that asked for it."),
    FIELD_COUNT(
        struct job_view, confirms,
        "The job that it repeats, queued by a baseline to see whether that one's result was "
        "chance; otherwise null.",
        .nullable = true),
    FIELD_TIME(struct job_view, created_at, "When it was asked for."),
    FIELD_TIME(struct job_view, started_at, "When its runner was started."),
    FIELD_TIME(struct job_view, finished_at, "When it reached its final state."),
    FIELD_OBJECT(struct job_view, progress, "Of the phase that runs; null unless one does.",
                 .of = progress_answer, .of_size = sizeof(struct progress_view)),
    FIELD_ARRAY(struct job_view, runs, "Its runs, in order.", .of = run_answer,
                .of_size = sizeof(struct run_view)),
    FIELD_ARRAY(struct job_view, phases, "What was done, in order.", .of = phase_answer,
                .of_size = sizeof(struct phase_view)),
    FIELD_JSON(struct job_view, boots,
               "What restarts of the machine came to: a list, each with run, leg and load, the "
               "seconds until the kernel, the daemon and all was up (null: not to be known there), "
               "how many filesystems the runner had to bring back (brought_back), and how the wall "
               "clock was kept before and after (clock_then, clock_now)."),
    FIELD_JSON(struct job_view, findings, "Named conclusions: a list."),
    FIELD_JSON(struct job_view, environment,
               "What it ran on: kernel, filesystem, device, CPU, ...; empty before it began."),
    FIELD_OBJECT(struct job_view, problem, "Why it failed; null if it did not.",
                 .of = job_problem_answer, .of_size = sizeof(struct job_problem_view)),
    FIELD_CHOICE(struct job_view, cleanup,
                 "The removal of what it made; goes on beside a final state.",
                 .choices = cleanup_states),
    FIELD_COUNT(struct job_view, removed, "Entries that clean-up removed."),
    FIELD_JSON(struct job_view, foreign, "Names that clean-up found, did not make, and left."),
    FIELD_TEXT(struct job_view, cleanup_reason,
               "Why clean-up is blocked, or why kept files could not be removed; else null."),
    FIELD_OBJECT(struct job_view, kept,
                 "Files that it was asked to leave on its target; null: none. DELETE removes them.",
                 .of = kept_answer, .of_size = sizeof(struct kept_view)),
    FIELD_BOOL(struct job_view, deleting, "It goes as soon as its kept files are removed."),
    FIELD_BOOL(struct job_view, stuck, "The kernel holds one of its lanes."),
    FIELD_BOOL(struct job_view, pinned, "It cannot be deleted."),
    FIELD_COUNT(struct job_view, revision, "Rises with every change."),
    FIELD_END,
};

struct jobs_view {
    struct array items;
    char *next_cursor;
};
const struct field jobs_answer[] = {
    FIELD_ARRAY(struct jobs_view, items, "Newest first.", .of = job_answer,
                .of_size = sizeof(struct job_view)),
    FIELD_TEXT(struct jobs_view, next_cursor, "For ?cursor=, to go on; null: that was all."),
    FIELD_END,
};

/* Tables want char *; rendering only reads. */
static char *borrowed(const char *text)
{
    return (char *)(uintptr_t)text;
}

static void view_latency(const struct latency *latency, struct latency_view *view)
{
    *view = (struct latency_view){
        .count = latency->count,
        .min = (uint64_t)latency->min,
        .mean = latency->count ? latency->sum / (double)latency->count : NAN,
        .p50 = (uint64_t)latency->p50,
        .p90 = (uint64_t)latency->p90,
        .p99 = (uint64_t)latency->p99,
        .p999 = (uint64_t)latency->p999,
        .max = (uint64_t)latency->max,
    };
}

static void view_phase(const struct phase_total *phase, struct phase_view *view)
{
    *view = (struct phase_view){
        .name = borrowed(phase->name),
        .unit = borrowed(phase->unit),
        .run = phase->run,
        .legs = phase->legs ? phase->legs : 1,
        .lanes = phase->lanes,
        .batch = phase->batch,
        .total = phase->total,
        .ops = phase->ops,
        .bytes = phase->bytes,
        .errors = phase->errors,
        .seconds = phase_seconds(phase),
        .first_done_seconds =
            phase->finished ? seconds_of(phase->first_done - phase->first_start) : NAN,
        .first_done_rate = phase->finished ? phase_first_rate(phase) : NAN,
        .rate = phase_rate(phase),
        .ops_per_second =
            phase_seconds(phase) > 0 ? (double)phase->ops / phase_seconds(phase) : NAN,
        .sync_seconds = phase->sync > 0 ? seconds_of(phase->sync) : NAN,
        .resident_bytes = phase->resident ? (double)phase->resident : NAN,
        .paced = phase->paced,
        .flush_seconds = phase->flush > 0 ? seconds_of(phase->flush) : NAN,
        .rate_with_flush = phase_rate_with_flush(phase),
        .dirty_before = phase->flush > 0 ? (double)phase->dirty_before : NAN,
        .cache = phase->cache[0] ? borrowed(phase->cache) : NULL,
        .finished = phase->finished,
        .at_load = phase->at_load,
    };
    if (phase->latency.count) {
        view_latency(&phase->latency, &view->latency);
        view->latency_ns = &view->latency;
    }
    if (phase->limit.reached) {
        view->limit = (struct limit_view){ phase->limit.at, phase->limit.reason,
                                           borrowed(phase->limit.detail), phase->limit.error };
        view->limited_by = &view->limit;
    }
}

static bool view_progress(const struct job *job, struct progress_view *view)
{
    if ((job->state != JOB_RUNNING && job->state != JOB_CANCELLING) || job->phases_n == 0)
        return false;
    /* The first that goes on: phases that take turns all do. */
    const struct phase_total *phase = &job->phases[job->phases_n - 1];
    for (size_t i = job->phases_n; i-- > 0 && job->phases[i].run == phase->run;)
        if (!job->phases[i].finished)
            phase = &job->phases[i];
    double rate = phase_rate(phase);
    uint64_t done = phase_load(phase);
    uint64_t left = phase->total > done && !phase->finished ? phase->total - done : 0;
    *view = (struct progress_view){
        .phase = borrowed(phase->name),
        .unit = borrowed(phase->unit),
        .run = phase->run,
        .runs = job->runs_n,
        .done = done,
        .total = phase->total,
        .rate = rate,
        .eta_seconds = rate > 0 ? (double)left / rate : NAN,
    };
    return true;
}

static struct run_view view_run(const struct job_run *run)
{
    return (struct run_view){
        .run = run->run,
        .point = run->point,
        .params = run->params,
        .state = run->state,
        .cleanup = run->cleanup,
        .started_at = run->started_at,
        .finished_at = run->finished_at,
        .used_bytes = run->used_bytes,
        .used_inodes = run->used_inodes,
    };
}

static struct job_view view_job(const struct job *job)
{
    return (struct job_view){
        .id = (uint64_t)job->id,
        .removed = job->removed,
        .revision = (uint64_t)job->revision,
        .confirms = (uint64_t)job->confirms,
        .workload = job->workload,
        .target = job->imported ? NULL : job->target,
        .imported = job->imported,
        .name = job->imported ? job->name : NULL,
        .host = job->host,
        .state = job->state,
        .params = job->params,
        .matrix = job->matrix ? job->matrix : borrowed("{}"),
        .repeat = job->repeat,
        .seed = job->seed,
        .labels = job->labels,
        .note = job->note,
        .external_ref = job->external_ref,
        .created_by = job->created_by,
        .priority = job->priority,
        .created_at = job->created_at,
        .started_at = job->started_at,
        .finished_at = job->finished_at,
        .boots = job->boots ? job->boots : borrowed("[]"),
        .findings = job->findings ? job->findings : borrowed("[]"),
        .environment = job->environment ? job->environment : borrowed("{}"),
        .cleanup = job->cleanup,
        .foreign = job->foreign_entries ? job->foreign_entries : borrowed("[]"),
        .cleanup_reason = job->cleanup_reason,
        .deleting = job->deleting,
        .stuck = job->stuck,
        .pinned = job->pinned,
    };
}

json_t *job_json(const struct job *job, struct problem *why)
{
    struct job_view view = view_job(job);
    struct progress_view progress;
    struct kept_view kept = { job->kept_workspace, job->kept_files, job->kept_bytes };
    struct job_problem_view problem = { borrowed(problem_slug(job->problem.code)),
                                        borrowed(job->problem.field),
                                        borrowed(job->problem.message) };
    scoped_free struct phase_view *phases =
        calloc(job->phases_n ? job->phases_n : 1, sizeof *phases);
    scoped_free struct run_view *runs = calloc(job->runs_n ? job->runs_n : 1, sizeof *runs);
    json_t *json = NULL;
    if (phases && runs) {
        for (size_t i = 0; i < job->runs_n; i++)
            runs[i] = view_run(&job->runs[i]);
        view.runs = (struct array){ job->runs_n, runs };
        for (size_t i = 0; i < job->phases_n; i++)
            view_phase(&job->phases[i], &phases[i]);
        view.phases = (struct array){ job->phases_n, phases };
        view.progress = view_progress(job, &progress) ? &progress : NULL;
        view.kept = job->kept_workspace ? &kept : NULL;
        view.problem = job->problem.code != PROBLEM_NONE ? &problem : NULL;
        json = fields_render(job_answer, &view);
    }
    if (json && job->id == 0) /* a dry run: it has none */
        json_object_set_new(json, "id", json_null());
    if (json && !job->confirms)
        json_object_set_new(json, "confirms", json_null());
    if (!json)
        problem_memory(why);
    return json;
}

json_t *job_progress_json(const struct job *job, struct problem *why)
{
    struct progress_view view;
    json_t *json = view_progress(job, &view) ? fields_render(progress_answer, &view) : json_null();
    if (!json)
        problem_memory(why);
    return json;
}
