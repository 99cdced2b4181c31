/* Whether B costs more than A (ANALYSIS 9): matched loads within one run each, or whole runs. */
#pragma once
#include "engine/analysis/series.h"

#define VERDICTS(X)               \
    X(CANNOT_TELL, "cannot-tell") \
    X(SAME, "same")               \
    X(SLOWER, "slower")           \
    X(FASTER, "faster")

enum verdict {
#define X(code, name) VERDICT_##code,
    VERDICTS(X)
#undef X
};
extern const char *const verdicts[];

struct comparison {
    enum verdict verdict;
    bool small;              /* slower or faster, and perhaps by less than 5 % */
    double ratio, low, high; /* cost of B over cost of A at equal load, and its interval */
    double confidence;       /* that the interval attains */
    double p;                /* two-sided, exact up to 50 blocks */
    double ratio_total;      /* seconds of B over seconds of A, over the common range */
    double tau, p_trend;     /* Kendall's, of the ratio over load */
    double cross;            /* load where the ratio passes 1; NAN: it does not, or no trend */
    size_t blocks;
    bool within_run;       /* one run a side: says nothing of how runs differ */
    size_t runs_a, runs_b; /* what was compared instead, when it is not within_run */
};

/* One run a side. scratch: none. Returns cannot-tell when there is no common range. */
void compare_within(const struct batches *a, const struct batches *b, struct comparison *ret);

enum { RUNS_MOST = 20 };
/* Whole runs, by their rates, from two runs a side on; four a side and more are needed for a verdict.
 * ratio is rate of B over rate of A here, with low and high. */
struct run_comparison {
    double ratio, low, high, confidence, p;
    bool enough;
};
void compare_runs(const double *a, size_t na, const double *b, size_t nb, double confidence,
                  struct run_comparison *ret);
/* The same as costs of B over A, with a verdict from four runs a side on; the first RUNS_MOST of each side
 * count. */
void compare_costs_of_runs(const double *a, size_t na, const double *b, size_t nb,
                           struct comparison *ret);
/* Mann-Whitney's exact two-sided p for U of n against m without ties; by the normal approximation
 * with ties or when either is above RUNS_MOST. */
double mann_whitney_p(const double *a, size_t na, const double *b, size_t nb);
