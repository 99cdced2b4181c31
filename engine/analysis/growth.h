/* By which law the cost of one more grows with the load (ANALYSIS 7): a + b f(n), a and b not negative,
 * fitted to relative errors. */
#pragma once
#include "engine/analysis/series.h"

#define GROWTH_CLASSES(X)     \
    X(CONSTANT, "constant")   \
    X(LOG, "log")             \
    X(SQRT, "sqrt")           \
    X(LINEAR, "linear")       \
    X(NLOGN, "nlogn")         \
    X(QUADRATIC, "quadratic") \
    X(CUBIC, "cubic")         \
    X(UNCLASSIFIED, "unclassified")

enum growth_class {
#define X(code, name) GROWTH_##code,
    GROWTH_CLASSES(X)
#undef X
};
enum { GROWTH_LAWS = GROWTH_UNCLASSIFIED };
extern const char *const growth_classes[];

struct growth {
    bool known; /* false: fewer than four points */
    enum growth_class class;
    double exponent, low, high; /* p of a + b n^p, and its 95 % interval; 0 when constant */
    double factor;              /* fitted cost at the end over that at the start */
    double a, b;                /* of the class: cost = a + b f(n) */
    unsigned plausible;         /* bits of enum growth_class: within 6 of BIC */
    bool low_confidence;        /* fewer than 12 points */
};

/* x rising and positive, cost positive, n of each; what is zero or less is left out. */
void growth_of(const double *x, const double *cost, size_t n, double *scratch, struct growth *ret);
