/* Second differences are blind to level and trend, and a jump touches only two of them; their logarithm
 * in groups of batches is segmented into levels. */
#include "engine/analysis/zones.h"

#include "engine/analysis/numeric.h"
#include "engine/analysis/segments.h"

#include <math.h>
#include <string.h>

enum { FEWEST = 192, GROUPS_MOST = 512 };
static const double chi_cut = 7.352; /* 95 % of a jump's location by likelihood, Eo & Morley */

struct groups {
    size_t n, each;
    double v[2][GROUPS_MOST]; /* absolute, relative: ln of the dispersion */
    double level[GROUPS_MOST];
};

static double second_difference(const double *c, size_t i)
{
    return fabs(c[i - 1] - 2 * c[i] + c[i + 1]) / sqrt(6);
}

static void gather(const struct costs *costs, const double *d, double *scratch, struct groups *g)
{
    size_t n = costs->n;
    g->each = n / GROUPS_MOST + (n % GROUPS_MOST != 0);
    g->each = g->each > 24 ? g->each : 24;
    g->n = n / g->each;
    double little = 1e-6 * mean_of(d, n) + 1e-300;
    for (size_t i = 0; i < g->n; i++) {
        size_t at = i * g->each;
        g->v[0][i] = log(low_mean_of(d + at, g->each, 5.0 / 6, scratch) + little);
        g->level[i] = midmean_of(costs->c + at, g->each, scratch);
        g->v[1][i] = g->v[0][i] - log(fmax(g->level[i], 1e-300));
    }
}

/* Segments one row of ln dispersion into levels; returns the breaks that noise does not explain and
 * ret_raw, those found before that gate. */
static unsigned break_up(const double *raw, size_t n, struct segmentation *s, double *v,
                         unsigned *ret_raw)
{
    double step[GROUPS_MOST], scratch[GROUPS_MOST], ones[GROUPS_MOST], plain[GROUPS_MOST],
        better[GROUPS_MOST];
    static const double zeros[GROUPS_MOST];
    for (size_t i = 0; i + 1 < n; i++)
        step[i] = fabs(raw[i + 1] - raw[i]);
    double scale = median_of(step, n - 1, scratch) / 0.6745 / sqrt(2);
    memcpy(v, raw, n * sizeof *v);
    clip_to_running(v, n, 7, 2.5 * fmax(scale, 0.02), scratch);
    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
    struct moments m;
    moments_of(zeros, v, ones, n, &m);
    size_t shortest = n / 32 > 4 ? n / 32 : 4;
    segmentation_of(&m, PIECE_LEVEL, SEGMENT_BREAKS, shortest, s);
    unsigned reference = s->most < 3 ? s->most : 3;
    segmentation_residuals(s, &m, PIECE_LEVEL, reference, zeros, v, ones, better);
    double s2 = fmax(long_run_variance(better, n, 2 * reference + 1), 1e-12);
    double penalty = 10 + 2.2 * log((double)n) + 60 / (double)n;
    unsigned k = 0;
    for (unsigned i = 1; i <= s->most; i++)
        if (s->rss[i] / s2 + penalty * i < s->rss[k] / s2 + penalty * k)
            k = i;
    *ret_raw = k;
    if (k == 0)
        return 0;
    segmentation_residuals(s, &m, PIECE_LEVEL, 0, zeros, v, ones, plain);
    segmentation_residuals(s, &m, PIECE_LEVEL, k, zeros, v, ones, better);
    return noise_gain(plain, better, n, scratch) >= penalty * (1 + (k - 1) / 2.0) ? k : 0;
}

/* Joins neighbours whose dispersion differs by less than half again, the closest first. */
static unsigned merge(const double *v, uint16_t *first, unsigned k)
{
    while (k > 0) {
        unsigned closest = 0;
        double least = INFINITY;
        for (unsigned p = 1; p <= k; p++) {
            double a = mean_of(v + first[p - 1], first[p] - (size_t)first[p - 1]);
            double b = mean_of(v + first[p], first[p + 1] - (size_t)first[p]);
            if (fabs(a - b) < least) {
                least = fabs(a - b);
                closest = p;
            }
        }
        if (least >= log(1.5))
            break;
        memmove(first + closest, first + closest + 1, (k + 1 - closest) * sizeof *first);
        k--;
    }
    return k;
}

/* Finds the batch in [from, to) where the scale of d changes from that of [left, at) to that of
 * [at, right), by the likelihood of exponential deviations, and its interval. */
static size_t refine(const double *d, size_t left, size_t at, size_t right, size_t reach,
                     size_t *ret_low, size_t *ret_high)
{
    double t1 = mean_of(d + left, at - left), t2 = mean_of(d + at, right - at);
    double cap = 6 * fmax(t1, t2), best = INFINITY, sum = 0;
    size_t from = at > left + reach ? at - reach : left + 1;
    size_t to = at + reach < right ? at + reach : right - 1, found = at;
    for (int pass = 0; pass < 2; pass++) {
        sum = 0;
        for (size_t i = from; i <= to; i++) {
            if (pass == 0 && sum < best) {
                best = sum;
                found = i;
            }
            if (pass == 1 && 2 * (sum - best) <= chi_cut * 2) {
                *ret_low = i < *ret_low ? i : *ret_low;
                *ret_high = i > *ret_high ? i : *ret_high;
            }
            double dev = fmin(d[i], cap);
            sum += log(t1) + dev / t1 - log(t2) - dev / t2;
        }
        if (pass == 0)
            *ret_low = *ret_high = found;
    }
    return found;
}

static void describe(const struct costs *costs, const double *d, double *scratch, struct zone *z)
{
    size_t n = z->end - z->first;
    z->from = costs->edge[z->first];
    z->to = costs->edge[z->end];
    z->level = median_of(costs->c + z->first, n, scratch);
    z->spread =
        fmax(median_of(d + z->first, n, scratch) / 0.6745, 0.05 * mean_of(d + z->first, n) / 0.798);
}

static void boundaries(const struct costs *costs, const double *d, const struct groups *g,
                       const uint16_t *first, unsigned k, struct zones *ret)
{
    ret->n = k + 1;
    ret->at[0].first = 0;
    for (unsigned p = 0; p < k; p++) {
        size_t left = ret->at[p].first, at = first[p + 1] * g->each;
        size_t right = p + 2 > k ? costs->n : first[p + 2] * g->each, low = at, high = at;
        size_t found = refine(d, left, at, right, 3 * g->each, &low, &high);
        ret->at[p].end = ret->at[p + 1].first = found;
        ret->at[p].to_low = costs->edge[low];
        ret->at[p].to_high = costs->edge[high];
    }
    ret->at[k].end = costs->n;
    ret->at[k].to_low = ret->at[k].to_high = costs->edge[costs->n];
}

void zones_of(const struct costs *costs, double *scratch, struct zones *ret)
{
    double *d = scratch, *room = scratch + costs->n;
    size_t n = costs->n;
    for (size_t i = 1; i + 1 < n; i++)
        d[i] = second_difference(costs->c, i);
    if (n >= 3) {
        d[0] = d[1];
        d[n - 1] = d[n - 2];
    } else {
        memset(d, 0, n * sizeof *d);
    }
    *ret = (struct zones){ .n = 1, .at[0] = { .end = n } };
    ret->at[0].to_low = ret->at[0].to_high = costs->edge[n];
    if (n >= FEWEST) {
        struct groups g;
        struct segmentation s[2];
        double v[2][GROUPS_MOST];
        unsigned raw[2], k[2];
        gather(costs, d, room, &g);
        for (int way = 0; way < 2; way++)
            k[way] = break_up(g.v[way], g.n, &s[way], v[way], &raw[way]);
        ret->relative = raw[1] < raw[0];
        int way = ret->relative;
        unsigned left = merge(v[way], s[way].first[k[way]], k[way]);
        if (ret->relative && left > 0) /* what is constant within a zone is d / level */
            for (size_t i = 0; i < n; i++) {
                size_t group = i / g.each < g.n ? i / g.each : g.n - 1;
                d[i] /= fmax(g.level[group], 1e-300);
            }
        boundaries(costs, d, &g, s[way].first[k[way]], left, ret);
        if (ret->relative && left > 0)
            for (size_t i = 1; i + 1 < n; i++)
                d[i] = second_difference(costs->c, i);
    }
    for (unsigned p = 0; p < ret->n; p++)
        describe(costs, d, room, &ret->at[p]);
}
