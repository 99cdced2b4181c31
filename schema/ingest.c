/* From the journal into the database, exactly once.
 *
 * Each journal record has a sequence number, and the job row keeps the last one stored. A record at
 * or below it is skipped; the row is advanced in the transaction that stores what came after, on
 * condition that it still stands where this ingester started. So a journal may be read twice, from
 * any offset, after any crash, and even by two ingesters: every sample is there once.
 *
 * Samples are gathered to full chunks in memory. What is gathered but not yet full at a commit goes
 * in as a small chunk; the full one replaces its small ones. Which lines make up a full chunk depends
 * on the journal alone, so the rows of a finished phase do not depend on when commits happened. */
#include "schema/chunk.h"

#include <jansson.h>

/* A phase, its totals so far, and its samples that do not fill a chunk yet. */
struct gather {
    struct phase_total total;
    uint64_t began_seq;
    char *histogram;        /* JSON text, once the phase ended */
    bool dirty;             /* the row in the database is older than `total` */
    size_t n, stored;       /* samples; the first `stored` are in small chunks already */
    uint64_t seq_first;     /* record of the first sample */
    uint64_t seq_unstored;  /* record of the first one that is not stored */
    uint64_t seq_last;      /* record of the last sample */
    struct sample *samples; /* SAMPLE_GROUP of them, while there are some */
};

struct ingest {
    struct store *store;
    job_id job;
    struct connection *connection; /* while a transaction is open */
    bool failed;                   /* what is in memory went further than the database */
    uint64_t seq_stored, seq;      /* last record: in the database, taken in */
    off_t offset;
    bool made; /* a run began, so there is something to clean up */
    size_t phases_n;
    struct gather *phases;
};

static void gather_done(struct gather *gather)
{
    free(gather->histogram);
    free(gather->samples);
}

struct ingest *ingest_close(struct ingest *ingest)
{
    if (!ingest)
        return NULL;
    store_return(ingest->connection);
    for (size_t i = 0; i < ingest->phases_n; i++)
        gather_done(&ingest->phases[i]);
    free(ingest->phases);
    free(ingest);
    return NULL;
}

static void ingest_close_cell(struct ingest **ingest)
{
    ingest_close(*ingest);
}

static struct gather *gather_find(struct ingest *ingest, unsigned run, unsigned leg,
                                  const char *phase)
{
    for (size_t i = ingest->phases_n; i-- > 0;) {
        const struct phase_total *total = &ingest->phases[i].total;
        if (total->run == run && total->leg == leg && strcmp(total->name, phase) == 0)
            return &ingest->phases[i];
    }
    return NULL;
}

static struct gather *gather_new(struct ingest *ingest, struct problem *why)
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

/* ---- opening ---- */

static int phases_load(struct ingest *ingest, struct connection *connection, struct problem *why)
{
    char ids[32];
    snprintf(ids, sizeof ids, "{%lld}", (long long)ingest->job);
    struct params params = { 0 };
    param_text(&params, ids);
    scoped_result PGresult *result = NULL;
    if (query_run(connection, QUERY_JOB_PHASES, &params, &result, why) < 0)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        struct gather *gather = gather_new(ingest, why);
        if (!gather)
            return -1;
        phase_read(result, row, &gather->total);
        gather->began_seq = (uint64_t)cell_int(result, row, PQnfields(result) - 1);
    }
    return 0;
}

static int samples_room(struct gather *gather, struct problem *why)
{
    if (!gather->samples)
        gather->samples = malloc(SAMPLE_GROUP * sizeof *gather->samples);
    return gather->samples ? 0 : problem_memory(why);
}

/* The small chunks come back into memory, to be replaced when they are full. */
static int small_load(struct ingest *ingest, struct connection *connection, struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, ingest->job);
    scoped_result PGresult *result = NULL;
    if (query_run(connection, QUERY_INGEST_SMALL, &params, &result, why) < 0)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        struct gather *gather =
            gather_find(ingest, (unsigned)cell_int(result, row, 0),
                        (unsigned)cell_int(result, row, 1), cell_text(result, row, 2));
        struct sample samples[SAMPLE_GROUP];
        int n = chunk_samples(result, row, 6, samples, why);
        if (n < 0)
            return -1;
        if (!gather || gather->n + (size_t)n > SAMPLE_GROUP)
            return problem_set(why, PROBLEM_INTERNAL, "the small chunks of job %lld do not fit",
                               (long long)ingest->job);
        if (samples_room(gather, why) < 0)
            return -1;
        if (gather->n == 0)
            gather->seq_first = (uint64_t)cell_int(result, row, 3);
        gather->seq_last = (uint64_t)cell_int(result, row, 4);
        memcpy(&gather->samples[gather->n], samples, (size_t)n * sizeof samples[0]);
        gather->stored = gather->n += (size_t)n;
    }
    return 0;
}

int ingest_open(struct store *store, job_id job, struct ingest **ret, off_t *ret_offset,
                struct problem *why)
{
    scoped(ingest_close_cell) struct ingest *ingest = calloc(1, sizeof *ingest);
    if (!ingest)
        return problem_memory(why);
    ingest->store = store;
    ingest->job = job;
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, job);
    if (store_borrow(store, &connection, why) < 0 ||
        transaction_begin_reading(connection, why) < 0 ||
        query_run(connection, QUERY_INGEST_OPEN, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return problem_set(why, PROBLEM_NOT_FOUND, "there is no job %lld", (long long)job);
    ingest->seq_stored = ingest->seq = (uint64_t)cell_int(result, 0, 0);
    ingest->offset = cell_int(result, 0, 1);
    ingest->made = cell_bool(result, 0, 2);
    if (phases_load(ingest, connection, why) < 0 || small_load(ingest, connection, why) < 0 ||
        transaction_commit(connection, why) < 0)
        return -1;
    *ret_offset = ingest->offset;
    *ret = steal(&ingest);
    return 0;
}

/* ---- writing ---- */

/* Opens the transaction that ingest_commit ends, unless it is open. */
static int transaction_need(struct ingest *ingest, struct problem *why)
{
    if (ingest->connection)
        return 0;
    if (store_borrow(ingest->store, &ingest->connection, why) < 0)
        return -1;
    return transaction_begin(ingest->connection, why);
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
    if (query_do(ingest->connection, QUERY_PHASE_PUT, &params, NULL, why) < 0)
        return -1;
    gather->dirty = false;
    return 0;
}

/* Somebody else stored records that this one holds in memory. */
static int overtaken(struct problem *why)
{
    return problem_set(why, PROBLEM_CONFLICT, "another ingester has stored its records meanwhile");
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
    return refused_as_duplicate(ingest->connection) ? overtaken(why) : problem_pass(why, &refused);
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

/* All that is gathered becomes one chunk, and replaces its small ones. */
static int gather_seal(struct ingest *ingest, struct gather *gather, struct problem *why)
{
    if (gather->n == 0)
        return 0;
    if (transaction_need(ingest, why) < 0 ||
        (gather->dirty && phase_write(ingest, gather, why) < 0) ||
        (gather->stored && small_drop(ingest, gather, why) < 0) ||
        chunk_write(ingest, gather, 0, gather->seq_first, false, why) < 0)
        return -1;
    gather->n = gather->stored = 0;
    return 0;
}

/* No more samples will come to what is there. */
static int seal_all(struct ingest *ingest, struct problem *why)
{
    for (size_t i = 0; i < ingest->phases_n; i++) {
        if (gather_seal(ingest, &ingest->phases[i], why) < 0)
            return -1;
        free(steal(&ingest->phases[i].samples));
    }
    return 0;
}

/* ---- records ---- */

static char *json_text(const json_t *json, const char *otherwise)
{
    return json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : strdup(otherwise);
}

static int take_begin(struct ingest *ingest, const struct journal_record *record,
                      struct problem *why)
{
    if (record->job != 0 && record->job != ingest->job)
        return problem_set(why, PROBLEM_BAD_FIELD, "the journal belongs to job %lld, not to %lld",
                           (long long)record->job, (long long)ingest->job);
    const char *workspace = json_string_value(json_object_get(record->json, "workspace"));
    ingest->made = workspace && *workspace;
    scoped_free char *environment = json_text(json_object_get(record->json, "environment"), "{}");
    if (!environment)
        return problem_memory(why);
    struct params begin = { 0 }, leg = { 0 };
    param_int(&begin, ingest->job);
    param_time(&begin, record->wall);
    param_text(&begin, environment);
    param_text(&begin, record->boot_id);
    param_int(&begin, record->pid);
    param_count(&begin, record->pid_start);
    param_int(&leg, ingest->job);
    param_int(&leg, record->run);
    param_int(&leg, record->leg);
    param_time(&leg, record->wall);
    param_text(&leg, record->boot_id);
    if (transaction_need(ingest, why) < 0 ||
        query_do(ingest->connection, QUERY_INGEST_BEGIN, &begin, NULL, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_INGEST_LEG, &leg, NULL, why);
}

/* The phase that a record speaks of; one that was never announced is known from now on. */
static struct gather *gather_of(struct ingest *ingest, const struct journal_record *record,
                                struct problem *why)
{
    struct gather *gather = gather_find(ingest, record->run, record->leg, record->phase.name);
    if (gather || !(gather = gather_new(ingest, why)))
        return gather;
    gather->began_seq = record->seq;
    gather->total = (struct phase_total){ .run = record->run, .leg = record->leg };
    memcpy(gather->total.name, record->phase.name, sizeof gather->total.name);
    return gather;
}

static int take_phase(struct ingest *ingest, const struct journal_record *record,
                      struct problem *why)
{
    struct gather *gather = gather_of(ingest, record, why);
    if (!gather)
        return -1;
    memcpy(gather->total.unit, record->phase.unit, sizeof gather->total.unit);
    gather->total.lanes = record->phase.lanes;
    gather->total.batch = record->phase.batch;
    gather->total.total = record->phase.total;
    gather->dirty = true;
    return 0;
}

static void total_add(struct phase_total *total, const struct sample *sample)
{
    nsec start = sample->at - sample->elapsed;
    if (total->last_done == 0 || start < total->first_start)
        total->first_start = start;
    if (sample->at > total->last_done)
        total->last_done = sample->at;
    total->ops += sample->ops;
    total->bytes += sample->bytes;
    total->errors += sample->errors;
}

static int take_samples(struct ingest *ingest, const struct journal_record *record,
                        struct problem *why)
{
    struct gather *gather = gather_of(ingest, record, why);
    if (!gather)
        return -1;
    if (record->n == 0)
        return 0;
    if (gather->n + record->n > SAMPLE_GROUP && gather_seal(ingest, gather, why) < 0)
        return -1;
    if (samples_room(gather, why) < 0)
        return -1;
    if (gather->n == 0)
        gather->seq_first = record->seq;
    if (gather->n == gather->stored)
        gather->seq_unstored = record->seq;
    gather->seq_last = record->seq;
    memcpy(&gather->samples[gather->n], record->samples, record->n * sizeof record->samples[0]);
    gather->n += record->n;
    gather->dirty = true;
    if (!gather->total.finished)
        for (size_t i = 0; i < record->n; i++)
            total_add(&gather->total, &record->samples[i]);
    return gather->n == SAMPLE_GROUP ? gather_seal(ingest, gather, why) : 0;
}

static int take_limit(struct ingest *ingest, const struct journal_record *record,
                      struct problem *why)
{
    struct gather *gather = gather_of(ingest, record, why);
    if (!gather)
        return -1;
    gather->total.limit = record->phase.limit;
    gather->total.limit.reached = true;
    gather->dirty = true;
    return 0;
}

static int take_phase_end(struct ingest *ingest, const struct journal_record *record,
                          struct problem *why)
{
    struct gather *gather = gather_of(ingest, record, why);
    if (!gather)
        return -1;
    struct phase_total *total = &gather->total;
    total->ops = record->phase.ops;
    total->bytes = record->phase.bytes;
    total->errors = record->phase.errors;
    total->first_start = record->phase.first_start;
    total->first_done = record->phase.first_done;
    total->last_done = record->phase.last_done;
    total->latency = record->phase.latency;
    if (record->phase.limit.reached)
        total->limit = record->phase.limit;
    total->finished = true;
    const json_t *latency = json_object_get(record->json, "latency");
    const json_t *buckets = json_object_get(latency, "buckets");
    free(gather->histogram);
    gather->histogram = json_text(buckets, "[]");
    if (!gather->histogram)
        return problem_memory(why);
    gather->dirty = true;
    if (gather_seal(ingest, gather, why) < 0)
        return -1;
    free(steal(&gather->samples));
    return 0;
}

static int take_host(struct ingest *ingest, const struct journal_record *record,
                     struct problem *why)
{
    if (transaction_need(ingest, why) < 0)
        return -1;
    for (size_t i = 0; i < record->n; i++) {
        struct params params = { 0 };
        param_int(&params, ingest->job);
        param_int(&params, record->run);
        param_int(&params, record->leg);
        param_int(&params, record->host[i].at);
#define X(column, unit) param_number(&params, record->host[i].column);
        HOST_COLUMNS(X)
#undef X
        if (query_do(ingest->connection, QUERY_HOST_ADD, &params, NULL, why) < 0)
            return -1;
    }
    return 0;
}

static int take_reboot(struct ingest *ingest, struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, ingest->job);
    if (transaction_need(ingest, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_INGEST_REBOOT, &params, NULL, why);
}

static int take_end(struct ingest *ingest, const struct journal_record *record, struct problem *why)
{
    struct problem scrubbed;
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_text(&params, job_states[record->outcome]);
    param_time(&params, record->wall ? record->wall : clock_wall());
    param_bool(&params, ingest->made);
    param_problem(&params, &record->problem, &scrubbed);
    if (seal_all(ingest, why) < 0 || transaction_need(ingest, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_INGEST_END, &params, NULL, why);
}

static int take_cleanup(struct ingest *ingest, const struct journal_record *record,
                        struct problem *why)
{
    scoped_free char *names = json_text(json_object_get(record->json, "foreign"), "[]");
    if (!names)
        return problem_memory(why);
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_text(&params, cleanup_states[record->cleanup]);
    param_count(&params, record->removed);
    param_text(&params, names);
    /* Its runner is gone or has ended: nothing more will be measured. */
    if (seal_all(ingest, why) < 0 || transaction_need(ingest, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_INGEST_CLEANUP, &params, NULL, why);
}

static int take(struct ingest *ingest, const struct journal_record *record, struct problem *why)
{
    switch (record->kind) {
    case RECORD_BEGIN:
        return take_begin(ingest, record, why);
    case RECORD_PHASE:
        return take_phase(ingest, record, why);
    case RECORD_SAMPLES:
        return take_samples(ingest, record, why);
    case RECORD_HOST:
        return take_host(ingest, record, why);
    case RECORD_LIMIT:
        return take_limit(ingest, record, why);
    case RECORD_PHASE_END:
        return take_phase_end(ingest, record, why);
    case RECORD_REBOOT:
        return take_reboot(ingest, why);
    case RECORD_END:
        return take_end(ingest, record, why);
    case RECORD_CLEANUP:
        return take_cleanup(ingest, record, why);
    case RECORD_UNKNOWN:
        break; /* of a newer writer */
    }
    return 0;
}

static int give_up(struct ingest *ingest, struct problem *why)
{
    ingest->failed = true;
    ingest->connection = store_return(ingest->connection);
    return problem_during(why, "storing job %lld: ", (long long)ingest->job);
}

static int refuse_failed(const struct ingest *ingest, struct problem *why)
{
    return problem_set(why, PROBLEM_INTERNAL, "the ingest of job %lld failed before: open it anew",
                       (long long)ingest->job);
}

int ingest_add(struct ingest *ingest, const struct journal_record *record, struct problem *why)
{
    if (ingest->failed)
        return refuse_failed(ingest, why);
    if (record->seq <= ingest->seq)
        return 0;
    if (take(ingest, record, why) < 0)
        return give_up(ingest, why);
    ingest->seq = record->seq;
    ingest->offset = record->end;
    return 0;
}

static int write_rest(struct ingest *ingest, struct problem *why)
{
    for (size_t i = 0; i < ingest->phases_n; i++) {
        struct gather *gather = &ingest->phases[i];
        if (gather->dirty && phase_write(ingest, gather, why) < 0)
            return -1;
        if (gather->n == gather->stored)
            continue;
        if (chunk_write(ingest, gather, gather->stored, gather->seq_unstored, true, why) < 0)
            return -1;
        gather->stored = gather->n;
    }
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_count(&params, ingest->seq);
    param_int(&params, ingest->offset);
    param_count(&params, ingest->seq_stored);
    scoped_result PGresult *result = NULL;
    if (query_run(ingest->connection, QUERY_INGEST_PROGRESS, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return overtaken(why);
    return transaction_commit(ingest->connection, why);
}

int ingest_commit(struct ingest *ingest, struct problem *why)
{
    if (ingest->failed)
        return refuse_failed(ingest, why);
    if (ingest->seq == ingest->seq_stored)
        return 0;
    if (transaction_need(ingest, why) < 0 || write_rest(ingest, why) < 0)
        return give_up(ingest, why);
    ingest->connection = store_return(ingest->connection);
    ingest->seq_stored = ingest->seq;
    return 0;
}
