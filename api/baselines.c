/* What counts as a regression: /baselines, and the history that each watches. */
#include "api/baselines.h"

#include "api/api.h"
#include "api/auth.h"
#include "api/handlers.h"
#include "api/jobs.h"
#include "api/listing.h"
#include "engine/base/field_json.h"
#include "engine/workload/workload.h"

#define WINDOW_FIELD(T, ...)                                                                    \
    FIELD_COUNT(T, window, "How many of the newest runs are looked at.", .min = 6, .max = 2000, \
                __VA_ARGS__)
#define EFFECT_FIELD(T, ...)                                                               \
    FIELD_SHARE(T, minimum_effect,                                                         \
                "Changes below this share count for nothing; below 3 % none is told from " \
                "noise.",                                                                  \
                .min = 0.03, .max = 1, __VA_ARGS__)
#define DIRECTION_FIELD(T, ...)                                                                   \
    FIELD_CHOICE(T, direction,                                                                    \
                 "Which change is a regression; worse: of a rate to lower, of a time to higher.", \
                 .choices = baseline_directions, __VA_ARGS__)
static const char confirm_doc[] =
    "Measure a single bad run once more at once, to see whether it was chance.";

const struct field baseline_body[] = {
    FIELD_TEXT(struct baseline_body, name, "What it is called.", .required = true, .min = 1,
               .max = 64),
    FIELD_TEXT(struct baseline_body, workload, "Of jobs of this workload.", .required = true,
               .min = 1, .max = 64),
    FIELD_TEXT(struct baseline_body, target,
               "Of jobs on this target; see /targets. Left out: of results that were handed in.",
               .min = 1, .max = 64),
    FIELD_MAP(struct baseline_body, labels, "Of jobs that have all of these.", .max = LABEL_MOST),
    FIELD_TEXT(struct baseline_body, phase, "Of this phase.", .required = true, .min = 1,
               .max = 31),
    FIELD_CHOICE(struct baseline_body, y, "The figure that is watched, one value a run.",
                 .choices = baseline_figures, .preset_text = "rate"),
    DIRECTION_FIELD(struct baseline_body, .preset_text = "worse"),
    EFFECT_FIELD(struct baseline_body, .preset = 0.05),
    WINDOW_FIELD(struct baseline_body, .preset = 200),
    FIELD_BOOL(struct baseline_body, confirm, confirm_doc, .preset = 1),
    FIELD_END,
};
const struct field baseline_patch[] = {
    FIELD_TEXT(struct baseline_patch, name, "What it is called.", .min = 1, .max = 64),
    DIRECTION_FIELD(struct baseline_patch, .preset_text = "worse"),
    EFFECT_FIELD(struct baseline_patch, .preset = 0.05),
    WINDOW_FIELD(struct baseline_patch, .preset = 200),
    FIELD_BOOL(struct baseline_patch, confirm, confirm_doc),
    FIELD_END,
};
const struct field baseline_post_query[] = {
    FIELD_BOOL(struct baseline_post_query, dry_run,
               "Only check; nothing changes, and the answer is the baseline as it would be."),
    FIELD_END,
};
const struct field baselines_query[] = {
    FIELD_COUNT(struct baselines_query, limit, "How many at most.", .min = 1, .max = 500,
                .preset = 50),
    FIELD_TEXT(struct baselines_query, cursor, "next_cursor of the page before.", .min = 1,
               .max = 32),
    FIELD_TEXT(struct baselines_query, workload, "Only of these workloads, separated by commas.",
               .min = 1, .max = 500),
    FIELD_TEXT(struct baselines_query, target, "Only on these targets, separated by commas.",
               .min = 1, .max = 500),
    FIELD_END,
};

struct baseline_view {
    uint64_t id, window, revision;
    char *name, *workload, *target, *host, *labels, *phase, *created_by;
    int y, direction;
    double minimum_effect;
    bool confirm;
    nsec created_at;
};
const struct field baseline_answer[] = {
    FIELD_COUNT(struct baseline_view, id, "Its number; null in the answer to a dry run.",
                .nullable = true),
    FIELD_TEXT(struct baseline_view, name, "What it is called."),
    FIELD_TEXT(struct baseline_view, workload, "Of jobs of this workload."),
    FIELD_TEXT(struct baseline_view, target, "On this target; null: results that were handed in."),
    FIELD_TEXT(struct baseline_view, host, "Of this machine."),
    FIELD_JSON(struct baseline_view, labels, "Of jobs that have all of these."),
    FIELD_TEXT(struct baseline_view, phase, "Of this phase."),
    FIELD_CHOICE(struct baseline_view, y, "The figure that is watched.",
                 .choices = baseline_figures),
    FIELD_CHOICE(struct baseline_view, direction, "Which change is a regression.",
                 .choices = baseline_directions),
    FIELD_NUMBER(struct baseline_view, minimum_effect, "Smaller changes count for nothing."),
    FIELD_COUNT(struct baseline_view, window, "How many of the newest runs are looked at."),
    FIELD_BOOL(struct baseline_view, confirm, "Whether a single bad run is measured once more."),
    FIELD_TEXT(struct baseline_view, created_by, "The name of the token that made it."),
    FIELD_TIME(struct baseline_view, created_at, "When it was made."),
    FIELD_COUNT(struct baseline_view, revision, "Rises with every change."),
    FIELD_END,
};
struct baselines_view {
    struct array items;
    char *next_cursor;
};
const struct field baselines_answer[] = {
    FIELD_ARRAY(struct baselines_view, items, "Newest first.", .of = baseline_answer,
                .of_size = sizeof(struct baseline_view)),
    FIELD_TEXT(struct baselines_view, next_cursor, "For ?cursor=, to go on; null: that was all."),
    FIELD_END,
};

static json_t *baseline_json(const struct baseline *baseline)
{
    const struct baseline_view view = {
        .id = (uint64_t)baseline->id,
        .name = baseline->name,
        .workload = baseline->workload,
        .target = *baseline->target ? baseline->target : NULL,
        .host = baseline->host,
        .labels = baseline->labels,
        .phase = baseline->phase,
        .y = baseline->rule.figure,
        .direction = baseline->rule.direction,
        .minimum_effect = baseline->rule.minimum_effect,
        .window = baseline->runs,
        .confirm = baseline->confirm,
        .created_by = baseline->created_by,
        .created_at = baseline->created_at,
        .revision = (uint64_t)baseline->revision,
    };
    json_t *json = fields_render(baseline_answer, &view);
    if (json && !baseline->id)
        json_object_set_new(json, "id", json_null());
    return json;
}

/* ---- make ---- */

static int check_target(const struct app *app, const struct request *in,
                        const struct baseline_body *body, struct problem *why)
{
    if (!body->target)
        return auth_target(&in->principal, "", why);
    const struct workload *workload = workload_find(body->workload);
    const struct targets *targets = app->targets_hold(app->service);
    const struct target *target = targets_find(targets, body->target);
    int result = -1;
    if (!workload)
        problem_field(why, "/workload", "there is no workload of this name; see /workloads");
    else if (!target)
        problem_field(why, "/target", "there is no target %s; see /api/v1/targets", body->target);
    else if (auth_target(&in->principal, target->name, why) == 0)
        result = workload_fits(workload, target, why);
    app->targets_release(app->service, targets);
    return result;
}

int baselines_post(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct baseline_body *body = in->input;
    const struct baseline_post_query *query = in->query;
    if (check_target(api->app, in, body, why))
        return -1;
    scoped_json json_t *bound = fields_render(baseline_body, body);
    scoped_free char *labels = json_dumps(json_object_get(bound, "labels"), JSON_COMPACT);
    if (!labels)
        return problem_memory(why);
    const struct baseline new = {
        .name = body->name,
        .workload = body->workload,
        .target = body->target ? body->target : (char[]){ "" },
        .host = (char *)(uintptr_t)api->app->host, /* only read */
        .labels = labels,
        .phase = body->phase,
        .created_by = in->principal.name,
        .rule = { body->y, body->direction, body->minimum_effect },
        .runs = body->window,
        .confirm = body->confirm,
        .created_at = clock_wall(),
    };
    if (query->dry_run) {
        out->status = 200;
        return reply_json(out, baseline_json(&new), why);
    }
    scoped(baseline_done) struct baseline made = { 0 };
    if (store_baseline_add(api->app->store, &new, &made, why) ||
        reply_header(out, why, "Location", "/api/v1/baselines/%lld", (long long)made.id))
        return -1;
    return reply_json(out, baseline_json(&made), why);
}

/* ---- read ---- */

static int page_add(void *arg, const struct baseline *baseline, struct problem *why)
{
    return listing_add(arg, baseline->id, baseline_json(baseline), why);
}

int baselines_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct baselines_query *query = in->query;
    scoped_json json_t *items = json_array();
    struct listing_page page = { .items = items, .limit = query->limit };
    struct baseline_filter filter = { .workload = query->workload,
                                      .target = query->target,
                                      .limit = query->limit + 1 };
    if (listing_cursor(query->cursor, &filter.before, why) ||
        store_baseline_list(api->app->store, &filter, page_add, &page, why))
        return -1;
    return listing_answer(in, out, &page, why);
}

int baseline_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    scoped(baseline_done) struct baseline baseline = { 0 };
    if (store_baseline_get(api->app->store, in->job, &baseline, why))
        return -1;
    return reply_json(out, baseline_json(&baseline), why);
}

/* ---- change ---- */

/* If-Match against the baseline as it stands. */
static int match(const struct request *in, const struct baseline *baseline, struct problem *why)
{
    const char *wanted = NULL;
    scoped_reply struct reply *now = reply_new();
    if (!now)
        return problem_memory(why);
    if (request_header(in, "If-Match", &wanted, why))
        return -1;
    if (!wanted || strcmp(wanted, "*") == 0)
        return 0;
    if (reply_json(now, baseline_json(baseline), why) || reply_etag(now, why))
        return -1;
    return etag_listed(wanted, now->etag)
               ? 0
               : problem_set(why, PROBLEM_STALE, "baseline %lld has changed since it was read",
                             (long long)baseline->id);
}

/* What the body gives: the table cannot tell a preset from a value. */
static int apply(const struct request *in, struct baseline *baseline, struct problem *why)
{
    const struct baseline_patch *patch = in->input;
    scoped_json json_t *body = json_loadb(in->body, in->body_n, 0, NULL);
    if (patch->name) {
        char *name = strdup(patch->name);
        if (!name)
            return problem_memory(why);
        free(baseline->name);
        baseline->name = name;
    }
    if (json_object_get(body, "direction"))
        baseline->rule.direction = patch->direction;
    if (json_object_get(body, "minimum_effect"))
        baseline->rule.minimum_effect = patch->minimum_effect;
    if (json_object_get(body, "window"))
        baseline->runs = patch->window;
    if (json_object_get(body, "confirm"))
        baseline->confirm = patch->confirm;
    return 0;
}

int baseline_change(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    struct store *store = api->app->store;
    scoped(baseline_done) struct baseline baseline = { 0 }, after = { 0 };
    if (store_baseline_get(store, in->job, &baseline, why) ||
        auth_target(&in->principal, baseline.target, why) || match(in, &baseline, why) ||
        apply(in, &baseline, why) || store_baseline_change(store, &baseline, why) ||
        store_baseline_get(store, in->job, &after, why))
        return -1;
    return reply_json(out, baseline_json(&after), why);
}

int baseline_delete(struct api *api, struct request *in, struct reply *out unused,
                    struct problem *why)
{
    struct store *store = api->app->store;
    scoped(baseline_done) struct baseline baseline = { 0 };
    if (store_baseline_get(store, in->job, &baseline, why) ||
        auth_target(&in->principal, baseline.target, why))
        return -1;
    return store_baseline_remove(store, in->job, why);
}
