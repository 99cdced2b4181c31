#include "engine/workload/permutation.h"

#include "engine/base/mix.h"

void permutation_init(struct permutation *permutation, uint64_t n, uint64_t seed)
{
    unsigned half = 1;
    while (half < 31 && UINT64_C(1) << 2 * half < n)
        half++;
    *permutation = (struct permutation){ .n = n, .half = half, .mask = (UINT64_C(1) << half) - 1 };
    for (unsigned i = 0; i < PERMUTATION_ROUNDS; i++)
        permutation->key[i] = mix64_of(seed, i);
}

static uint64_t once(const struct permutation *permutation, uint64_t x)
{
    uint64_t left = x >> permutation->half, right = x & permutation->mask;
    for (unsigned i = 0; i < PERMUTATION_ROUNDS; i++) {
        uint64_t next = left ^ (mix64(right ^ permutation->key[i]) & permutation->mask);
        left = right;
        right = next;
    }
    return left << permutation->half | right;
}

uint64_t permutation_of(const struct permutation *permutation, uint64_t i)
{
    do
        i = once(permutation, i);
    while (i >= permutation->n);
    return i;
}
