/* What the hosts did during a job: this one, and the target's server. */
#include "schema/ingest.h"

const char *const host_origins[] = { "client", "server", NULL };

int host_put(struct connection *connection, job_id job, const struct leg *leg, enum host_origin of,
             const struct host_sample *sample, struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, job);
    param_int(&params, leg->run);
    param_int(&params, leg->leg);
    param_text(&params, host_origins[of]);
    param_int(&params, sample->at);
#define X(column, unit) param_number(&params, sample->column);
    HOST_COLUMNS(X)
#undef X
    return query_do(connection, QUERY_HOST_ADD, &params, NULL, why);
}

int store_host_add(struct store *store, job_id job, const struct leg *leg, enum host_origin of,
                   const struct host_sample *sample, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    return host_put(connection, job, leg, of, sample, why);
}

int store_leg(struct store *store, job_id job, struct leg *ret, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, job);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_LEG_LAST, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return 0;
    *ret = (struct leg){ .run = (unsigned)cell_int(result, 0, 0),
                         .leg = (unsigned)cell_int(result, 0, 1),
                         .began_at = cell_time(result, 0, 2) };
    return 1;
}

int store_host(struct store *store, const struct host_query *query, struct host_sample **ret,
               size_t *ret_n, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, query->job);
    param_count(&params, query->points ? query->points : 1);
    param_int(&params, query->run);
    param_int(&params, query->leg);
    param_text(&params, host_origins[query->of]);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_HOST_SERIES, &params, &result, why) < 0)
        return -1;
    size_t n = (size_t)PQntuples(result);
    struct host_sample *samples = calloc(n ? n : 1, sizeof *samples);
    if (!samples)
        return problem_memory(why);
    for (size_t row = 0; row < n; row++) {
        int column = 0;
        samples[row].at = cell_int(result, (int)row, column++);
#define X(name, unit) samples[row].name = cell_number(result, (int)row, column++);
        HOST_COLUMNS(X)
#undef X
    }
    *ret = samples;
    *ret_n = n;
    return 0;
}
