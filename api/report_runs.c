#include "api/report_runs.h"

#include "engine/base/field_json.h"
#include "engine/words.h"

#include <math.h>

enum { LINE = 700, POINT = 200 };

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *name)
{
    const json_t *number = json_object_get(object, name);
    return json_is_number(number) ? json_number_value(number) : NAN;
}

bool report_tells(const struct job *job, const json_t *finding)
{
    static const char *const rare[] = { "knee", "limit", "disturbed" };
    bool told = job->runs_n <= REPORT_RUNS_IN_FULL;
    for (size_t i = 0; i < COUNT_OF(rare) && !told; i++)
        told = strcmp(text_of(finding, "kind"), rare[i]) == 0;
    return told;
}

static void say_point(struct document *to, const json_t *point)
{
    char words[POINT], runs[WORDS], median[WORDS], low[WORDS], high[WORDS], apart[WORDS] = "";
    scoped_free char *params = json_dumps(json_object_get(point, "params"), JSON_COMPACT);
    double spread = number_of(point, "spread");
    matrix_point_words(params, words, sizeof words);
    if (isfinite(spread))
        words_percent(spread, apart);
    const char *const cells[] = {
        *words ? words : "all",
        words_count(number_of(point, "runs"), runs),
        words_digits(number_of(point, "median"), median),
        words_digits(number_of(point, "low"), low),
        words_digits(number_of(point, "high"), high),
        apart,
    };
    document_row(to, cells);
}

static void say_points(struct document *to, const json_t *finding)
{
    static const char *const head[] = { "Point",  "Runs",    "Median per second",
                                        "Lowest", "Highest", "Apart" };
    size_t i;
    json_t *point;
    document_heading(to, 3, text_of(finding, "phase"));
    document_paragraph(to, text_of(finding, "sentence"));
    document_table(to, COUNT_OF(head), 1);
    document_row(to, head);
    json_array_foreach(json_object_get(json_object_get(finding, "data"), "points"), i, point)
        say_point(to, point);
}

static void say_run(struct document *to, const struct job_run *run)
{
    char number[WORDS], words[POINT], started[CLOCK_TEXT], bytes[WORDS] = "", inodes[WORDS] = "";
    if (isfinite(run->used_bytes))
        words_bytes(run->used_bytes, bytes);
    if (isfinite(run->used_inodes))
        words_count(run->used_inodes, inodes);
    const char *const cells[] = {
        words_count((double)run->run, number),
        matrix_point_words(run->params, words, sizeof words),
        run_states[run->state],
        run->started_at ? clock_format(run->started_at, started) : "",
        bytes,
        inodes,
    };
    document_row(to, cells);
}

void say_runs(struct document *to, const struct job *job, const json_t *findings)
{
    static const char *const head[] = { "Run",     "With",         "State",
                                        "Started", "Bytes in use", "Inodes in use" };
    char line[LINE];
    size_t i;
    json_t *finding;
    if (job->runs_n < 2)
        return;
    document_heading(to, 2, "Runs");
    snprintf(
        line, sizeof line,
        "%zu runs, in an order that the seed %llu fixes: every point is measured once before any "
        "is measured again. What was in use is what the run found on the target's filesystem.",
        job->runs_n, (unsigned long long)job->seed);
    document_paragraph(to, line);
    json_array_foreach(findings, i, finding) if (strcmp(text_of(finding, "kind"), "repeats") == 0)
        say_points(to, finding);
    document_heading(to, 3, "In their order");
    document_table(to, COUNT_OF(head), 4);
    document_row(to, head);
    for (i = 0; i < job->runs_n; i++)
        say_run(to, &job->runs[i]);
}
