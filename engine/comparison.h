/* A phase of one run beside the same phase of another: the figures by a table, and one sentence. */
#pragma once
#include "engine/analysis/compare.h"
#include "engine/finding.h"

/* At equal load; cannot-tell when they have none in common. */
must_check int comparison_of(const struct series_kept *a, const struct series_kept *b,
                             struct comparison *ret, struct problem *why);

/* The phases that together bring a filesystem into use: create, mount, share. NULL-terminated. */
extern const char *const comparison_parts[];
enum { PARTS_MOST = 3 };
/* Those of one run, by their place in comparison_parts; NULL: it has no such phase. */
struct parts {
    struct series_kept *at[PARTS_MOST];
};
/* Whether one of them has a phase that the other has not: only all of them together tell then what it costs. */
bool parts_differ(const struct parts *a, const struct parts *b);
/* By the seconds of all of them at each load that all have. ret_phase: the first of A, named for all. */
must_check int comparison_of_parts(const struct parts *a, const struct parts *b,
                                   struct comparison *ret, struct phase_total *ret_phase,
                                   struct problem *why);

/* The runs of one side, by their rates. */
struct side {
    size_t n;
    double median, low, high; /* of what the unit says, per second; NAN: no rate is known */
};
/* Sorts the rates; those that are not known are left out. */
struct side side_of(double *rates, size_t n);
enum { SIDE_RUNS_MOST = RUNS_MOST };
/* With few runs a side, two of one run each were compared: if the runs of the sides lie within each other, that
 * verdict says nothing. */
void comparison_doubt(struct comparison *comparison, const struct side *a, const struct side *b);

enum { COMPARISON_SENTENCE = 400 };
/* "create: slower. B costs 1.12 times what A costs at equal load ...": a and b are what they are
 * called. sides: NULL, or of A and B, when there are several runs. Returns text. */
char *say_comparison(const struct phase_total *phase, const char *a, const char *b,
                     const struct comparison *comparison, const struct side sides[2],
                     char text[COMPARISON_SENTENCE]);

/* As it is answered; it borrows its texts. */
struct comparison_view {
    char *phase, *sentence;
    int verdict;
    bool small;
    double ratio, low, high, confidence, p, ratio_total, tau, p_trend, cross;
    uint64_t run, blocks;
    bool within_run;
    void *runs_a, *runs_b; /* struct side_view */
};
struct side_view {
    uint64_t runs;
    double median, low, high, spread;
};
extern const struct field comparison_fields[];
/* views: room for those of the sides; sides NULL: one run each, without. */
struct comparison_view comparison_view(const struct phase_total *phase,
                                       const struct comparison *comparison, const char *sentence,
                                       const struct side sides[2], struct side_view views[2]);
