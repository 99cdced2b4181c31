/* Phases as an ingest holds them: totals so far, and samples until they fill a chunk. */
#include "schema/ingest.h"

void gather_done(struct gather *gather)
{
    free(gather->histogram);
    free(gather->samples);
}

struct gather *gather_find(struct ingest *ingest, unsigned run, unsigned leg, const char *phase)
{
    for (size_t i = ingest->phases_n; i-- > 0;) {
        const struct phase_total *total = &ingest->phases[i].total;
        if (total->run == run && total->leg == leg && strcmp(total->name, phase) == 0)
            return &ingest->phases[i];
    }
    return NULL;
}

struct gather *gather_new(struct ingest *ingest, struct problem *why)
{
    struct gather *grown =
        reallocarray(ingest->phases, ingest->phases_n + 1, sizeof *ingest->phases);
    if (!grown) {
        problem_memory(why);
        return NULL;
    }
    ingest->phases = grown;
    struct gather *gather = &grown[ingest->phases_n++];
    *gather = (struct gather){ 0 };
    return gather;
}

int gather_room(struct gather *gather, struct problem *why)
{
    if (!gather->samples)
        gather->samples = malloc(SAMPLE_GROUP * sizeof *gather->samples);
    return gather->samples ? 0 : problem_memory(why);
}

static int phase_write(struct ingest *ingest, struct gather *gather, struct problem *why)
{
    const struct phase_total *total = &gather->total;
    const struct latency *latency = &total->latency;
    const struct limit *limit = &total->limit;
    char detail[sizeof limit->detail];
    memcpy(detail, limit->detail, sizeof detail);
    text_scrub(detail);
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_int(&params, total->run);
    param_int(&params, total->leg);
    param_text(&params, total->name);
    param_count(&params, gather->began_seq);
    param_text(&params, total->unit);
    const uint64_t counts[] = { total->lanes, total->batch, total->total,
                                total->ops,   total->bytes, total->errors };
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        param_count(&params, counts[i]);
    param_int(&params, total->first_start);
    param_int(&params, total->first_done);
    param_int(&params, total->last_done);
    param_int(&params, total->flush);
    param_count(&params, total->dirty_before);
    param_bool(&params, total->finished);
    param_count(&params, latency->count);
    param_number(&params, latency->sum);
    const nsec latencies[] = { latency->min, latency->max, latency->p50,
                               latency->p90, latency->p99, latency->p999 };
    for (size_t i = 0; i < COUNT_OF(latencies); i++)
        param_int(&params, latencies[i]);
    param_text(&params, gather->histogram);
    if (limit->reached) {
        param_count(&params, limit->at);
        param_text(&params, limit_reasons[limit->reason]);
        param_int(&params, limit->error);
        param_text(&params, detail);
    } else {
        for (int i = 0; i < 4; i++)
            param_null(&params);
    }
    param_text(&params, total->cache);
    param_bool(&params, total->at_load);
    param_count(&params, total->first_ops);
    param_count(&params, total->first_bytes);
    param_int(&params, total->sync);
    param_count(&params, total->resident);
    param_bool(&params, total->paced);
    param_int(&params, total->paused);
    if (query_do(ingest->connection, QUERY_PHASE_PUT, &params, NULL, why) < 0)
        return -1;
    gather->dirty = false;
    return 0;
}

static int chunk_write(struct ingest *ingest, const struct gather *gather, size_t from,
                       uint64_t seq, bool small, struct problem *why)
{
    const struct chunk chunk = { .job = ingest->job,
                                 .run = gather->total.run,
                                 .leg = gather->total.leg,
                                 .phase = gather->total.name,
                                 .seq = seq,
                                 .seq_last = gather->seq_last,
                                 .small = small,
                                 .n = gather->n - from,
                                 .samples = &gather->samples[from] };
    struct problem refused = { 0 };
    if (chunk_add(ingest->connection, &chunk, &refused) == 0)
        return 0;
    return refused_as_duplicate(ingest->connection) ? ingest_overtaken(why)
                                                    : problem_pass(why, &refused);
}

static int small_drop(struct ingest *ingest, const struct gather *gather, struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_int(&params, gather->total.run);
    param_int(&params, gather->total.leg);
    param_text(&params, gather->total.name);
    param_count(&params, gather->seq_first);
    param_count(&params, gather->seq_last);
    return query_do(ingest->connection, QUERY_CHUNK_DROP_SMALL, &params, NULL, why);
}

int gather_seal(struct ingest *ingest, struct gather *gather, struct problem *why)
{
    if (gather->n == 0)
        return 0;
    if (ingest_transaction(ingest, why) < 0 ||
        (gather->dirty && phase_write(ingest, gather, why) < 0) ||
        (gather->stored && small_drop(ingest, gather, why) < 0) ||
        chunk_write(ingest, gather, 0, gather->seq_first, false, why) < 0)
        return -1;
    gather->n = gather->stored = 0;
    return 0;
}

int gather_seal_all(struct ingest *ingest, struct problem *why)
{
    for (size_t i = 0; i < ingest->phases_n; i++) {
        if (gather_seal(ingest, &ingest->phases[i], why) < 0)
            return -1;
        free(steal(&ingest->phases[i].samples));
    }
    return 0;
}

int gather_store(struct ingest *ingest, struct gather *gather, struct problem *why)
{
    if (gather->dirty && phase_write(ingest, gather, why) < 0)
        return -1;
    if (gather->n == gather->stored)
        return 0;
    if (chunk_write(ingest, gather, gather->stored, gather->seq_unstored, true, why) < 0)
        return -1;
    gather->stored = gather->n;
    return 0;
}
