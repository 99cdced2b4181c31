#include "engine/cli/report.h"

#include "engine/base/field.h"
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

double report_rate(const struct phase_total *phase)
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
           seconds, phase->at_load ? "" : per_second_text(rate, report_rate(phase), phase->unit));
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
               words_rate(report_rate(phase), phase->unit, in));
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
           per_second_text(rate, report_rate(phase), phase->unit), bytes ? "" : " ",
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

int report_spreads(const struct outcome *outcome, struct spread **ret, size_t *ret_n,
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
    if (report_spreads(outcome, &of, &n, &why))
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
