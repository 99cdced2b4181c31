/* What people change about a job: PATCH and DELETE /jobs/{id}. */
#include "api/api.h"
#include "api/auth.h"
#include "api/cache.h"
#include "api/handlers.h"
#include "api/job_answer.h"
#include "api/jobs.h"
#include "engine/base/field_json.h"

const struct field job_patch[] = {
    FIELD_TEXT(struct job_patch, note, "Free text.", .max = NOTE_MOST),
    FIELD_MAP(struct job_patch, labels, "Names and values to find it by: all of them, anew.",
              .max = LABEL_MOST),
    FIELD_TEXT(struct job_patch, external_ref, "What it is called elsewhere: a ticket, a commit.",
               .max = REF_MOST),
    FIELD_BOOL(struct job_patch, pinned, "Keep it: it cannot be deleted until this is false."),
    FIELD_END,
};

static int answer_job(const struct job *job, struct reply *out, struct problem *why)
{
    json_t *json = job_json(job, why);
    return json ? reply_json(out, json, why) : -1;
}

/* If-Match against the job as it stands: 0, and the revision that the change is bound to (0: any). */
static int match(const struct request *in, const struct job *job, int64_t *ret_revision,
                 struct problem *why)
{
    const char *wanted = NULL;
    scoped_reply struct reply *now = reply_new();
    if (!now)
        return problem_memory(why);
    if (request_header(in, "If-Match", &wanted, why))
        return -1;
    *ret_revision = 0;
    if (!wanted || strcmp(wanted, "*") == 0)
        return 0;
    if (answer_job(job, now, why) || reply_etag(now, why))
        return -1;
    if (!etag_listed(wanted, now->etag))
        return problem_set(why, PROBLEM_STALE, "job %lld has changed since it was read",
                           (long long)job->id);
    *ret_revision = job->revision;
    return 0;
}

/* The table cannot tell an empty map from none, nor false from nothing: the body can. It was bound, so
 * it is well formed. */
static bool is_given(const json_t *body, const char *name)
{
    const json_t *value = json_object_get(body, name);
    return value && !json_is_null(value);
}

static int change(struct store *store, const struct request *in, int64_t revision,
                  struct problem *why)
{
    const struct job_patch *patch = in->input;
    scoped_json json_t *body = json_loadb(in->body, in->body_n, 0, NULL);
    scoped_json json_t *bound = fields_render(job_patch, patch);
    scoped_free char *labels = NULL;
    struct job_change wanted = { .note = patch->note,
                                 .external_ref = patch->external_ref,
                                 .revision = revision };
    if (is_given(body, "labels")) {
        labels = json_dumps(json_object_get(bound, "labels"), JSON_COMPACT);
        if (!labels)
            return problem_memory(why);
        wanted.labels = labels;
    }
    if (is_given(body, "pinned"))
        wanted.pinned = &patch->pinned;
    if (!wanted.note && !wanted.external_ref && !wanted.labels && !wanted.pinned)
        return 0;
    return store_job_change(store, in->job, &wanted, why);
}

int job_change(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    scoped(job_done) struct job before = { 0 }, after = { 0 };
    struct store *store = api->app->store;
    int64_t revision;
    if (store_job_get(store, in->job, &before, why) ||
        auth_target(&in->principal, before.target, why) || match(in, &before, &revision, why) ||
        change(store, in, revision, why))
        return -1;
    cache_stale(api->cache, in->job);
    if (store_job_get(store, in->job, &after, why))
        return -1;
    return answer_job(&after, out, why);
}

static int forget_files(void *arg, job_id id, struct problem *why)
{
    const struct app *app = arg;
    return app->forget(app->service, id, why);
}

/* Kept files are removed by a runner, which finds the target in the settings: without it they would stay for
 * ever. */
static int check_kept(const struct app *app, const struct job *job, struct problem *why)
{
    if (job->cleanup != CLEANUP_KEPT || strcmp(job->host, app->host) != 0)
        return 0;
    const struct targets *targets = app->targets_hold(app->service);
    bool is_there = targets_find(targets, job->target) != NULL;
    app->targets_release(app->service, targets);
    if (is_there)
        return 0;
    return problem_set(why, PROBLEM_CONFLICT,
                       "job %lld keeps %llu files on target %s, which the settings do not have any "
                       "more: they cannot be removed until it is there again",
                       (long long)job->id, (unsigned long long)job->kept_files, job->target);
}

int job_delete(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    scoped(job_done) struct job job = { 0 }, now = { 0 };
    struct app *app = api->app;
    if (store_job_get(app->store, in->job, &job, why) ||
        auth_target(&in->principal, job.target, why) || check_kept(app, &job, why))
        return -1;
    int later = store_job_delete(app->store, in->job, forget_files, app, why);
    if (later < 0)
        return -1;
    cache_stale(api->cache, in->job);
    if (later == 0)
        return 0;
    app->nudge(app->service);
    if (store_job_get(app->store, in->job, &now, why))
        return -1;
    out->status = 202;
    return answer_job(&now, out, why);
}
