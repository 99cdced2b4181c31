/* The queue: jobs are added, claimed, cancelled and ended here. What a runner reports of them comes
 * in through ingest.c. */
#include "schema/job_rows.h"

#include "engine/base/text.h"

static int not_found(job_id id, struct problem *why)
{
    return problem_set(why, PROBLEM_NOT_FOUND, "there is no job %lld", (long long)id);
}

int store_job_get(struct store *store, job_id id, struct job *ret, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, id);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_JOB_GET, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return not_found(id, why);
    scoped_job job = { 0 };
    if (job_read(result, 0, &job, why) < 0 || jobs_parts(connection, &job, 1, why) < 0)
        return -1;
    *ret = job;
    job = (struct job){ 0 };
    return 0;
}

int store_job_revision(struct store *store, job_id id, int64_t *ret, int *ret_state,
                       struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, id);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_JOB_REVISION, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return not_found(id, why);
    *ret = cell_int(result, 0, 0);
    *ret_state = name_index(job_states, cell_text(result, 0, 1));
    return 0;
}

int store_job_list(struct store *store, const struct job_filter *filter, job_fn *each, void *arg,
                   struct problem *why)
{
    scoped(text_done) struct text states = { 0 };
    for (int i = 0; job_states[i]; i++)
        if (filter->states & UINT64_C(1) << i)
            text_addf(&states, "%c%s", states.n ? ',' : '{', job_states[i]);
    if (states.n)
        text_add(&states, "}", 1);
    if (states.failed)
        return problem_memory(why);
    struct params params = { 0 };
    param_text(&params, states.at);
    param_text(&params, filter->workload);
    param_text(&params, filter->target);
    param_int(&params, filter->before);
    param_count(&params, filter->limit);
    param_text(&params, filter->labels);
    param_time(&params, filter->created_after);
    param_time(&params, filter->created_before);
    param_bool(&params, filter->oldest_first);
    return jobs_each(store, QUERY_JOB_LIST, &params, each, arg, why);
}

int store_job_open(struct store *store, const char *host, job_fn *each, void *arg,
                   struct problem *why)
{
    struct params params = { 0 };
    param_text(&params, host);
    return jobs_each(store, QUERY_JOB_OPEN, &params, each, arg, why);
}

int store_job_claim(struct store *store, const char *host, const char *targets, struct job *ret,
                    struct problem *why)
{
    /* Refused as a duplicate: another claimer took a job of that target in the same moment. What it
     * took is visible now, so the next look passes that target over; there are not many claimers. */
    enum { LOOKS = 16 };
    scoped_connection struct connection *connection = NULL;
    struct params params = { 0 };
    param_text(&params, host);
    param_text(&params, targets);
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    scoped_result PGresult *result = NULL;
    for (int look = 1; !result; look++) {
        struct problem refused = { 0 };
        if (query_run(connection, QUERY_JOB_CLAIM, &params, &result, &refused) < 0 &&
            (!refused_as_duplicate(connection) || look == LOOKS))
            return problem_pass(why, &refused);
    }
    if (PQntuples(result) == 0)
        return 0;
    return job_read(result, 0, ret, why) < 0 ? -1 : 1;
}

int store_job_cancel(struct store *store, job_id id, int *ret_state, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *changed = NULL, *found = NULL;
    struct params params = { 0 };
    param_int(&params, id);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_JOB_CANCEL, &params, &changed, why) < 0)
        return -1;
    if (PQntuples(changed) == 1) {
        *ret_state = name_index(job_states, cell_text(changed, 0, 0));
        return 0;
    }
    /* Nothing to cancel: states only move on, so what is read now explains it. */
    if (query_run(connection, QUERY_JOB_REVISION, &params, &found, why) < 0)
        return -1;
    if (PQntuples(found) == 0)
        return not_found(id, why);
    int state = name_index(job_states, cell_text(found, 0, 1));
    if (state != JOB_CANCELLING && state != JOB_CANCELLED)
        return problem_set(why, PROBLEM_CONFLICT, "job %lld has already %s", (long long)id,
                           state == JOB_FAILED ? "failed" : "succeeded");
    *ret_state = state;
    return 0;
}

/* A change of one job; if no row changed, the job may not exist. */
static int change(struct store *store, enum query query, job_id id, const struct params *params,
                  struct problem *why)
{
    uint64_t changed;
    struct problem refused = { 0 };
    {
        scoped_connection struct connection *connection = NULL;
        if (store_borrow(store, &connection, why) < 0)
            return -1;
        if (query_do(connection, query, params, &changed, &refused) < 0) {
            if (refused_as_duplicate(connection))
                return problem_set(why, PROBLEM_CONFLICT, "another job uses the target of job %lld",
                                   (long long)id);
            return problem_pass(why, &refused);
        }
    }
    int64_t revision;
    int state;
    return changed ? 0 : store_job_revision(store, id, &revision, &state, why);
}

int store_job_finish(struct store *store, job_id id, enum job_state outcome,
                     enum cleanup_state cleanup, const struct problem *problem, struct problem *why)
{
    struct problem scrubbed;
    struct params params = { 0 };
    param_int(&params, id);
    param_text(&params, job_states[outcome]);
    param_text(&params, cleanup_states[cleanup]);
    param_problem(&params, problem, &scrubbed);
    return change(store, QUERY_JOB_FINISH, id, &params, why);
}

int store_job_cleanup(struct store *store, job_id id, enum cleanup_state state, struct problem *why)
{
    return store_job_cleanup_because(store, id, state, NULL, why);
}

int store_job_cleanup_because(struct store *store, job_id id, enum cleanup_state state,
                              const char *reason, struct problem *why)
{
    struct params params = { 0 };
    scoped_free char *scrubbed = reason ? strdup(reason) : NULL;
    if (reason && !scrubbed)
        return problem_memory(why);
    if (scrubbed)
        text_scrub(scrubbed);
    param_int(&params, id);
    param_text(&params, cleanup_states[state]);
    param_text(&params, scrubbed);
    return change(store, QUERY_JOB_CLEANUP, id, &params, why);
}

int store_job_stuck(struct store *store, job_id id, bool stuck, struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, id);
    param_bool(&params, stuck);
    return change(store, QUERY_JOB_STUCK, id, &params, why);
}

int store_job_change(struct store *store, job_id id, const struct job_change *wanted,
                     struct problem *why)
{
    struct params params = { 0 };
    int64_t revision;
    int state;
    uint64_t changed = 0;
    param_int(&params, id);
    param_text(&params, wanted->note);
    param_text(&params, wanted->labels);
    param_text(&params, wanted->external_ref);
    if (wanted->pinned)
        param_bool(&params, *wanted->pinned);
    else
        param_null(&params);
    if (wanted->revision)
        param_int(&params, wanted->revision);
    else
        param_null(&params);
    {
        scoped_connection struct connection *connection = NULL;
        if (store_borrow(store, &connection, why) < 0 ||
            query_do(connection, QUERY_JOB_CHANGE, &params, &changed, why) < 0)
            return -1;
    }
    if (changed)
        return 0;
    if (store_job_revision(store, id, &revision, &state, why) < 0)
        return -1;
    return problem_set(why, PROBLEM_STALE, "job %lld has changed since it was read", (long long)id);
}

/* Why a job cannot be deleted; NULL: it can, perhaps once its kept files are gone. */
static const char *held_by(int state, int cleanup, bool pinned, bool deleting)
{
    if (deleting)
        return NULL;
    if (!job_state_final(state))
        return "has not ended: cancel it first";
    if (cleanup == CLEANUP_PENDING || cleanup == CLEANUP_RUNNING)
        return "is being cleaned up";
    if (cleanup == CLEANUP_BLOCKED)
        return "has left something on its target that clean-up could not remove";
    return pinned ? "is pinned: unpin it first" : NULL;
}

int store_job_delete(struct store *store, job_id id, job_gone_fn *first, void *arg,
                     struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *found = NULL;
    struct params params = { 0 };
    param_int(&params, id);
    if (store_borrow(store, &connection, why) < 0 || transaction_begin(connection, why) < 0 ||
        query_run(connection, QUERY_JOB_LOCK, &params, &found, why) < 0)
        return -1;
    if (PQntuples(found) == 0)
        return not_found(id, why);
    int cleanup = name_index(cleanup_states, cell_text(found, 0, 1));
    const char *held = held_by(name_index(job_states, cell_text(found, 0, 0)), cleanup,
                               cell_bool(found, 0, 2), cell_bool(found, 0, 3));
    if (held)
        return problem_set(why, PROBLEM_CONFLICT, "job %lld %s", (long long)id, held);
    if (cleanup != CLEANUP_DONE && cleanup != CLEANUP_NONE) {
        if (query_do(connection, QUERY_JOB_DELETING, &params, NULL, why) < 0 ||
            transaction_commit(connection, why) < 0)
            return -1;
        return 1;
    }
    if (query_do(connection, QUERY_JOB_DELETE, &params, NULL, why) < 0 || first(arg, id, why) < 0)
        return -1;
    return transaction_commit(connection, why);
}

int store_job_events(struct store *store, job_id id, int64_t after, struct job_event *events,
                     size_t room, size_t *ret_n, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, id);
    param_int(&params, after);
    param_count(&params, room);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_JOB_EVENTS, &params, &result, why) < 0)
        return -1;
    size_t n = (size_t)PQntuples(result);
    for (size_t i = 0; i < n && i < room; i++)
        events[i] = (struct job_event){
            .revision = cell_int(result, (int)i, 0),
            .at = cell_time(result, (int)i, 1),
            .state = name_index(job_states, cell_text(result, (int)i, 2)),
            .cleanup = name_index(cleanup_states, cell_text(result, (int)i, 3)),
            .stuck = cell_bool(result, (int)i, 4),
        };
    *ret_n = n;
    return 0;
}

int store_kept(struct store *store, const char *host, kept_fn *each, void *arg, struct problem *why)
{
    scoped_result PGresult *result = NULL;
    {
        scoped_connection struct connection *connection = NULL;
        struct params params = { 0 };
        param_text(&params, host);
        if (store_borrow(store, &connection, why) < 0 ||
            query_run(connection, QUERY_JOB_KEPT, &params, &result, why) < 0)
            return -1;
    }
    for (int row = 0; row < PQntuples(result); row++)
        if (each(arg, cell_text(result, row, 0), (uint64_t)cell_int(result, row, 1),
                 (uint64_t)cell_int(result, row, 2), (uint64_t)cell_int(result, row, 3), why) < 0)
            return -1;
    return 0;
}
