/* GET /baselines/{id}/history: one value a run, the levels that they form, and where they changed. */
#include "api/api.h"
#include "api/baselines.h"
#include "api/handlers.h"
#include "engine/base/field_json.h"

const struct field baseline_history_query[] = {
    FIELD_COUNT(struct baseline_history_query, like,
                "Of runs with the parameters of this job; 0: of the newest job.", .max = 1e15),
    FIELD_COUNT(struct baseline_history_query, run, "And of this run of it; 0: of the first.",
                .max = 1e6),
    FIELD_END,
};

struct value_view {
    uint64_t job, run;
    nsec at;
    double value;
    bool confirms, disturbed;
};
static const struct field value_fields[] = {
    FIELD_COUNT(struct value_view, job, "The job."),
    FIELD_COUNT(struct value_view, run, "Its run."),
    FIELD_TIME(struct value_view, at, "When the job ended."),
    FIELD_NUMBER(struct value_view, value, "The figure, in unit."),
    FIELD_BOOL(struct value_view, confirms, "It was queued to see whether another was chance."),
    FIELD_BOOL(struct value_view, disturbed, "Other work had its CPUs."),
    FIELD_END,
};
struct segment_view {
    uint64_t from, to, from_job, runs;
    double level;
};
static const struct field segment_fields[] = {
    FIELD_COUNT(struct segment_view, from, "Place of its first value, from 0."),
    FIELD_COUNT(struct segment_view, to, "Place of its last value."),
    FIELD_COUNT(struct segment_view, from_job, "The job that it began with."),
    FIELD_COUNT(struct segment_view, runs, "How many values it has."),
    FIELD_NUMBER(struct segment_view, level, "Their median."),
    FIELD_END,
};
struct change_view {
    uint64_t at, job;
    double before, after, effect, p;
    bool regression;
    char *sentence;
};
static const struct field change_fields[] = {
    FIELD_COUNT(struct change_view, at, "Place of the first value of the new level."),
    FIELD_COUNT(struct change_view, job, "Its job."),
    FIELD_NUMBER(struct change_view, before, "The level before."),
    FIELD_NUMBER(struct change_view, after, "The level after."),
    FIELD_NUMBER(struct change_view, effect, "New level over old level, less 1."),
    FIELD_NUMBER(struct change_view, p, "Mann-Whitney, of the runs on either side."),
    FIELD_BOOL(struct change_view, regression, "By the rule of the baseline."),
    FIELD_TEXT(struct change_view, sentence, "The change in words."),
    FIELD_END,
};
struct history_view {
    char *y, *unit;
    struct array values, segments, changes;
    bool suspect;
};
const struct field baseline_history_answer[] = {
    FIELD_TEXT(struct history_view, y, "The figure."),
    FIELD_TEXT(struct history_view, unit, "Of values and levels; null without a run."),
    FIELD_ARRAY(struct history_view, values, "Oldest first.", .of = value_fields,
                .of_size = sizeof(struct value_view)),
    FIELD_ARRAY(struct history_view, segments, "Levels, in order; together all values.",
                .of = segment_fields, .of_size = sizeof(struct segment_view)),
    FIELD_ARRAY(struct history_view, changes, "Between one segment and the next.",
                .of = change_fields, .of_size = sizeof(struct change_view)),
    FIELD_BOOL(struct history_view, suspect,
               "The last value alone is so bad that it may be chance: not a change yet."),
    FIELD_END,
};

struct rooms {
    struct value_view *values;
    struct segment_view segments[LEVELS_MOST];
    struct change_view changes[LEVELS_MOST];
    char sentences[LEVELS_MOST][BASELINE_SENTENCE];
};

static void rooms_free(struct rooms **rooms)
{
    if (*rooms)
        free((*rooms)->values);
    free(*rooms);
}

static void view_levels(const struct baseline *baseline, const struct baseline_run *runs,
                        const struct baseline_history *history, struct rooms *rooms)
{
    for (size_t k = 0; k < history->n; k++) {
        const struct baseline_level *level = &history->at[k];
        uint64_t job = (uint64_t)runs[level->from].job;
        rooms->segments[k] = (struct segment_view){ .from = level->from,
                                                    .to = level->from + level->n - 1,
                                                    .from_job = job,
                                                    .runs = level->n,
                                                    .level = level->level };
        if (k == 0)
            continue;
        rooms->changes[k - 1] = (struct change_view){
            .at = level->from,
            .job = job,
            .before = level[-1].level,
            .after = level->level,
            .effect = level->effect,
            .p = level->p,
            .regression = level->regression,
            .sentence = say_regression(baseline->rule.figure, baseline->phase, baseline->target,
                                       runs, history, k, rooms->sentences[k - 1]),
        };
    }
}

static json_t *history_json(const struct baseline *baseline, const struct baseline_run *runs,
                            size_t n)
{
    struct baseline_history history;
    scoped(rooms_free) struct rooms *rooms = calloc(1, sizeof *rooms);
    char unit[40];
    if (!rooms || !(rooms->values = calloc(n + 1, sizeof *rooms->values)))
        return NULL;
    baseline_judge(&baseline->rule, runs, n, &history);
    for (size_t i = 0; i < n; i++)
        rooms->values[i] = (struct value_view){ .job = (uint64_t)runs[i].job,
                                                .run = runs[i].run,
                                                .at = runs[i].at,
                                                .value = runs[i].value,
                                                .confirms = runs[i].confirms,
                                                .disturbed = runs[i].disturbed };
    view_levels(baseline, runs, &history, rooms);
    const struct history_view view = {
        .y = (char *)(uintptr_t)baseline_figures[baseline->rule.figure], /* only read */
        .unit = n ? baseline_unit(baseline->rule.figure, runs, unit) : NULL,
        .values = { n, rooms->values },
        .segments = { history.n, rooms->segments },
        .changes = { history.n ? history.n - 1 : 0, rooms->changes },
        .suspect = history.suspect,
    };
    return fields_render(baseline_history_answer, &view);
}

int baseline_history(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct baseline_history_query *query = in->query;
    scoped(baseline_done) struct baseline baseline = { 0 };
    scoped_free struct baseline_run *runs = NULL;
    size_t n = 0;
    if (store_baseline_get(api->app->store, in->job, &baseline, why) ||
        store_baseline_history(api->app->store, &baseline, (job_id)query->like,
                               (unsigned)query->run, &runs, &n, why))
        return -1;
    return reply_json(out, history_json(&baseline, runs, n), why);
}
