/* GET /targets: what may be measured. Where a target lies is the administrator's affair and is not
 * told; what stands there is what the daemon last learnt, never asked of it now: it may hang. */
#include "engine/target.h"

#include "api/handlers.h"
#include "api/listing.h"
#include "engine/base/field_json.h"
#include "engine/workload/workload.h"

#include <math.h>

struct target_view {
    char *name, *filesystem, *mount_options, *busy_reason, *reason;
    int kind;
    uint64_t space_total, space_available, inodes_total, inodes_available;
    double reserve;
    bool busy, usable;
    struct texts workloads;
    struct array capabilities;
    void *kept;
};

struct capability_view {
    char *parameter, *value, *by, *reason;
    bool usable;
};
static const struct field capability_answer[] = {
    FIELD_TEXT(struct capability_view, parameter, "A parameter of filesystem-scaling."),
    FIELD_TEXT(struct capability_view, value, "The value that a job may give it."),
    FIELD_TEXT(struct capability_view, by,
               "By what means, where the target's settings choose one."),
    FIELD_BOOL(struct capability_view, usable, "Whether such a job could run now."),
    FIELD_TEXT(struct capability_view, reason, "Why not."),
    FIELD_END,
};

/* What jobs left there on request. */
struct kept_space {
    uint64_t jobs, files, bytes;
};
static const struct field kept_space_answer[] = {
    FIELD_COUNT(struct kept_space, jobs, "Jobs that keep files there."),
    FIELD_COUNT(struct kept_space, files, "How many they are.", .unit = "files"),
    FIELD_COUNT(struct kept_space, bytes, "What was written to them.", .unit = "bytes"),
    FIELD_END,
};
const struct field target_answer[] = {
    FIELD_TEXT(struct target_view, name, "Its name in jobs."),
    FIELD_CHOICE(struct target_view, kind, "What stands there.", .choices = target_kinds),
    FIELD_TEXT(struct target_view, filesystem, "Its type; null while that is not known."),
    FIELD_TEXT(struct target_view, mount_options, "How it is mounted."),
    FIELD_BYTES(struct target_view, space_total, "Its size.", .nullable = true),
    FIELD_BYTES(struct target_view, space_available, "What is free for a run.", .nullable = true),
    FIELD_COUNT(struct target_view, inodes_total, "Null: this filesystem does not count them.",
                .nullable = true),
    FIELD_COUNT(struct target_view, inodes_available, "What is free for a run.", .nullable = true),
    FIELD_SHARE(struct target_view, reserve, "The share of both that is left alone."),
    FIELD_BOOL(struct target_view, busy, "A job runs there, or its clean-up is not done."),
    FIELD_TEXT(struct target_view, busy_reason, "What goes on there; null if nothing does."),
    FIELD_BOOL(struct target_view, usable, "Whether a run could start now."),
    FIELD_TEXT(struct target_view, reason, "Why it is not usable."),
    FIELD_OBJECT(struct target_view, kept,
                 "Files that jobs were asked to leave there, until they are deleted.",
                 .of = kept_space_answer, .of_size = sizeof(struct kept_space)),
    FIELD_TEXTS(struct target_view, workloads, "Which workloads fit it."),
    FIELD_ARRAY(struct target_view, capabilities,
                "What filesystem-scaling can be asked for there, and why not; as far as the target "
                "has been looked at.",
                .of = capability_answer, .of_size = sizeof(struct capability_view)),
    FIELD_END,
};
struct targets_view {
    struct array items;
    char *next_cursor;
};
const struct field targets_answer[] = {
    FIELD_ARRAY(struct targets_view, items, "In the order of the settings.", .of = target_answer,
                .of_size = sizeof(struct target_view)),
    FIELD_TEXT(struct targets_view, next_cursor, "For ?cursor=, to go on; null: that was all."),
    FIELD_END,
};

/* A workload fits unless its rules say UNSUPPORTED of its presets there. */
static bool fits(const struct workload *workload, const struct target *target)
{
    struct problem why = { 0 };
    if (workload_fits(workload, target, &why))
        return false;
    scoped_free void *params = calloc(1, workload->params_size);
    if (!params || fields_preset(workload->params, params, &why))
        return false;
    bool unsupported =
        workload->check && workload->check(params, target, &why) && why.code == PROBLEM_UNSUPPORTED;
    fields_done(workload->params, params);
    return !unsupported;
}

static json_t *say_busy(const struct job *job)
{
    long long id = (long long)job->id;
    if (job->stuck)
        return json_sprintf("job %lld was told to stop and does not come back from the kernel: the "
                            "target takes no other job until its filesystem answers",
                            id);
    if (job->cleanup == CLEANUP_BLOCKED)
        return json_sprintf("the clean-up of job %lld is blocked", id);
    if (job_state_final(job->state))
        return json_sprintf("what job %lld made is being removed", id);
    return json_sprintf(
        job->state == JOB_CANCELLING ? "job %lld is being cancelled" : "job %lld runs there", id);
}

/* The targets with a job that is not queued any more, and what it does there. */
static int note_busy(void *arg, const struct job *job, struct problem *why)
{
    if (job->state == JOB_QUEUED)
        return 0;
    return json_object_set_new(arg, job->target, say_busy(job)) ? problem_memory(why) : 0;
}

/* What goes on at the targets and what is kept there, by their names. */
struct use {
    json_t *busy, *kept;
};

static int note_kept(void *arg, const char *target, uint64_t jobs, uint64_t files, uint64_t bytes,
                     struct problem *why)
{
    json_t *kept = json_pack("[I, I, I]", (json_int_t)jobs, (json_int_t)files, (json_int_t)bytes);
    return json_object_set_new(arg, target, kept) ? problem_memory(why) : 0;
}

static struct kept_space kept_at(const json_t *all, const char *target)
{
    const json_t *kept = json_object_get(all, target);
    return (struct kept_space){ (uint64_t)json_integer_value(json_array_get(kept, 0)),
                                (uint64_t)json_integer_value(json_array_get(kept, 1)),
                                (uint64_t)json_integer_value(json_array_get(kept, 2)) };
}

static size_t view_capabilities(const struct target_facts *facts,
                                struct capability_view views[CAPABILITIES_MOST])
{
    for (size_t i = 0; i < facts->capabilities_n; i++) {
        const struct capability *able = &facts->capabilities[i];
        views[i] = (struct capability_view){
            .parameter = (char *)(uintptr_t)able->parameter,
            .value = (char *)(uintptr_t)able->value,
            .by = (char *)(uintptr_t)able->by,
            .usable = able->usable,
            .reason = able->usable ? NULL : (char *)(uintptr_t)able->reason,
        };
    }
    return facts->capabilities_n;
}

static json_t *count_or_null(uint64_t count, bool known)
{
    return known ? json_integer((json_int_t)count) : json_null();
}

/* What the table cannot say: counts that are not known. */
static json_t *target_json(const struct app *app, const struct target *target,
                           const struct use *use)
{
    struct kept_space kept = kept_at(use->kept, target->name);
    struct target_facts facts = { 0 };
    bool known = app->target_facts(app->service, target->name, &facts);
    char *fitting[TEXTS_MOST];
    struct capability_view able[CAPABILITIES_MOST];
    struct target_view view = {
        .name = target->name,
        .kind = target->kind,
        .filesystem = facts.filesystem[0] ? facts.filesystem : NULL,
        .mount_options = facts.mount_options[0] ? facts.mount_options : NULL,
        .reserve = target->reserve,
        .busy = json_object_get(use->busy, target->name) != NULL,
        .busy_reason =
            (char *)(uintptr_t)json_string_value(json_object_get(use->busy, target->name)),
        .usable = known && facts.usable,
        .reason = !known         ? (char[]){ "it has not been looked at yet" }
                  : facts.usable ? NULL
                                 : facts.reason,
        .workloads.at = fitting,
        .capabilities = { view_capabilities(&facts, able), able },
        .kept = &kept,
    };
    for (size_t i = 0; workload_all()[i] && view.workloads.n < TEXTS_MOST; i++)
        if (fits(workload_all()[i], target))
            fitting[view.workloads.n++] = (char *)(uintptr_t)workload_all()[i]->name;
    json_t *json = fields_render(target_answer, &view);
    bool space = known && facts.space_total, inodes = known && facts.inodes_total;
    json_object_set_new(json, "space_total", count_or_null(facts.space_total, space));
    json_object_set_new(json, "space_available", count_or_null(facts.space_available, space));
    json_object_set_new(json, "inodes_total", count_or_null(facts.inodes_total, inodes));
    json_object_set_new(json, "inodes_available", count_or_null(facts.inodes_available, inodes));
    return json;
}

/* Those that *name (NULL: all) names, as a list. */
static int list_targets(const struct app *app, const char *name, json_t **ret, struct problem *why)
{
    scoped_json json_t *busy = json_object(), *kept = json_object();
    const struct use use = { busy, kept };
    json_t *items = json_array();
    if (store_job_open(app->store, app->host, note_busy, busy, why) ||
        store_kept(app->store, app->host, note_kept, kept, why)) {
        json_decref(items);
        return -1;
    }
    const struct targets *targets = app->targets_hold(app->service);
    for (size_t i = 0; i < targets->n; i++)
        if (!name || strcmp(targets->at[i].name, name) == 0)
            json_array_append_new(items, target_json(app, &targets->at[i], &use));
    app->targets_release(app->service, targets);
    *ret = items;
    return 0;
}

int targets_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    json_t *items = NULL;
    if (list_targets(api->app, NULL, &items, why))
        return -1;
    return reply_listing(out, in, items, why);
}

int target_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    scoped_json json_t *items = NULL;
    if (list_targets(api->app, in->name, &items, why))
        return -1;
    if (json_array_size(items) == 0)
        return problem_set(why, PROBLEM_NOT_FOUND, "there is no target of this name");
    return reply_json(out, json_incref(json_array_get(items, 0)), why);
}
