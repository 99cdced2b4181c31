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

static void add_totals(struct histogram *into, const struct histogram *from)
{
    if (into->count == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->sum += from->sum;
}

void histogram_note_each(struct histogram *histogram, const nsec *latency, unsigned n)
{
    nsec min = histogram->count ? histogram->min : INT64_MAX, max = histogram->max;
    uint64_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        nsec value = latency[i];
        min = value < min ? value : min;
        max = value > max ? value : max;
        sum += (uint64_t)value;
        histogram->bucket[histogram_index((uint64_t)value)]++;
    }
    if (n == 0)
        return;
    histogram->min = min;
    histogram->max = max;
    histogram->sum += sum;
    histogram->count += n;
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
static bool four_empty(const uint64_t *bucket)
{
    return (bucket[0] | bucket[1] | bucket[2] | bucket[3]) == 0;
}

void histogram_pour(struct histogram *into, struct histogram *from, nsec *ret_p50, nsec *ret_p99)
{
    uint64_t seen = 0, half = rank_of(from, 0.50), most = rank_of(from, 0.99);
    struct range range = range_of(from);
    for (unsigned i = range.first; i <= range.last; i++) {
        uint64_t here = from->bucket[i];
        if (here == 0) {
            while (i + 4 < range.last && four_empty(&from->bucket[i + 1]))
                i += 4;
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
