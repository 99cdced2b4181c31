/* GET /jobs/{id}/chart.svg. */
#include "api/chart.h"

#include "api/handlers.h"
#include "api/jobs.h"
#include "api/series.h"
#include "engine/base/field_json.h"
#include "engine/words.h"

#include <math.h>

enum { POINTS_MOST = 700 }; /* three numbers each: a picture stays well below 100 KB */

const char *const chart_types[] = { "image/svg+xml", NULL };
const struct field chart_query[] = {
    FIELD_TEXT(struct chart_query, phase, "Which phase; the first one if not given.", .min = 1,
               .max = 31),
    FIELD_CHOICE(struct chart_query, y, "What of each batch.", .choices = series_measures,
                 .preset_text = "elapsed"),
    FIELD_COUNT(struct chart_query, run, "Which run.", .min = 1, .max = 1000000, .preset = 1),
    FIELD_COUNT(struct chart_query, width, "In pixels.", .min = 320, .max = 2400, .preset = 760),
    FIELD_COUNT(struct chart_query, height, "In pixels.", .min = 200, .max = 1600, .preset = 340),
    FIELD_END,
};

static double number_of(const json_t *object, const char *name)
{
    const json_t *number = json_object_get(object, name);
    return json_is_number(number) ? json_number_value(number) : NAN;
}

static void mark_finding(struct chart *chart, const char *kind, const json_t *data)
{
    size_t i;
    json_t *zone;
    if (strcmp(kind, "knee") == 0) {
        chart->knee = number_of(data, "at");
        chart->knee_low = number_of(data, "low");
        chart->knee_high = number_of(data, "high");
        chart->has_knee = isfinite(chart->knee);
    } else if (strcmp(kind, "zones") == 0) {
        json_array_foreach(json_object_get(data, "zones"), i, zone) if (chart->zones < CHART_ZONES)
            chart->zone_end[chart->zones++] = number_of(zone, "to");
    }
}

static void mark_findings(struct chart *chart, const struct job *job,
                          const struct phase_total *phase)
{
    scoped_json json_t *findings = json_loads(job->findings ? job->findings : "[]", 0, NULL);
    size_t i;
    json_t *finding;
    json_array_foreach(findings, i, finding)
    {
        const char *kind = json_string_value(json_object_get(finding, "kind"));
        const char *of = json_string_value(json_object_get(finding, "phase"));
        if (kind && of && strcmp(of, phase->name) == 0 &&
            json_integer_value(json_object_get(finding, "run")) == (json_int_t)phase->run)
            mark_finding(chart, kind, json_object_get(finding, "data"));
    }
    chart->limit = phase->limit.reached ? (double)phase->limit.at : NAN;
    chart->limit_name = phase->limit.reached ? limit_reasons[phase->limit.reason] : "";
}

/* "create: time per batch of 100 files" */
static void title_of(const struct phase_total *phase, int y, const char *unit, char *text,
                     size_t size)
{
    static const char *const names[] = {
        "time",  "rate",   "CPU time",       "involuntary switches",       "done",
        "bytes", "errors", "median latency", "99th percentile of latency", "longest operation"
    };
    char batch[WORDS];
    _Static_assert(COUNT_OF(names) == SERIES_MEASURES, "a name for each measure");
    if (phase->at_load)
        snprintf(text, size, "%s: %s at each load", phase->name, names[y]);
    else if (strchr(unit, '/'))
        snprintf(text, size, "%s: %s in %s", phase->name, names[y], unit);
    else
        snprintf(text, size, "%s: %s per batch of %s %s", phase->name, names[y],
                 words_count((double)phase->batch, batch), phase->unit);
}

int phase_chart(struct api *api, const struct job *job, const struct phase_total *phase,
                const struct chart_query *query, enum chart_place place, char **ret,
                struct problem *why)
{
    scoped(series_done) struct series series = { 0 };
    char unit[SERIES_UNIT], title[160];
    const struct series_query ask = {
        .job = job->id,
        .run = phase ? phase->run : 1,
        .phase = phase ? phase->name : NULL,
        .x = "load",
        .y = series_measures[query->y],
        .from = NAN,
        .to = NAN,
        .points = query->width / 2 < POINTS_MOST ? query->width / 2 : POINTS_MOST,
    };
    struct chart chart = { .title = title,
                           .x_unit = phase ? phase->unit : "",
                           .y_unit = unit,
                           .width = query->width,
                           .height = query->height,
                           .series = &series,
                           .limit = NAN };
    series_unit(query->y, chart.x_unit, unit);
    snprintf(title, sizeof title, "job %lld", (long long)job->id);
    if (phase) {
        size_t n =
            job->runs_n > 1 ? (size_t)snprintf(title, sizeof title, "run %u, ", phase->run) : 0;
        title_of(phase, query->y, unit, title + n, sizeof title - n);
        mark_findings(&chart, job, phase);
        if (store_series(api->app->store, &ask, &series, why))
            return -1;
    }
    char *svg = chart_svg(&chart, place);
    if (!svg)
        return problem_memory(why);
    *ret = svg;
    return 0;
}

int job_chart(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct chart_query *query = in->query;
    scoped(job_done) struct job job = { 0 };
    const struct phase_total *phase = NULL;
    char *svg = NULL;
    if (store_job_get(api->app->store, in->job, &job, why) ||
        job_phase(&job, query->phase, query->run, &phase, why))
        return -1;
    if (phase_chart(api, &job, phase, query, CHART_ALONE, &svg, why))
        return -1;
    job_keep(out, &job);
    reply_bytes(out, "image/svg+xml", svg, strlen(svg));
    return reply_style(out, CHART_CSS, why);
}
