/* GET /comparisons: the first job named is A; every other is compared with it, phase by phase. */
#include "api/comparisons.h"

#include "api/difference.h"
#include "api/handlers.h"
#include "api/phase_series.h"
#include "engine/base/field_json.h"
#include "engine/base/text.h"

enum { JOBS_MOST = 8, NAME_TEXT = 32 };
enum { AS_JSON }; /* and Markdown */
static const char *const formats[] = { "accept", "json", "markdown", NULL };
const char *const comparisons_types[] = { "application/json", "text/markdown", NULL };

/* What differs between any two runs of one machine: of no use to explain a difference. */
static const char *const passing[] = {
    "/host_before",
    "/system/boot_id",
    "/clock/cost_ns",
    "/clock/system_call_ns",
    "/cpu/frequency_hz",
    "/filesystem/space_used",
    "/filesystem/space_available",
    "/filesystem/inodes_used",
    "/filesystem/inodes_available",
    NULL,
};

const struct field comparisons_query[] = {
    FIELD_LIST(struct comparisons_query, jobs,
               "Two to eight jobs of one workload, separated by commas; the others are compared "
               "with the first.",
               .min = 1),
    FIELD_BOOL(struct comparisons_query, force, "Even if their parameters differ."),
    FIELD_CHOICE(struct comparisons_query, format, "As the Accept header says, or in spite of it.",
                 .choices = formats, .preset_text = "accept"),
    FIELD_END,
};

/* For the description: the answer is made below. */
struct comparison_job {
    uint64_t id;
    char *workload, *target, *name, *host;
    bool imported;
    int state;
    nsec created_at;
};
static const struct field job_fields[] = {
    FIELD_COUNT(struct comparison_job, id, "Its number."),
    FIELD_TEXT(struct comparison_job, workload, "What was measured."),
    FIELD_TEXT(struct comparison_job, target, "Where; null when it was imported."),
    FIELD_BOOL(struct comparison_job, imported, "It did not run here."),
    FIELD_TEXT(struct comparison_job, name, "What an imported one was measured on, or null."),
    FIELD_TEXT(struct comparison_job, host, "On which machine."),
    FIELD_CHOICE(struct comparison_job, state, "How it ended.", .choices = job_states),
    FIELD_TIME(struct comparison_job, created_at, "When it was asked for."),
    FIELD_END,
};
struct difference {
    char *pointer, *a, *b;
};
static const struct field difference_fields[] = {
    FIELD_TEXT(struct difference, pointer, "Where, as a JSON pointer."),
    FIELD_JSON(struct difference, a, "The value of A; null: it has none."),
    FIELD_JSON(struct difference, b, "The value of B."),
    FIELD_END,
};
struct all_differences {
    struct array params, environment;
};
static const struct field differences_fields[] = {
    FIELD_ARRAY(struct all_differences, params, "Of the parameters.", .of = difference_fields,
                .of_size = sizeof(struct difference)),
    FIELD_ARRAY(struct all_differences, environment,
                "Of kernel, filesystem, device, CPU, engine, ...; not of what differs every time.",
                .of = difference_fields, .of_size = sizeof(struct difference)),
    FIELD_END,
};
struct one_comparison {
    uint64_t a, b;
    struct array phases;
    void *differences;
    struct texts flags;
};
static const struct field one_comparison_fields[] = {
    FIELD_COUNT(struct one_comparison, a, "The job compared with."),
    FIELD_COUNT(struct one_comparison, b, "The job compared."),
    FIELD_ARRAY(struct one_comparison, phases, "Of the phases that both have.",
                .of = comparison_fields, .of_size = sizeof(struct comparison_view)),
    FIELD_OBJECT(struct one_comparison, differences, "Of what they ran with and on.",
                 .of = differences_fields, .of_size = sizeof(struct all_differences)),
    FIELD_TEXTS(struct one_comparison, flags, "What makes the comparison less than fair."),
    FIELD_END,
};
struct comparisons_view {
    bool forced;
    struct array jobs, comparisons;
};
const struct field comparisons_answer[] = {
    FIELD_BOOL(struct comparisons_view, forced,
               "Parameters differ, and it was made nevertheless: no verdict is told there."),
    FIELD_ARRAY(struct comparisons_view, jobs, "In the order asked for.", .of = job_fields,
                .of_size = sizeof(struct comparison_job)),
    FIELD_ARRAY(struct comparisons_view, comparisons, "Each other job with the first.",
                .of = one_comparison_fields, .of_size = sizeof(struct one_comparison)),
    FIELD_END,
};

/* ---- which jobs ---- */

struct jobs {
    size_t n;
    struct job at[JOBS_MOST];
};

static void jobs_done(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        job_done(&jobs->at[i]);
}

static int get_job(struct store *store, job_id id, struct job *ret, struct problem *why)
{
    if (store_job_get(store, id, ret, why)) {
        if (why->code == PROBLEM_NOT_FOUND) { /* the address is there, its parameter is wrong */
            why->code = PROBLEM_BAD_FIELD;
            (void)!text_fit(why->field, sizeof why->field, "/?jobs");
        }
        return -1;
    }
    if (!job_state_final(ret->state))
        return problem_set(why, PROBLEM_CONFLICT, "job %lld has not ended", (long long)id);
    return 0;
}

static int get_jobs(struct api *api, const struct list *ids, struct jobs *ret, struct problem *why)
{
    if (ids->n < 2 || ids->n > JOBS_MOST)
        return problem_field(why, "/?jobs", "jobs must name 2 to %d jobs, separated by commas",
                             JOBS_MOST);
    for (size_t i = 0; i < ids->n; i++) {
        for (size_t k = 0; k < i; k++)
            if (ids->at[k] == ids->at[i])
                return problem_field(why, "/?jobs", "job %llu is named twice",
                                     (unsigned long long)ids->at[i]);
        struct job *job = &ret->at[ret->n++];
        if (get_job(api->app->store, (job_id)ids->at[i], job, why))
            return -1;
        if (strcmp(job->workload, ret->at[0].workload) != 0)
            return problem_field(
                why, "/?jobs", "job %lld is of workload %s, and job %lld of workload %s",
                (long long)job->id, job->workload, (long long)ret->at[0].id, ret->at[0].workload);
    }
    return 0;
}

/* ---- differences ---- */

static json_t *differences_of(const char *a, const char *b, const char *const *left_out)
{
    scoped_json json_t *x = json_loads(a ? a : "{}", 0, NULL),
                       *y = json_loads(b ? b : "{}", 0, NULL);
    return differences(x, y, left_out);
}

static const char *pointer_at(const json_t *list, size_t i)
{
    return json_string_value(json_object_get(json_array_get(list, i), "pointer"));
}

static int refuse_params(const struct job *a, const struct job *b, const json_t *params,
                         struct problem *why)
{
    char shown[128];
    return problem_set(why, PROBLEM_CONFLICT,
                       "the parameters of job %lld and job %lld differ, in %s%s; force=1 compares "
                       "them nevertheless",
                       (long long)a->id, (long long)b->id,
                       text_shown(pointer_at(params, 0), shown, sizeof shown),
                       json_array_size(params) > 1 ? " and others" : "");
}

static json_t *flags_of(const json_t *params, const json_t *environment)
{
    json_t *flags = json_array();
    if (json_array_size(params))
        json_array_append_new(flags, json_string("Their parameters differ: no verdict is told."));
    for (size_t i = 0; i < json_array_size(environment); i++)
        if (strcmp(pointer_at(environment, i), "/engine/version") == 0)
            json_array_append_new(
                flags, json_string("They were measured by different versions of plimsoll."));
    return flags;
}

/* ---- phases ---- */

static const struct phase_total *phase_like(const struct job *job, const struct phase_total *like)
{
    for (size_t i = 0; i < job->phases_n; i++) {
        const struct phase_total *phase = &job->phases[i];
        if (phase->run == like->run && phase->leg == like->leg &&
            strcmp(phase->name, like->name) == 0)
            return phase;
    }
    return NULL;
}

static json_t *phase_json(const struct job *a, const struct job *b, const struct phase_total *phase,
                          const struct comparison *comparison)
{
    char sentence[COMPARISON_SENTENCE], name_a[NAME_TEXT], name_b[NAME_TEXT];
    snprintf(name_a, sizeof name_a, "job %lld", (long long)a->id);
    snprintf(name_b, sizeof name_b, "Job %lld", (long long)b->id);
    say_comparison(phase, name_a, name_b, comparison, sentence);
    const struct comparison_view view = comparison_view(phase, comparison, sentence);
    return fields_render(comparison_fields, &view);
}

/* Adds phase i of A, beside that of each other job, to that job's list. At most two series are held. */
static int compare_phase(struct api *api, const struct jobs *jobs, size_t i, json_t *const lists[],
                         const bool like[], struct problem *why)
{
    const struct job *a = &jobs->at[0];
    scoped_series struct series_kept *series_a = NULL;
    for (size_t k = 1; k < jobs->n; k++) {
        const struct phase_total *other = phase_like(&jobs->at[k], &a->phases[i]);
        scoped_series struct series_kept *series_b = NULL;
        struct comparison comparison;
        if (!other)
            continue;
        if ((!series_a && phase_series_read(api, a->id, &a->phases[i], &series_a, why)) ||
            phase_series_read(api, jobs->at[k].id, other, &series_b, why) ||
            comparison_of(series_a, series_b, &comparison, why))
            return -1;
        if (!like[k]) {
            comparison.verdict = VERDICT_CANNOT_TELL;
            comparison.small = false;
        }
        if (json_array_append_new(lists[k], phase_json(a, &jobs->at[k], other, &comparison)))
            return problem_memory(why);
    }
    return 0;
}

/* ---- the answer ---- */

static json_t *job_line(const struct job *job)
{
    const struct comparison_job line = { .id = (uint64_t)job->id,
                                         .workload = job->workload,
                                         .target = job->imported ? NULL : job->target,
                                         .imported = job->imported,
                                         .name = job->imported ? job->name : NULL,
                                         .host = job->host,
                                         .state = job->state,
                                         .created_at = job->created_at };
    return fields_render(job_fields, &line);
}

/* One comparison without its phases, which are compared for all jobs at once. */
static int compare_settings(const struct jobs *jobs, size_t k, bool force, json_t **ret,
                            bool *ret_like, struct problem *why)
{
    const struct job *a = &jobs->at[0], *b = &jobs->at[k];
    scoped_json json_t *params = differences_of(a->params, b->params, NULL);
    scoped_json json_t *environment = differences_of(a->environment, b->environment, passing);
    if (!params || !environment)
        return problem_memory(why);
    *ret_like = json_array_size(params) == 0;
    if (!*ret_like && !force)
        return refuse_params(a, b, params, why);
    *ret = json_pack("{s:I, s:I, s:[], s:{s:O, s:O}, s:o}", "a", (json_int_t)a->id, "b",
                     (json_int_t)b->id, "phases", "differences", "params", params, "environment",
                     environment, "flags", flags_of(params, environment));
    return *ret ? 0 : problem_memory(why);
}

static int compare_jobs(struct api *api, const struct jobs *jobs, bool force, json_t *ret_list,
                        bool *ret_forced, struct problem *why)
{
    json_t *phases[JOBS_MOST] = { NULL };
    bool like[JOBS_MOST] = { true };
    for (size_t k = 1; k < jobs->n; k++) {
        json_t *one = NULL;
        if (compare_settings(jobs, k, force, &one, &like[k], why))
            return -1;
        phases[k] = json_object_get(one, "phases");
        *ret_forced |= !like[k];
        if (json_array_append_new(ret_list, one))
            return problem_memory(why);
    }
    if (export_begin(api, why))
        return -1;
    int result = 0;
    for (size_t i = 0; result == 0 && i < jobs->at[0].phases_n; i++)
        result = compare_phase(api, jobs, i, phases, like, why);
    export_end(api);
    return result;
}

int comparisons_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct comparisons_query *query = in->query;
    scoped(jobs_done) struct jobs jobs = { 0 };
    scoped_json json_t *list = json_array(), *lines = json_array();
    bool forced = false;
    if (get_jobs(api, &query->jobs, &jobs, why) ||
        compare_jobs(api, &jobs, query->force, list, &forced, why))
        return -1;
    for (size_t i = 0; i < jobs.n; i++)
        json_array_append_new(lines, job_line(&jobs.at[i]));
    scoped_json json_t *answer =
        json_pack("{s:b, s:O, s:O}", "forced", forced, "jobs", lines, "comparisons", list);
    if (request_format(in, query->format) == AS_JSON)
        return reply_json(out, steal(&answer), why);
    char *text = answer ? comparisons_markdown(answer) : NULL;
    if (!text)
        return problem_memory(why);
    reply_bytes(out, "text/markdown; charset=utf-8", text, strlen(text));
    return 0;
}
