/* Log-linear histogram of latencies: 32 sub-buckets an octave, so that a bucket is at most 1/32 of
 * its value wide. Counts, sum, min and max are exact; a percentile lies within its bucket, where
 * its rank puts it, and never beyond the exact min and max. */
#pragma once
#include "engine/base/clock.h"
#include "engine/job.h"

enum {
    HISTOGRAM_SUB_BITS = 5,
    HISTOGRAM_SUB = 1 << HISTOGRAM_SUB_BITS,
    HISTOGRAM_BUCKETS = HISTOGRAM_SUB * 60, /* the whole range of uint64_t */
};

struct histogram {
    uint64_t count;
    uint64_t sum;
    nsec min, max; /* 0 while empty */
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* Below 32 ns a bucket is one value; above, the five bits after the leading one choose it. */
static inline unsigned histogram_index(uint64_t value)
{
    if (value < HISTOGRAM_SUB)
        return (unsigned)value;
    unsigned octave = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
    return octave * HISTOGRAM_SUB + (unsigned)(value >> octave);
}

/* The smallest and the largest value that fall into a bucket. */
static inline uint64_t histogram_lower(unsigned index)
{
    unsigned octave = index / HISTOGRAM_SUB;
    if (octave <= 1)
        return index;
    return (uint64_t)(HISTOGRAM_SUB + index % HISTOGRAM_SUB) << (octave - 1);
}
static inline uint64_t histogram_upper(unsigned index)
{
    unsigned octave = index / HISTOGRAM_SUB;
    return octave <= 1 ? index : histogram_lower(index) + (UINT64_C(1) << (octave - 1)) - 1;
}

/* `n` operations of the same latency; a clock that went backwards counts as 0. */
static inline void histogram_note(struct histogram *histogram, nsec latency, uint64_t n)
{
    if (latency < 0)
        latency = 0;
    if (latency > histogram->max)
        histogram->max = latency;
    if (latency < histogram->min || histogram->count == 0)
        histogram->min = latency;
    histogram->count += n;
    histogram->sum += (uint64_t)latency * n;
    histogram->bucket[histogram_index((uint64_t)latency)] += n;
}

/* Notes of a whole loop, none of a negative latency: what would be in the buckets' way is kept beside them until
 * the end. Each goes through histogram_note_in(), the sums through histogram_add_up(). */
struct histogram_sums {
    uint64_t count, sum;
    nsec min, max;
};
#define HISTOGRAM_SUMS_NONE ((struct histogram_sums){ .min = INT64_MAX })
static inline void histogram_note_in(struct histogram *histogram, struct histogram_sums *sums,
                                     nsec latency)
{
    sums->count++;
    sums->sum += (uint64_t)latency;
    sums->min = latency < sums->min ? latency : sums->min;
    sums->max = latency > sums->max ? latency : sums->max;
    histogram->bucket[histogram_index((uint64_t)latency)]++;
}
void histogram_add_up(struct histogram *histogram, const struct histogram_sums *sums);

/* Adds `from` to `into`. */
void histogram_merge(struct histogram *into, const struct histogram *from);
/* Adds `from` to `into`, empties `from` and tells its median and 99th percentile, in one pass over the
 * buckets between its min and max: a lane does this for each batch. `from` must not be empty. */
void histogram_pour(struct histogram *into, struct histogram *from, nsec *ret_p50, nsec *ret_p99);
/* The latency that a share of the operations did not exceed; 0 when empty. */
nsec histogram_percentile(const struct histogram *histogram, double share);
struct latency histogram_latency(const struct histogram *histogram);
