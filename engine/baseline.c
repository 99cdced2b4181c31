#include "engine/baseline.h"

#include "engine/analysis/numeric.h"
#include "engine/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHORTEST = 3, BEFORE_LEAST = 5, SIDE_MOST = 40 };
static const double unlikely = 3; /* standard deviations, beyond which one run is suspected */

#define X(code, name) name,
const char *const baseline_figures[] = { BASELINE_FIGURES(X) NULL };
#undef X
const char *const baseline_directions[] = { "worse", "lower", "higher", "both", NULL };

/* What its load counts: bytes for those that move data. */
static bool counts_bytes(const struct baseline_run *run)
{
    return strcmp(run->unit, "bytes") == 0;
}

double baseline_value(int figure, const struct baseline_run *run)
{
    double value = 0, load = counts_bytes(run) ? run->bytes : run->ops;
    switch (figure) {
    case FIGURE_RATE:
        value = load / run->seconds;
        break;
    case FIGURE_RATE_WITH_FLUSH:
        value = run->flush > 0 ? load / (run->seconds + run->flush) : 0;
        break;
    case FIGURE_BYTES:
        value = run->bytes / run->seconds;
        break;
    case FIGURE_SECONDS:
        value = run->seconds;
        break;
    default:
        value = run->latency[figure - FIGURE_P50];
    }
    return isfinite(value) && value > 0 ? value : NAN;
}

char *baseline_unit(int figure, const struct baseline_run *run, char text[40])
{
    if (figure == FIGURE_RATE || figure == FIGURE_RATE_WITH_FLUSH)
        snprintf(text, 40, "%s/s", run->unit);
    else
        snprintf(text, 40, "%s",
                 figure == FIGURE_BYTES     ? "bytes/s"
                 : figure == FIGURE_SECONDS ? "s"
                                            : "ns");
    return text;
}

static bool is_worse(const struct baseline_rule *rule, double effect)
{
    bool rate = rule->figure <= FIGURE_BYTES;
    bool lower = rule->direction == DIRECTION_LOWER || rule->direction == DIRECTION_BOTH ||
                 (rule->direction == DIRECTION_WORSE && rate);
    bool higher = rule->direction == DIRECTION_HIGHER || rule->direction == DIRECTION_BOTH ||
                  (rule->direction == DIRECTION_WORSE && !rate);
    return fabs(effect) >= rule->minimum_effect &&
           ((lower && effect < 0) || (higher && effect > 0));
}

/* The last run against those before it at its level, in standard deviations of their steps. */
static void suspect_last(const struct baseline_rule *rule, const double *values, size_t all,
                         struct baseline_history *h)
{
    const struct baseline_level *level = &h->at[h->n - 1];
    double v[SIDE_MOST], step[SIDE_MOST], scratch[SIDE_MOST];
    size_t n = level->n - 1 < SIDE_MOST ? level->n - 1 : SIDE_MOST;
    if (level->n < BEFORE_LEAST + 1)
        return;
    size_t last = all - 1;
    for (size_t i = 0; i < n; i++)
        v[i] = log(values[last - n + i]);
    for (size_t i = 0; i + 1 < n; i++)
        step[i] = fabs(v[i + 1] - v[i]);
    double usual = median_of(v, n, scratch);
    double spread = median_of(step, n - 1, scratch) / 0.6745 / sqrt(2);
    double off = log(values[last]) - usual;
    if (fabs(off) <= unlikely * spread || !is_worse(rule, exp(off) - 1))
        return;
    h->suspect = true;
    h->suspect_effect = exp(off) - 1;
}

/* Where the last level is short, the least length of a level may have given it a run that belongs to the one
 * before. Returns where it really begins. */
static size_t begins(const double *values, size_t before, size_t from, size_t n)
{
    double scratch[HISTORY_MOST];
    double old = log(median_of(values + before, from - before, scratch));
    double new = log(median_of(values + from, n - from, scratch));
    while (from < n && fabs(log(values[from]) - old) < fabs(log(values[from]) - new))
        from++;
    return from;
}

void baseline_judge(const struct baseline_rule *rule, const struct baseline_run *runs, size_t n,
                    struct baseline_history *ret)
{
    double values[HISTORY_MOST], scratch[HISTORY_MOST];
    struct change changes[CHANGES_MOST];
    size_t skipped = n > HISTORY_MOST ? n - HISTORY_MOST : 0;
    *ret = (struct baseline_history){ .suspect_effect = NAN };
    runs += skipped;
    n -= skipped;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        values[i] = runs[i].value;
    size_t found = history_changes(values, n, changes);
    if (found) {
        struct change *last = &changes[found - 1];
        last->at = begins(values, found > 1 ? last[-1].at : 0, last->at, n);
        found -= n - last->at < SHORTEST; /* not yet a level */
    }
    ret->n = found + 1;
    for (size_t k = 0; k < ret->n; k++) {
        size_t from = k ? changes[k - 1].at : 0, end = k + 1 < ret->n ? changes[k].at : n;
        double effect = k ? changes[k - 1].effect : NAN;
        ret->at[k] =
            (struct baseline_level){ .from = from + skipped,
                                     .n = end - from,
                                     .level = median_of(values + from, end - from, scratch),
                                     .effect = effect,
                                     .p = k ? changes[k - 1].p : NAN,
                                     .regression = k > 0 && is_worse(rule, effect) };
    }
    for (size_t i = n > SHORTEST ? n - SHORTEST : 0; i < n; i++)
        if (runs[i].confirms)
            return;
    suspect_last(rule, values, n, ret);
}

bool baseline_returned(const struct baseline_rule *rule, const struct baseline_run *runs, size_t n,
                       double before, double effect)
{
    if (n < SHORTEST)
        return false;
    for (size_t i = n - SHORTEST; i < n; i++) {
        double now = runs[i].value / before - 1;
        if (fabs(now) >= rule->minimum_effect && (now > 0) == (effect > 0))
            return false;
    }
    return true;
}

/* --- words --- */

static void printf_like(2, 3) say(char text[BASELINE_SENTENCE], const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + used, BASELINE_SENTENCE - used, fmt, ap);
    va_end(ap);
}

static const char *const names[] = {
    [FIGURE_RATE] = "the rate",
    [FIGURE_RATE_WITH_FLUSH] = "the rate with the flush",
    [FIGURE_BYTES] = "the throughput",
    [FIGURE_SECONDS] = "the time of the phase",
    [FIGURE_P50] = "the median time of an operation",
    [FIGURE_P90] = "the time that 90 % of the operations stay under",
    [FIGURE_P99] = "the time that 99 % of the operations stay under",
    [FIGURE_P999] = "the time that 99.9 % of the operations stay under",
    [FIGURE_MAX] = "the longest operation's time",
};

static void say_value(int figure, const struct baseline_run *run, double value,
                      char text[BASELINE_SENTENCE])
{
    char figures[WORDS];
    if (figure <= FIGURE_RATE_WITH_FLUSH && !counts_bytes(run))
        say(text, "%s %s per second", words_digits(value, figures), run->unit);
    else if (figure <= FIGURE_BYTES)
        say(text, "%s per second", words_bytes(value, figures));
    else
        say(text, "%s", words_seconds(figure == FIGURE_SECONDS ? value : value / 1e9, figures));
}

static void say_runs(const char *before, size_t n, const char *after, char text[BASELINE_SENTENCE])
{
    say(text, "%s%zu run%s%s", before, n, n == 1 ? "" : "s", after);
}

char *say_regression(int figure, const char *phase, const char *place,
                     const struct baseline_run *runs, const struct baseline_history *history,
                     size_t k, char text[BASELINE_SENTENCE])
{
    const struct baseline_level *now = &history->at[k], *before = &history->at[k - 1];
    const struct baseline_run *first = &runs[now->from];
    char effect[WORDS];
    size_t disturbed = 0;
    for (size_t i = now->from; i < now->from + now->n; i++)
        disturbed += runs[i].disturbed;
    text[0] = '\0';
    say(text, "%s%s%s: %s is ", phase, *place ? " on " : "", place, names[figure]);
    say_value(figure, first, now->level, text);
    say(text, " since job %lld, %s %s than the ", (long long)first->job,
        words_percent(fabs(now->effect), effect), now->effect < 0 ? "less" : "more");
    say_value(figure, first, before->level, text);
    say_runs(" before it (", now->n, " since", text);
    say_runs(", ", before->n, " before", text);
    say(text, ", p = %.2g).", now->p);
    if (disturbed)
        say_runs(" Other work had the CPUs during ", disturbed, " of them.", text);
    return text;
}

char *say_suspect(int figure, const char *phase, const struct baseline_run *run,
                  const struct baseline_history *history, char text[BASELINE_SENTENCE])
{
    char effect[WORDS];
    text[0] = '\0';
    say(text, "Repeats job %lld to see whether it was chance: in %s, %s was ", (long long)run->job,
        phase, names[figure]);
    say_value(figure, run, run->value, text);
    say(text, ", %s %s than usual", words_percent(fabs(history->suspect_effect), effect),
        history->suspect_effect < 0 ? "less" : "more");
    return text;
}
