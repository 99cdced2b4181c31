/* GET /jobs/{id}/series: columns for a chart, thinned in the store so that no spike disappears; or
 * every sample as CSV, streamed group by group. */
#include "api/series.h"

#include "api/api.h"
#include "api/handlers.h"
#include "api/jobs.h"
#include "api/samples_csv.h"
#include "engine/base/text.h"

#include <math.h>

enum { AS_JSON }; /* and CSV */
static const char *const formats[] = { "accept", "json", "csv", NULL };
static const char *const axes[] = { "load", "at", NULL };
const char *const series_measures[] = { "elapsed", "rate", "cpu", "switches", "ops", "bytes",
                                        "errors",  "p50",  "p99", "max",      NULL };
/* Their units; "" means the phase's own, "/s" the phase's own per second. */
static const char *const measure_units[] = { "s",     "/s",     "ns", "switches", "",
                                             "bytes", "errors", "ns", "ns",       "ns" };
_Static_assert(COUNT_OF(measure_units) == SERIES_MEASURES, "known elsewhere");
_Static_assert(COUNT_OF(series_measures) == COUNT_OF(measure_units) + 1, "a unit for each measure");

const char *const series_types[] = { "application/json", "text/csv", NULL };

const struct field series_get_query[] = {
    FIELD_TEXT(struct series_get_query, phase, "Which phase; the first one if not given.", .min = 1,
               .max = 31),
    FIELD_CHOICE(struct series_get_query, y, "What of each batch.", .choices = series_measures,
                 .preset_text = "elapsed"),
    FIELD_CHOICE(struct series_get_query, x, "Against what.", .choices = axes,
                 .preset_text = "load"),
    FIELD_COUNT(struct series_get_query, points, "At most so many; more samples are thinned.",
                .min = 2, .max = 10000, .preset = 1000),
    FIELD_COUNT(struct series_get_query, run,
                "Which run; 0: the first one, but in CSV all of them.", .max = 1000000),
    FIELD_NUMBER(struct series_get_query, from, "Only from this x on.", .preset = NAN),
    FIELD_NUMBER(struct series_get_query, to, "Only up to this x.", .preset = NAN),
    FIELD_CHOICE(struct series_get_query, format, "As the Accept header says, or in spite of it.",
                 .choices = formats, .preset_text = "accept"),
    FIELD_END,
};

struct series_view {
    char *phase, *x, *y, *unit, *x_unit, *points;
    uint64_t run, count;
    bool thinned;
};
const struct field series_answer[] = {
    FIELD_TEXT(struct series_view, phase, "The phase; null while there is none."),
    FIELD_COUNT(struct series_view, run, "Of which run."),
    FIELD_TEXT(struct series_view, x, "What the x column holds."),
    FIELD_TEXT(struct series_view, y, "What min, max and mean hold."),
    FIELD_TEXT(struct series_view, unit, "Of y."),
    FIELD_TEXT(struct series_view, x_unit, "Of x."),
    FIELD_COUNT(struct series_view, count, "Samples in the range."),
    FIELD_BOOL(struct series_view, thinned, "Whether a point stands for more than one sample."),
    FIELD_JSON(struct series_view, points,
               "Columns of equal length: x, and min, max and mean of y; null is a gap."),
    FIELD_END,
};

/* "create, list, stat": each name once. */
static char *phase_names(const struct job *job)
{
    struct text known = { 0 };
    for (size_t i = 0; i < job->phases_n; i++) {
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = strcmp(job->phases[k].name, job->phases[i].name) == 0;
        if (!again)
            text_addf(&known, "%s%s", known.n ? ", " : "", job->phases[i].name);
    }
    return text_take(&known);
}

int job_phase(const struct job *job, const char *asked, uint64_t run,
              const struct phase_total **ret, struct problem *why)
{
    bool known = false;
    if (run == 0)
        run = job->phases_n ? job->phases[0].run : 1;
    for (size_t i = 0; i < job->phases_n; i++) {
        const struct phase_total *phase = &job->phases[i];
        bool named = !asked || strcmp(phase->name, asked) == 0;
        known = known || named;
        if (named && phase->run == run) {
            *ret = phase;
            return 0;
        }
    }
    *ret = NULL;
    if (!job_state_final(job->state) || (!asked && run <= 1))
        return 0;
    if (known || !asked)
        return problem_field(why, "/?run", "this job has no run %llu%s%s", (unsigned long long)run,
                             asked ? " of phase " : "", asked ? asked : "");
    scoped_free char *names = phase_names(job);
    return problem_field(why, "/?phase", "this job has %s%s, no phase of this name",
                         names && *names ? "the phases " : "no phases", names ? names : "");
}

static json_t *number(double value, bool whole)
{
    if (!isfinite(value))
        return json_null();
    return whole && fabs(value) < 9007199254740992.0 && value == floor(value)
               ? json_integer((json_int_t)value)
               : json_real(value);
}

static json_t *column(const double *values, size_t n, bool whole)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, number(values[i], whole));
    return array;
}

const char *series_unit(int y, const char *phase_unit, char text[SERIES_UNIT])
{
    const char *unit = measure_units[y];
    if (y == SERIES_OPS && strcmp(phase_unit, "bytes") == 0)
        phase_unit = "operations";
    snprintf(text, SERIES_UNIT, "%s%s", unit[0] == '\0' || unit[0] == '/' ? phase_unit : "", unit);
    return text;
}

static json_t *series_json(const struct series_get_query *query, const struct phase_total *phase,
                           const struct series *series)
{
    char text[SERIES_UNIT];
    const char *unit = phase ? phase->unit : "";
    bool by_load = strcmp(axes[query->x], "load") == 0;
    return json_pack(
        "{s:o, s:I, s:s, s:s, s:o, s:o, s:I, s:b, s:{s:o, s:o, s:o, s:o}}", "phase",
        phase ? json_text(phase->name) : json_null(), "run",
        (json_int_t)(phase ? phase->run : query->run), "x", axes[query->x], "y",
        series_measures[query->y], "unit", json_text(series_unit(query->y, unit, text)), "x_unit",
        json_text(by_load ? unit : "s"), "count", (json_int_t)series->count, "thinned",
        series->thinned, "points", "x", column(series->x, series->n, by_load), "min",
        column(series->min, series->n, true), "max", column(series->max, series->n, true), "mean",
        column(series->mean, series->n, true));
}

int job_columns(struct api *api, const struct job *job, const struct phase_total *phase,
                const struct series_get_query *query, json_t **ret, struct problem *why)
{
    scoped(series_done) struct series series = { 0 };
    const struct series_query ask = { .job = job->id,
                                      .run = phase ? phase->run : 1,
                                      .phase = phase ? phase->name : NULL,
                                      .x = axes[query->x],
                                      .y = series_measures[query->y],
                                      .from = query->from,
                                      .to = query->to,
                                      .points = query->points };
    if (phase && store_series(api->app->store, &ask, &series, why))
        return -1;
    json_t *json = series_json(query, phase, &series);
    if (!json)
        return problem_memory(why);
    *ret = json;
    return 0;
}

static int answer_json(struct api *api, const struct job *job, const struct phase_total *phase,
                       const struct series_get_query *query, struct reply *out, struct problem *why)
{
    json_t *json = NULL;
    if (job_columns(api, job, phase, query, &json, why))
        return -1;
    job_keep(out, job);
    out->digits = CURVE_DIGITS;
    return reply_json(out, json, why);
}

int job_series(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct series_get_query *query = in->query;
    scoped(job_done) struct job job = { 0 };
    const struct phase_total *phase = NULL;
    if (store_job_get(api->app->store, in->job, &job, why) ||
        job_phase(&job, query->phase, query->run, &phase, why))
        return -1;
    if (request_format(in, query->format) == AS_JSON)
        return answer_json(api, &job, phase, query, out, why);
    const struct csv_query ask = { .job = job.id,
                                   .phase = query->phase,
                                   .run = (unsigned)query->run,
                                   .by_load = strcmp(axes[query->x], "load") == 0,
                                   .from = query->from,
                                   .to = query->to };
    return samples_csv(api, &ask, out, why);
}
