/* Numbers that look random and are fixed by a seed. */
#pragma once
#include <stdint.h>

/* The finaliser of splitmix64: every bit of x moves about half of the bits of the result. */
static inline uint64_t mix64(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
/* Number i, from 0, of the generator splitmix64 that starts at the seed. */
static inline uint64_t mix64_of(uint64_t seed, uint64_t i)
{
    return mix64(seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}
