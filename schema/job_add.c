/* A new job. With an Idempotency-Key the key, the body's hash, the answer and the row are one
 * transaction: a client that repeats its request, also after a crash, makes one job. */
#include "schema/job_rows.h"

static int insert(struct connection *connection, const struct job_new *new, struct job *ret,
                  struct problem *why)
{
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_text(&params, new->workload);
    param_text(&params, new->target);
    param_text(&params, new->host);
    param_text(&params, new->nonce ? new->nonce : "");
    param_text(&params, new->params ? new->params : "{}");
    param_text(&params, new->labels ? new->labels : "{}");
    param_text(&params, new->note ? new->note : "");
    param_text(&params, new->external_ref ? new->external_ref : "");
    param_text(&params, new->created_by ? new->created_by : "");
    param_int(&params, new->priority);
    param_text(&params, new->matrix ? new->matrix : "{}");
    param_count(&params, new->repeat ? new->repeat : 1);
    param_count(&params, new->seed);
    if (query_run(connection, QUERY_JOB_ADD, &params, &result, why) < 0)
        return -1;
    scoped_job job = { 0 };
    struct params runs = { 0 };
    if (job_read(result, 0, &job, why) < 0)
        return -1;
    param_int(&runs, job.id);
    param_text(&runs, new->runs ? new->runs : "[{\"point\":0,\"params\":{}}]");
    if (query_do(connection, QUERY_RUN_ADD, &runs, NULL, why) < 0 ||
        jobs_runs(connection, &job, 1, why) < 0)
        return -1;
    *ret = job;
    job = (struct job){ 0 };
    return 0;
}

static void key_params(struct params *params, const struct idempotency *key)
{
    param_int(params, key->token);
    param_text(params, key->key);
}

int key_take(struct connection *connection, const struct idempotency *key, job_id *ret_id,
             char **ret_answer, struct problem *why)
{
    scoped_result PGresult *lock = NULL, *earlier = NULL;
    struct params names = { 0 }, all = { 0 };
    key_params(&names, key);
    key_params(&all, key);
    param_bytes(&all, key->body_hash, sizeof key->body_hash);
    if (query_run(connection, QUERY_IDEMPOTENCY_LOCK, &names, &lock, why) < 0)
        return -1;
    if (!cell_bool(lock, 0, 0))
        return problem_set(why, PROBLEM_CONFLICT,
                           "a request with this Idempotency-Key is still being answered");
    if (query_do(connection, QUERY_IDEMPOTENCY_EXPIRE, NULL, NULL, why) < 0 ||
        query_run(connection, QUERY_IDEMPOTENCY_FIND, &all, &earlier, why) < 0)
        return -1;
    if (PQntuples(earlier) == 0)
        return 0;
    if (!cell_bool(earlier, 0, 0))
        return problem_field(why, "/Idempotency-Key",
                             "this key was used for another request; take a new one");
    if (cell_copy(earlier, 0, 2, ret_answer, why) < 0)
        return -1;
    *ret_id = cell_int(earlier, 0, 1);
    return 1;
}

int key_keep(struct connection *connection, const struct idempotency *key, job_id id,
             const char *answer, struct problem *why)
{
    struct params params = { 0 };
    key_params(&params, key);
    param_bytes(&params, key->body_hash, sizeof key->body_hash);
    param_int(&params, id);
    param_text(&params, answer);
    return query_do(connection, QUERY_IDEMPOTENCY_ADD, &params, NULL, why);
}

int store_job_add(struct store *store, const struct job_new *new, const struct idempotency *key,
                  job_render_fn *render, void *arg, job_id *ret_id, char **ret_answer,
                  struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_job job = { 0 };
    scoped_free char *answer = NULL;
    bool keyed = key && key->key;
    if (store_borrow(store, &connection, why) < 0 || transaction_begin(connection, why) < 0)
        return -1;
    if (keyed) {
        job_id id = 0;
        int found = key_take(connection, key, &id, &answer, why);
        if (found < 0)
            return -1;
        if (found) {
            *ret_id = id;
            *ret_answer = steal(&answer);
            return 1;
        }
    }
    if (insert(connection, new, &job, why) < 0 || render(arg, &job, &answer, why) < 0)
        return -1;
    if (keyed && key_keep(connection, key, job.id, answer, why) < 0)
        return -1;
    if (transaction_commit(connection, why) < 0)
        return -1;
    *ret_id = job.id;
    *ret_answer = steal(&answer);
    return 0;
}
