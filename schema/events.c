/* What happens to jobs and alerts, written by triggers in the order of the commits. */
#include "schema/database.h"

int store_events(struct store *store, int64_t after, uint64_t most, event_fn *each, void *arg,
                 struct problem *why)
{
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, after);
    param_count(&params, most);
    {
        scoped_connection struct connection *connection = NULL;
        if (store_borrow(store, &connection, why) < 0 ||
            query_run(connection, QUERY_EVENT_LIST, &params, &result, why) < 0)
            return -1;
    }
    for (int row = 0; row < PQntuples(result); row++) {
        scoped_free char *data = NULL;
        if (cell_copy(result, row, 3, &data, why) < 0)
            return -1;
        struct event event = { .id = cell_int(result, row, 0),
                               .at = cell_time(result, row, 1),
                               .data = data };
        snprintf(event.kind, sizeof event.kind, "%s", cell_text(result, row, 2));
        if (each(arg, &event, why) < 0)
            return -1;
    }
    return 0;
}

int store_event_last(struct store *store, int64_t *ret, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_EVENT_LAST, NULL, &result, why) < 0)
        return -1;
    *ret = cell_int(result, 0, 0);
    return 0;
}
