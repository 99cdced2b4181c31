/* What somebody measured elsewhere, as one transaction: the row of a job that has ended, and the samples of
 * its journal through the same code that follows a runner's. */
#include "schema/ingest.h"
#include "schema/job_rows.h"

static int insert(struct connection *connection, const struct import_new *new, job_id *ret,
                  struct problem *why)
{
    scoped_result PGresult *result = NULL;
    struct problem scrubbed;
    struct params params = { 0 };
    param_text(&params, new->workload);
    param_text(&params, new->host);
    param_text(&params, new->params ? new->params : "{}");
    param_text(&params, new->labels ? new->labels : "{}");
    param_text(&params, new->note ? new->note : "");
    param_text(&params, new->external_ref ? new->external_ref : "");
    param_text(&params, new->created_by ? new->created_by : "");
    param_text(&params, job_states[new->state]);
    param_time(&params, new->started_at);
    param_time(&params, new->finished_at);
    param_text(&params, new->environment ? new->environment : "{}");
    param_problem(&params, new->problem, &scrubbed);
    param_text(&params, new->name);
    if (query_run(connection, QUERY_IMPORT_ADD, &params, &result, why) < 0)
        return -1;
    *ret = cell_int(result, 0, 0);
    return 0;
}

/* As it stands now that all of its journal was read. */
static int read_job(struct connection *connection, job_id id, struct job *ret, struct problem *why)
{
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, id);
    if (query_run(connection, QUERY_JOB_GET, &params, &result, why) < 0 ||
        job_read(result, 0, ret, why) < 0)
        return -1;
    return jobs_parts(connection, ret, 1, why);
}

/* An ingest that works in a transaction which is not its own. */
static struct ingest *detach(struct ingest *ingest)
{
    if (ingest)
        ingest->connection = NULL;
    return ingest_close(ingest);
}

static void detach_cell(struct ingest **ingest)
{
    detach(*ingest);
}

static int read_journal(struct connection *connection, job_id id, struct journal_reader *journal,
                        const _Atomic bool *stop, struct problem *why)
{
    scoped(detach_cell) struct ingest *ingest = calloc(1, sizeof *ingest);
    const struct journal_record *record;
    int more;
    if (!ingest)
        return problem_memory(why);
    ingest->job = id;
    ingest->connection = connection;
    while ((more = journal_next(journal, &record, why)) > 0) {
        if (*stop)
            return problem_set(why, PROBLEM_CANCELLED, "the service is stopping");
        if (ingest_imported(ingest, record, why) < 0)
            return -1;
    }
    return more < 0 ? -1 : ingest_rest(ingest, why);
}

int store_import(struct store *store, const struct import_new *new, const struct idempotency *key,
                 struct journal_reader *journal, import_place_fn *place, job_render_fn *render,
                 void *arg, const _Atomic bool *stop, job_id *ret_id, char **ret_answer,
                 struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_job job = { 0 };
    scoped_free char *answer = NULL;
    bool keyed = key && key->key;
    if (store_borrow(store, &connection, why) < 0 || transaction_begin(connection, why) < 0)
        return -1;
    int found = keyed ? key_take(connection, key, ret_id, &answer, why) : 0;
    if (found < 0)
        return -1;
    if (found) {
        *ret_answer = steal(&answer);
        return 1;
    }
    job_id id = 0;
    if (insert(connection, new, &id, why) < 0 ||
        read_journal(connection, id, journal, stop, why) < 0 ||
        read_job(connection, id, &job, why) < 0 || render(arg, &job, &answer, why) < 0 ||
        (keyed && key_keep(connection, key, job.id, answer, why) < 0) ||
        place(arg, job.id, why) < 0 || transaction_commit(connection, why) < 0)
        return -1;
    *ret_id = job.id;
    *ret_answer = steal(&answer);
    return 0;
}
