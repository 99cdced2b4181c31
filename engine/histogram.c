#include "engine/histogram.h"

#include <math.h>
#include <stdbool.h>

/* The range of buckets that can hold anything. */
struct range {
    unsigned first, last;
};

static struct range range_of(const struct histogram *histogram)
{
    return (struct range){ histogram_index((uint64_t)histogram->min),
                           histogram_index((uint64_t)histogram->max) };
}

void histogram_add_up(struct histogram *histogram, const struct histogram_sums *sums)
{
    if (sums->count == 0)
        return;
    if (histogram->count == 0 || sums->min < histogram->min)
        histogram->min = sums->min;
    if (sums->max > histogram->max)
        histogram->max = sums->max;
    histogram->count += sums->count;
    histogram->sum += sums->sum;
}

static void add_totals(struct histogram *into, const struct histogram *from)
{
    histogram_add_up(into,
                     &(struct histogram_sums){ from->count, from->sum, from->min, from->max });
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->count == 0)
        return;
    struct range range = range_of(from);
    for (unsigned i = range.first; i <= range.last; i++)
        if (from->bucket[i])
            into->bucket[i] += from->bucket[i];
    add_totals(into, from);
}

/* Where the rank lies within its bucket, as if the bucket's operations were spread evenly. */
static nsec within(const struct histogram *histogram, unsigned index, uint64_t rank)
{
    double lower = (double)histogram_lower(index), width = (double)histogram_upper(index) - lower;
    double value = lower + width * ((double)rank - 0.5) / (double)histogram->bucket[index];
    if (value <= (double)histogram->min)
        return histogram->min;
    return value >= (double)histogram->max ? histogram->max : (nsec)value;
}

static uint64_t rank_of(const struct histogram *histogram, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)histogram->count);
    return rank < 1 ? 1 : rank > histogram->count ? histogram->count : rank;
}

nsec histogram_percentile(const struct histogram *histogram, double share)
{
    if (histogram->count == 0)
        return 0;
    uint64_t rank = rank_of(histogram, share);
    if (rank == histogram->count)
        return histogram->max;
    struct range range = range_of(histogram);
    for (unsigned i = range.first; i <= range.last; i++) {
        if (rank <= histogram->bucket[i])
            return within(histogram, i, rank);
        rank -= histogram->bucket[i];
    }
    return histogram->max;
}

/* Most are: a batch has some twenty latencies, in a range of a hundred buckets and more. */
static bool eight_empty(const uint64_t *bucket)
{
    return (bucket[0] | bucket[1] | bucket[2] | bucket[3] | bucket[4] | bucket[5] | bucket[6] |
            bucket[7]) == 0;
}

void histogram_pour(struct histogram *into, struct histogram *from, nsec *ret_p50, nsec *ret_p99)
{
    /* rank_of() without its floating point. */
    uint64_t seen = 0, half = (from->count + 1) / 2, most = from->count - from->count / 100;
    struct range range = range_of(from);
    for (unsigned i = range.first; i <= range.last; i++) {
        uint64_t here = from->bucket[i];
        if (here == 0) {
            while (i + 8 < range.last && eight_empty(&from->bucket[i + 1]))
                i += 8;
            continue;
        }
        if (seen < half && half <= seen + here)
            *ret_p50 = within(from, i, half - seen);
        if (seen < most && most <= seen + here)
            *ret_p99 = within(from, i, most - seen);
        seen += here;
        into->bucket[i] += here;
        from->bucket[i] = 0;
    }
    if (half == seen)
        *ret_p50 = from->max;
    if (most == seen)
        *ret_p99 = from->max;
    add_totals(into, from);
    from->count = from->sum = 0;
    from->min = from->max = 0;
}

struct latency histogram_latency(const struct histogram *histogram)
{
    return (struct latency){
        .count = histogram->count,
        .sum = (double)histogram->sum,
        .min = histogram->min,
        .max = histogram->max,
        .p50 = histogram_percentile(histogram, 0.50),
        .p90 = histogram_percentile(histogram, 0.90),
        .p99 = histogram_percentile(histogram, 0.99),
        .p999 = histogram_percentile(histogram, 0.999),
    };
}
