#include "engine/spread.h"

#include <math.h>

/* One phase of one run. */
struct entry {
    uint64_t point;
    const char *params;
    size_t place; /* of the phase, in its run */
    const struct phase_total *phase;
    double rate;
};

static bool is_first_leg(const struct run_rates *run, size_t place)
{
    for (size_t i = 0; i < place; i++)
        if (strcmp(run->phases[i].name, run->phases[place].name) == 0)
            return false;
    return true;
}

/* Neither going on nor broken off; a limit is an end. */
static bool is_whole(const struct phase_total *phase)
{
    return phase->finished && (phase_load(phase) >= phase->total || phase->limit.reached);
}

/* Over all legs; NAN: not whole, or nothing was timed. */
static double rate_of(const struct run_rates *run, const char *name)
{
    double load = 0, seconds = 0;
    for (size_t i = 0; i < run->phases_n; i++) {
        const struct phase_total *phase = &run->phases[i];
        if (strcmp(phase->name, name) != 0)
            continue;
        if (!is_whole(phase))
            return NAN;
        load += (double)phase_load(phase);
        seconds += phase_seconds(phase);
    }
    return seconds > 0 ? load / seconds : NAN;
}

static int by_point_and_rate(const void *a_, const void *b_)
{
    const struct entry *a = a_, *b = b_;
    if (a->point != b->point)
        return a->point < b->point ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    int name = strcmp(a->phase->name, b->phase->name);
    return name ? name : (a->rate > b->rate) - (a->rate < b->rate);
}

static bool belong_together(const struct entry *a, const struct entry *b)
{
    return a->point == b->point && strcmp(a->phase->name, b->phase->name) == 0;
}

static struct spread spread_of(const struct entry *at, size_t n)
{
    return (struct spread){ .point = at->point,
                            .params = at->params,
                            .phase = at->phase->name,
                            .unit = at->phase->unit,
                            .n = n,
                            .median =
                                n % 2 ? at[n / 2].rate : (at[n / 2 - 1].rate + at[n / 2].rate) / 2,
                            .low = at[0].rate,
                            .high = at[n - 1].rate };
}

int spreads_of(const struct run_rates *runs, size_t n, struct spread **ret, size_t *ret_n,
               struct problem *why)
{
    size_t room = 0, entries_n = 0, spreads_n = 0;
    for (size_t i = 0; i < n; i++)
        room += runs[i].phases_n;
    scoped_free struct entry *entries = calloc(room + 1, sizeof *entries);
    scoped_free struct spread *spreads = calloc(room + 1, sizeof *spreads);
    if (!entries || !spreads)
        return problem_memory(why);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < runs[i].phases_n; k++) {
            const struct phase_total *phase = &runs[i].phases[k];
            double rate = is_first_leg(&runs[i], k) ? rate_of(&runs[i], phase->name) : NAN;
            if (isfinite(rate))
                entries[entries_n++] =
                    (struct entry){ runs[i].point, runs[i].params, k, phase, rate };
        }
    qsort(entries, entries_n, sizeof *entries, by_point_and_rate);
    for (size_t first = 0, next; first < entries_n; first = next) {
        for (next = first + 1; next < entries_n; next++)
            if (!belong_together(&entries[first], &entries[next]))
                break;
        spreads[spreads_n++] = spread_of(&entries[first], next - first);
    }
    *ret = steal(&spreads);
    *ret_n = spreads_n;
    return 0;
}

double spread_share(const struct spread *spread)
{
    return spread->n > 1 && spread->median > 0 ? (spread->high - spread->low) / spread->median
                                               : NAN;
}
