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
#include "schema/ingest.h"

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
        if (gather_room(gather, why) < 0)
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
    if (phases_load(ingest, connection, why) < 0 || small_load(ingest, connection, why) < 0 ||
        transaction_commit(connection, why) < 0)
        return -1;
    *ret_offset = ingest->offset;
    *ret = steal(&ingest);
    return 0;
}

/* ---- writing ---- */

int ingest_transaction(struct ingest *ingest, struct problem *why)
{
    if (ingest->connection)
        return 0;
    if (store_borrow(ingest->store, &ingest->connection, why) < 0)
        return -1;
    return transaction_begin(ingest->connection, why);
}

int ingest_overtaken(struct problem *why)
{
    return problem_set(why, PROBLEM_CONFLICT, "another ingester has stored its records meanwhile");
}

int ingest_host(struct ingest *ingest, struct problem *why)
{
    if (ingest->host_n && ingest_transaction(ingest, why) < 0)
        return -1;
    for (size_t i = 0; i < ingest->host_n; i++) {
        const struct host_row *row = &ingest->host[i];
        if (host_put(ingest->connection, ingest->job, &row->leg, HOST_CLIENT, &row->sample, why) <
            0)
            return -1;
    }
    ingest->host_n = 0;
    return 0;
}

static int write_rest(struct ingest *ingest, struct problem *why)
{
    if (ingest_host(ingest, why) < 0)
        return -1;
    for (size_t i = 0; i < ingest->phases_n; i++)
        if (gather_store(ingest, &ingest->phases[i], why) < 0)
            return -1;
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_count(&params, ingest->seq);
    param_int(&params, ingest->offset);
    param_count(&params, ingest->seq_stored);
    scoped_result PGresult *result = NULL;
    if (query_run(ingest->connection, QUERY_INGEST_PROGRESS, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return ingest_overtaken(why);
    return transaction_commit(ingest->connection, why);
}

int ingest_rest(struct ingest *ingest, struct problem *why)
{
    if (ingest_host(ingest, why) < 0 || gather_seal_all(ingest, why) < 0)
        return -1;
    for (size_t i = 0; i < ingest->phases_n; i++)
        if (gather_store(ingest, &ingest->phases[i], why) < 0)
            return -1;
    struct params params = { 0 };
    param_int(&params, ingest->job);
    if (query_do(ingest->connection, QUERY_IMPORT_RUNS, &params, NULL, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_IMPORT_COMMON, &params, NULL, why);
}

/* ---- records in, until a commit ---- */

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
    if (ingest_take(ingest, record, why) < 0)
        return give_up(ingest, why);
    ingest->seq = record->seq;
    ingest->offset = record->end;
    return 0;
}

int ingest_commit(struct ingest *ingest, struct problem *why)
{
    if (ingest->failed)
        return refuse_failed(ingest, why);
    if (ingest->seq == ingest->seq_stored)
        return 0;
    if (ingest_transaction(ingest, why) < 0 || write_rest(ingest, why) < 0)
        return give_up(ingest, why);
    ingest->connection = store_return(ingest->connection);
    ingest->seq_stored = ingest->seq;
    return 0;
}
