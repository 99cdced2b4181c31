/* {HEAD, "import": {..., "phases": [{..., "samples": [GROUP, GROUP, ...]}, ...]}}: each piece is made by the
 * library, only what stands between pieces is written here. */
#include "api/report_json.h"

#include "api/api.h"
#include "engine/base/field_json.h"
#include "engine/base/text.h"
#include "engine/import/import.h"

#include <math.h>

enum {
    HOST_MOST = 20000, /* of a leg */
    EXACT = 17,        /* digits that bring a number back as it was */
};

struct export
{
    struct api *api;
    struct samples_cursor *cursor;
    struct phase_total *phases;
    size_t phases_n;
    size_t begun;    /* phases whose beginning was written */
    bool grouped;    /* a group of the last one was, too */
    struct text out; /* to be sent */
    size_t sent;     /* of it */
    bool ended;
};

/* The JSON's text; without its last byte when `open`: more members follow. Steals it. */
static void add(struct text *out, json_t *json, bool open, size_t digits)
{
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(digits)) : NULL;
    json_decref(json);
    if (!text)
        out->failed = true;
    else
        text_add(out, text, strlen(text) - open);
    free(text);
}

static json_t *group_json(const struct sample *samples, size_t n)
{
    static const struct {
        const char *name;
        size_t offset, size;
    } columns[] = {
#define COLUMN(name, member) \
    { name, offsetof(struct sample, member), sizeof((struct sample){ 0 }.member) }
        COLUMN("load", load),         COLUMN("elapsed_ns", elapsed),
        COLUMN("at_ns", at),          COLUMN("lane", lane),
        COLUMN("ops", ops),           COLUMN("bytes", bytes),
        COLUMN("errors", errors),     COLUMN("cpu_ns", cpu),
        COLUMN("switches", switches), COLUMN("p50_ns", p50),
        COLUMN("p99_ns", p99),        COLUMN("max_ns", max),
#undef COLUMN
    };
    json_t *group = json_object();
    for (size_t c = 0; c < COUNT_OF(columns); c++) {
        json_t *list = json_array();
        for (size_t i = 0; i < n; i++) {
            const void *at = (const char *)&samples[i] + columns[c].offset;
            json_int_t value =
                columns[c].size == sizeof(uint32_t) ? *(const uint32_t *)at : *(const int64_t *)at;
            json_array_append_new(list, json_integer(value));
        }
        json_object_set_new(group, columns[c].name, list);
    }
    return group;
}

/* Ends the phase that was begun, and begins the next one. */
static void next_phase(struct export *export)
{
    struct text *out = &export->out;
    if (export->begun)
        text_addf(out, "]},");
    add(out, import_phase_json(&export->phases[export->begun++]), true, EXACT);
    text_addf(out, ",\"samples\":[");
    export->grouped = false;
}

static bool is_phase(const struct export *export, const char *name, unsigned run, unsigned leg)
{
    const struct phase_total *phase = export->begun ? &export->phases[export->begun - 1] : NULL;
    return phase && phase->run == run && phase->leg == leg && strcmp(phase->name, name) == 0;
}

static int refill(struct export *export, struct problem *why)
{
    struct text *out = &export->out;
    const char *name;
    const struct sample *samples;
    unsigned run, leg;
    size_t n;
    out->n = export->sent = 0;
    if (export->ended)
        return 0;
    int more = samples_next(export->cursor, &name, &run, &leg, &samples, &n, why);
    if (more < 0)
        return -1;
    while (export->begun < export->phases_n && !(more && is_phase(export, name, run, leg)))
        next_phase(export);
    if (more && is_phase(export, name, run, leg)) {
        if (export->grouped)
            text_addf(out, ",");
        add(out, group_json(samples, n), false, EXACT);
        export->grouped = true;
    }
    if (!more) {
        text_addf(out, export->begun ? "]}]}}" : "]}}");
        export->ended = true;
    }
    return out->failed ? problem_memory(why) : 0;
}

static int export_read(void *arg, char *bytes, size_t size, size_t *ret, struct problem *why)
{
    struct export *export = arg;
    if (export->sent == export->out.n && refill(export, why))
        return -1;
    size_t left = export->out.n - export->sent, n = left < size ? left : size;
    memcpy(bytes, export->out.at + export->sent, n);
    export->sent += n;
    *ret = n;
    return 0;
}

static void export_done(void *arg)
{
    struct export *export = arg;
    if (export->cursor)
        export_end(export->api);
    samples_close(export->cursor);
    text_done(&export->out);
    free(export->phases);
    free(export);
}

/* Adds a leg's columns to those of the legs before it. */
static void add_host(json_t *host, const struct phase_total *leg, const struct host_sample *samples,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(json_object_get(host, "run"), json_integer(leg->run));
        json_array_append_new(json_object_get(host, "leg"), json_integer(leg->leg));
        json_array_append_new(json_object_get(host, "at_ns"), json_integer(samples[i].at));
#define X(column, unit)                                                                      \
    json_array_append_new(json_object_get(host, #column), isfinite(samples[i].column)        \
                                                              ? json_real(samples[i].column) \
                                                              : json_null());
        HOST_COLUMNS(X)
#undef X
    }
}

static json_t *host_new(void)
{
    json_t *host = json_pack("{s:[], s:[], s:[]}", "run", "leg", "at_ns");
#define X(column, unit) json_object_set_new(host, #column, json_array());
    HOST_COLUMNS(X)
#undef X
    return host;
}

/* What the machine did meanwhile, leg by leg. */
static int host_json(struct store *store, const struct job *job, json_t *host, struct problem *why)
{
    for (size_t i = 0; i < job->parts_n; i++) {
        const struct phase_total *phase = &job->parts[i];
        scoped_free struct host_sample *samples = NULL;
        size_t n = 0, k = 0;
        while (job->parts[k].run != phase->run || job->parts[k].leg != phase->leg)
            k++;
        if (k < i) /* told already */
            continue;
        const struct host_query query = {
            .job = job->id, .run = phase->run, .leg = phase->leg, .points = HOST_MOST
        };
        if (store_host(store, &query, &samples, &n, why))
            return -1;
        add_host(host, phase, samples, n);
    }
    return 0;
}

static json_t *object_of(const char *text)
{
    json_t *json = json_loads(text ? text : "{}", 0, NULL);
    return json ? json : json_object();
}

static json_t *runs_json(const struct job *job)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < job->runs_n; i++)
        json_array_append_new(runs, json_pack("{s:i, s:I, s:o}", "run", (int)job->runs[i].run,
                                              "point", (json_int_t)job->runs[i].point, "params",
                                              object_of(job->runs[i].params)));
    return runs;
}

/* All of the import but its phases. Borrows host. */
static json_t *import_head(const struct job *job, json_t *host)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "workload", job->workload, "name",
        job->imported ? job->name : job->target, "note", job->note ? job->note : "", "external_ref",
        job->external_ref ? job->external_ref : "", "labels", object_of(job->labels), "params",
        object_of(job->params), "environment", object_of(job->environment));
    if (json && job->runs_n > 1)
        json_object_set_new(json, "runs", runs_json(job));
    if (json && json_array_size(json_object_get(host, "at_ns")))
        json_object_set(json, "host", host);
    return json;
}

static int begin(struct export *export, const struct job *job, json_t *head, struct problem *why)
{
    scoped_json json_t *host = host_new();
    if (host_json(export->api->app->store, job, host, why))
        return -1;
    add(&export->out, json_incref(head), true, CURVE_DIGITS);
    text_addf(&export->out, ",\"import\":");
    add(&export->out, import_head(job, host), true, EXACT);
    text_addf(&export->out, ",\"phases\":[");
    export->phases = calloc(job->parts_n + 1, sizeof *export->phases);
    if (!export->phases || export->out.failed)
        return problem_memory(why);
    if (job->parts_n)
        memcpy(export->phases, job->parts, job->parts_n * sizeof *export->phases);
    export->phases_n = job->parts_n;
    if (export_begin(export->api, why))
        return -1;
    if (samples_open(export->api->app->store, job->id, NULL, &export->cursor, why)) {
        export_end(export->api);
        return -1;
    }
    return 0;
}

int report_stream(struct api *api, const struct job *job, json_t *head, struct reply *out,
                  struct problem *why)
{
    scoped_json json_t *held = head;
    struct export *export = calloc(1, sizeof *export);
    if (!held || !export) {
        free(export);
        return problem_memory(why);
    }
    export->api = api;
    if (begin(export, job, held, why)) {
        export_done(export);
        return -1;
    }
    out->type = "application/json";
    out->keep = 0; /* a stream is sent once */
    out->stream = (struct stream){ export_read, export_done, export };
    /* Any change of the job, and of how its report is made, is another revision or version. */
    return text_fit(out->etag, sizeof out->etag, "\"%lld-%lld-%s\"", (long long)job->id,
                    (long long)job->revision, PLIMSOLL_VERSION);
}
