#include "engine/comparison.h"

#include "engine/words.h"

#include <math.h>
#include <stdarg.h>

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

char *say_comparison(const struct phase_total *phase, const char *a, const char *b,
                     const struct comparison *c, char text[COMPARISON_SENTENCE])
{
    char ratio[WORDS], low[WORDS], high[WORDS], confidence[WORDS];
    text[0] = '\0';
    say(text, "%s: ", phase->name);
    if (c->blocks == 0) {
        say(text, "cannot tell; %s and %s have no load in common.", a, b);
        return text;
    }
    say_verdict(b, phase, c, text);
    say(text, "%s times what %s costs at equal load", words_digits(c->ratio, ratio), a);
    if (c->blocks == 1)
        say(text, ", by one measurement each.");
    else
        say(text, " (%s: %s to %s), by %zu stretches of one run each.",
            words_percent(c->confidence, confidence), words_digits(c->low, low),
            words_digits(c->high, high), c->blocks);
    return text;
}

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
    FIELD_COUNT(struct comparison_view, blocks, "Stretches of equal load compared."),
    FIELD_END,
};

struct comparison_view comparison_view(const struct phase_total *phase, const struct comparison *c,
                                       const char *sentence)
{
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
    };
}
