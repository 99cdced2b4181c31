#include "engine/analysis/growth.h"

#include "engine/analysis/numeric.h"

#include <math.h>

enum { POINTS_MOST = 48, POINTS_FEWEST = 4, POINTS_SURE = 12 };

#define X(code, name) name,
const char *const growth_classes[] = { GROWTH_CLASSES(X) NULL };
#undef X

struct points {
    size_t n;
    double x[POINTS_MOST], log_cost[POINTS_MOST];
};

/* One law against the points: u = f / f_max, cost = exp(level) (1 + e^t u). */
struct law {
    const struct points *points;
    double u[POINTS_MOST], top;
    double rest[POINTS_MOST]; /* residuals of ln cost at the t last tried */
    double level;
};

static double basis(enum growth_class class, double x, double x1)
{
    switch (class) {
    case GROWTH_LOG:
        return log(x / x1);
    case GROWTH_SQRT:
        return sqrt(x);
    case GROWTH_LINEAR:
        return x;
    case GROWTH_NLOGN:
        return x * log(fmax(x, 1));
    case GROWTH_QUADRATIC:
        return x * x;
    case GROWTH_CUBIC:
        return x * x * x;
    default:
        return 0;
    }
}

static double variance_at(double t, void *arg)
{
    struct law *law = arg;
    size_t n = law->points->n;
    double square = 0;
    for (size_t i = 0; i < n; i++)
        law->rest[i] = law->points->log_cost[i] - log1p(exp(t) * law->u[i]);
    law->level = mean_of(law->rest, n);
    for (size_t i = 0; i < n; i++) {
        law->rest[i] -= law->level;
        square += law->rest[i] * law->rest[i];
    }
    return square / (double)n;
}

/* Minimises over t = ln(b f_max / a), from -9 (none of it) to 9 (nothing else); returns the variance,
 * with rest and level left at the minimum. */
static double fit(struct law *law, double *ret_t)
{
    enum { GRID = 37 };
    double best = INFINITY, at = 0;
    for (int i = 0; i < GRID; i++) {
        double t = -9 + 0.5 * i, v = variance_at(t, law);
        if (v < best) {
            best = v;
            at = t;
        }
    }
    *ret_t = golden_section(variance_at, law, at - 0.5, at + 0.5, 40);
    return variance_at(*ret_t, law);
}

static void law_of_class(struct law *law, const struct points *p, enum growth_class class)
{
    law->points = p;
    law->top = basis(class, p->x[p->n - 1], p->x[0]);
    for (size_t i = 0; i < p->n; i++)
        law->u[i] = law->top > 0 ? basis(class, p->x[i], p->x[0]) / law->top : 0;
}

static void law_of_power(struct law *law, const struct points *p, double power)
{
    law->points = p;
    law->top = pow(p->x[p->n - 1], power);
    for (size_t i = 0; i < p->n; i++)
        law->u[i] = pow(p->x[i] / p->x[p->n - 1], power);
}

static void gather(const double *x, const double *cost, size_t n, double *scratch, struct points *p)
{
    size_t parts = n < POINTS_MOST ? n : POINTS_MOST;
    p->n = 0;
    for (size_t k = 0; k < parts; k++) {
        size_t from = n * k / parts, to = n * (k + 1) / parts;
        double c = midmean_of(cost + from, to - from, scratch);
        double at = to - from == 1 ? x[from] : mean_of(x + from, to - from);
        if (c <= 0 || at <= 0)
            continue;
        p->x[p->n] = at;
        p->log_cost[p->n++] = log(c);
    }
}

/* The points that noise leaves: residuals that resemble their neighbours count for less. */
static double effective(const struct points *p)
{
    struct law law;
    double best = INFINITY, t, rest[POINTS_MOST], square = 0;
    if (p->n < POINTS_SURE)
        return (double)p->n;
    for (int i = 1; i <= 40; i++) {
        law_of_power(&law, p, 0.1 * i);
        double v = fit(&law, &t);
        if (v < best) {
            best = v;
            for (size_t k = 0; k < p->n; k++)
                rest[k] = law.rest[k];
        }
    }
    for (size_t k = 0; k < p->n; k++)
        square += rest[k] * rest[k];
    double v = square / fmax(1, (double)p->n - 3);
    return v > 0 ? (double)p->n / fmax(1, long_run_variance(rest, p->n, 3) / v) : (double)p->n;
}

static void exponent(const struct points *p, double neff, struct growth *g)
{
    enum { STEPS = 81 };
    double v[STEPS], best = INFINITY, t;
    struct law law;
    for (int i = 0; i < STEPS; i++) {
        double power = 0.05 + 0.05 * i;
        law_of_power(&law, p, power);
        v[i] = fit(&law, &t) + 1e-8;
        if (v[i] < best) {
            best = v[i];
            g->exponent = power;
        }
    }
    g->low = NAN;
    for (int i = 0; i < STEPS; i++) {
        if (neff * log(v[i] / best) > 3.841) /* chi-square, 95 %, one parameter */
            continue;
        g->low = isnan(g->low) ? 0.05 + 0.05 * i : g->low;
        g->high = 0.05 + 0.05 * i;
    }
}

static bool rises(const struct points *p)
{
    double quarter = fmax(1, floor((double)p->n / 4)), first = 0, last = 0;
    for (size_t i = 0; i < (size_t)quarter; i++) {
        first += exp(p->log_cost[i]);
        last += exp(p->log_cost[p->n - 1 - i]);
    }
    return p->n >= POINTS_SURE && kendall_tau(p->log_cost, p->n, NULL) >= 0.6 &&
           last / first >= 1.5;
}

void growth_of(const double *x, const double *cost, size_t n, double *scratch, struct growth *ret)
{
    struct points p;
    double bic[GROWTH_LAWS], t[GROWTH_LAWS] = { 0 }, level[GROWTH_LAWS], factor[GROWTH_LAWS];
    double top[GROWTH_LAWS];
    gather(x, cost, n, scratch, &p);
    *ret = (struct growth){ .low_confidence = p.n < POINTS_SURE };
    if (p.n < POINTS_FEWEST)
        return;
    ret->known = true;
    double neff = effective(&p);
    enum growth_class best = GROWTH_CONSTANT;
    for (enum growth_class c = GROWTH_CONSTANT; c < GROWTH_UNCLASSIFIED; c++) {
        struct law law;
        law_of_class(&law, &p, c);
        double v = c == GROWTH_CONSTANT ? variance_at(-INFINITY, &law) : fit(&law, &t[c]);
        bic[c] = neff * log(v + 1e-4) + (c == GROWTH_CONSTANT ? 1 : 2) * log(neff);
        level[c] = law.level;
        top[c] = law.top;
        factor[c] = c == GROWTH_CONSTANT ? 1 : (1 + exp(t[c])) / (1 + exp(t[c]) * law.u[0]);
        best = bic[c] < bic[best] ? c : best;
    }
    double least = bic[best];
    for (enum growth_class c = GROWTH_CONSTANT; c < best; c++)
        if (bic[c] <= least + 2)
            best = c;
    double needed = p.n < POINTS_SURE ? 7 : 10;
    if (bic[GROWTH_CONSTANT] - bic[best] < needed || factor[best] < 1.10)
        best = GROWTH_CONSTANT;
    ret->class = best == GROWTH_CONSTANT && rises(&p) ? GROWTH_UNCLASSIFIED : best;
    for (enum growth_class c = GROWTH_CONSTANT; c < GROWTH_UNCLASSIFIED; c++)
        if (bic[c] <= bic[best] + 6)
            ret->plausible |= 1u << c;
    ret->factor = factor[best];
    ret->a = exp(level[best]);
    if (best == GROWTH_CONSTANT)
        return;
    ret->b = ret->a * exp(t[best]) / top[best];
    exponent(&p, neff, ret);
}
