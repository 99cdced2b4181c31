/* POST /jobs: a new job is checked in full, every run of it, and queued. */
#include "api/api.h"
#include "api/auth.h"
#include "api/handlers.h"
#include "api/job_answer.h"
#include "api/jobs.h"
#include "engine/base/field_json.h"
#include "engine/runs.h"

#include <math.h>
#include <sodium.h>

enum { NONCE_BYTES = 8 }; /* 16 hex digits in the name of a run's directory */

const struct field job_body[] = {
    FIELD_TEXT(struct job_body, workload, "What to measure; see /workloads.", .required = true,
               .min = 1, .max = 64),
    FIELD_TEXT(struct job_body, target, "Where; see /targets.", .required = true, .min = 1,
               .max = 64),
    FIELD_VARIANT(struct job_body, params, "The workload's own parameters.",
                  .variant = &workload_params),
    FIELD_MATRIX(
        struct job_body, matrix,
        "Parameters to vary, each with a list of values: a run of each combination, in place "
        "of what params says of them.",
        .variant = &workload_params),
    FIELD_COUNT(
        struct job_body, repeat,
        "How often each combination is measured: in rounds, each in a random order. At most "
        "1000 runs in all.",
        .min = 1, .max = REPEAT_MOST, .preset = 1),
    FIELD_COUNT(struct job_body, seed,
                "What fixes the order of the runs; 0: one is chosen, and kept with the job.",
                .max = SEED_MOST),
    FIELD_MAP(struct job_body, labels, "Names and values to find it by.", .max = LABEL_MOST),
    FIELD_TEXT(struct job_body, note, "Free text.", .max = NOTE_MOST, .preset_text = ""),
    FIELD_TEXT(struct job_body, external_ref, "What it is called elsewhere: a ticket, a commit.",
               .max = REF_MOST, .preset_text = ""),
    FIELD_SIGNED(struct job_body, priority, "Higher ones start first.", .min = -100, .max = 100),
    FIELD_END,
};
const struct field job_post_query[] = {
    FIELD_BOOL(struct job_post_query, dry_run,
               "Only check; nothing changes, and the answer is the job as it would be."),
    FIELD_END,
};
static void new_nonce(char text[2 * NONCE_BYTES + 1])
{
    unsigned char bytes[NONCE_BYTES];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(text, 2 * NONCE_BYTES + 1, bytes, sizeof bytes);
}

static int forbid(const char *field, struct problem *why, const char *sentence)
{
    problem_set(why, PROBLEM_FORBIDDEN, "%s", sentence);
    snprintf(why->field, sizeof why->field, "%s", field);
    return -1;
}

/* Whoever may restart the machine ends what others do on it. */
static int check_reboots(const struct principal *who, const struct target *target,
                         const struct runs *runs, struct problem *why)
{
    for (uint64_t point = 0; runs->workload->reboots && point < runs->points; point++) {
        void *params = NULL;
        if (runs_params(runs, point, &params, why))
            return -1;
        const char *field = runs->workload->reboots(params);
        fields_done(runs->workload->params, params);
        free(params);
        if (field && who->role != ROLE_ADMIN)
            return forbid(field, why,
                          "it takes an administrator's token to have a machine restarted");
        if (field && !target->allow_reboot)
            return forbid(field, why,
                          "this target does not allow its machine to be restarted: its setting "
                          "allow_reboot is not yes");
    }
    return 0;
}

/* All that the workload and the target have to say about it: every run is checked. */
static int plan_runs(const struct app *app, const struct request *in, const struct job_body *body,
                     uint64_t seed, struct runs *ret, struct problem *why)
{
    const struct targets *targets = app->targets_hold(app->service);
    const struct sweep_asked asked = { .workload = workload_find(body->workload),
                                       .params = body->params.object,
                                       .matrix = &body->matrix,
                                       .repeat = body->repeat,
                                       .seed = seed,
                                       .target = targets_find(targets, body->target) };
    int result = -1;
    if (!asked.workload)
        problem_field(why, "/workload", "there is no workload of this name; see /workloads");
    else if (!asked.target)
        problem_field(why, "/target", "there is no target %s; see /api/v1/targets", body->target);
    else if (auth_target(&in->principal, body->target, why) == 0 &&
             workload_fits(asked.workload, asked.target, why) == 0)
        result =
            runs_init(&asked, ret, why) || check_reboots(&in->principal, asked.target, ret, why)
                ? -1
                : 0;
    app->targets_release(app->service, targets);
    return result;
}

/* [{"point": 3, "params": {"threads": 4}}, ...], in the order they will run. */
static int render_runs(const struct runs *runs, char **ret, struct problem *why)
{
    scoped_json json_t *list = json_array();
    for (unsigned run = 1; run <= runs->n; run++) {
        uint64_t point = runs_point(runs, run);
        json_array_append_new(list, json_pack("{s:I, s:o}", "point", (json_int_t)point, "params",
                                              matrix_point_json(&runs->matrix, point)));
    }
    char *text = json_dumps(list, JSON_COMPACT);
    if (!text || json_array_size(list) != runs->n) {
        free(text);
        return problem_memory(why);
    }
    *ret = text;
    return 0;
}

static void previews_done(struct job *job)
{
    for (size_t i = 0; i < job->runs_n; i++)
        free(job->runs[i].params);
    free(job->runs);
}

static int preview_runs(const struct runs *runs, struct job *job, struct problem *why)
{
    job->runs = calloc(runs->n, sizeof *job->runs);
    if (!job->runs)
        return problem_memory(why);
    for (unsigned run = 1; run <= runs->n; run++) {
        uint64_t point = runs_point(runs, run);
        scoped_json json_t *params = matrix_point_json(&runs->matrix, point);
        job->runs[job->runs_n++] = (struct job_run){ .run = run,
                                                     .point = point,
                                                     .params = json_dumps(params, JSON_COMPACT),
                                                     .used_bytes = NAN,
                                                     .used_inodes = NAN };
        if (!job->runs[run - 1].params)
            return problem_memory(why);
    }
    return 0;
}

static int preview(const struct job_new *new, const struct runs *runs, struct reply *out,
                   struct problem *why)
{
    scoped(previews_done) struct job job = {
        .workload = (char *)(uintptr_t) new->workload,
        .target = (char *)(uintptr_t) new->target,
        .host = (char *)(uintptr_t) new->host,
        .params = (char *)(uintptr_t) new->params,
        .labels = (char *)(uintptr_t) new->labels,
        .note = (char *)(uintptr_t) new->note,
        .external_ref = (char *)(uintptr_t) new->external_ref,
        .created_by = (char *)(uintptr_t) new->created_by,
        .priority = new->priority,
        .matrix = (char *)(uintptr_t) new->matrix,
        .repeat = new->repeat,
        .seed = new->seed,
        .created_at = clock_wall(),
        .state = JOB_QUEUED,
    };
    if (preview_runs(runs, &job, why))
        return -1;
    json_t *json = job_json(&job, why);
    if (!json)
        return -1;
    out->status = 200;
    return reply_json(out, json, why);
}

static int queue(struct api *api, const struct job_new *new, const struct idempotency *key,
                 struct reply *out, struct problem *why)
{
    char *answer = NULL;
    job_id id = 0;
    int result = store_job_add(api->app->store, new, key, job_render, NULL, &id, &answer, why);
    if (result < 0)
        return -1;
    reply_bytes(out, "application/json", answer, strlen(answer));
    if (result == 0)
        api->app->nudge(api->app->service);
    else if (reply_header(out, why, "Idempotency-Replayed", "true"))
        return -1;
    return reply_header(out, why, "Location", "/api/v1/jobs/%lld", (long long)id);
}

int jobs_post(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct job_body *body = in->input;
    const struct job_post_query *query = in->query;
    scoped_free char *params = NULL, *labels = NULL, *matrix = NULL, *listed = NULL;
    scoped(runs_done) struct runs runs = { 0 };
    uint64_t seed = body->seed ? body->seed : 1 + randombytes_uniform((uint32_t)SEED_MOST);
    char nonce[2 * NONCE_BYTES + 1];
    struct idempotency key = { 0 };
    if (request_key(in, &key, why) || plan_runs(api->app, in, body, seed, &runs, why) ||
        job_member_text(job_body, body, "params", &params, why) ||
        job_member_text(job_body, body, "labels", &labels, why) ||
        job_member_text(job_body, body, "matrix", &matrix, why) || render_runs(&runs, &listed, why))
        return -1;
    new_nonce(nonce);
    const struct job_new new = {
        .workload = body->workload,
        .target = body->target,
        .host = api->app->host,
        .nonce = nonce,
        .params = params,
        .labels = labels,
        .note = body->note,
        .external_ref = body->external_ref,
        .created_by = in->principal.name,
        .priority = body->priority,
        .matrix = matrix,
        .runs = listed,
        .repeat = body->repeat,
        .seed = seed,
    };
    if (query->dry_run)
        return preview(&new, &runs, out, why);
    return queue(api, &new, key.key ? &key : NULL, out, why);
}
