/* A comparison as text to paste into a ticket. */
#include "api/comparisons.h"

#include "api/markup.h"
#include "engine/words.h"

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* A text as it is, anything else as JSON. */
static void add_value(struct text *out, const json_t *value)
{
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    markdown_add(out, json_is_string(value) ? json_string_value(value) : text ? text : "");
    free(text);
}

static void add_phases(struct text *out, const json_t *phases)
{
    size_t i;
    json_t *phase;
    if (json_array_size(phases) == 0) {
        text_addf(out, "They have no phase in common.\n\n");
        return;
    }
    json_array_foreach(phases, i, phase)
    {
        text_addf(out, "- ");
        markdown_add(out, text_of(phase, "sentence"));
        text_addf(out, "\n");
    }
    text_addf(out, "\n| Phase | Verdict | Cost B/A | Interval | Confidence | p | In total |\n"
                   "|---|---|--:|--:|--:|--:|--:|\n");
    json_array_foreach(phases, i, phase)
    {
        char ratio[WORDS], low[WORDS], high[WORDS], confidence[WORDS], total[WORDS];
        text_addf(out, "| ");
        markdown_add(out, text_of(phase, "phase"));
        text_addf(out, " | %s%s ", text_of(phase, "verdict"),
                  json_is_true(json_object_get(phase, "small")) ? " (small)" : "");
        if (json_is_null(json_object_get(phase, "ratio"))) {
            text_addf(out, "| | | | | |\n");
            continue;
        }
        text_addf(out, "| %s | %s to %s | %s | %.2g | %s |\n",
                  words_digits(number_of(phase, "ratio"), ratio),
                  words_digits(number_of(phase, "low"), low),
                  words_digits(number_of(phase, "high"), high),
                  words_percent(number_of(phase, "confidence"), confidence), number_of(phase, "p"),
                  words_digits(number_of(phase, "ratio_total"), total));
    }
    text_addf(out, "\n");
}

static void add_differences(struct text *out, const json_t *one)
{
    static const char *const of[] = { "params", "environment" };
    size_t i, n = 0;
    json_t *difference;
    for (size_t k = 0; k < COUNT_OF(of); k++)
        json_array_foreach(json_object_get(json_object_get(one, "differences"), of[k]), i,
                           difference)
        {
            if (n++ == 0)
                text_addf(out, "| Different | A | B |\n|---|---|---|\n");
            text_addf(out, "| %s ", of[k]);
            markdown_add(out, text_of(difference, "pointer"));
            text_addf(out, " | ");
            add_value(out, json_object_get(difference, "a"));
            text_addf(out, " | ");
            add_value(out, json_object_get(difference, "b"));
            text_addf(out, " |\n");
        }
    text_addf(out, n ? "\n" : "They ran with the same parameters on the same system.\n\n");
}

static void add_jobs(struct text *out, const json_t *jobs)
{
    size_t i;
    json_t *job;
    text_addf(out, "| Job | Workload | Target | Host | State | Asked for |\n"
                   "|--:|---|---|---|---|---|\n");
    json_array_foreach(jobs, i, job)
    {
        static const char *const columns[] = { "workload", "target", "host", "state",
                                               "created_at" };
        text_addf(out, "| %lld |", (long long)json_integer_value(json_object_get(job, "id")));
        for (size_t k = 0; k < COUNT_OF(columns); k++) {
            bool named = k == 1 && json_is_true(json_object_get(job, "imported"));
            text_addf(out, " ");
            markdown_add(out, text_of(job, named ? "name" : columns[k]));
            text_addf(out, " |");
        }
        text_addf(out, "\n");
    }
    text_addf(out, "\n");
}

/* "job 7", "jobs 1, 2, 3". */
static void add_side(struct text *out, const char *word, const json_t *jobs)
{
    for (size_t i = 0; i < json_array_size(jobs); i++)
        text_addf(out, "%s%s%lld", i ? ", " : word,
                  i                           ? ""
                  : json_array_size(jobs) > 1 ? "s "
                                              : " ",
                  (long long)json_integer_value(json_array_get(jobs, i)));
}

char *comparisons_markdown(const json_t *answer)
{
    struct text out = { 0 };
    size_t i, k;
    json_t *one, *flag;
    text_addf(&out, "# Comparison\n\n");
    add_jobs(&out, json_object_get(answer, "jobs"));
    json_array_foreach(json_object_get(answer, "comparisons"), i, one)
    {
        text_addf(&out, "## ");
        add_side(&out, "Job", json_object_get(one, "jobs_b"));
        text_addf(&out, " (B) against ");
        add_side(&out, "job", json_object_get(one, "jobs_a"));
        text_addf(&out, " (A)\n\n");
        json_array_foreach(json_object_get(one, "flags"), k, flag)
            text_addf(&out, "**%s**\n\n", json_string_value(flag));
        add_phases(&out, json_object_get(one, "phases"));
        add_differences(&out, one);
    }
    char *text = text_take(&out);
    text_done(&out);
    return text;
}
