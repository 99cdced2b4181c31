#include "engine/analysis/knee.h"

#include "engine/analysis/numeric.h"
#include "engine/analysis/segments.h"
#include "engine/analysis/smooth.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

enum { BREAKS_MOST = 4 };
static const double effect_least = 0.20, jump_cut = 7.352, late_z = 7;

/* All that the steps hand on. */
struct search {
    const struct costs *costs;
    const struct bins *bins;
    double *scratch;
    size_t shortest; /* bins in a segment */
    double s2, beta; /* long-run variance; penalty of one break */
    struct moments moments;
    struct segmentation segments;
    struct smooth smooth;
    unsigned breaks;
    bool continuous; /* the one break is better told as a bend of two joined lines */
    struct bend bend;
};

/* A break looked at closely. */
struct found {
    enum knee_shape shape;
    double at, low, high, effect, gain;
    bool up, persistent, knee;
    struct line before, after; /* scaled */
};

static void model(struct search *s)
{
    const struct bins *b = s->bins;
    double rest[BINS_MOST], m = (double)b->n;
    s->shortest = b->n / 25 > 5 ? b->n / 25 : 5;
    moments_of(b->X, b->y, b->w, b->n, &s->moments);
    segmentation_of(&s->moments, PIECE_LINE, BREAKS_MOST, s->shortest, &s->segments);
    unsigned reference = b->n < 60 ? 1 : b->n < 120 ? 2 : 4;
    if (reference > s->segments.most)
        reference = s->segments.most;
    segmentation_residuals(&s->segments, &s->moments, PIECE_LINE, reference, b->X, b->y, b->w,
                           rest);
    s->s2 = fmax(long_run_variance(rest, b->n, 3 * reference + 2), 1e-9);
    s->beta = 9.3 + 1.7 * log(m) + 170 / m;
    smooth_of(b, &s->smooth);
    s->breaks = 0;
    for (unsigned k = 1; k <= s->segments.most; k++)
        if (s->segments.rss[k] + s->beta * s->s2 * k <
            s->segments.rss[s->breaks] + s->beta * s->s2 * s->breaks)
            s->breaks = k;
    bool room = bend_of(b, 0, b->n, s->shortest, &s->bend);
    double bend = room ? s->bend.rss + (s->beta - 6) * s->s2 : INFINITY;
    if (s->breaks == 0 && bend < fmin(s->segments.rss[0], s->smooth.rss)) {
        s->breaks = 1;
        s->continuous = true;
    } else if (s->breaks == 1) {
        s->continuous = bend < s->segments.rss[1] + s->beta * s->s2;
    }
}

static bool smooth_explains(const struct search *s)
{
    double cost = s->segments.rss[s->breaks] + s->beta * s->s2 * s->breaks;
    if (s->continuous)
        cost = fmin(cost, s->bend.rss + (s->beta - 6) * s->s2);
    return s->smooth.rss < cost;
}

static bool noise_explains(const struct search *s)
{
    const struct bins *b = s->bins;
    double rest[BINS_MOST], scratch[BINS_MOST];
    if (s->continuous) {
        for (size_t i = 0; i < b->n; i++)
            rest[i] = sqrt(b->w[i]) * (b->y[i] - s->bend.a - s->bend.b * b->X[i] -
                                       s->bend.d * fmax(0, b->X[i] - s->bend.psi));
    } else {
        segmentation_residuals(&s->segments, &s->moments, PIECE_LINE, s->breaks, b->X, b->y, b->w,
                               rest);
    }
    double gain = noise_gain(s->smooth.rest, rest, b->n, scratch);
    return gain < s->beta * (1 + (s->breaks - 1) / 2.0);
}

static double load_of(const struct search *s, double X)
{
    return s->bins->x_middle + X * s->bins->x_span;
}

/* The batch of a jump between two lines, and its interval, by clipped squared residuals. The first after it. */
static size_t locate_jump(const struct search *s, size_t split, struct found *f)
{
    const struct bins *b = s->bins;
    struct line before = bins_line(b, f->before), after = bins_line(b, f->after);
    size_t middle = bins_first(b, split), reach = 3 * b->each > 24 ? 3 * b->each : 24;
    size_t from = middle > reach ? middle - reach : 1;
    size_t to = middle + reach < b->total ? middle + reach : b->total - 1;
    double *gain = s->scratch; /* how much better batch i fits the line before than the one after */
    double spread = 0;
    for (size_t i = from; i < to; i++) {
        double x = s->costs->x[i], c = s->costs->c[i];
        double e0 = fabs(c - line_at(before, x)), e1 = fabs(c - line_at(after, x));
        gain[i - from] = fmin(e0, e1);
    }
    spread = median_of(gain, to - from, gain + (to - from)) / 0.6745;
    spread = fmax(spread, 1e-300);
    double sum = 0, least = 0, cap = 3 * spread, cut = jump_cut * fmax(s->s2, 1);
    size_t best = from;
    for (int pass = 0; pass < 2; pass++) {
        sum = 0;
        if (pass == 1)
            f->low = f->high = s->costs->edge[best];
        for (size_t i = from; i <= to; i++) {
            if (pass == 0 && sum < least) {
                least = sum;
                best = i;
            }
            if (pass == 1 && (sum - least) / (spread * spread) <= cut) {
                f->low = fmin(f->low, s->costs->edge[i]);
                f->high = fmax(f->high, s->costs->edge[i]);
            }
            if (i == to)
                break;
            double x = s->costs->x[i], c = s->costs->c[i];
            double e0 = fmin(fabs(c - line_at(before, x)),
                             cap + fabs(line_at(after, x) - line_at(before, x)));
            double e1 = fmin(fabs(c - line_at(after, x)),
                             cap + fabs(line_at(after, x) - line_at(before, x)));
            sum += e0 * e0 - e1 * e1;
        }
    }
    f->at = s->costs->edge[best];
    f->low =
        fmin(f->low, s->costs->edge[best - 1]); /* a batch either way is the least one can tell */
    f->high = fmax(f->high, s->costs->edge[best + 1]);
    return best;
}

/* A bin in which the jump lies is of neither side: its mean would tilt a short line. */
static void leave_out_between(const struct search *s, size_t first, size_t batch, size_t end,
                              struct found *f)
{
    size_t each = s->bins->each, before = batch / each, after = (batch + each - 1) / each;
    if (before < first + 3 || after + 3 > end)
        return;
    f->before = piece_line(&s->moments, first, before, PIECE_LINE);
    f->after = piece_line(&s->moments, after, end, PIECE_LINE);
}

static void locate_bend(const struct search *s, size_t from, size_t to, const struct bend *bend,
                        struct found *f)
{
    const struct bins *b = s->bins;
    double df = fmax(1, (double)(to - from) - 4), t = gsl_cdf_tdist_Pinv(0.975, df);
    double cut = bend->rss + t * t * s->s2, bin = 1 / (double)b->n;
    double low = bend->psi - bin, high = bend->psi + bin, step = bin / 4;
    while (low > b->X[from] && bend_at(b, from, to, low).rss <= cut)
        low -= step;
    while (high < b->X[to - 1] && bend_at(b, from, to, high).rss <= cut)
        high += step;
    f->at = load_of(s, bend->psi);
    f->low = load_of(s, fmax(low, b->X[from]));
    f->high = load_of(s, fmin(high, b->X[to - 1]));
}

/* How far the cost after a break stands above all that was before, and whether it stays there. */
static void judge(const struct search *s, size_t first, size_t split, size_t end, struct found *f)
{
    const struct bins *b = s->bins;
    double scratch[BINS_MOST], psi = (f->at - b->x_middle) / b->x_span;
    size_t longest = 0, from = 0, to = split;
    for (unsigned p = 0; p <= s->breaks; p++) {
        size_t a = s->segments.first[s->breaks][p], z = s->segments.first[s->breaks][p + 1];
        if (z <= split && z - a > longest) {
            longest = z - a;
            from = a;
            to = z;
        }
    }
    double xe = fmin(b->X[end - 1], psi + (psi - b->X[first]));
    double floor =
        fmax(median_of(b->y, split, scratch), median_of(b->y + from, to - from, scratch));
    double at_psi = fmax(floor, line_at(f->before, psi));
    double reference = fmax(at_psi, line_at(f->before, xe));
    double scaled = line_at(f->after, xe), base = b->y_middle + reference * b->y_span;
    f->effect = base > 0 ? (scaled - reference) * b->y_span / base : 0;
    f->up = scaled > reference;

    size_t later = b->n - split;
    double excess = 0;
    for (size_t j = split; j < b->n; j++)
        excess += (b->y[j] - fmax(at_psi, line_at(f->before, b->X[j]))) / (double)later;
    f->persistent = excess > 0 && later >= 4;
    for (unsigned quarter = 0; quarter < 4 && f->persistent; quarter++) {
        if (quarter < 2 && f->shape != KNEE_JUMP)
            continue;
        size_t q0 = split + later * quarter / 4, q1 = split + later * (quarter + 1) / 4;
        double over[BINS_MOST];
        for (size_t j = q0; j < q1; j++)
            over[j - q0] = b->y[j] - fmax(at_psi, line_at(f->before, b->X[j]));
        double least = quarter < 2 ? 0 : excess / 2;
        f->persistent = median_of(over, q1 - q0, scratch) > least;
    }
    size_t fewest = b->total / 10 > 5 ? b->total / 10 : 5, follow = b->total - bins_first(b, split);
    f->persistent = f->persistent && follow >= (fewest < 24 ? fewest : 24);
    size_t half = split + (end - split) / 2;
    double late = b->y_middle + b->y_span * median_of(b->y + half, end - half, scratch);
    double early = b->y_middle + b->y_span * median_of(b->y, split, scratch);
    f->knee = f->up && f->persistent && f->effect >= effect_least && late > 1.1 * early;
}

/* What came before the knee in one line, where the breaks that were seen there gain nothing beside it. */
static void straighten(const struct search *s, unsigned k, size_t first, size_t split,
                       struct found *f)
{
    const uint16_t *at = s->segments.first[s->breaks];
    double parts = piece_rss(&s->moments, first, split, PIECE_LINE);
    for (unsigned p = 0; p + 1 < k; p++)
        parts += piece_rss(&s->moments, at[p], at[p + 1], PIECE_LINE);
    if (k > 1 && piece_rss(&s->moments, 0, split, PIECE_LINE) - parts <= s->beta * s->s2 * (k - 1))
        f->before = piece_line(&s->moments, 0, split, PIECE_LINE);
}

/* Finds the break again between two bins, as a jump and as a bend; the first bin after it. */
static size_t look_between(const struct search *s, size_t first, size_t end, struct found *f)
{
    const struct bins *b = s->bins;
    size_t split = first;
    double jump = INFINITY;
    for (size_t i = first + 3; i + 3 <= end; i++) {
        double rss = piece_rss(&s->moments, first, i, PIECE_LINE) +
                     piece_rss(&s->moments, i, end, PIECE_LINE);
        if (rss < jump) {
            jump = rss;
            split = i;
        }
    }
    struct bend bend;
    bool room = bend_of(b, first, end, 3, &bend);
    f->gain = piece_rss(&s->moments, first, end, PIECE_LINE) - jump;
    if (room && bend.rss - jump < 0.6 * s->beta * s->s2) {
        f->shape = KNEE_BEND;
        f->before = (struct line){ bend.a, bend.b };
        f->after = (struct line){ bend.a - bend.d * bend.psi, bend.b + bend.d };
        locate_bend(s, first, end, &bend, f);
        for (split = first + 1; split + 1 < end && b->X[split] < bend.psi;)
            split++;
    } else {
        f->shape = KNEE_JUMP;
        f->before = piece_line(&s->moments, first, split, PIECE_LINE);
        f->after = piece_line(&s->moments, split, end, PIECE_LINE);
        leave_out_between(s, first, locate_jump(s, split, f), end, f);
    }
    return split;
}

/* Within the two segments that adjoin it. When what follows is as short as a segment may be, the next break is a trace
 * of the same event, as of a jump in the middle of a bin: a line through so few bins tells nothing of what comes
 * after. Then the segment beyond belongs to it, too. */
static void look(const struct search *s, unsigned k, struct found *f)
{
    const uint16_t *at = s->segments.first[s->breaks];
    size_t first = k == 1 ? 0 : at[k - 1], end = at[k + 1];
    size_t split = look_between(s, first, end, f);
    for (unsigned next = k + 1; next <= s->breaks && end - split <= s->shortest; next++) {
        end = at[next + 1];
        split = look_between(s, first, end, f);
    }
    judge(s, first, split, end, f);
    straighten(s, k, first, split, f);
}

static void take(const struct search *s, const struct found *f, struct knee *ret)
{
    ret->shape = f->shape;
    ret->why = WHY_FOUND;
    ret->at = f->at;
    ret->low = fmin(f->low, f->at);
    ret->high = fmax(f->high, f->at);
    ret->effect = f->effect;
    ret->before = bins_line(s->bins, f->before);
    ret->after = bins_line(s->bins, f->after);
}

static void look_at_breaks(const struct search *s, struct knee *ret)
{
    double most = -INFINITY, early = load_of(s, -0.3);
    for (unsigned k = 1; k <= s->breaks; k++) {
        struct found f = { 0 };
        look(s, k, &f);
        if (k == 1 && !f.up && f.at <= early)
            ret->warm_up = f.at;
        if (f.knee && f.gain > most) {
            most = f.gain;
            take(s, &f, ret);
        }
    }
    if (ret->shape == KNEE_NONE)
        ret->why = WHY_SMALL;
}

/* A rise in the last bins, too short for a segment of its own (ANALYSIS 6). */
static void look_late(const struct search *s, const struct zones *zones, struct knee *ret)
{
    const struct bins *b = s->bins;
    size_t n = s->costs->n, hold = s->shortest + 2;
    if (n < 40 || b->n <= hold + 5)
        return;
    unsigned last = s->breaks;
    const uint16_t *first = s->segments.first[s->breaks];
    while (last > 0 && (size_t)first[last] + 5 > b->n - hold)
        last--;
    struct line scaled = piece_line(&s->moments, first[last], b->n - hold, PIECE_LINE);
    struct line line = bins_line(b, scaled);
    size_t from = bins_first(b, b->n - hold), m = n - from;
    const struct zone *zone = &zones->at[zones->n - 1];
    double *u = s->scratch, variance = 0;
    size_t base_from = bins_first(b, first[last]), base = from - base_from;
    double level =
        zones->relative && zone->level > 0 ? line_at(line, s->costs->x[from]) / zone->level : 1;
    double spread = fmax(zone->spread * level, 1e-300);
    for (size_t i = base_from; i < n; i++) {
        double e = (s->costs->c[i] - line_at(line, s->costs->x[i])) / spread;
        u[i - base_from] = fmax(-3, fmin(3, e));
    }
    for (size_t i = 0; i < base; i++)
        variance += u[i] * u[i] / (double)base;
    double scale = fmax(variance, fmax(s->s2, 1e-9)), sum = 0, best = 0, excess = 0, at = 0,
           effect = 0;
    size_t fewest = n / 10 > 5 ? n / 10 : 5, above = 0, tried = 0;
    fewest = fewest < 24 ? fewest : 24;
    for (size_t k = 1; k <= m; k++) {
        size_t i = n - k;
        double expected = line_at(line, s->costs->x[i]);
        sum += u[i - base_from];
        above += s->costs->c[i] > expected;
        excess += expected > 0 ? s->costs->c[i] / expected - 1 : 0;
        tried++;
        double z = sum / sqrt((double)k * scale);
        if (k >= fewest && z > best) {
            best = z;
            at = s->costs->edge[i];
            effect = (double)above >= 0.9 * (double)tried ? excess / (double)k : 0;
        }
    }
    if (best <= late_z || effect < effect_least)
        return;
    double bin = (s->costs->edge[n] - s->costs->edge[0]) / (double)b->n;
    *ret = (struct knee){ .shape = KNEE_LATE,
                          .why = WHY_FOUND,
                          .at = at,
                          .low = at - bin,
                          .high = fmin(at + bin, s->costs->edge[n]),
                          .effect = effect,
                          .before = line,
                          .after = { line.intercept * (1 + effect), line.slope * (1 + effect) },
                          .warm_up = ret->warm_up };
}

void knee_of(const struct costs *costs, const struct zones *zones, const struct bins *bins,
             double *scratch, struct knee *ret)
{
    *ret = (struct knee){ .why = WHY_TOO_FEW };
    if (costs->n < KNEE_FEWEST)
        return;
    struct search s = { .costs = costs, .bins = bins, .scratch = scratch };
    model(&s);
    if (s.breaks == 0)
        ret->why = WHY_NO_BREAK;
    else if (smooth_explains(&s))
        ret->why = WHY_SMOOTH;
    else if (noise_explains(&s))
        ret->why = WHY_NOISE;
    else
        look_at_breaks(&s, ret);
    size_t after = ret->shape == KNEE_BEND ? bins->n : 0;
    for (size_t j = 0; j < bins->n && ret->shape == KNEE_BEND; j++)
        after -= bins->x[j] <= ret->at;
    if (ret->shape == KNEE_NONE || (ret->shape == KNEE_BEND && after < s.shortest))
        look_late(&s, zones, ret);
}
