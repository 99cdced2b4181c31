/* Noise of which nothing should be concluded: families of a constant law, and laws that grow smoothly. */
#pragma once
#include "engine/base/attr.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* splitmix64 and Box-Muller: the same series on every machine. */
struct noise {
    uint64_t state;
    double last; /* of the autoregressive noise */
    double next_spike;
};

static inline double uniform(struct noise *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double normal(struct noise *r)
{
    double u = uniform(r);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * uniform(r));
}

static inline double autoregressive(struct noise *r, size_t i, double phi)
{
    double fresh = normal(r);
    r->last = i == 0 ? fresh : phi * r->last + sqrt(1 - phi * phi) * fresh;
    return fmax(0.05, 1 + 0.2 * r->last);
}

/* Each gives the seconds of batch i of a run of n; x is how far the run is, 0 to 1. */
typedef double law(struct noise *r, size_t i, size_t n, double x);

#define LAW(name, expression)                                                \
    static inline double name(struct noise *r, size_t i, size_t n, double x) \
    {                                                                        \
        (void)r, (void)i, (void)n, (void)x;                                  \
        return expression;                                                   \
    }
LAW(gaussian, fmax(0.01, 1 + 0.1 * normal(r)))
LAW(lognormal_05, exp(0.5 * normal(r)))
LAW(lognormal_12, exp(1.2 * normal(r)))
LAW(pareto, pow(uniform(r), -1 / 1.5))
LAW(student_like, 1 + 0.05 * fabs(normal(r)) / sqrt(-log(uniform(r))))
LAW(ar_05, autoregressive(r, i, 0.5))
LAW(ar_09, autoregressive(r, i, 0.9))
LAW(spikes, (1 + 0.1 * normal(r)) * ((i + 17) % 50 < 2 ? 10 : 1))
LAW(linear, (1 + 2 * x) * (1 + 0.05 * normal(r)))
LAW(quadratic, (1 + 8 * x * x) * (1 + 0.05 * normal(r)))
LAW(logarithm, (1 + 0.5 * log1p(x * (double)n)) * (1 + 0.05 * normal(r)))
LAW(square_root, (1 + 3 * sqrt(x)) * (1 + 0.05 * normal(r)))
LAW(n_log_n, (1 + 2 * x * log1p(x * (double)n) / log((double)n)) * (1 + 0.05 * normal(r)))
LAW(mixed, (1 + x + 4 * x * x) * (1 + 0.05 * normal(r)))

static inline double jittered(struct noise *r, size_t i, size_t n, double x)
{
    (void)n, (void)x;
    double cost = 1 + 0.1 * normal(r);
    if (i == 0)
        r->next_spike = 37 * uniform(r);
    if ((double)i < r->next_spike)
        return cost;
    r->next_spike += 37 * (0.5 + uniform(r));
    return 10 * cost;
}

static const struct member {
    const char *name;
    law *law;
} members[] = {
    { "normal", gaussian },
    { "lognormal-0.5", lognormal_05 },
    { "lognormal-1.2", lognormal_12 },
    { "pareto-1.5", pareto },
    { "student", student_like },
    { "ar-0.5", ar_05 },
    { "ar-0.9", ar_09 },
    { "journal", spikes },
    { "jittered", jittered },
    { "linear", linear }, /* from here on it grows */
    { "quadratic", quadratic },
    { "log", logarithm },
    { "sqrt", square_root },
    { "n-log-n", n_log_n },
    { "mixed", mixed },
};
enum { CONSTANT_LAWS = 9 };
