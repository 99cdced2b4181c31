/* GET /jobs/{id}/host: what the machine did meanwhile, or the target's server. */
#include "api/api.h"
#include "api/handlers.h"
#include "api/jobs.h"
#include "api/series.h"

#include <math.h>

const struct field host_get_query[] = {
    FIELD_CHOICE(struct host_get_query, of,
                 "Which host: the one that measured, or the target's server, whose exporter the "
                 "daemon read.",
                 .choices = host_origins, .preset_text = "client"),
    FIELD_COUNT(struct host_get_query, points, "At most so many; more are thinned to means.",
                .min = 1, .max = 10000, .preset = 1000),
    FIELD_COUNT(struct host_get_query, run, "During which run.", .min = 1, .max = 1000000,
                .preset = 1),
    FIELD_END,
};

struct host_view {
    uint64_t count;
    char *points, *units;
};
const struct field host_answer[] = {
    FIELD_COUNT(struct host_view, count, "Points in each column."),
    FIELD_JSON(struct host_view, points,
               "Columns of equal length: at, in seconds since the leg began, and one for each "
               "figure; null where the host does not tell it."),
    FIELD_JSON(struct host_view, units, "The unit of each column."),
    FIELD_END,
};

static void append(json_t *points, const char *name, double value)
{
    json_array_append_new(json_object_get(points, name),
                          isfinite(value) ? json_real(value) : json_null());
}

static json_t *points_json(const struct host_sample *samples, size_t n)
{
    json_t *points = json_object();
    json_object_set_new(points, "at", json_array());
#define X(name, unit) json_object_set_new(points, #name, json_array());
    HOST_COLUMNS(X)
#undef X
    for (size_t i = 0; i < n; i++) {
        append(points, "at", seconds_of(samples[i].at));
#define X(name, unit) append(points, #name, samples[i].name);
        HOST_COLUMNS(X)
#undef X
    }
    return points;
}

static json_t *units_json(void)
{
    json_t *units = json_pack("{s:s}", "at", "s");
#define X(name, unit) json_object_set_new(units, #name, json_string(unit));
    HOST_COLUMNS(X)
#undef X
    return units;
}

int job_host(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct host_get_query *query = in->query;
    const struct host_query ask = {
        .job = in->job, .of = query->of, .run = (unsigned)query->run, .points = query->points
    };
    scoped(job_done) struct job job = { 0 };
    scoped_free struct host_sample *samples = NULL;
    size_t n = 0;
    if (store_job_get(api->app->store, in->job, &job, why) ||
        store_host(api->app->store, &ask, &samples, &n, why))
        return -1;
    /* What the server said is no change of the job: the last of it may come after the job's end. */
    if (query->of == HOST_CLIENT)
        job_keep(out, &job);
    out->digits = CURVE_DIGITS;
    return reply_json(out,
                      json_pack("{s:I, s:o, s:o}", "count", (json_int_t)n, "points",
                                points_json(samples, n), "units", units_json()),
                      why);
}
