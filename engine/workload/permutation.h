/* The numbers 0 to n - 1 in a random order that a seed fixes, in memory that does not grow with n: a Feistel
 * network over the next even power of two, walked on until it gives a number below n. */
#pragma once
#include <stdint.h>

enum { PERMUTATION_ROUNDS = 4 };

struct permutation {
    uint64_t n, mask; /* mask: of half the bits */
    unsigned half;
    uint64_t key[PERMUTATION_ROUNDS];
};

void permutation_init(struct permutation *permutation, uint64_t n, uint64_t seed);
/* Where number i, below n, comes: below n too, and another one for every other i. */
uint64_t permutation_of(const struct permutation *permutation, uint64_t i);
