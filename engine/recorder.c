#include "engine/recorder.h"

int recorder_new(struct journal *journal, struct crew *crew, struct lane *lanes, unsigned lanes_n,
                 struct phase_total *total, struct recorder **ret, struct problem *why)
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder || !(recorder->heap = calloc(lanes_n, sizeof *recorder->heap))) {
        free(recorder);
        return problem_memory(why);
    }
    recorder->journal = journal;
    recorder->crew = crew;
    recorder->lanes = lanes;
    recorder->lanes_n = lanes_n;
    recorder->total = total;
    recorder->counts_bytes = phase_counts_bytes(total);
    slowdown_init(&recorder->slowdown, crew->phase->slower, lanes_n, crew->phase->batch);
    *ret = recorder;
    return 0;
}

struct recorder *recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return NULL;
    free(recorder->heap);
    free(recorder);
    return NULL;
}

/* The moment up to which every sample is in the rings. A lane that is not closing a batch will read
 * the clock later than this; one that is closing may already have read it, so only what it has
 * published before is certain. The flags must be read before the rings. */
static nsec horizon(struct recorder *recorder)
{
    nsec moment = clock_monotonic() - recorder->crew->epoch;
    for (unsigned i = 0; i < recorder->lanes_n; i++) {
        struct lane *lane = &recorder->lanes[i];
        if (!atomic_load(&lane->closing))
            continue;
        nsec newest = ring_newest(&lane->ring, lane->recorded);
        if (newest < moment)
            moment = newest;
    }
    return moment;
}

/* --- a heap of lanes by the `at` of their oldest sample --- */

static nsec oldest(const struct recorder *recorder, unsigned lane)
{
    return ring_peek(&recorder->lanes[lane].ring)->at;
}

static void sift_down(struct recorder *recorder, unsigned i)
{
    unsigned *heap = recorder->heap;
    for (;;) {
        unsigned least = i;
        for (unsigned child = 2 * i + 1; child <= 2 * i + 2 && child < recorder->heap_n; child++)
            if (oldest(recorder, heap[child]) < oldest(recorder, heap[least]))
                least = child;
        if (least == i)
            return;
        unsigned held = heap[i];
        heap[i] = heap[least];
        heap[least] = held;
        i = least;
    }
}

static bool has_until(struct recorder *recorder, unsigned lane, nsec moment)
{
    const struct sample *sample = ring_peek(&recorder->lanes[lane].ring);
    return sample && sample->at <= moment;
}

static void gather(struct recorder *recorder, nsec moment)
{
    recorder->heap_n = 0;
    for (unsigned i = 0; i < recorder->lanes_n; i++)
        if (has_until(recorder, i, moment))
            recorder->heap[recorder->heap_n++] = i;
    for (unsigned i = recorder->heap_n / 2; i-- > 0;)
        sift_down(recorder, i);
}

static int flush(struct recorder *recorder, struct problem *why)
{
    size_t n = recorder->n;
    recorder->n = 0;
    return journal_samples(recorder->journal, recorder->total->run, recorder->total->leg,
                           recorder->total->name, recorder->group, n, why);
}

static void take(struct recorder *recorder, const struct sample *sample)
{
    struct phase_total *total = recorder->total;
    total->ops += sample->ops;
    total->bytes += sample->bytes;
    total->errors += sample->errors;
    total->last_done = sample->at;
    struct sample *placed = &recorder->group[recorder->n++];
    *placed = *sample;
    if (!total->at_load)
        placed->load =
            recorder->crew->phase->before + (recorder->counts_bytes ? total->bytes : total->ops);
}

static void judge(struct recorder *recorder, const struct sample *sample)
{
    struct limit limit;
    if (slowdown_note(&recorder->slowdown, sample, &limit))
        crew_limit(recorder->crew, &limit);
}

int recorder_drain(struct recorder *recorder, enum drain drain, struct problem *why)
{
    nsec moment = drain == DRAIN_ALL ? INT64_MAX : horizon(recorder);
    /* Fewer lanes do less: what the last ones do alone says nothing about the target. */
    bool all_work = atomic_load(&recorder->crew->running) == recorder->lanes_n;
    int result = 0;
    gather(recorder, moment);
    while (recorder->heap_n) {
        unsigned lane = recorder->heap[0];
        take(recorder, ring_peek(&recorder->lanes[lane].ring));
        if (all_work)
            judge(recorder, ring_peek(&recorder->lanes[lane].ring));
        recorder->lanes[lane].recorded = recorder->total->last_done;
        ring_pop(&recorder->lanes[lane].ring);
        if (!has_until(recorder, lane, moment))
            recorder->heap[0] = recorder->heap[--recorder->heap_n];
        sift_down(recorder, 0);
        if (recorder->n == SAMPLE_GROUP && flush(recorder, why))
            result = -1;
    }
    if (flush(recorder, why))
        result = -1;
    crew_room(recorder->crew);
    return result;
}
