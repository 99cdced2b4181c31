#include "engine/analysis/phase.h"

#include <math.h>

/* The costs of the batches that can be told: in load order, none empty. All arrays in one block. What was
 * measured at a load is a cost by itself, at that load. */
static void costs_of(const struct batches *b, double *room, struct costs *ret)
{
    ret->x = room;
    ret->c = room + b->n;
    ret->edge = room + 2 * b->n;
    ret->n = 0;
    ret->edge[0] = b->start;
    double begin = b->start;
    for (size_t i = 0; i < b->n; i++) {
        double width = b->load[i] - begin;
        if (b->at_load && isfinite(b->seconds[i]) && b->seconds[i] >= 0) {
            ret->x[ret->n] = b->load[i];
            ret->c[ret->n] = b->seconds[i];
            ret->edge[++ret->n] = b->load[i];
        } else if (!b->at_load && width > 0 && isfinite(b->seconds[i]) && b->seconds[i] >= 0) {
            ret->x[ret->n] = begin + width / 2;
            ret->c[ret->n] = b->seconds[i] / width;
            ret->edge[++ret->n] = b->load[i];
        }
        begin = b->load[i];
    }
}

static void growth(const struct costs *costs, double *scratch, struct phase_findings *ret)
{
    if (ret->knee.shape == KNEE_NONE) {
        growth_of(costs->x, costs->c, costs->n, scratch, &ret->growth);
        return;
    }
    size_t split = 0, after = 0;
    while (split < costs->n && costs->x[split] < ret->knee.at)
        split++;
    growth_of(costs->x, costs->c, split, scratch, &ret->before);
    after = costs->n - split;
    double *beyond = scratch + costs->n;
    for (size_t i = 0; i < after; i++)
        beyond[i] = costs->x[split + i] - ret->knee.at;
    growth_of(beyond, costs->c + split, after, scratch, &ret->after);
}

int phase_findings_of(const struct batches *b, struct phase_findings *ret, struct problem *why)
{
    struct phase_findings found = { .totals = totals_of(b) };
    struct costs costs;
    struct bins bins;
    /* x, c, edge, and scratch for three more series */
    scoped_free double *room = calloc(6 * b->n + 16, sizeof *room);
    if (!room)
        return problem_memory(why);
    double *scratch = room + 3 * b->n + 8;
    costs_of(b, room, &costs);
    if (costs.n > 0) {
        zones_of(&costs, scratch, &found.zones);
        bins_of(&costs, &found.zones, scratch, &bins);
        knee_of(&costs, &found.zones, &bins, scratch, &found.knee);
        growth(&costs, scratch, &found);
    }
    *ret = found;
    return 0;
}
