/* What the host did during a job. */
#include "schema/database.h"

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
