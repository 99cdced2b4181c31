/* What has become worse: /alerts, and what people do about them. */
#include "api/api.h"
#include "api/auth.h"
#include "api/baselines.h"
#include "api/handlers.h"
#include "api/jobs.h"
#include "api/listing.h"
#include "engine/base/field_json.h"

const struct field alerts_query[] = {
    FIELD_COUNT(struct alerts_query, limit, "How many at most.", .min = 1, .max = 500,
                .preset = 50),
    FIELD_TEXT(struct alerts_query, cursor, "next_cursor of the page before.", .min = 1, .max = 32),
    FIELD_CHOICES(struct alerts_query, state, "Only in these states, separated by commas.",
                  .choices = alert_states),
    FIELD_COUNT(struct alerts_query, baseline, "Only of this baseline, by its number.",
                .max = 1e15),
    FIELD_END,
};
const struct field alert_body[] = {
    FIELD_TEXT(struct alert_body, note, "Free text, kept with the alert.", .max = NOTE_MOST),
    FIELD_END,
};

struct alert_view {
    uint64_t id, baseline, job, run, runs_before, runs_after, revision;
    char *fingerprint, *name, *target, *phase, *sentence, *unit, *acknowledged_by, *resolved_by,
        *resolution, *note;
    int state, y;
    double before, after, effect, p;
    nsec opened_at, acknowledged_at, resolved_at;
};
const struct field alert_answer[] = {
    FIELD_COUNT(struct alert_view, id, "Its number."),
    FIELD_TEXT(struct alert_view, fingerprint, "The same however often the change is found."),
    FIELD_CHOICE(struct alert_view, state, "What became of it.", .choices = alert_states),
    FIELD_TEXT(struct alert_view, sentence, "The change in words."),
    FIELD_COUNT(struct alert_view, baseline, "By which baseline."),
    FIELD_TEXT(struct alert_view, name, "What that is called."),
    FIELD_TEXT(struct alert_view, target, "Where; null: in results that were handed in."),
    FIELD_TEXT(struct alert_view, phase, "In which phase."),
    FIELD_CHOICE(struct alert_view, y, "Which figure.", .choices = baseline_figures),
    FIELD_TEXT(struct alert_view, unit, "Of before and after."),
    FIELD_COUNT(struct alert_view, job, "The first job of the new level; it may be gone."),
    FIELD_COUNT(struct alert_view, run, "Its run."),
    FIELD_NUMBER(struct alert_view, before, "Median of the runs before."),
    FIELD_NUMBER(struct alert_view, after, "Median of the runs since."),
    FIELD_NUMBER(struct alert_view, effect, "after / before, less 1."),
    FIELD_NUMBER(struct alert_view, p, "Mann-Whitney, of the runs on either side."),
    FIELD_COUNT(struct alert_view, runs_before, "How many runs there were before, at one level."),
    FIELD_COUNT(struct alert_view, runs_after, "How many there are since."),
    FIELD_TIME(struct alert_view, opened_at, "When it was found."),
    FIELD_TIME(struct alert_view, acknowledged_at, "When somebody had seen it."),
    FIELD_TEXT(struct alert_view, acknowledged_by, "The name of the token; null: nobody yet."),
    FIELD_TIME(struct alert_view, resolved_at, "When it was over."),
    FIELD_TEXT(struct alert_view, resolved_by,
               "The name of the token; null: nobody, or the runs since."),
    FIELD_TEXT(struct alert_view, resolution, "Why it was resolved; null: it is not."),
    FIELD_TEXT(struct alert_view, note, "What people wrote about it."),
    FIELD_COUNT(struct alert_view, revision, "Rises with every change."),
    FIELD_END,
};
struct alerts_view {
    struct array items;
    char *next_cursor;
};
const struct field alerts_answer[] = {
    FIELD_ARRAY(struct alerts_view, items, "Newest first.", .of = alert_answer,
                .of_size = sizeof(struct alert_view)),
    FIELD_TEXT(struct alerts_view, next_cursor, "For ?cursor=, to go on; null: that was all."),
    FIELD_END,
};

static char *or_null(char *text)
{
    return *text ? text : NULL;
}

json_t *alert_json(const struct alert *alert)
{
    const struct alert_view view = {
        .id = (uint64_t)alert->id,
        .fingerprint = alert->fingerprint,
        .state = alert->state,
        .sentence = alert->sentence,
        .baseline = (uint64_t)alert->baseline,
        .name = alert->name,
        .target = or_null(alert->target),
        .phase = alert->phase,
        .y = alert->figure,
        .unit = alert->unit,
        .job = (uint64_t)alert->job,
        .run = alert->run,
        .before = alert->before,
        .after = alert->after,
        .effect = alert->effect,
        .p = alert->p,
        .runs_before = alert->runs_before,
        .runs_after = alert->runs_after,
        .opened_at = alert->opened_at,
        .acknowledged_at = alert->acknowledged_at,
        .acknowledged_by = or_null(alert->acknowledged_by),
        .resolved_at = alert->resolved_at,
        .resolved_by = or_null(alert->resolved_by),
        .resolution = or_null(alert->resolution),
        .note = alert->note,
        .revision = (uint64_t)alert->revision,
    };
    return fields_render(alert_answer, &view);
}

static int page_add(void *arg, const struct alert *alert, struct problem *why)
{
    return listing_add(arg, alert->id, alert_json(alert), why);
}

int alerts_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct alerts_query *query = in->query;
    scoped_json json_t *items = json_array();
    struct listing_page page = { .items = items, .limit = query->limit };
    struct alert_filter filter = { .states = query->state,
                                   .baseline = (int64_t)query->baseline,
                                   .limit = query->limit + 1 };
    if (listing_cursor(query->cursor, &filter.before, why) ||
        store_alert_list(api->app->store, &filter, page_add, &page, why))
        return -1;
    return listing_answer(in, out, &page, why);
}

static int answer(struct api *api, int64_t id, struct reply *out, struct problem *why)
{
    scoped(alert_done) struct alert alert = { 0 };
    if (store_alert_get(api->app->store, id, &alert, why))
        return -1;
    return reply_json(out, alert_json(&alert), why);
}

int alert_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    return answer(api, in->job, out, why);
}

/* Whether this token may do anything about the alert's target. */
static int may_handle(struct api *api, const struct request *in, struct problem *why)
{
    scoped(alert_done) struct alert alert = { 0 };
    if (store_alert_get(api->app->store, in->job, &alert, why))
        return -1;
    return auth_target(&in->principal, alert.target, why);
}

int alert_acknowledge(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct alert_body *body = in->input;
    if (may_handle(api, in, why) ||
        store_alert_acknowledge(api->app->store, in->job, in->principal.name, body->note, why))
        return -1;
    return answer(api, in->job, out, why);
}

int alert_resolve(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct alert_body *body = in->input;
    if (may_handle(api, in, why) ||
        store_alert_resolve(api->app->store, in->job, in->principal.name, "resolved by hand",
                            body->note, why))
        return -1;
    return answer(api, in->job, out, why);
}
