#include "engine/analysis/history.h"

#include "engine/analysis/compare.h"
#include "engine/analysis/numeric.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { SHORTEST = 3, SIDE_MOST = 40 };
static const double effect_least = 0.03, p_most = 0.001;

struct levels {
    size_t n;
    double v[HISTORY_MOST];              /* ln, single bad runs clipped */
    size_t breaks, at[CHANGES_MOST + 2]; /* at[0] = 0, at[breaks + 1] = n */
};

static double spread(const double *v, size_t n)
{
    double step[HISTORY_MOST], scratch[HISTORY_MOST];
    for (size_t i = 0; i + 1 < n; i++)
        step[i] = fabs(v[i + 1] - v[i]);
    return n > 1 ? fmax(median_of(step, n - 1, scratch) / 0.6745 / sqrt(2), 1e-6) : 1e-6;
}

/* Optimal partitioning into levels at `penalty` a break. */
static void partition(struct levels *l, double penalty)
{
    double sum[HISTORY_MOST + 1], square[HISTORY_MOST + 1], best[HISTORY_MOST + 1];
    uint16_t from[HISTORY_MOST + 1];
    sum[0] = square[0] = 0;
    for (size_t i = 0; i < l->n; i++) {
        sum[i + 1] = sum[i] + l->v[i];
        square[i + 1] = square[i] + l->v[i] * l->v[i];
    }
    best[0] = -penalty;
    for (size_t j = 1; j <= l->n; j++) {
        best[j] = INFINITY;
        from[j] = 0;
        for (size_t i = 0; i + SHORTEST <= j; i++) {
            double s = sum[j] - sum[i];
            double rss = square[j] - square[i] - s * s / (double)(j - i);
            if (best[i] + rss + penalty < best[j]) {
                best[j] = best[i] + rss + penalty;
                from[j] = (uint16_t)i;
            }
        }
    }
    size_t cuts[HISTORY_MOST], n = 0;
    for (size_t j = l->n; from[j] > 0 && n < HISTORY_MOST; j = from[j])
        cuts[n++] = from[j];
    l->breaks = n < CHANGES_MOST ? n : CHANGES_MOST;
    l->at[0] = 0;
    for (size_t k = 0; k < l->breaks; k++)
        l->at[k + 1] = cuts[n - 1 - k];
    l->at[l->breaks + 1] = l->n;
}

static void drop(struct levels *l, size_t k)
{
    memmove(l->at + k, l->at + k + 1, (l->breaks + 1 - k) * sizeof *l->at);
    l->breaks--;
}

static struct change change_at(const struct levels *l, size_t k)
{
    size_t at = l->at[k], left = at - l->at[k - 1], right = l->at[k + 1] - at;
    double scratch[HISTORY_MOST];
    left = left < SIDE_MOST ? left : SIDE_MOST;
    right = right < SIDE_MOST ? right : SIDE_MOST;
    double before = median_of(l->v + at - left, left, scratch);
    double after = median_of(l->v + at, right, scratch);
    return (struct change){ .at = at,
                            .effect = exp(after - before) - 1,
                            .p = mann_whitney_p(l->v + at - left, left, l->v + at, right) };
}

/* The smallest p that so few runs could attain: they are not asked for more. */
static double attainable(const struct levels *l, size_t k)
{
    double left = (double)(l->at[k] - l->at[k - 1]), right = (double)(l->at[k + 1] - l->at[k]);
    double ways = exp(lgamma(left + right + 1) - lgamma(left + 1) - lgamma(right + 1));
    return 2 / ways;
}

static size_t weakest(const struct levels *l)
{
    size_t found = 1;
    double most = -1;
    for (size_t k = 1; k <= l->breaks; k++) {
        double p = change_at(l, k).p;
        if (p > most) {
            most = p;
            found = k;
        }
    }
    return found;
}

static void drop_insignificant(struct levels *l)
{
    while (l->breaks > 0) {
        size_t worst = 0;
        double most = -1;
        for (size_t k = 1; k <= l->breaks; k++) {
            struct change c = change_at(l, k);
            double allowed = fmax(p_most, 1.0001 * attainable(l, k));
            if ((c.p > allowed || fabs(c.effect) < effect_least) && c.p > most) {
                most = c.p;
                worst = k;
            }
        }
        if (worst == 0)
            return;
        drop(l, worst);
    }
}

/* Whether noise that resembles its neighbours explains the steps as well as the steps do. */
static int noise_explains(const struct levels *l)
{
    double plain[HISTORY_MOST], steps[HISTORY_MOST], n = (double)l->n;
    double mean = mean_of(l->v, l->n);
    for (size_t k = 0; k <= l->breaks; k++) {
        double level = mean_of(l->v + l->at[k], l->at[k + 1] - l->at[k]);
        for (size_t i = l->at[k]; i < l->at[k + 1]; i++) {
            plain[i] = l->v[i] - mean;
            steps[i] = l->v[i] - level;
        }
    }
    double gain = noise_score(plain, l->n) - noise_score(steps, l->n);
    return gain < (3 * log(n) + 2) * (1 + ((double)l->breaks - 1) / 2);
}

size_t history_changes(const double *values, size_t n, struct change ret[CHANGES_MOST])
{
    struct levels l = { 0 };
    double scratch[HISTORY_MOST];
    size_t skipped = n > HISTORY_MOST ? n - HISTORY_MOST : 0;
    l.n = n - skipped;
    if (l.n < 2 * SHORTEST)
        return 0;
    for (size_t i = 0; i < l.n; i++)
        l.v[i] = log(fmax(values[skipped + i], 1e-300));
    double s = spread(l.v, l.n);
    clip_to_running(l.v, l.n, 5, 3 * s, scratch);
    partition(&l, (3 * log((double)l.n) + 6) * s * s);
    drop_insignificant(&l);
    while (l.breaks > 0 && noise_explains(&l)) {
        drop(&l, weakest(&l));
        drop_insignificant(&l);
    }
    for (size_t k = 1; k <= l.breaks; k++) {
        ret[k - 1] = change_at(&l, k);
        ret[k - 1].at += skipped;
    }
    return l.breaks;
}
