#include "engine/comparison.h"

#include "engine/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

int comparison_of(const struct series_kept *a, const struct series_kept *b, struct comparison *ret,
                  struct problem *why)
{
    size_t na = series_kept_n(a), nb = series_kept_n(b);
    scoped_free double *room = calloc(2 * (na + nb) + 1, sizeof *room);
    if (!room)
        return problem_memory(why);
    double *at = room;
    struct batches x = { series_kept_batches(a, at, at + na), 0, at, at + na, false };
    at += 2 * na;
    struct batches y = { series_kept_batches(b, at, at + nb), 0, at, at + nb, false };
    compare_within(&x, &y, ret);
    return 0;
}

const char *const comparison_parts[] = { "create", "mount", "share", NULL };

bool parts_differ(const struct parts *a, const struct parts *b)
{
    bool differ = false;
    for (size_t i = 0; i < PARTS_MOST; i++)
        differ = differ || !a->at[i] != !b->at[i];
    return differ && a->at[0] && b->at[0];
}

/* Adds what another phase took at the same loads; loads that it has not are dropped. Both rise. */
static size_t add_part(double *load, double *seconds, size_t n, const double *more_load,
                       const double *more_seconds, size_t more)
{
    size_t kept = 0, k = 0;
    for (size_t i = 0; i < n; i++) {
        while (k < more && more_load[k] < load[i])
            k++;
        if (k == more || more_load[k] > load[i])
            continue;
        load[kept] = load[i];
        seconds[kept++] = seconds[i] + more_seconds[k];
    }
    return kept;
}

/* Its batches; *room is the caller's to free, and holds them. */
static int sum_parts(const struct parts *parts, double **room, struct batches *ret,
                     struct problem *why)
{
    size_t most = 0;
    for (size_t i = 0; i < PARTS_MOST; i++)
        if (parts->at[i] && series_kept_n(parts->at[i]) > most)
            most = series_kept_n(parts->at[i]);
    double *load = *room = calloc(4 * most + 1, sizeof *load);
    if (!load)
        return problem_memory(why);
    double *seconds = load + most, *more_load = seconds + most, *more_seconds = more_load + most;
    size_t n = series_kept_batches(parts->at[0], load, seconds);
    for (size_t i = 1; i < PARTS_MOST; i++)
        if (parts->at[i])
            n = add_part(load, seconds, n, more_load, more_seconds,
                         series_kept_batches(parts->at[i], more_load, more_seconds));
    *ret = (struct batches){ n, 0, load, seconds, false };
    return 0;
}

int comparison_of_parts(const struct parts *a, const struct parts *b, struct comparison *ret,
                        struct phase_total *ret_phase, struct problem *why)
{
    scoped_free double *room_a = NULL, *room_b = NULL;
    struct batches x, y;
    if (sum_parts(a, &room_a, &x, why) || sum_parts(b, &room_b, &y, why))
        return -1;
    compare_within(&x, &y, ret);
    *ret_phase = *series_kept_phase(a->at[0]);
    snprintf(ret_phase->name, sizeof ret_phase->name, "%s%s%s", comparison_parts[0],
             a->at[1] || b->at[1] ? "+mount" : "", a->at[2] || b->at[2] ? "+share" : "");
    return 0;
}

/* Like finding_words.c's: one that does not fit would be a defect of ours. */
static void printf_like(2, 3) say(char text[COMPARISON_SENTENCE], const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + used, COMPARISON_SENTENCE - used, fmt, ap);
    va_end(ap);
}

static void say_verdict(const char *b, const struct phase_total *phase, const struct comparison *c,
                        char text[COMPARISON_SENTENCE])
{
    char at[WORDS];
    say(text, "%s%s", c->verdict == VERDICT_CANNOT_TELL ? "cannot tell" : verdicts[c->verdict],
        c->small ? ", perhaps by less than 5 %" : "");
    if (!isnan(c->cross)) /* one word would hide it */
        say(text, "; the ratio %s with the load and passes 1 near %s",
            c->tau > 0 ? "rises" : "falls", words_load(c->cross, phase->unit, at));
    say(text, ". %s costs ", b);
}

static void say_side(const char *name, const struct side *side, const char *unit,
                     char text[COMPARISON_SENTENCE])
{
    char low[WORDS], high[WORDS];
    if (side->n == 1)
        say(text, " of %s there is one", name);
    else
        say(text, " those of %s lie between %s and %s", name, words_rate(side->low, unit, low),
            words_rate(side->high, unit, high));
}

/* How far the runs lie apart, which no average shows. */
static void say_sides(const struct phase_total *phase, const char *a, const char *b,
                      const struct side sides[2], char text[COMPARISON_SENTENCE])
{
    if (!sides || sides[0].n + sides[1].n <= 2)
        return;
    say(text, " Of the runs,");
    say_side(a, &sides[0], phase->unit, text);
    say(text, ",");
    say_side(b, &sides[1], phase->unit, text);
    say(text, ".");
}

char *say_comparison(const struct phase_total *phase, const char *a, const char *b,
                     const struct comparison *c, const struct side sides[2],
                     char text[COMPARISON_SENTENCE])
{
    char ratio[WORDS], low[WORDS], high[WORDS], confidence[WORDS];
    bool runs = c->runs_a > 0;
    text[0] = '\0';
    say(text, "%s: ", phase->name);
    if (c->blocks == 0 && !runs) {
        say(text, "cannot tell; %s and %s have no load in common.", a, b);
        return text;
    }
    say_verdict(b, phase, c, text);
    say(text, "%s times what %s costs%s", words_digits(c->ratio, ratio), a,
        runs ? "" : " at equal load");
    if (c->blocks == 1 && !runs) {
        say(text, ", by one measurement each.");
    } else {
        say(text, " (%s: %s to %s), by ", words_percent(c->confidence, confidence),
            words_digits(c->low, low), words_digits(c->high, high));
        if (runs)
            say(text, "whole runs, %zu against %zu.", c->runs_b, c->runs_a);
        else
            say(text, "%zu stretches of one run each.", c->blocks);
    }
    say_sides(phase, a, b, sides, text);
    return text;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct side side_of(double *rates, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(rates[i]) && rates[i] > 0)
            rates[kept++] = rates[i];
    qsort(rates, kept, sizeof *rates, by_size);
    if (kept == 0)
        return (struct side){ .median = NAN, .low = NAN, .high = NAN };
    return (struct side){ .n = kept,
                          .median = kept % 2 ? rates[kept / 2]
                                             : (rates[kept / 2 - 1] + rates[kept / 2]) / 2,
                          .low = rates[0],
                          .high = rates[kept - 1] };
}

void comparison_doubt(struct comparison *c, const struct side *a, const struct side *b)
{
    if (a->n + b->n <= 2 || !(a->low <= b->high && b->low <= a->high) || c->verdict == VERDICT_SAME)
        return;
    c->verdict = VERDICT_CANNOT_TELL;
    c->small = false;
}

static const struct field side_fields[] = {
    FIELD_COUNT(struct side_view, runs, "How many there are."),
    FIELD_NUMBER(struct side_view, median, "Of their rates, per second."),
    FIELD_NUMBER(struct side_view, low, "The lowest."),
    FIELD_NUMBER(struct side_view, high, "The highest."),
    FIELD_NUMBER(struct side_view, spread, "(high - low) / median; null: of one run."),
    FIELD_END,
};

const struct field comparison_fields[] = {
    FIELD_TEXT(struct comparison_view, phase, "The phase that both have."),
    FIELD_COUNT(struct comparison_view, run, "The pass through the phases."),
    FIELD_CHOICE(struct comparison_view, verdict, "Of B against A.", .choices = verdicts),
    FIELD_BOOL(struct comparison_view, small, "It may be under 5 %."),
    FIELD_TEXT(struct comparison_view, sentence, "The same in words."),
    FIELD_NUMBER(struct comparison_view, ratio, "Cost of B over cost of A at equal load."),
    FIELD_NUMBER(struct comparison_view, low, "Its interval."),
    FIELD_NUMBER(struct comparison_view, high, "Its interval's upper end."),
    FIELD_NUMBER(struct comparison_view, confidence, "What the interval attains."),
    FIELD_NUMBER(struct comparison_view, p, "Two-sided, of no difference."),
    FIELD_NUMBER(struct comparison_view, ratio_total, "Seconds of B over seconds of A."),
    FIELD_NUMBER(struct comparison_view, tau, "Trend of the ratio over load."),
    FIELD_NUMBER(struct comparison_view, p_trend, "Of no trend."),
    FIELD_NUMBER(struct comparison_view, cross, "Load where the ratio passes 1; null: nowhere."),
    FIELD_COUNT(struct comparison_view, blocks,
                "Stretches of equal load compared; 0 where whole runs were."),
    FIELD_BOOL(struct comparison_view, within_run,
               "One run of each side was compared: the confidence says nothing of how runs differ. "
               "From four runs a side on, whole runs are."),
    FIELD_OBJECT(struct comparison_view, runs_a, "The runs of A.", .of = side_fields,
                 .of_size = sizeof(struct side_view)),
    FIELD_OBJECT(struct comparison_view, runs_b, "The runs of B.", .of = side_fields,
                 .of_size = sizeof(struct side_view)),
    FIELD_END,
};

static struct side_view view_side(const struct side *side)
{
    return (struct side_view){ .runs = side->n,
                               .median = side->median,
                               .low = side->low,
                               .high = side->high,
                               .spread =
                                   side->n > 1 ? (side->high - side->low) / side->median : NAN };
}

struct comparison_view comparison_view(const struct phase_total *phase, const struct comparison *c,
                                       const char *sentence, const struct side sides[2],
                                       struct side_view views[2])
{
    for (size_t i = 0; sides && i < 2; i++)
        views[i] = view_side(&sides[i]);
    return (struct comparison_view){
        .phase = (char *)(uintptr_t)phase->name, /* tables want char *; rendering only reads */
        .sentence = (char *)(uintptr_t)sentence,
        .verdict = (int)c->verdict,
        .small = c->small,
        .ratio = c->ratio,
        .low = c->low,
        .high = c->high,
        .confidence = c->confidence,
        .p = c->p,
        .ratio_total = c->ratio_total,
        .tau = c->tau,
        .p_trend = c->p_trend,
        .cross = c->cross,
        .run = phase->run,
        .blocks = c->blocks,
        .within_run = c->runs_a == 0,
        .runs_a = sides ? &views[0] : NULL,
        .runs_b = sides ? &views[1] : NULL,
    };
}
