/* Where a person would put the ticks of an axis, and what they would write there. */
#pragma once
#include <stddef.h>

enum { TICKS_MOST = 16, TICK_TEXT = 32 };

struct ticks {
    size_t n;
    double at[TICKS_MOST];
    char label[TICKS_MOST][TICK_TEXT]; /* "0", "2.5 ms", "1.5 M", "64 KiB" */
};

/* Round numbers 1, 2 or 5 times a power of ten apart, within [low, high], at most `most` of them (2 to
 * TICKS_MOST). Seconds ("s", "ns") are written in s, ms, µs or ns, bytes in KiB and up, and whatever
 * else is counted with k, M, G from 10,000 on; one unit for the whole axis. */
void ticks_of(double low, double high, size_t most, const char *unit, struct ticks *ret);
