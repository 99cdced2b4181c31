/* Log-linear histogram of latencies: 32 sub-buckets an octave (<= 1/32 wide, so the middle of one is
 * within 1.6 %; a value is told as its bucket's upper bound, clamped to the exact maximum). */
#pragma once
#include "engine/base/clock.h"
#include "engine/job.h"

#include <jansson.h>

enum {
    HISTOGRAM_SUB = 32,
    HISTOGRAM_BUCKETS = HISTOGRAM_SUB * 60, /* to 2^63 ns */
};

struct histogram {
    uint64_t count;
    uint64_t sum;
    nsec min, max;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};
