/* What came of a measurement by hand as JSON, by field tables. */
#include "engine/cli/report.h"

#include "engine/base/field_json.h"
#include "engine/spread.h"

#include <math.h>

struct limit_view {
    int reason;
    uint64_t at;
    int64_t error;
    char *detail;
};
static const struct field limit_fields[] = {
    FIELD_CHOICE(struct limit_view, reason, "What ended the phase.", .choices = limit_reasons),
    FIELD_COUNT(struct limit_view, at, "The load when it ended."),
    { .name = "errno",
      .type = FT_SIGNED,
      .offset = FIELD_OFFSET(struct limit_view, error, int64_t),
      .doc = "What the target gave; 0: a bound of ours." },
    FIELD_TEXT(struct limit_view, detail, "One sentence."),
    FIELD_END,
};

struct phase_view {
    char *name, *unit;
    uint64_t run;
    uint64_t lanes, batch, total, ops, bytes, errors;
    double seconds, rate, first_done_seconds, first_done_rate, cpu_ns_per_op, sync_seconds,
        flush_seconds, rate_with_flush;
    char *cache;
    uint64_t resident_bytes;
    bool paced;
    uint64_t dirty_before;
    int64_t p50, p90, p99, p999, min, max;
    void *limit; /* struct limit_view */
};
static const struct field phase_fields[] = {
    FIELD_TEXT(struct phase_view, name, "The phase."),
    FIELD_COUNT(struct phase_view, run, "Of which run."),
    FIELD_TEXT(struct phase_view, unit, "What it counts."),
    FIELD_COUNT(struct phase_view, lanes, "Its lanes."),
    FIELD_COUNT(struct phase_view, batch, "Operations timed together."),
    FIELD_COUNT(struct phase_view, total, "Planned."),
    FIELD_COUNT(struct phase_view, ops, "Done."),
    FIELD_COUNT(struct phase_view, bytes, "Bytes written or read."),
    FIELD_COUNT(struct phase_view, errors, "Operations that failed."),
    FIELD_NUMBER(struct phase_view, seconds, "From the first start to the last end."),
    FIELD_NUMBER(struct phase_view, rate, "Of its unit, per second of those."),
    FIELD_NUMBER(struct phase_view, first_done_seconds, "Until the first lane had nothing left."),
    FIELD_NUMBER(struct phase_view, first_done_rate, "What all lanes did until then, per second."),
    FIELD_NUMBER(struct phase_view, sync_seconds,
                 "The most that a lane spent on making data stable; null: nothing was."),
    FIELD_TEXT(struct phase_view, cache, "How it found the caches; null: not said."),
    FIELD_COUNT(struct phase_view, resident_bytes, "What of its files was in memory before it."),
    FIELD_BOOL(struct phase_view, paced, "Latencies count from when an operation was due."),
    FIELD_NUMBER(struct phase_view, cpu_ns_per_op, "CPU of the process, lanes and recorder."),
    FIELD_NUMBER(struct phase_view, flush_seconds, "The flush after it; null: none was timed."),
    FIELD_NUMBER(struct phase_view, rate_with_flush, "The rate with that flush."),
    FIELD_COUNT(struct phase_view, dirty_before, "Bytes not yet written when it began."),
    FIELD_SIGNED(struct phase_view, min, "Latency, ns."),
    FIELD_SIGNED(struct phase_view, p50, "Latency, ns."),
    FIELD_SIGNED(struct phase_view, p90, "Latency, ns."),
    FIELD_SIGNED(struct phase_view, p99, "Latency, ns."),
    FIELD_SIGNED(struct phase_view, p999, "Latency, ns."),
    FIELD_SIGNED(struct phase_view, max, "Latency, ns."),
    FIELD_OBJECT(struct phase_view, limit, "Null unless one was reached.", .of = limit_fields,
                 .of_size = sizeof(struct limit_view)),
    FIELD_END,
};

struct problem_view {
    char *code, *field, *message;
};
static const struct field problem_fields[] = {
    FIELD_TEXT(struct problem_view, code, "Its kind."),
    FIELD_TEXT(struct problem_view, field, "The field at fault."),
    FIELD_TEXT(struct problem_view, message, "One sentence."),
    FIELD_END,
};

struct run_view {
    uint64_t run, point;
    char *params;
    int cleanup;
    uint64_t removed;
};
static const struct field run_fields[] = {
    FIELD_COUNT(struct run_view, run, "Its number, in the order they ran."),
    FIELD_COUNT(struct run_view, point, "Which point of the matrix, from 0."),
    FIELD_JSON(struct run_view, params, "What that point sets."),
    FIELD_CHOICE(struct run_view, cleanup, "Its clean-up.", .choices = cleanup_states),
    FIELD_COUNT(struct run_view, removed, "Entries that clean-up removed."),
    FIELD_END,
};

struct spread_view {
    uint64_t point, runs;
    char *params, *phase, *unit;
    double median, low, high, spread;
};
static const struct field spread_fields[] = {
    FIELD_COUNT(struct spread_view, point, "Which point of the matrix, from 0."),
    FIELD_JSON(struct spread_view, params, "What that point sets."),
    FIELD_TEXT(struct spread_view, phase, "Of which phase."),
    FIELD_TEXT(struct spread_view, unit, "What it counts."),
    FIELD_COUNT(struct spread_view, runs, "Runs that finished it."),
    FIELD_NUMBER(struct spread_view, median, "Of their operations per second."),
    FIELD_NUMBER(struct spread_view, low, "The lowest."),
    FIELD_NUMBER(struct spread_view, high, "The highest."),
    FIELD_NUMBER(struct spread_view, spread, "(high - low) / median; null of one run."),
    FIELD_END,
};

struct outcome_view {
    char *workload;
    int outcome, cleanup;
    uint64_t removed, seed, cpu_ns;
    struct texts foreign;
    struct array phases, runs, points;
    void *problem; /* struct problem_view */
};
static const struct field outcome_fields[] = {
    FIELD_TEXT(struct outcome_view, workload, "The kind of benchmark."),
    FIELD_CHOICE(struct outcome_view, outcome, "What came of it.", .choices = job_states),
    FIELD_COUNT(struct outcome_view, seed, "What fixed the order of the runs."),
    FIELD_ARRAY(struct outcome_view, runs, "In their order.", .of = run_fields,
                .of_size = sizeof(struct run_view)),
    FIELD_ARRAY(struct outcome_view, phases, "Totals.", .of = phase_fields,
                .of_size = sizeof(struct phase_view)),
    FIELD_ARRAY(struct outcome_view, points, "What the runs of each point came to.",
                .of = spread_fields, .of_size = sizeof(struct spread_view)),
    FIELD_CHOICE(struct outcome_view, cleanup, "Its clean-up.", .choices = cleanup_states),
    FIELD_COUNT(struct outcome_view, removed, "Entries that clean-up removed."),
    FIELD_COUNT(
        struct outcome_view, cpu_ns,
        "CPU time of the runner from its start to its end, clean-up included and the tools that it "
        "started not.",
        .unit = "ns"),
    FIELD_TEXTS(struct outcome_view, foreign, "Entries that were not made by the run."),
    FIELD_OBJECT(struct outcome_view, problem, "Null unless it failed.", .of = problem_fields,
                 .of_size = sizeof(struct problem_view)),
    FIELD_END,
};

/* The views borrow their texts: they are rendered, never freed by their tables. */
static char *borrowed(const char *text)
{
    union {
        const char *in;
        char *out;
    } text_of = { text };
    return text_of.out;
}

static struct phase_view phase_view(const struct phase_total *phase, struct limit_view *limit)
{
    *limit = (struct limit_view){ phase->limit.reason, phase->limit.at, phase->limit.error,
                                  borrowed(phase->limit.detail) };
    return (struct phase_view){
        .name = borrowed(phase->name),
        .unit = borrowed(phase->unit),
        .run = phase->run,
        .lanes = phase->lanes,
        .batch = phase->batch,
        .total = phase->total,
        .ops = phase->ops,
        .bytes = phase->bytes,
        .errors = phase->errors,
        .seconds = phase_seconds(phase),
        .rate = report_rate(phase),
        .first_done_seconds = seconds_of(phase->first_done - phase->first_start),
        .first_done_rate = phase_first_rate(phase),
        .sync_seconds = phase->sync > 0 ? seconds_of(phase->sync) : NAN,
        .cache = phase->cache[0] ? borrowed(phase->cache) : NULL,
        .resident_bytes = phase->resident,
        .paced = phase->paced,
        .cpu_ns_per_op = phase->ops ? (double)phase->cpu / (double)phase->ops : 0,
        .flush_seconds = phase->flush > 0 ? seconds_of(phase->flush) : NAN,
        .rate_with_flush = phase_rate_with_flush(phase),
        .dirty_before = phase->dirty_before,
        .min = phase->latency.min,
        .p50 = phase->latency.p50,
        .p90 = phase->latency.p90,
        .p99 = phase->latency.p99,
        .p999 = phase->latency.p999,
        .max = phase->latency.max,
        .limit = phase->limit.reached ? limit : NULL,
    };
}

static int print(json_t *json, struct problem *why)
{
    int result = json ? json_dumpf(json, stdout, JSON_INDENT(2)) : -1;
    json_decref(json);
    if (result || putchar('\n') == EOF)
        return problem_memory(why);
    return 0;
}

/* All the views of one outcome; the texts in them are borrowed but for the points'. */
struct views {
    size_t phases_n, foreign_n, spreads_n;
    struct phase_view *phases;
    struct limit_view *limits;
    struct run_view *runs;
    char **foreign;
    struct spread *of;
    struct spread_view *spreads;
    size_t points_n;
    char **points; /* owned: JSON of each */
};

static void views_done(struct views *views)
{
    free(views->phases);
    free(views->limits);
    free(views->runs);
    free(views->foreign);
    free(views->of);
    free(views->spreads);
    for (size_t i = 0; i < views->points_n; i++)
        free(views->points[i]);
    free(views->points);
}

static int render_points(const struct runs *runs, struct views *views, struct problem *why)
{
    views->points = calloc(runs->points, sizeof *views->points);
    if (!views->points)
        return problem_memory(why);
    for (; views->points_n < runs->points; views->points_n++) {
        scoped_json json_t *json = matrix_point_json(&runs->matrix, views->points_n);
        if (!(views->points[views->points_n] = json_dumps(json, JSON_COMPACT)))
            return problem_memory(why);
    }
    return 0;
}

static void view_run(const struct run_result *result, size_t i, struct views *views)
{
    views->runs[i] = (struct run_view){ result->run, result->point, views->points[result->point],
                                        (int)result->cleanup, result->removed };
    for (size_t k = 0; k < result->phases_n; k++, views->phases_n++)
        views->phases[views->phases_n] =
            phase_view(&result->phases[k], &views->limits[views->phases_n]);
    for (size_t k = 0; k < result->foreign.n; k++)
        views->foreign[views->foreign_n++] = result->foreign.at[k];
}

static int view_all(const struct plan *plan, const struct outcome *outcome, struct views *views,
                    struct problem *why)
{
    size_t phases = 1, foreign = 1;
    for (size_t i = 0; i < outcome->n; i++) {
        phases += outcome->at[i].phases_n;
        foreign += outcome->at[i].foreign.n;
    }
    if (report_spreads(outcome, &views->of, &views->spreads_n, why) ||
        render_points(plan->runs, views, why))
        return -1;
    views->phases = calloc(phases, sizeof *views->phases);
    views->limits = calloc(phases, sizeof *views->limits);
    views->runs = calloc(outcome->n + 1, sizeof *views->runs);
    views->foreign = calloc(foreign, sizeof *views->foreign);
    views->spreads = calloc(views->spreads_n + 1, sizeof *views->spreads);
    if (!views->phases || !views->limits || !views->runs || !views->foreign || !views->spreads)
        return problem_memory(why);
    for (size_t i = 0; i < outcome->n; i++)
        view_run(&outcome->at[i], i, views);
    for (size_t i = 0; i < views->spreads_n; i++) {
        const struct spread *of = &views->of[i];
        views->spreads[i] = (struct spread_view){
            .point = of->point,
            .runs = of->n,
            .params = views->points[of->point],
            .phase = borrowed(of->phase),
            .unit = borrowed(of->unit),
            .median = of->median,
            .low = of->low,
            .high = of->high,
            .spread = spread_share(of),
        };
    }
    return 0;
}

int report_json(const struct plan *plan, const struct outcome *outcome, struct problem *why)
{
    scoped(views_done) struct views views = { 0 };
    uint64_t removed = 0;
    if (view_all(plan, outcome, &views, why))
        return -1;
    for (size_t i = 0; i < outcome->n; i++)
        removed += outcome->at[i].removed;
    struct problem_view problem = {
        .code = borrowed(problem_slug(outcome->problem.code)),
        .field = borrowed(outcome->problem.field),
        .message = borrowed(outcome->problem.message),
    };
    const struct outcome_view view = {
        .workload = borrowed(plan->runs->workload->name),
        .outcome = (int)outcome->state,
        .cleanup = (int)outcome->cleanup,
        .removed = removed,
        .cpu_ns = (uint64_t)clock_process_cpu(),
        .seed = plan->seed,
        .foreign = { views.foreign_n, views.foreign },
        .phases = { views.phases_n, views.phases },
        .runs = { outcome->n, views.runs },
        .points = { views.spreads_n, views.spreads },
        .problem = outcome->problem.code ? &problem : NULL,
    };
    return print(fields_render(outcome_fields, &view), why);
}

int report_workloads_json(struct problem *why)
{
    json_t *list = json_array();
    for (const struct workload *const *w = workload_all(); *w; w++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o}", "name", (*w)->name, "summary",
                                        (*w)->summary, "params", fields_schema((*w)->params)));
    return print(list, why);
}
