/* What was concluded about a job. The numbers come as structs with their tables and are kept as JSON, so
 * that a kind of finding is one table in engine/ and nothing here. */
#include "schema/database.h"

#include "engine/base/field_json.h"

static int finding_put(struct connection *connection, job_id job, size_t place,
                       const struct finding *finding, struct problem *why)
{
    scoped_json json_t *data = fields_render(finding->data.table, finding->data.object);
    scoped_free char *text = data ? json_dumps(data, JSON_COMPACT) : NULL;
    char sentence[sizeof finding->sentence];
    if (!text)
        return problem_memory(why);
    memcpy(sentence, finding->sentence, sizeof sentence);
    text_scrub(sentence);
    struct params params = { 0 };
    param_int(&params, job);
    param_int(&params, (int64_t)place);
    param_text(&params, finding_kinds[finding->kind]);
    param_int(&params, finding->run);
    param_text(&params, finding->phase);
    param_text(&params, sentence);
    param_bool(&params, finding->low_confidence);
    param_text(&params, text);
    return query_do(connection, QUERY_FINDING_ADD, &params, NULL, why);
}

int store_findings_put(struct store *store, job_id job, int version,
                       const struct findings *findings, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    struct params drop = { 0 }, analysed = { 0 };
    uint64_t changed = 0;
    param_int(&drop, job);
    param_int(&analysed, job);
    param_int(&analysed, version);
    if (store_borrow(store, &connection, why) < 0 || transaction_begin(connection, why) < 0 ||
        query_do(connection, QUERY_JOB_ANALYSED, &analysed, &changed, why) < 0)
        return -1;
    if (!changed)
        return problem_set(why, PROBLEM_CONFLICT,
                           "job %lld has not ended, so there is nothing to conclude yet",
                           (long long)job);
    if (query_do(connection, QUERY_FINDING_DROP, &drop, NULL, why) < 0)
        return -1;
    for (size_t i = 0; i < findings->n; i++)
        if (finding_put(connection, job, i, &findings->at[i], why) < 0)
            return -1;
    return transaction_commit(connection, why);
}

int store_findings(struct store *store, job_id job, char **ret, int *ret_version,
                   struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, job);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_FINDING_LIST, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return problem_set(why, PROBLEM_NOT_FOUND, "there is no job %lld", (long long)job);
    if (cell_copy(result, 0, 1, ret, why) < 0)
        return -1;
    *ret_version = (int)cell_int(result, 0, 0);
    return 0;
}

int store_job_reanalyse(struct store *store, job_id id, struct problem *why)
{
    uint64_t changed = 0;
    int64_t revision;
    int state;
    struct params params = { 0 };
    param_int(&params, id);
    {
        scoped_connection struct connection *connection = NULL;
        if (store_borrow(store, &connection, why) < 0 ||
            query_do(connection, QUERY_JOB_REANALYSE, &params, &changed, why) < 0)
            return -1;
    }
    if (changed)
        return 0;
    if (store_job_revision(store, id, &revision, &state, why) < 0)
        return -1;
    return problem_set(why, PROBLEM_CONFLICT,
                       "job %lld has not ended, so there is nothing to conclude yet",
                       (long long)id);
}

int store_job_unanalysed(struct store *store, const char *host, job_id after, job_id *ret,
                         bool *ret_shared_device, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_text(&params, host);
    param_int(&params, after);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_JOB_UNANALYSED, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return 0;
    *ret = cell_int(result, 0, 0);
    *ret_shared_device = cell_bool(result, 0, 1);
    return 1;
}
