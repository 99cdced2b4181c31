/* A phase of one run beside the same phase of another: the figures by a table, and one sentence. */
#pragma once
#include "engine/analysis/compare.h"
#include "engine/finding.h"

/* At equal load; cannot-tell when they have none in common. */
must_check int comparison_of(const struct series_kept *a, const struct series_kept *b,
                             struct comparison *ret, struct problem *why);

enum { COMPARISON_SENTENCE = 400 };
/* "create: slower. B costs 1.12 times what A costs at equal load ...": a and b are what they are
 * called. Returns text. */
char *say_comparison(const struct phase_total *phase, const char *a, const char *b,
                     const struct comparison *comparison, char text[COMPARISON_SENTENCE]);

/* As it is answered; it borrows its texts. */
struct comparison_view {
    char *phase, *sentence;
    int verdict;
    bool small;
    double ratio, low, high, confidence, p, ratio_total, tau, p_trend, cross;
    uint64_t run, blocks;
};
extern const struct field comparison_fields[];
struct comparison_view comparison_view(const struct phase_total *phase,
                                       const struct comparison *comparison, const char *sentence);
