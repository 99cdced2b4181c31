/* Figures whose history is watched, and that history. */
#include "schema/database.h"

void baseline_done(struct baseline *baseline)
{
    char **const texts[] = { &baseline->name,      &baseline->workload, &baseline->target,
                             &baseline->host,      &baseline->labels,   &baseline->phase,
                             &baseline->created_by };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        free(*texts[i]);
    *baseline = (struct baseline){ 0 };
}

/* Columns: id, name, workload, target, host, labels, phase, y, direction, minimum_effect, runs, confirm,
 * created_by, created_at, revision. */
static int baseline_read(const PGresult *result, int row, struct baseline *ret, struct problem *why)
{
    scoped(baseline_done) struct baseline baseline = {
        .id = cell_int(result, row, 0),
        .rule = { .figure = name_index(baseline_figures, cell_text(result, row, 7)),
                  .direction = name_index(baseline_directions, cell_text(result, row, 8)),
                  .minimum_effect = cell_number(result, row, 9) },
        .runs = (uint64_t)cell_int(result, row, 10),
        .confirm = cell_bool(result, row, 11),
        .created_at = cell_time(result, row, 13),
        .revision = cell_int(result, row, 14),
    };
    if (cell_copy(result, row, 1, &baseline.name, why) < 0 ||
        cell_copy(result, row, 2, &baseline.workload, why) < 0 ||
        cell_copy(result, row, 3, &baseline.target, why) < 0 ||
        cell_copy(result, row, 4, &baseline.host, why) < 0 ||
        cell_copy(result, row, 5, &baseline.labels, why) < 0 ||
        cell_copy(result, row, 6, &baseline.phase, why) < 0 ||
        cell_copy(result, row, 12, &baseline.created_by, why) < 0)
        return -1;
    *ret = baseline;
    baseline = (struct baseline){ 0 };
    return 0;
}

static int not_found(int64_t id, struct problem *why)
{
    return problem_set(why, PROBLEM_NOT_FOUND, "there is no baseline %lld", (long long)id);
}

static int name_taken(const char *name, struct problem *why)
{
    return problem_set(why, PROBLEM_CONFLICT, "there is already a baseline named %s", name);
}

int store_baseline_add(struct store *store, const struct baseline *new, struct baseline *ret,
                       struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct problem refused = { 0 };
    struct params params = { 0 };
    param_text(&params, new->name);
    param_text(&params, new->workload);
    param_text(&params, new->target);
    param_text(&params, new->host);
    param_text(&params, new->labels);
    param_text(&params, new->phase);
    param_text(&params, baseline_figures[new->rule.figure]);
    param_text(&params, baseline_directions[new->rule.direction]);
    param_number(&params, new->rule.minimum_effect);
    param_count(&params, new->runs);
    param_bool(&params, new->confirm);
    param_text(&params, new->created_by);
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    if (query_run(connection, QUERY_BASELINE_ADD, &params, &result, &refused) < 0)
        return refused_as_duplicate(connection) ? name_taken(new->name, why)
                                                : problem_pass(why, &refused);
    return baseline_read(result, 0, ret, why);
}

int store_baseline_get(struct store *store, int64_t id, struct baseline *ret, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, id);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_BASELINE_GET, &params, &result, why) < 0)
        return -1;
    return PQntuples(result) ? baseline_read(result, 0, ret, why) : not_found(id, why);
}

/* `each` may call the store again: the connection goes back before. */
static int baselines_each(struct store *store, enum query query, const struct params *params,
                          baseline_fn *each, void *arg, struct problem *why)
{
    scoped_result PGresult *result = NULL;
    {
        scoped_connection struct connection *connection = NULL;
        if (store_borrow(store, &connection, why) < 0 ||
            query_run(connection, query, params, &result, why) < 0)
            return -1;
    }
    for (int row = 0; row < PQntuples(result); row++) {
        scoped(baseline_done) struct baseline baseline = { 0 };
        if (baseline_read(result, row, &baseline, why) < 0 || each(arg, &baseline, why) < 0)
            return -1;
    }
    return 0;
}

int store_baseline_list(struct store *store, const struct baseline_filter *filter,
                        baseline_fn *each, void *arg, struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, filter->before);
    param_text(&params, filter->workload);
    param_text(&params, filter->target);
    param_count(&params, filter->limit);
    return baselines_each(store, QUERY_BASELINE_LIST, &params, each, arg, why);
}

int store_baseline_match(struct store *store, job_id job, baseline_fn *each, void *arg,
                         struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, job);
    return baselines_each(store, QUERY_BASELINE_MATCH, &params, each, arg, why);
}

int store_baseline_change(struct store *store, const struct baseline *baseline, struct problem *why)
{
    uint64_t changed = 0;
    struct problem refused = { 0 };
    struct params params = { 0 };
    param_int(&params, baseline->id);
    param_int(&params, baseline->revision);
    param_text(&params, baseline->name);
    param_text(&params, baseline_directions[baseline->rule.direction]);
    param_number(&params, baseline->rule.minimum_effect);
    param_count(&params, baseline->runs);
    param_bool(&params, baseline->confirm);
    scoped_connection struct connection *connection = NULL;
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    if (query_do(connection, QUERY_BASELINE_CHANGE, &params, &changed, &refused) < 0)
        return refused_as_duplicate(connection) ? name_taken(baseline->name, why)
                                                : problem_pass(why, &refused);
    if (!changed)
        return problem_set(why, PROBLEM_STALE, "baseline %lld has changed since it was read",
                           (long long)baseline->id);
    return 0;
}

int store_baseline_remove(struct store *store, int64_t id, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    uint64_t removed = 0;
    struct params params = { 0 };
    param_int(&params, id);
    if (store_borrow(store, &connection, why) < 0 ||
        query_do(connection, QUERY_BASELINE_REMOVE, &params, &removed, why) < 0)
        return -1;
    return removed ? 0 : not_found(id, why);
}

/* ---- its history ---- */

/* Columns: id, finished_at, confirms, run, unit, ops, bytes, seconds, flush, p50, p90, p99, p999, longest,
 * disturbed. */
static void run_read(const PGresult *result, int row, struct baseline_run *ret)
{
    *ret = (struct baseline_run){ .job = cell_int(result, row, 0),
                                  .at = cell_time(result, row, 1),
                                  .confirms = cell_bool(result, row, 2),
                                  .run = (unsigned)cell_int(result, row, 3),
                                  .ops = cell_number(result, row, 5),
                                  .bytes = cell_number(result, row, 6),
                                  .seconds = cell_number(result, row, 7),
                                  .flush = cell_number(result, row, 8),
                                  .disturbed = cell_bool(result, row, 14) };
    for (int i = 0; i < 5; i++)
        ret->latency[i] = cell_number(result, row, 9 + i);
    snprintf(ret->unit, sizeof ret->unit, "%s", cell_text(result, row, 4));
}

int store_baseline_history(struct store *store, const struct baseline *baseline, job_id like,
                           unsigned run, struct baseline_run **ret, size_t *ret_n,
                           struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, baseline->id);
    param_int(&params, like);
    param_int(&params, run);
    param_text(&params, baseline->phase);
    param_count(&params, baseline->runs);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_BASELINE_HISTORY, &params, &result, why) < 0)
        return -1;
    size_t rows = (size_t)PQntuples(result), n = 0;
    struct baseline_run *runs = calloc(rows + 1, sizeof *runs);
    if (!runs)
        return problem_memory(why);
    for (size_t i = 0; i < rows; i++) {
        run_read(result, (int)i, &runs[n]);
        runs[n].value = baseline_value(baseline->rule.figure, &runs[n]);
        n += runs[n].value > 0;
    }
    *ret = runs;
    *ret_n = n;
    return 0;
}

int store_job_confirm(struct store *store, job_id job, unsigned run, const char *created_by,
                      const char *note, job_id *ret, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 }, runs = { 0 };
    param_int(&params, job);
    param_int(&params, run);
    param_text(&params, created_by);
    param_text(&params, note);
    if (store_borrow(store, &connection, why) < 0 || transaction_begin(connection, why) < 0 ||
        query_run(connection, QUERY_JOB_CONFIRM, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return 0;
    job_id added = cell_int(result, 0, 0);
    param_int(&runs, added);
    param_text(&runs, "[{\"point\":0,\"params\":{}}]");
    if (query_do(connection, QUERY_RUN_ADD, &runs, NULL, why) < 0 ||
        transaction_commit(connection, why) < 0)
        return -1;
    *ret = added;
    return 1;
}
