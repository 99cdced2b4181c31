/* What is written to the files of create-scaling. Private to the files create_scaling_*.c. */
#pragma once
#include "engine/base/clock.h"

#include <stdint.h>
#include <string.h>

enum { STAMP_EVERY = 4096 };

/* Incompressible: xorshift64*, seeded by the lane. */
static inline void fill_random(char *data, size_t n, uint64_t seed)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i + sizeof x <= n; i += sizeof x) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        uint64_t word = x * UINT64_C(0x2545f4914f6cdd1d);
        memcpy(data + i, &word, sizeof word);
    }
}

static inline uint64_t first_stamp(unsigned lane)
{
    return ((uint64_t)lane << 48) ^ (uint64_t)clock_wall();
}

/* Makes every block of the data one that has not been written before. */
static inline void stamp_blocks(char *data, size_t n, uint64_t *stamp)
{
    for (size_t i = 0; i + sizeof *stamp <= n; i += STAMP_EVERY) {
        memcpy(data + i, stamp, sizeof *stamp);
        *stamp += UINT64_C(0x9e3779b97f4a7c15);
    }
}
