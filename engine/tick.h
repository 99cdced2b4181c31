/* A counter that is cheap enough to read once an operation: the CPU's time stamp counter where the
 * kernel itself trusts it as its clock (10 ns), CLOCK_MONOTONIC elsewhere (25 ns and more). Only
 * differences mean anything, and only within one phase. */
#pragma once
#include "engine/base/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct tick_scale {
    bool tsc;      /* constant, running on in idle, and the current clock source */
    uint64_t mult; /* ns = ticks * mult / 2^32 */
};

/* Finds out and calibrates against CLOCK_MONOTONIC; takes 20 ms. */
struct tick_scale tick_calibrate(void);

static inline uint64_t tick_read(const struct tick_scale *scale)
{
#if defined(__x86_64__)
    if (scale->tsc)
        return __builtin_ia32_rdtsc();
#endif
    (void)scale;
    return (uint64_t)clock_monotonic();
}

/* As many ticks as go into a duration of less than some hours. */
static inline uint64_t tick_count(const struct tick_scale *scale, nsec duration)
{
    if (!scale->tsc)
        return (uint64_t)duration;
    return (uint64_t)(((unsigned __int128)duration << 32) / scale->mult);
}

static inline nsec tick_nsec(const struct tick_scale *scale, uint64_t ticks)
{
    if (!scale->tsc)
        return (nsec)ticks;
    if ((int64_t)ticks < 0) /* two CPUs a few ticks apart */
        return 0;
    return (nsec)((unsigned __int128)ticks * scale->mult >> 32);
}
