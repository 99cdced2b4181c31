/* What was found to have become worse, and what became of it. */
#include "schema/database.h"

#include "engine/base/text.h"

const char *const alert_states[] = { "opened", "acknowledged", "resolved", NULL };

void alert_done(struct alert *alert)
{
    char **const texts[] = { &alert->fingerprint, &alert->name,
                             &alert->target,      &alert->phase,
                             &alert->sentence,    &alert->unit,
                             &alert->resolution,  &alert->acknowledged_by,
                             &alert->resolved_by, &alert->note };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        free(*texts[i]);
    *alert = (struct alert){ 0 };
}

enum column {
    ID,
    FINGERPRINT,
    BASELINE,
    NAME,
    TARGET,
    PHASE,
    FIGURE,
    JOB,
    RUN,
    STATE,
    SENTENCE,
    UNIT,
    BEFORE,
    AFTER,
    EFFECT,
    P,
    RUNS_BEFORE,
    RUNS_AFTER,
    OPENED_AT,
    ACKNOWLEDGED_AT,
    ACKNOWLEDGED_BY,
    RESOLVED_AT,
    RESOLVED_BY,
    RESOLUTION,
    NOTE,
    REVISION,
};

static int alert_read(const PGresult *result, int row, struct alert *ret, struct problem *why)
{
    scoped(alert_done) struct alert alert = {
        .id = cell_int(result, row, ID),
        .baseline = cell_int(result, row, BASELINE),
        .figure = name_index(baseline_figures, cell_text(result, row, FIGURE)),
        .state = name_index(alert_states, cell_text(result, row, STATE)),
        .job = cell_int(result, row, JOB),
        .run = (unsigned)cell_int(result, row, RUN),
        .before = cell_number(result, row, BEFORE),
        .after = cell_number(result, row, AFTER),
        .effect = cell_number(result, row, EFFECT),
        .p = cell_number(result, row, P),
        .runs_before = (uint64_t)cell_int(result, row, RUNS_BEFORE),
        .runs_after = (uint64_t)cell_int(result, row, RUNS_AFTER),
        .opened_at = cell_time(result, row, OPENED_AT),
        .acknowledged_at = cell_time(result, row, ACKNOWLEDGED_AT),
        .resolved_at = cell_time(result, row, RESOLVED_AT),
        .revision = cell_int(result, row, REVISION),
    };
    const struct {
        enum column column;
        char **ret;
    } texts[] = {
        { FINGERPRINT, &alert.fingerprint },
        { NAME, &alert.name },
        { TARGET, &alert.target },
        { PHASE, &alert.phase },
        { SENTENCE, &alert.sentence },
        { UNIT, &alert.unit },
        { ACKNOWLEDGED_BY, &alert.acknowledged_by },
        { RESOLVED_BY, &alert.resolved_by },
        { RESOLUTION, &alert.resolution },
        { NOTE, &alert.note },
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (cell_copy(result, row, (int)texts[i].column, texts[i].ret, why) < 0)
            return -1;
    *ret = alert;
    alert = (struct alert){ 0 };
    return 0;
}

static void param_levels(struct params *params, const struct alert *alert)
{
    param_number(params, alert->before);
    param_number(params, alert->after);
    param_number(params, alert->effect);
    param_number(params, alert->p);
    param_count(params, alert->runs_before);
    param_count(params, alert->runs_after);
}

int store_alert_open(struct store *store, const struct alert *alert, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_text(&params, alert->fingerprint);
    param_int(&params, alert->baseline);
    param_int(&params, alert->job);
    param_int(&params, alert->run);
    param_text(&params, alert->sentence);
    param_text(&params, alert->unit);
    param_levels(&params, alert);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_ALERT_ADD, &params, &result, why) < 0)
        return -1;
    return PQntuples(result);
}

int store_alert_get(struct store *store, int64_t id, struct alert *ret, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, id);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, QUERY_ALERT_GET, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return problem_set(why, PROBLEM_NOT_FOUND, "there is no alert %lld", (long long)id);
    return alert_read(result, 0, ret, why);
}

int store_alert_list(struct store *store, const struct alert_filter *filter, alert_fn *each,
                     void *arg, struct problem *why)
{
    scoped(text_done) struct text states = { 0 };
    scoped_result PGresult *result = NULL;
    for (int i = 0; alert_states[i]; i++)
        if (filter->states & UINT64_C(1) << i)
            text_addf(&states, "%c%s", states.n ? ',' : '{', alert_states[i]);
    if (states.n)
        text_add(&states, "}", 1);
    if (states.failed)
        return problem_memory(why);
    struct params params = { 0 };
    param_int(&params, filter->before);
    param_text(&params, states.at);
    param_int(&params, filter->baseline);
    param_count(&params, filter->limit);
    {
        scoped_connection struct connection *connection = NULL;
        if (store_borrow(store, &connection, why) < 0 ||
            query_run(connection, QUERY_ALERT_LIST, &params, &result, why) < 0)
            return -1;
    }
    for (int row = 0; row < PQntuples(result); row++) {
        scoped(alert_done) struct alert alert = { 0 };
        if (alert_read(result, row, &alert, why) < 0 || each(arg, &alert, why) < 0)
            return -1;
    }
    return 0;
}

int store_alert_refresh(struct store *store, const struct alert *alert, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    struct params params = { 0 };
    param_int(&params, alert->id);
    param_text(&params, alert->sentence);
    param_levels(&params, alert);
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    return query_do(connection, QUERY_ALERT_REFRESH, &params, NULL, why);
}

/* If no row changed, the alert is in that state, or in none that leads there. */
static int change(struct store *store, enum query query, int64_t id, const struct params *params,
                  struct problem *why)
{
    uint64_t changed = 0;
    scoped(alert_done) struct alert now = { 0 };
    {
        scoped_connection struct connection *connection = NULL;
        if (store_borrow(store, &connection, why) < 0 ||
            query_do(connection, query, params, &changed, why) < 0)
            return -1;
    }
    if (changed)
        return 0;
    if (store_alert_get(store, id, &now, why) < 0)
        return -1;
    if (query == QUERY_ALERT_ACKNOWLEDGE && now.state == ALERT_RESOLVED)
        return problem_set(why, PROBLEM_CONFLICT, "alert %lld is resolved already", (long long)id);
    return 0;
}

int store_alert_acknowledge(struct store *store, int64_t id, const char *by, const char *note,
                            struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, id);
    param_text(&params, by);
    param_text(&params, note);
    return change(store, QUERY_ALERT_ACKNOWLEDGE, id, &params, why);
}

int store_alert_resolve(struct store *store, int64_t id, const char *by, const char *resolution,
                        const char *note, struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, id);
    param_text(&params, by);
    param_text(&params, resolution);
    param_text(&params, note);
    return change(store, QUERY_ALERT_RESOLVE, id, &params, why);
}
