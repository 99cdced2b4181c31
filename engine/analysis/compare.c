#include "engine/analysis/compare.h"

#include "engine/analysis/numeric.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

enum { BLOCKS_MOST = 32, BATCHES_FEW = 24, EXACT_MOST = 50 };
static const double delta = 1.05, wanted = 0.99, least_confidence = 0.95, chance = 0.001;

#define X(code, name) name,
const char *const verdicts[] = { VERDICTS(X) NULL };
#undef X

/* Seconds between two loads, batches that reach over an edge taken in proportion. */
static double block_seconds(const struct batches *b, double from, double to)
{
    double sum = 0;
    for (size_t i = 0; i < b->n; i++) {
        double begin = i ? b->load[i - 1] : b->start, end = b->load[i];
        double overlap = fmin(end, to) - fmax(begin, from);
        if (overlap > 0 && end > begin)
            sum += b->seconds[i] * overlap / (end - begin);
    }
    return sum;
}

/* P(W <= w) of the signed rank sum of n, exact: counts of subsets of 1..n by their sum. */
static void signed_rank(size_t n, double *cumulative, size_t sums)
{
    memset(cumulative, 0, sums * sizeof *cumulative);
    cumulative[0] = 1;
    for (size_t rank = 1; rank <= n; rank++)
        for (size_t w = sums; w-- > rank;)
            cumulative[w] += cumulative[w - rank];
    double total = pow(2, (double)n), sum = 0;
    for (size_t w = 0; w < sums; w++) {
        sum += cumulative[w];
        cumulative[w] = sum / total;
    }
}

static double sign_test_p(const double *d, size_t n, const double *cumulative, size_t sums)
{
    size_t index[EXACT_MOST];
    double size[EXACT_MOST], up = 0;
    for (size_t i = 0; i < n; i++)
        size[i] = fabs(d[i]);
    gsl_sort_index(index, size, 1, n);
    for (size_t i = 0; i < n; i++)
        up += d[index[i]] > 0 ? (double)(i + 1) : 0;
    double other = (double)(n * (n + 1)) / 2 - up, w = fmin(up, other);
    return fmin(1, 2 * cumulative[(size_t)w < sums ? (size_t)w : sums - 1]);
}

/* Hodges-Lehmann with its interval from the Walsh averages, widest when the blocks are few. */
static void location(const double *d, size_t n, struct comparison *ret)
{
    enum { SUMS = EXACT_MOST * (EXACT_MOST + 1) / 2 + 1 };
    double walsh[SUMS], cumulative[SUMS];
    size_t m = 0, sums = n * (n + 1) / 2 + 1, cut = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            walsh[m++] = (d[i] + d[j]) / 2;
    gsl_sort(walsh, 1, m);
    signed_rank(n, cumulative, sums);
    while (cut + 1 < m / 2 && cumulative[cut] <= (1 - wanted) / 2)
        cut++;
    /* cut: the first sum whose tail is too likely; the cut-th smallest and largest bound the interval.
     * So few that none is: the widest there is, and what it attains. */
    ret->confidence = cut > 0 ? wanted : 1 - 2 * cumulative[0];
    cut = cut > 0 ? cut - 1 : 0;
    ret->low = exp(walsh[cut]);
    ret->high = exp(walsh[m - 1 - cut]);
    ret->ratio = exp(m % 2 ? walsh[m / 2] : (walsh[m / 2 - 1] + walsh[m / 2]) / 2);
    ret->p = sign_test_p(d, n, cumulative, sums);
}

/* A direction is told when chance alone would seldom do it; with few blocks, when they all agree. Seldomer
 * than the interval says: batches depend on each other, and so do blocks, a little. */
static bool directed(const struct comparison *c)
{
    return c->p <= fmax(chance, 1.001 * pow(2, 1 - (double)c->blocks));
}

static void decide(struct comparison *c)
{
    if (c->confidence < least_confidence)
        return;
    if (!directed(c)) {
        c->verdict = VERDICT_CANNOT_TELL;
    } else if (c->low > 1) {
        c->verdict = VERDICT_SLOWER;
        c->small = c->low <= delta;
    } else if (c->high < 1) {
        c->verdict = VERDICT_FASTER;
        c->small = c->high >= 1 / delta;
    }
    if (c->low >= 1 / delta && c->high <= delta) {
        c->verdict = VERDICT_SAME;
        c->small = false;
    }
}

static double lag_one(const double *d, size_t n)
{
    double mean = mean_of(d, n), cross = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        square += (d[i] - mean) * (d[i] - mean);
        cross += i ? (d[i] - mean) * (d[i - 1] - mean) : 0;
    }
    return square > 0 ? cross / square : 0;
}

static size_t in_range(const struct batches *b, double from, double to)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->load[i] > from && b->load[i] <= to;
    return n;
}

/* Blocks of equal load, or those of the batches of A when they are few. Returns how many; edge has one
 * more. */
static size_t cut_up(const struct batches *a, const struct batches *b, double from, double to,
                     size_t parts, double edge[BLOCKS_MOST + 1])
{
    size_t few = in_range(a, from, to), other = in_range(b, from, to);
    few = few < other ? few : other;
    if (parts == 0 && few <= BATCHES_FEW) {
        const struct batches *by = in_range(a, from, to) == few ? a : b;
        size_t n = 0;
        edge[0] = from;
        for (size_t i = 0; i < by->n; i++)
            if (by->load[i] > from && by->load[i] <= to)
                edge[++n] = by->load[i];
        return n;
    }
    size_t n = parts ? parts : few / 4 < BLOCKS_MOST ? few / 4 : BLOCKS_MOST;
    for (size_t i = 0; i <= n; i++)
        edge[i] = from + (to - from) * (double)i / (double)n;
    return n;
}

static double crossing(const double *d, const double *edge, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if ((d[i] < 0) != (d[i + 1] < 0)) {
            double x0 = (edge[i] + edge[i + 1]) / 2, x1 = (edge[i + 1] + edge[i + 2]) / 2;
            return x0 + (x1 - x0) * d[i] / (d[i] - d[i + 1]);
        }
    return NAN;
}

void compare_within(const struct batches *a, const struct batches *b, struct comparison *ret)
{
    *ret = (struct comparison){ .within_run = true,
                                .ratio = NAN,
                                .low = NAN,
                                .high = NAN,
                                .p = 1,
                                .ratio_total = NAN,
                                .cross = NAN };
    if (a->n == 0 || b->n == 0)
        return;
    double from = fmax(a->start, b->start), to = fmin(a->load[a->n - 1], b->load[b->n - 1]);
    if (to <= from)
        return;
    double edge[BLOCKS_MOST + 1], d[BLOCKS_MOST];
    size_t parts = 0;
    for (;;) {
        ret->blocks = cut_up(a, b, from, to, parts, edge);
        for (size_t i = 0; i < ret->blocks; i++)
            d[i] = log(block_seconds(b, edge[i], edge[i + 1]) /
                       block_seconds(a, edge[i], edge[i + 1]));
        if (ret->blocks < 16 || lag_one(d, ret->blocks) <= 1 / sqrt((double)ret->blocks))
            break;
        parts = ret->blocks / 2;
    }
    ret->ratio_total = block_seconds(b, from, to) / block_seconds(a, from, to);
    if (ret->blocks == 0)
        return;
    location(d, ret->blocks, ret);
    ret->tau = kendall_tau(d, ret->blocks, &ret->p_trend);
    if (ret->p_trend < 0.05)
        ret->cross = crossing(d, edge, ret->blocks);
    if (ret->blocks > 1)
        decide(ret);
}

/* P(U <= u) for n against m, exact: counts of the ways by the recurrence on sizes. */
static void rank_sum(size_t n, size_t m, double *cumulative)
{
    enum { UMOST = RUNS_MOST * RUNS_MOST + 1 };
    double count[RUNS_MOST + 1][UMOST] = { { 0 } };
    count[0][0] = 1;
    /* count[k][u]: ways to pick k of the first j ranks with U = u; rank j adds j - k. */
    for (size_t j = 1; j <= n + m; j++)
        for (size_t k = j < n ? j : n; k >= 1; k--)
            for (size_t u = n * m + 1; u-- > 0;)
                if (u >= j - k)
                    count[k][u] += count[k - 1][u - (j - k)];
    double total = 0, sum = 0;
    for (size_t u = 0; u <= n * m; u++)
        total += count[n][u];
    for (size_t u = 0; u <= n * m; u++) {
        sum += count[n][u];
        cumulative[u] = sum / total;
    }
}

double mann_whitney_p(const double *a, size_t na, const double *b, size_t nb)
{
    double u = 0;
    bool ties = false;
    for (size_t i = 0; i < na; i++)
        for (size_t j = 0; j < nb; j++) {
            u += a[i] > b[j] ? 1 : a[i] == b[j] ? 0.5 : 0;
            ties |= a[i] == b[j];
        }
    double n = (double)na, m = (double)nb;
    if (ties || na > RUNS_MOST || nb > RUNS_MOST) {
        double z = (fabs(u - n * m / 2) - 0.5) / sqrt(n * m * (n + m + 1) / 12);
        return fmin(1, 2 * gsl_cdf_ugaussian_Q(fmax(0, z)));
    }
    double cumulative[RUNS_MOST * RUNS_MOST + 1];
    rank_sum(na, nb, cumulative);
    return fmin(1, 2 * cumulative[(size_t)fmin(u, n * m - u)]);
}

void compare_runs(const double *a, size_t na, const double *b, size_t nb, double confidence,
                  struct run_comparison *ret)
{
    double d[RUNS_MOST * RUNS_MOST], cumulative[RUNS_MOST * RUNS_MOST + 1];
    *ret = (struct run_comparison){ .ratio = NAN, .low = NAN, .high = NAN, .p = 1 };
    na = na < RUNS_MOST ? na : RUNS_MOST;
    nb = nb < RUNS_MOST ? nb : RUNS_MOST;
    size_t m = 0, cut = 0;
    for (size_t i = 0; i < na; i++)
        for (size_t j = 0; j < nb; j++)
            d[m++] = log(b[j] / a[i]);
    if (m == 0)
        return;
    gsl_sort(d, 1, m);
    rank_sum(na, nb, cumulative);
    while (cut + 1 < m / 2 && cumulative[cut] <= (1 - confidence) / 2)
        cut++;
    ret->ratio = exp(m % 2 ? d[m / 2] : (d[m / 2 - 1] + d[m / 2]) / 2);
    ret->confidence = cut > 0 ? confidence : 1 - 2 * cumulative[0];
    cut = cut > 0 ? cut - 1 : 0;
    ret->low = exp(d[cut]);
    ret->high = exp(d[m - 1 - cut]);
    ret->p = mann_whitney_p(a, na, b, nb);
    ret->enough = na >= 4 && nb >= 4;
}

void compare_costs_of_runs(const double *a, size_t na, const double *b, size_t nb,
                           struct comparison *ret)
{
    struct run_comparison runs;
    compare_runs(a, na, b, nb, wanted, &runs);
    *ret = (struct comparison){ .ratio = 1 / runs.ratio,
                                .low = 1 / runs.high,
                                .high = 1 / runs.low,
                                .confidence = runs.confidence,
                                .p = runs.p,
                                .ratio_total = NAN,
                                .tau = NAN,
                                .p_trend = NAN,
                                .cross = NAN,
                                .runs_a = na,
                                .runs_b = nb };
    if (runs.enough)
        decide(ret);
}
