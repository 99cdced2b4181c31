#include "engine/analysis/bins.h"

#include "engine/analysis/numeric.h"

#include <math.h>
#include <string.h>

static const struct zone *zone_at(const struct zones *zones, size_t batch)
{
    unsigned p = 0;
    while (p + 1 < zones->n && batch >= zones->at[p].end)
        p++;
    return &zones->at[p];
}

/* The nine nearest bins of j: where they begin; *ret_n of them. */
static size_t neighbours(size_t j, size_t n, size_t *ret_n)
{
    *ret_n = n < 9 ? n : 9;
    size_t from = j > 4 ? j - 4 : 0;
    return from + *ret_n > n ? n - *ret_n : from;
}

static void noise(struct bins *b, const struct zones *zones)
{
    double size[BINS_MOST], middle[BINS_MOST], per = (double)b->each;
    for (size_t j = 0; j < b->n; j++)
        size[j] = fabs(b->z[j]);
    running_median(size, b->n, 31, middle);
    for (size_t j = 0; j < b->n; j++) {
        const struct zone *zone = zone_at(zones, bins_first(b, j) + b->each / 2);
        double variance = zone->spread * zone->spread * (b->each >= 4 ? 1.2 : 1) / per;
        if (zones->relative && zone->level > 0) {
            size_t n, from = neighbours(j, b->n, &n);
            double scratch[9], level = median_of(b->z + from, n, scratch) / zone->level;
            variance *= level * level;
        }
        double floor = 0.005 * middle[j];
        b->s[j] = fmax(sqrt(variance + floor * floor), 1e-300);
    }
}

/* A bin moves only when both the median and the trend of its neighbours object, so that jumps and steep
 * ramps survive. */
static void clip(struct bins *b)
{
    double z[BINS_MOST], scratch[9];
    memcpy(z, b->z, b->n * sizeof *z);
    if (b->n < 9)
        return;
    for (size_t j = 0; j < b->n; j++) {
        size_t n, from = neighbours(j, b->n, &n);
        double md = median_of(z + from, n, scratch);
        double tv = theil_sen_at(z + from, n, (double)(j - from)), reach = 3 * b->s[j];
        if (fabs(z[j] - md) <= reach || fabs(z[j] - tv) <= reach)
            continue;
        double nearer = fabs(z[j] - md) < fabs(z[j] - tv) ? md : tv;
        b->z[j] = nearer + (z[j] > nearer ? reach : -reach);
    }
}

static void scale(struct bins *b)
{
    double scratch[BINS_MOST];
    b->x_middle = (b->x[0] + b->x[b->n - 1]) / 2;
    b->x_span = b->n > 1 ? b->x[b->n - 1] - b->x[0] : 1;
    b->y_middle = median_of(b->z, b->n, scratch);
    b->y_span = median_of(b->s, b->n, scratch);
    for (size_t j = 0; j < b->n; j++) {
        double ratio = b->y_span / b->s[j];
        b->X[j] = (b->x[j] - b->x_middle) / b->x_span;
        b->y[j] = (b->z[j] - b->y_middle) / b->y_span;
        b->w[j] = ratio * ratio;
    }
}

void bins_of(const struct costs *costs, const struct zones *zones, double *scratch,
             struct bins *ret)
{
    struct bins *b = ret;
    b->total = costs->n;
    b->each = (costs->n + BINS_MOST - 1) / BINS_MOST;
    b->each = b->each ? b->each : 1;
    b->n = costs->n / b->each;
    for (size_t j = 0; j < b->n; j++) {
        size_t from = bins_first(b, j), to = j + 1 < b->n ? bins_first(b, j + 1) : b->total;
        b->x[j] = (costs->edge[from] + costs->edge[to]) / 2;
        b->z[j] = midmean_of(costs->c + from, to - from, scratch);
    }
    noise(b, zones);
    clip(b);
    scale(b);
}

struct line bins_line(const struct bins *b, struct line scaled)
{
    double slope = scaled.slope * b->y_span / b->x_span;
    double middle = b->y_middle + scaled.intercept * b->y_span;
    return (struct line){ .intercept = middle - slope * b->x_middle, .slope = slope };
}
