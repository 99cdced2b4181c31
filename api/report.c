/* GET /jobs/{id}/report. */
#include "api/report.h"

#include "api/document.h"
#include "api/handlers.h"
#include "api/job_answer.h"
#include "api/jobs.h"
#include "api/report_json.h"
#include "api/samples_csv.h"
#include "api/series.h"
#include "engine/base/field_json.h"

#include <math.h>

enum { AS_JSON, AS_MARKDOWN, AS_CSV, AS_HTML };
enum {
    POINTS = 500
}; /* of each phase in the JSON: enough for a chart, small enough to send around */
static const char *const formats[] = { "accept", "json", "markdown", "csv", "html", NULL };
const char *const report_types[] = { "application/json", "text/markdown", "text/csv", "text/html",
                                     NULL };

const struct field report_query[] = {
    FIELD_CHOICE(struct report_query, format, "As the Accept header says, or in spite of it.",
                 .choices = formats, .preset_text = "accept"),
    FIELD_END,
};

/* For the description: the answer is made below. */
struct report_view {
    void *job;
    struct array series;
    char *import;
};
const struct field report_answer[] = {
    FIELD_OBJECT(struct report_view, job, "The job with its findings.", .of = job_answer),
    FIELD_ARRAY(struct report_view, series, "Of each phase: seconds per batch over load, thinned.",
                .of = series_answer),
    FIELD_JSON(struct report_view, import,
               "All of it with every sample, as POST /imports takes it; so does it the whole "
               "report."),
    FIELD_END,
};

static int report_series(struct api *api, const struct job *job, json_t *list, struct problem *why)
{
    for (size_t i = 0; i < job->phases_n; i++) {
        const struct phase_total *phase = &job->phases[i];
        const struct series_get_query ask = {
            .points = POINTS, .run = phase->run, .from = NAN, .to = NAN
        };
        json_t *columns = NULL;
        if (job_columns(api, job, phase, &ask, &columns, why))
            return -1;
        if (json_array_append_new(list, columns))
            return problem_memory(why);
    }
    return 0;
}

static int report_json(struct api *api, const struct job *job, struct reply *out,
                       struct problem *why)
{
    scoped_json json_t *series = json_array(), *whole = job_json(job, why);
    if (!series || !whole || report_series(api, job, series, why))
        return problem_memory(why); /* unless there is an earlier cause */
    return report_stream(api, job, json_pack("{s:O, s:O}", "job", whole, "series", series), out,
                         why);
}

static int report_document(struct api *api, const struct job *job, const struct document_kind *kind,
                           const char *type, struct reply *out, struct problem *why)
{
    char *text = NULL;
    if (report_text(api, job, kind, &text, why))
        return -1;
    reply_bytes(out, type, text, strlen(text));
    return 0;
}

int job_report(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct report_query *query = in->query;
    const struct csv_query all = { .job = in->job, .by_load = true, .from = NAN, .to = NAN };
    scoped(job_done) struct job job = { 0 };
    if (store_job_get(api->app->store, in->job, &job, why))
        return -1;
    job_keep(out, &job);
    switch (request_format(in, query->format)) {
    case AS_JSON:
        return report_json(api, &job, out, why);
    case AS_MARKDOWN:
        return report_document(api, &job, &document_markdown, "text/markdown; charset=utf-8", out,
                               why);
    case AS_CSV:
        out->keep = 0; /* a stream is sent once */
        return samples_csv(api, &all, out, why);
    default:
        return report_document(api, &job, &document_html, "text/html; charset=utf-8", out, why) ||
                       reply_style(out, document_css, why)
                   ? -1
                   : 0;
    }
}
