#include "engine/cli/report.h"

#include "engine/base/field_json.h"
#include "engine/spread.h"
#include "engine/words.h"

#include <math.h>

#define PROGRESS_EVERY (2 * NSEC_PER_SEC) /* where each is a line of its own */

enum { TEXT = 48 };

/* 1,750,000 */
static const char *grouped(char text[TEXT], uint64_t value)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value), at = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
    return text;
}

static const char *rate_text(char text[TEXT], double rate)
{
    if (rate >= 100)
        return grouped(text, (uint64_t)llround(rate));
    snprintf(text, TEXT, "%.2f", rate);
    return text;
}

static const char *short_time(char text[TEXT], nsec value)
{
    static const struct {
        nsec least;
        double unit;
        const char *name;
    } units[] = { { NSEC_PER_SEC, 1e9, "s" }, { NSEC_PER_MSEC, 1e6, "ms" }, { 1000, 1e3, "us" } };
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (value >= units[i].least) {
            snprintf(text, TEXT, "%.3g %s", (double)value / units[i].unit, units[i].name);
            return text;
        }
    snprintf(text, TEXT, "%lld ns", (long long)value);
    return text;
}

static double rate_of(const struct phase_total *phase)
{
    double rate = phase_rate(phase);
    return isfinite(rate) ? rate : 0;
}

static bool in_bytes(const char *unit)
{
    return strcmp(unit, "bytes") == 0;
}

/* Bytes in the unit that fits, all else as it counts. */
static const char *amount_text(char text[TEXT], uint64_t value, const char *unit)
{
    return in_bytes(unit) ? words_bytes((double)value, text) : grouped(text, value);
}

static const char *per_second_text(char text[TEXT], double rate, const char *unit)
{
    return in_bytes(unit) ? words_rate(rate, unit, text) : rate_text(text, rate);
}

/* --- progress --- */

void progress_show(void *arg, const struct phase_total *phase)
{
    struct progress *progress = arg;
    nsec now = clock_monotonic();
    char done[TEXT], total[TEXT];
    if (!progress->tty && !phase->finished && now - progress->shown < PROGRESS_EVERY)
        return;
    if (!progress->tty && phase->finished)
        return; /* the table says it */
    progress->shown = now;
    uint64_t load = phase_load(phase);
    fprintf(stderr, "%s%-7s %s of %s, %.0f %%%s", progress->tty ? "\r\033[K" : "", phase->name,
            amount_text(done, load, phase->unit),
            words_load((double)phase->total, phase->unit, total),
            phase->total ? 100.0 * (double)load / (double)phase->total : 100.0,
            progress->tty ? "" : "\n");
}

void progress_done(struct progress *progress)
{
    if (progress->tty && progress->shown)
        fputs("\r\033[K", stderr);
}

/* --- the table --- */

static void table_head(const char *unit, const char *flush)
{
    printf("%-13s %14s %10s %14s", "phase", in_bytes(unit) ? "moved" : unit, "seconds", "per s");
    if (in_bytes(unit))
        printf(" %10s", "IOPS");
    printf(" %10s %10s %10s %10s\n", "median", "99 %", "longest", flush);
}

static void table_row(const struct phase_total *phase)
{
    char done[TEXT], rate[TEXT], p50[TEXT], p99[TEXT], max[TEXT];
    char flush[TEXT] = "";
    bool timed = phase->latency.count > 0; /* not when it did nothing, or broke off */
    double seconds = phase_seconds(phase);
    if (phase->flush > 0)
        short_time(flush, phase->flush);
    printf("%-13s %14s %10.3f %14s", phase->name, amount_text(done, phase_load(phase), phase->unit),
           seconds, phase->at_load ? "" : per_second_text(rate, rate_of(phase), phase->unit));
    if (in_bytes(phase->unit))
        printf(" %10s", rate_text(rate, seconds > 0 ? (double)phase->ops / seconds : 0));
    printf(" %10s %10s %10s %10s\n", timed ? short_time(p50, phase->latency.p50) : "-",
           timed ? short_time(p99, phase->latency.p99) : "-",
           timed ? short_time(max, phase->latency.max) : "-", flush);
}

/* What the rows do not show. */
static void say_more(const struct phase_total *phase)
{
    char first[TEXT], time[TEXT], in[TEXT];
    if (phase->lanes > 1 && isfinite(phase_first_rate(phase)) && in_bytes(phase->unit))
        printf("\nPhase %s: until the first lane had nothing left, %s; until the last, %s.",
               phase->name, words_rate(phase_first_rate(phase), phase->unit, first),
               words_rate(rate_of(phase), phase->unit, in));
    if (phase->sync > 0)
        printf("\nPhase %s: %s of its time went into making data stable.", phase->name,
               short_time(time, phase->sync));
    if (phase->paced)
        printf("\nPhase %s: its rate was bounded; latencies count from when an operation was due.",
               phase->name);
    if (phase->resident)
        printf("\nPhase %s: %s of what it read were in memory before: this measured memory.",
               phase->name, words_bytes((double)phase->resident, in));
}

static void say_limits(const struct phase_total *phases, size_t n)
{
    char at[TEXT];
    for (size_t i = 0; i < n; i++)
        if (phases[i].limit.reached)
            printf("\nLimit %s: phase %s ended at %s; %s.\n", limit_reasons[phases[i].limit.reason],
                   phases[i].name, words_load((double)phases[i].limit.at, phases[i].unit, at),
                   phases[i].limit.detail);
}

static void say_rate(const struct plan *plan, const struct phase_total *phase)
{
    char done[TEXT], rate[TEXT];
    bool bytes = in_bytes(phase->unit);
    printf("\n%s: %s%s%s in %.2f s, %s%s%s%s%s.\n", plan->runs->workload->name,
           amount_text(done, phase_load(phase), phase->unit), bytes ? "" : " ",
           bytes ? " written" : phase->unit, phase_seconds(phase),
           per_second_text(rate, rate_of(phase), phase->unit), bytes ? "" : " ",
           bytes ? "" : phase->unit, bytes ? "" : "/s",
           !plan->null ? "" : " that nothing was done for (null target)");
}

static void say_left(const struct run_result *result)
{
    if (result->cleanup == CLEANUP_KEPT)
        printf("\nIts files are kept in %s.\n", result->path ? result->path : "the target");
    if (result->cleanup != CLEANUP_BLOCKED)
        return;
    printf("\n%s was not emptied.",
           result->path ? result->path : "The target, if the run made anything there,");
    for (size_t i = 0; i < result->foreign.n; i++)
        printf("%s %s", i ? "," : " Not of this run:", result->foreign.at[i]);
    puts("");
}

static void table_of_one(const struct plan *plan, const struct run_result *result)
{
    const struct phase_total *phases = result->phases;
    size_t n = result->phases_n;
    if (n == 0)
        return;
    table_head(phases[0].unit, !plan->null ? "flush" : "");
    for (size_t i = 0; i < n; i++)
        table_row(&phases[i]);
    for (size_t i = 0; i < n; i++)
        say_more(&phases[i]);
    if (in_bytes(phases[0].unit))
        puts("");
    say_limits(phases, n);
    say_rate(plan, &phases[n > 1 && phases[0].total == 1]); /* the making of a parent is not it */
}

/* --- the tables of several runs --- */

enum { POINT = 120 };

/* How wide the points' words are. */
static int point_width(const struct runs *runs)
{
    char words[POINT];
    size_t width = strlen("point");
    for (uint64_t i = 0; i < runs->points; i++) {
        size_t n = strlen(runs_words(runs, i, words, sizeof words));
        width = n > width ? n : width;
    }
    return (int)width;
}

static void table_of_runs(const struct plan *plan, const struct outcome *outcome, int width)
{
    char words[POINT];
    printf("%-4s %-*s ", "run", width, "point");
    table_head(outcome->at[0].phases_n ? outcome->at[0].phases[0].unit : "",
               !plan->null ? "flush" : "");
    for (size_t i = 0; i < outcome->n; i++) {
        const struct run_result *result = &outcome->at[i];
        for (size_t k = 0; k < result->phases_n; k++) {
            printf("%-4u %-*s ", result->run, width,
                   runs_words(plan->runs, result->point, words, sizeof words));
            table_row(&result->phases[k]);
        }
    }
    for (size_t i = 0; i < outcome->n; i++)
        say_limits(outcome->at[i].phases, outcome->at[i].phases_n);
}

static int spreads(const struct outcome *outcome, struct spread **ret, size_t *ret_n,
                   struct problem *why)
{
    scoped_free struct run_rates *rates = calloc(outcome->n + 1, sizeof *rates);
    if (!rates)
        return problem_memory(why);
    for (size_t i = 0; i < outcome->n; i++)
        rates[i] = (struct run_rates){ .point = outcome->at[i].point,
                                       .phases_n = outcome->at[i].phases_n,
                                       .phases = outcome->at[i].phases };
    return spreads_of(rates, outcome->n, ret, ret_n, why);
}

static void table_of_points(const struct plan *plan, const struct outcome *outcome, int width)
{
    struct problem why = { 0 };
    scoped_free struct spread *of = NULL;
    size_t n = 0;
    if (spreads(outcome, &of, &n, &why))
        return;
    printf("\n%-*s %-13s %5s %14s %14s %14s %8s\n", width, width ? "point" : "", "phase", "runs",
           "per s", "lowest", "highest", "spread");
    for (size_t i = 0; i < n; i++) {
        char words[POINT], median[TEXT], low[TEXT], high[TEXT], share[TEXT] = "-";
        if (of[i].n > 1)
            snprintf(share, sizeof share, "%.1f %%", 100 * spread_share(&of[i]));
        printf("%-*s %-13s %5zu %14s %14s %14s %8s\n", width,
               runs_words(plan->runs, of[i].point, words, sizeof words), of[i].phase, of[i].n,
               per_second_text(median, of[i].median, of[i].unit),
               per_second_text(low, of[i].low, of[i].unit),
               per_second_text(high, of[i].high, of[i].unit), share);
    }
    printf("\n%s: %zu of %u runs of %llu %s, in the order of seed %llu; per s is the median.\n",
           plan->runs->workload->name, outcome->n, plan->runs->n,
           (unsigned long long)plan->runs->points, plan->runs->points == 1 ? "point" : "points",
           (unsigned long long)plan->seed);
}

/* A folder is measured by the same words as what it is a yardstick for. */
static void say_what_they_are(const struct plan *plan, const struct outcome *outcome)
{
    const struct run_result *first = outcome->at;
    if (!plan->null && plan->target->kind == TARGET_DIRECTORY && outcome->n && first->phases_n &&
        strcmp(first->phases[0].unit, "filesystems") == 0)
        puts("These were directories; --on btrfs:DIR, mkfs:DIR or zfs:DATASET makes filesystems.");
}

void report_table(const struct plan *plan, const struct outcome *outcome)
{
    if (plan->runs->n == 1 && outcome->n) {
        table_of_one(plan, &outcome->at[0]);
    } else if (outcome->n) {
        int width = point_width(plan->runs);
        table_of_runs(plan, outcome, width);
        table_of_points(plan, outcome, width);
    }
    say_what_they_are(plan, outcome);
    for (size_t i = 0; i < outcome->n; i++)
        say_left(&outcome->at[i]);
}

/* --- JSON, by field tables --- */

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
        .rate = rate_of(phase),
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
    if (spreads(outcome, &views->of, &views->spreads_n, why) ||
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

/* --- workloads --- */

static void show_field(const struct field *f, const void *presets)
{
    char preset[128] = "";
    if (!f->required && field_format(f, presets, preset, sizeof preset) != 0)
        preset[0] = 0;
    printf("  %-21s %s", f->name, f->doc);
    if (preset[0])
        printf(" Default: %s.", preset);
    for (const char *const *c = f->choices; c && *c; c++)
        printf("%s%s", c == f->choices ? " One of: " : ", ", *c);
    puts(f->choices ? "." : "");
}

void report_workloads(void)
{
    for (const struct workload *const *w = workload_all(); *w; w++) {
        struct problem why = { 0 };
        scoped_free void *presets = calloc(1, (*w)->params_size);
        printf("%s%s\n  %s\n", w == workload_all() ? "" : "\n", (*w)->name, (*w)->summary);
        if (!presets || fields_preset((*w)->params, presets, &why))
            continue;
        for (const struct field *f = (*w)->params; f->type; f++)
            show_field(f, presets);
        fields_done((*w)->params, presets);
    }
    puts("\nSizes are in bytes or such as 8KiB (8192) or 8KB (8000), times in seconds or such as "
         "250ms or 1h30m.");
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
