/* GET /comparisons: the first job named is A; every other is compared with it, phase by phase. Or the runs of
 * several jobs are one side: a=1,2,3,4&b=5,6,7,8. */
#include "api/comparisons.h"

#include "api/comparison_phases.h"
#include "api/difference.h"
#include "api/handlers.h"
#include "engine/base/field_json.h"
#include "engine/base/text.h"

enum { JOBS_MOST = 2 * SIDE_JOBS_MOST };
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

/* What two jobs may be compared for, and so may differ in: shared beside unshared. */
static const char *const compared_for[] = { "/share", NULL };

const struct field comparisons_query[] = {
    FIELD_LIST(struct comparisons_query, jobs,
               "Two to eight jobs of one workload, separated by commas; the others are compared "
               "with the first.",
               .min = 1),
    FIELD_LIST(
        struct comparisons_query, a,
        "In place of jobs: the jobs whose runs are side A, with b. From four runs a side on, "
        "whole runs are compared.",
        .min = 1),
    FIELD_LIST(struct comparisons_query, b, "The jobs whose runs are side B.", .min = 1),
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
    struct list jobs_a, jobs_b;
    struct array phases;
    void *differences;
    struct texts flags;
};
static const struct field one_comparison_fields[] = {
    FIELD_COUNT(struct one_comparison, a, "The job compared with; the first of side A."),
    FIELD_COUNT(struct one_comparison, b, "The job compared; the first of side B."),
    FIELD_LIST(struct one_comparison, jobs_a, "All jobs of side A."),
    FIELD_LIST(struct one_comparison, jobs_b, "All jobs of side B."),
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
    size_t sides_n;
    struct jobs_side sides[SIDES_MOST]; /* of the above */
};

static void jobs_done(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        job_done(&jobs->at[i]);
}

static int get_job(struct store *store, job_id id, const char *where, struct job *ret,
                   struct problem *why)
{
    if (store_job_get(store, id, ret, why)) {
        if (why->code == PROBLEM_NOT_FOUND) { /* the address is there, its parameter is wrong */
            why->code = PROBLEM_BAD_FIELD;
            (void)!text_fit(why->field, sizeof why->field, "%s", where);
        }
        return -1;
    }
    if (!job_state_final(ret->state))
        return problem_set(why, PROBLEM_CONFLICT, "job %lld has not ended", (long long)id);
    return 0;
}

/* Adds the jobs of a parameter, as one side or (one_side false) as a side each. */
static int add_jobs(struct api *api, const struct list *ids, const char *where, bool one_side,
                    struct jobs *ret, struct problem *why)
{
    for (size_t i = 0; i < ids->n; i++) {
        for (size_t k = 0; k < ret->n; k++)
            if (ret->at[k].id == (job_id)ids->at[i])
                return problem_field(why, where, "job %llu is named twice",
                                     (unsigned long long)ids->at[i]);
        struct job *job = &ret->at[ret->n++];
        if (get_job(api->app->store, (job_id)ids->at[i], where, job, why))
            return -1;
        if (strcmp(job->workload, ret->at[0].workload) != 0)
            return problem_field(
                why, where, "job %lld is of workload %s, and job %lld of workload %s",
                (long long)job->id, job->workload, (long long)ret->at[0].id, ret->at[0].workload);
        if (i == 0 || !one_side)
            ret->sides_n++;
        struct jobs_side *side = &ret->sides[ret->sides_n - 1];
        side->at[side->n++] = job;
    }
    return 0;
}

static int get_jobs(struct api *api, const struct comparisons_query *query, struct jobs *ret,
                    struct problem *why)
{
    bool groups = query->a.n || query->b.n;
    if (groups && query->jobs.n)
        return problem_field(why, "/?jobs", "either jobs, or a and b, but not both");
    if (groups && (!query->a.n || !query->b.n))
        return problem_field(why, query->a.n ? "/?b" : "/?a",
                             "a and b must each name the jobs of one side");
    if (!groups && (query->jobs.n < 2 || query->jobs.n > SIDES_MOST))
        return problem_field(why, "/?jobs", "jobs must name 2 to %d jobs, separated by commas",
                             SIDES_MOST);
    if (!groups)
        return add_jobs(api, &query->jobs, "/?jobs", false, ret, why);
    if (add_jobs(api, &query->a, "/?a", true, ret, why))
        return -1;
    return add_jobs(api, &query->b, "/?b", true, ret, why);
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

static json_t *flags_of(bool like, const json_t *environment)
{
    json_t *flags = json_array();
    if (!like)
        json_array_append_new(flags, json_string("Their parameters differ: no verdict is told."));
    static const struct {
        const char *pointer, *flag;
    } unfair[] = {
        { "/engine/version", "They were measured by different versions of plimsoll." },
        { "/engine/journal_format", "Their journals are of different formats." },
    };
    for (size_t i = 0; i < json_array_size(environment); i++)
        for (size_t k = 0; k < COUNT_OF(unfair); k++)
            if (strcmp(pointer_at(environment, i), unfair[k].pointer) == 0)
                json_array_append_new(flags, json_string(unfair[k].flag));
    return flags;
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

static json_t *ids_of(const struct jobs_side *side)
{
    json_t *list = json_array();
    for (size_t i = 0; i < side->n; i++)
        json_array_append_new(list, json_integer(side->at[i]->id));
    return list;
}

/* The parameters of all jobs of a side against those of the first job of all; *ret: where the first that differs
 * does so; *ret_like: it does so only in what they may be compared for. */
static int compare_params(const struct jobs_side *side, const struct job *first, bool force,
                          json_t **ret, bool *ret_like, struct problem *why)
{
    scoped_json json_t *found = json_array();
    *ret_like = true;
    for (size_t i = 0; i < side->n && *ret_like; i++) {
        const struct job *other = side->at[i];
        scoped_json json_t *unlike = differences_of(first->params, other->params, compared_for),
                           *all = differences_of(first->params, other->params, NULL);
        if (!unlike || !all)
            return problem_memory(why);
        *ret_like = json_array_size(unlike) == 0;
        if (!*ret_like && !force)
            return refuse_params(first, other, unlike, why);
        if (json_array_size(found) == 0 || !*ret_like) {
            json_decref(found);
            found = steal(&all);
        }
    }
    *ret = steal(&found);
    return 0;
}

/* One comparison without its phases, which are compared for all sides at once. */
static int compare_settings(const struct jobs *jobs, size_t k, bool force, json_t **ret,
                            bool *ret_like, struct problem *why)
{
    const struct jobs_side *a = &jobs->sides[0], *b = &jobs->sides[k];
    scoped_json json_t *params = NULL, *within = NULL;
    scoped_json json_t *environment =
        differences_of(a->at[0]->environment, b->at[0]->environment, passing);
    if (!environment)
        return problem_memory(why);
    bool like_within, like;
    if (compare_params(a, a->at[0], force, &within, &like_within, why) ||
        compare_params(b, a->at[0], force, &params, &like, why))
        return -1;
    *ret_like = like && like_within && json_array_size(within) == 0;
    if (json_array_size(params) == 0)
        json_array_extend(params, within);
    *ret = json_pack("{s:I, s:I, s:o, s:o, s:[], s:{s:O, s:O}, s:o}", "a", (json_int_t)a->at[0]->id,
                     "b", (json_int_t)b->at[0]->id, "jobs_a", ids_of(a), "jobs_b", ids_of(b),
                     "phases", "differences", "params", params, "environment", environment, "flags",
                     flags_of(*ret_like, environment));
    return *ret ? 0 : problem_memory(why);
}

static int compare_jobs(struct api *api, const struct jobs *jobs, bool force, json_t *ret_list,
                        bool *ret_forced, struct problem *why)
{
    json_t *phases[SIDES_MOST] = { NULL };
    bool like[SIDES_MOST] = { true };
    for (size_t k = 1; k < jobs->sides_n; k++) {
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
    int result = compare_sides(api, jobs->sides, jobs->sides_n, like, phases, why);
    export_end(api);
    return result;
}

int comparisons_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct comparisons_query *query = in->query;
    scoped(jobs_done) struct jobs jobs = { 0 };
    scoped_json json_t *list = json_array(), *lines = json_array();
    bool forced = false;
    if (get_jobs(api, query, &jobs, why) ||
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
