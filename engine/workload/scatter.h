/* The numbers 0 to n - 1 in an order that looks random and that a seed fixes, each once: as permutation.h, but
 * for a loop in which a nanosecond counts. Rounds of steps that can be undone, over the next power of two,
 * walked on until they give a number below n. */
#pragma once
#include "engine/base/mix.h"

#include <stdint.h>

enum { SCATTER_ROUNDS = 2 };

struct scatter {
    uint64_t n, mask;
    unsigned shift;
    uint64_t odd[SCATTER_ROUNDS], add[SCATTER_ROUNDS];
};

static inline void scatter_init(struct scatter *scatter, uint64_t n, uint64_t seed)
{
    unsigned bits = n > 1 ? 64u - (unsigned)__builtin_clzll(n - 1) : 1;
    *scatter = (struct scatter){ .n = n, .shift = (bits + 1) / 2 };
    scatter->mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    for (unsigned i = 0; i < SCATTER_ROUNDS; i++) {
        scatter->odd[i] = mix64_of(seed, 2 * i) | 1;
        scatter->add[i] = mix64_of(seed, 2 * i + 1);
    }
}

/* Where number i, below n, comes: below n too, and another one for every other i. */
static inline uint64_t scatter_of(const struct scatter *scatter, uint64_t i)
{
    do
        for (unsigned round = 0; round < SCATTER_ROUNDS; round++) {
            i = (i * scatter->odd[round] + scatter->add[round]) & scatter->mask;
            i ^= i >> scatter->shift;
        }
    while (i >= scatter->n);
    return i;
}
