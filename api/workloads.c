/* GET /workloads: what can be measured, each with the schema that forms are drawn from. */
#include "engine/workload/workload.h"

#include "api/handlers.h"
#include "api/listing.h"
#include "engine/base/field_json.h"

struct workload_view {
    char *name, *summary, *params;
};
const struct field workload_answer[] = {
    FIELD_TEXT(struct workload_view, name, "Its name in jobs."),
    FIELD_TEXT(struct workload_view, summary, "What it measures, in one sentence."),
    FIELD_JSON(struct workload_view, params,
               "JSON Schema of its parameters; x-unit is the unit of a number."),
    FIELD_END,
};
struct workloads_view {
    struct array items;
    char *next_cursor;
};
const struct field workloads_answer[] = {
    FIELD_ARRAY(struct workloads_view, items, "By name.", .of = workload_answer,
                .of_size = sizeof(struct workload_view)),
    FIELD_TEXT(struct workloads_view, next_cursor, "For ?cursor=, to go on; null: that was all."),
    FIELD_END,
};

static json_t *workload_json(const struct workload *workload)
{
    return json_pack("{s:s, s:s, s:o}", "name", workload->name, "summary", workload->summary,
                     "params", fields_schema(workload->params));
}

int workloads_get(struct api *api unused, struct request *in, struct reply *out,
                  struct problem *why)
{
    json_t *items = json_array();
    for (size_t i = 0; workload_all()[i]; i++)
        json_array_append_new(items, workload_json(workload_all()[i]));
    return reply_listing(out, in, items, why);
}

int workload_get(struct api *api unused, struct request *in, struct reply *out, struct problem *why)
{
    const struct workload *workload = workload_find(in->name);
    if (!workload)
        return problem_set(why, PROBLEM_NOT_FOUND, "there is no workload of this name");
    return reply_json(out, workload_json(workload), why);
}
