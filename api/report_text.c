/* What a report says, in the order a reader wants it: the conclusions, the figures, what it ran on. */
#include "api/report.h"

#include "api/chart.h"
#include "api/document.h"
#include "api/environment_rows.h"
#include "api/report_runs.h"
#include "api/series.h"
#include "engine/base/field_json.h"
#include "engine/words.h"

#include <math.h>

enum {
    LINE = 700,
    PICTURES_MOST = 12, /* of a job of several runs: some 30 KB each */
};

static void say_head(struct document *to, const struct job *job)
{
    char line[LINE], asked[CLOCK_TEXT], started[CLOCK_TEXT], finished[CLOCK_TEXT];
    if (job->imported)
        snprintf(line, sizeof line, "Measured elsewhere; imported by %s at %s.", job->created_by,
                 clock_format(job->created_at, asked));
    else
        snprintf(line, sizeof line, "Asked for by %s at %s. Ran on %s from %s to %s.",
                 job->created_by, clock_format(job->created_at, asked), job->host,
                 job->started_at ? clock_format(job->started_at, started) : "never",
                 job->finished_at ? clock_format(job->finished_at, finished) : "now");
    document_paragraph(to, line);
    if (job->external_ref && job->external_ref[0])
        document_paragraph(to, job->external_ref);
    if (job->note && job->note[0])
        document_paragraph(to, job->note);
    if (job->problem.code != PROBLEM_NONE) {
        snprintf(line, sizeof line, "It failed: %s.", job->problem.message);
        document_paragraph(to, line);
    }
}

/* --- sentences --- */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* Of a phase of this run; phase "" and run 0: of the whole job. Returns how many. */
static size_t say_findings(struct document *to, const struct job *job, const json_t *findings,
                           const char *phase, unsigned run)
{
    size_t i, told = 0;
    json_t *finding;
    json_array_foreach(findings, i, finding)
    {
        if (strcmp(text_of(finding, "phase"), phase) != 0 ||
            json_integer_value(json_object_get(finding, "run")) != (json_int_t)run ||
            !report_tells(job, finding))
            continue;
        if (told++ == 0) {
            char title[64];
            snprintf(title, sizeof title, run && job->runs_n > 1 ? "%s, run %u" : "%s",
                     phase[0] ? phase : "The job", run);
            document_heading(to, 3, title);
        }
        document_item(to, text_of(finding, "sentence"));
    }
    return told;
}

static void say_all_findings(struct document *to, const struct job *job, const json_t *findings)
{
    size_t told = 0;
    document_heading(to, 2, "What the numbers say");
    for (size_t i = 0; i < job->phases_n; i++)
        told += say_findings(to, job, findings, job->phases[i].name, job->phases[i].run);
    told += say_findings(to, job, findings, "", 0);
    if (told == 0)
        document_paragraph(to, job_state_final(job->state) ? "Nothing was concluded (yet)."
                                                           : "It has not ended.");
}

/* --- figures --- */

static void say_per_second(double value, bool bytes, char text[WORDS])
{
    if (bytes)
        words_rate(value, "bytes", text);
    else
        words_digits(value, text);
}

static void say_phase(struct document *to, const struct phase_total *phase, bool of_several)
{
    char run[WORDS], ops[WORDS], seconds[WORDS], rate[WORDS] = "", p50[WORDS], p99[WORDS],
                                                 max[WORDS], lanes[WORDS];
    double took = phase_seconds(phase), first = phase_first_rate(phase);
    bool bytes = phase_counts_bytes(phase);
    char first_rate[WORDS] = "";
    p50[0] = p99[0] = max[0] = '\0';
    if (phase->latency.count > 0) {
        words_seconds(seconds_of(phase->latency.p50), p50);
        words_seconds(seconds_of(phase->latency.p99), p99);
        words_seconds(seconds_of(phase->latency.max), max);
    }
    if (took > 0 && !phase->at_load)
        say_per_second(phase_rate(phase), bytes, rate);
    if (isfinite(first) && !phase->at_load)
        say_per_second(first, bytes, first_rate);
    const char *const cells[] = {
        words_count(phase->run, run),
        phase->name,
        phase->limit.reached ? limit_reasons[phase->limit.reason] : "",
        phase->at_load ? "measurements"
        : bytes        ? ""
                       : phase->unit,
        bytes ? words_bytes((double)phase->bytes, ops) : words_count((double)phase->ops, ops),
        words_count((double)phase->lanes, lanes),
        words_seconds(took, seconds),
        rate,
        first_rate,
        p50,
        p99,
        max,
    };
    document_row(to, cells + !of_several);
}

static void say_phases(struct document *to, const struct job *job)
{
    static const char *const head[] = { "Run",  "Phase",      "Ended early by",
                                        "Unit", "Done",       "Lanes",
                                        "Took", "Per second", "Until the first lane ended",
                                        "p50",  "p99",        "Longest" };
    bool several = job->runs_n > 1;
    if (job->phases_n == 0)
        return;
    document_heading(to, 2, "Phases");
    document_table(to, COUNT_OF(head) - !several, 3 + several);
    document_row(to, head + !several);
    for (size_t i = 0; i < job->phases_n; i++)
        say_phase(to, &job->phases[i], several);
}

static void say_limits(struct document *to, const struct job *job)
{
    bool headed = false;
    for (size_t i = 0; i < job->phases_n; i++) {
        const struct phase_total *phase = &job->phases[i];
        char line[LINE], at[WORDS];
        if (!phase->limit.reached)
            continue;
        if (!headed)
            document_heading(to, 2, "Limits");
        headed = true;
        snprintf(line, sizeof line, "%s ended at %s (%s): %s.", phase->name,
                 words_load((double)phase->limit.at, phase->unit, at),
                 limit_reasons[phase->limit.reason], phase->limit.detail);
        document_item(to, line);
    }
}

/* --- what it ran with and on --- */

/* The members of an object, one a row. */
static void say_members(struct document *to, const char *title, const char *text)
{
    scoped_json json_t *object = json_loads(text ? text : "{}", 0, NULL);
    const char *name;
    json_t *value;
    if (json_object_size(object) == 0)
        return;
    document_heading(to, 2, title);
    document_table(to, 2, 2);
    document_row(to, (const char *const[]){ "Name", "Value" });
    json_object_foreach(object, name, value)
    {
        scoped_free char *shown = json_is_string(value)
                                      ? NULL
                                      : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        document_row(to,
                     (const char *const[]){ name, json_is_string(value) ? json_string_value(value)
                                                  : shown               ? shown
                                                                        : "" });
    }
}

static void say_environment(struct document *to, const char *title,
                            const struct environment_row *rows, size_t n, bool hardware)
{
    bool headed = false;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].hardware != hardware)
            continue;
        if (!headed) {
            document_heading(to, 2, title);
            document_table(to, 2, 2);
            document_row(to, (const char *const[]){ "What", "Value" });
        }
        headed = true;
        document_row(to, (const char *const[]){ rows[i].label, rows[i].value });
    }
}

/* --- pictures --- */

/* A run's picture stands for those of its point. */
static bool is_first_of_point(const struct job *job, unsigned run)
{
    for (size_t i = 0; i < job->runs_n && job->runs[i].run < run; i++)
        for (size_t k = i + 1; k < job->runs_n; k++)
            if (job->runs[k].run == run && job->runs[k].point == job->runs[i].point)
                return false;
    return true;
}

static int draw_phases(struct api *api, struct document *to, const struct job *job,
                       struct problem *why)
{
    if (!to->kind->picture || job->phases_n == 0)
        return 0;
    size_t left = job->runs_n > 1 ? PICTURES_MOST : job->phases_n;
    document_heading(to, 2, job->runs_n > 1 ? "Charts, of the first runs" : "Charts");
    for (size_t i = 0; i < job->phases_n && left; i++) {
        const struct phase_total *phase = &job->phases[i];
        const struct chart_query ask = { .run = phase->run,
                                         .y = phase_counts_bytes(phase) ? SERIES_RATE : 0,
                                         .width = 900,
                                         .height = 340 };
        scoped_free char *svg = NULL;
        if (!is_first_of_point(job, phase->run)) /* in another's picture */
            continue;
        left--;
        if (phase_chart(api, job, phase, &ask, CHART_IN_PAGE, &svg, why))
            return -1;
        document_picture(to, svg);
    }
    return 0;
}

int report_text(struct api *api, const struct job *job, const struct document_kind *kind,
                char **ret, struct problem *why)
{
    struct document to;
    char title[256];
    scoped_free struct environment_row *rows = NULL;
    size_t rows_n = 0;
    if (environment_rows(job->environment, &rows, &rows_n))
        return problem_memory(why);
    snprintf(title, sizeof title, "%s on %s: job %lld, %s", job->workload,
             job->imported ? job->name : job->target, (long long)job->id, job_states[job->state]);
    document_begin(&to, kind, title);
    say_head(&to, job);
    scoped_json json_t *findings = json_loads(job->findings ? job->findings : "[]", 0, NULL);
    say_all_findings(&to, job, findings);
    say_runs(&to, job, findings);
    if (draw_phases(api, &to, job, why)) {
        text_done(&to.out);
        return -1;
    }
    say_phases(&to, job);
    say_limits(&to, job);
    say_members(&to, "Parameters", job->params);
    say_members(&to, "Varied", job->matrix);
    say_members(&to, "Labels", job->labels);
    say_environment(&to, "Software configuration", rows, rows_n, false);
    say_environment(&to, "Hardware configuration", rows, rows_n, true);
    char *text = document_end(&to);
    if (!text)
        return problem_memory(why);
    *ret = text;
    return 0;
}
