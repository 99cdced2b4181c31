/* Which files exist after a creation that may have ended anywhere. Lanes claim batches from one pool, so
 * all numbers below the last claimed one exist, but for one gap a lane at most. */
#include "engine/workload/create_scaling.h"

static int by_first(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

int manifest_new(const struct extent *extents, size_t n, struct manifest *ret, struct problem *why)
{
    struct manifest manifest = { 0 };
    scoped_free struct piece *gaps = calloc(n + 1, sizeof *gaps);
    manifest.pieces = calloc(n + 1, sizeof *manifest.pieces);
    if (!gaps || !manifest.pieces) {
        free(manifest.pieces);
        return problem_memory(why);
    }
    size_t gaps_n = 0;
    uint64_t end = 0, from = 0;
    for (size_t i = 0; i < n; i++) {
        if (extents[i].end > end)
            end = extents[i].end;
        if (extents[i].gap_end > extents[i].gap_first)
            gaps[gaps_n++] = (struct piece){ .first = extents[i].gap_first,
                                             .n = extents[i].gap_end - extents[i].gap_first };
    }
    qsort(gaps, gaps_n, sizeof *gaps, by_first);
    gaps[gaps_n++] = (struct piece){ .first = end };
    for (size_t i = 0; i < gaps_n; from = gaps[i].first + gaps[i].n, i++)
        if (gaps[i].first > from) {
            manifest.pieces[manifest.n++] = (struct piece){ .first = from,
                                                            .n = gaps[i].first - from,
                                                            .before = manifest.files };
            manifest.files += gaps[i].first - from;
        }
    *ret = manifest;
    return 0;
}

void manifest_done(struct manifest *manifest)
{
    free(manifest->pieces);
    *manifest = (struct manifest){ 0 };
}

const struct piece *manifest_find(const struct manifest *manifest, uint64_t ordinal)
{
    size_t low = 0, high = manifest->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (manifest->pieces[middle].before <= ordinal)
            low = middle;
        else
            high = middle;
    }
    return &manifest->pieces[low];
}
