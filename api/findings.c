/* GET /jobs/{id}/findings: what the numbers of a job mean. POST /jobs/{id}/analyse: look again. */
#include "api/api.h"
#include "api/auth.h"
#include "api/cache.h"
#include "api/handlers.h"
#include "api/job_answer.h"
#include "api/jobs.h"

#include "engine/base/field_json.h"

struct findings_view {
    uint64_t analysis;
    char *items;
};
const struct field findings_answer[] = {
    FIELD_COUNT(struct findings_view, analysis,
                "Version of the analysis; 0 while the job was not analysed yet."),
    FIELD_JSON(struct findings_view, items,
               "A list of {kind, run, phase, sentence, low_confidence, data}; what the data do not "
               "support is not in it."),
    FIELD_END,
};

const struct field findings_query[] = {
    FIELD_COUNT(struct findings_query, run,
                "Only of this run, and of the job as a whole; 0: of every run.", .max = 1000000),
    FIELD_END,
};

/* Those of the run, and those that are of no single one. */
static int choose_run(char **items, uint64_t run, struct problem *why)
{
    scoped_json json_t *all = json_loads(*items, 0, NULL), *chosen = json_array();
    size_t i;
    json_t *finding;
    json_array_foreach(all, i, finding)
    {
        const json_t *of = json_object_get(finding, "run");
        if (!json_is_integer(of) || json_integer_value(of) == (json_int_t)run)
            json_array_append(chosen, finding);
    }
    char *text = json_dumps(chosen, JSON_COMPACT);
    if (!text)
        return problem_memory(why);
    free(*items);
    *items = text;
    return 0;
}

int job_analyse(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    scoped(job_done) struct job before = { 0 }, after = { 0 };
    struct store *store = api->app->store;
    if (store_job_get(store, in->job, &before, why) ||
        auth_target(&in->principal, before.target, why) || store_job_reanalyse(store, in->job, why))
        return -1;
    cache_stale(api->cache, in->job);
    if (store_job_get(store, in->job, &after, why))
        return -1;
    json_t *json = job_json(&after, why);
    return json ? reply_json(out, json, why) : -1;
}

int job_findings(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct findings_query *query = in->query;
    scoped(job_done) struct job job = { 0 };
    struct findings_view view = { 0 };
    int version = 0;
    if (store_job_get(api->app->store, in->job, &job, why) ||
        store_findings(api->app->store, in->job, &view.items, &version, why))
        return -1;
    if (query->run && choose_run(&view.items, query->run, why)) {
        fields_done(findings_answer, &view);
        return -1;
    }
    view.analysis = (uint64_t)version;
    json_t *json = fields_render(findings_answer, &view);
    fields_done(findings_answer, &view);
    job_keep(out, &job);
    return json ? reply_json(out, json, why) : problem_memory(why);
}
