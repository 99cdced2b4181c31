#include "engine/analysis/totals.h"

#include "engine/analysis/numeric.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* 95 % of the mean seconds per unit from `parts` equal stretches of batches, by Student's t, wider when
 * neighbouring stretches resemble each other. Returns the half-width. */
static double half_width(const struct batches *b, size_t parts)
{
    double mean[32], rest[32], each = (double)b->n / (double)parts;
    for (size_t p = 0; p < parts; p++) {
        size_t from = (size_t)(each * (double)p), to = (size_t)(each * (double)(p + 1));
        double begin = from ? b->load[from - 1] : b->start;
        mean[p] = sum_of(b->seconds + from, to - from) / (b->load[to - 1] - begin);
    }
    double centre = mean_of(mean, parts), square = 0, cross = 0;
    for (size_t p = 0; p < parts; p++) {
        rest[p] = mean[p] - centre;
        square += rest[p] * rest[p];
        cross += p ? rest[p] * rest[p - 1] : 0;
    }
    double r1 = square > 0 ? fmax(0, fmin(0.95, cross / square)) : 0, n = (double)parts;
    double variance = square / (n - 1) / n * (1 + r1) / (1 - r1);
    return gsl_cdf_tdist_Pinv(0.975, n - 1) * sqrt(variance);
}

static void interval(const struct batches *b, struct totals *t)
{
    t->rate_low = t->rate_high = NAN;
    if (b->n < 16)
        return;
    size_t parts = b->n >= 640 ? 32 : b->n >= 160 ? 16 : 8;
    double half = half_width(b, parts), cost = t->secant;
    t->rate_low = 1 / (cost + half);
    if (half < cost)
        t->rate_high = 1 / (cost - half);
}

struct totals totals_of(const struct batches *b)
{
    struct totals t = { 0 };
    if (b->n == 0)
        return t;
    double end = b->load[b->n - 1];
    t.seconds = sum_of(b->seconds, b->n);
    t.units = end - b->start;
    t.rate = t.units / t.seconds;
    t.secant = t.seconds / t.units;
    interval(b, &t);

    double mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0, sum = 0, lost = 0;
    for (size_t i = 0; i < b->n; i++) {
        double next = sum + b->seconds[i];
        lost +=
            (sum >= b->seconds[i]) ? (sum - next) + b->seconds[i] : (b->seconds[i] - next) + sum;
        sum = next;
        double elapsed = sum + lost, k = (double)(i + 1);
        double dx = b->load[i] - mx, dy = elapsed - my;
        mx += dx / k;
        my += dy / k;
        sxx += dx * (b->load[i] - mx);
        sxy += dx * (elapsed - my);
        syy += dy * (elapsed - my);
        double bow = (b->load[i] - b->start) / t.units - elapsed / t.seconds;
        if (fabs(bow) > fabs(t.bow)) {
            t.bow = bow;
            t.bow_at = b->load[i];
        }
    }
    t.slope = sxx > 0 ? sxy / sxx : t.secant;
    t.intercept = my - t.slope * mx;
    t.r2 = sxx > 0 && syy > 0 ? sxy * sxy / (sxx * syy) : 1;
    return t;
}
