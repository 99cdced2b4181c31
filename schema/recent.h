/* Inside this folder only: batches of the recent past, from which the rate of the next one follows. */
#pragma once
#include "engine/base/clock.h"

enum { RECENT = 4096 };
struct recent {
    unsigned run, leg;
    size_t n; /* taken in so far; the last RECENT are there */
    nsec at[RECENT];
    double ops_before[RECENT]; /* of all that ended before this one */
    double ops;                /* of all so far */
};

/* Which leg the next batches belong to: another one has another clock. */
void recent_of(struct recent *recent, unsigned run, unsigned leg);
/* Takes a batch in; they come in the order of `at`. Returns operations per second of wall time while
 * it ran: those of every batch, of any lane, that ended in its time. For one lane, its own. */
double recent_rate(struct recent *recent, nsec at, nsec elapsed, int64_t ops);
