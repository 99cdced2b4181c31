/* Jobs as they are read: one job or many, each with its phases. */
#include "schema/job_rows.h"

#include "engine/base/text.h"

#include <math.h>

/* The columns of every query that returns jobs, in their order. */
enum column {
    ID,
    WORKLOAD,
    TARGET,
    HOST,
    NONCE,
    STATE,
    CLEANUP,
    STUCK,
    PARAMS,
    LABELS,
    NOTE,
    EXTERNAL_REF,
    CREATED_BY,
    PRIORITY,
    CREATED_AT,
    STARTED_AT,
    FINISHED_AT,
    REVISION,
    ENVIRONMENT,
    PROBLEM_CODE,
    PROBLEM_FIELD,
    PROBLEM_MESSAGE,
    REMOVED,
    FOREIGN_ENTRIES,
    BOOT_ID,
    PID,
    PID_START,
    JOURNAL_OFFSET,
    FINDINGS,
    PINNED,
    ANALYSIS,
    IMPORTED,
    NAME,
    MATRIX,
    REPEAT,
    SEED,
    CLEANUP_REASON,
    KEPT_WORKSPACE,
    KEPT_FILES,
    KEPT_BYTES,
    DELETING,
    CONFIRMS,
    REBOOT_BY,
};

void job_done(struct job *job)
{
    char **const texts[] = { &job->workload,       &job->target,         &job->host,
                             &job->nonce,          &job->params,         &job->labels,
                             &job->note,           &job->created_by,     &job->external_ref,
                             &job->environment,    &job->boot_id,        &job->foreign_entries,
                             &job->findings,       &job->name,           &job->matrix,
                             &job->cleanup_reason, &job->kept_workspace, &job->boots };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        free(*texts[i]);
    for (size_t i = 0; i < job->runs_n; i++)
        free(job->runs[i].params);
    free(job->runs);
    free(job->phases);
    free(job->parts);
    *job = (struct job){ 0 };
}

struct run_rates job_run_rates(const struct job *job, const struct job_run *run)
{
    size_t first = 0, n = 0;
    while (first < job->phases_n && job->phases[first].run != run->run)
        first++;
    while (first + n < job->phases_n && job->phases[first + n].run == run->run)
        n++;
    return (struct run_rates){
        .point = run->point,
        .params = run->params,
        .phases_n = n,
        .phases = job->phases ? job->phases + first : NULL,
    };
}

static int texts_read(const PGresult *result, int row, struct job *job, struct problem *why)
{
    const struct {
        enum column column;
        char **ret;
    } texts[] = {
        { WORKLOAD, &job->workload },
        { TARGET, &job->target },
        { HOST, &job->host },
        { NONCE, &job->nonce },
        { PARAMS, &job->params },
        { LABELS, &job->labels },
        { NOTE, &job->note },
        { EXTERNAL_REF, &job->external_ref },
        { CREATED_BY, &job->created_by },
        { ENVIRONMENT, &job->environment },
        { BOOT_ID, &job->boot_id },
        { FOREIGN_ENTRIES, &job->foreign_entries },
        { FINDINGS, &job->findings },
        { NAME, &job->name },
        { MATRIX, &job->matrix },
        { CLEANUP_REASON, &job->cleanup_reason },
        { KEPT_WORKSPACE, &job->kept_workspace },
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (cell_copy(result, row, (int)texts[i].column, texts[i].ret, why) < 0)
            return -1;
    return 0;
}

int job_read(const PGresult *result, int row, struct job *ret, struct problem *why)
{
    scoped(job_done) struct job job = {
        .id = cell_int(result, row, ID),
        .state = name_index(job_states, cell_text(result, row, STATE)),
        .cleanup = name_index(cleanup_states, cell_text(result, row, CLEANUP)),
        .stuck = cell_bool(result, row, STUCK),
        .priority = cell_int(result, row, PRIORITY),
        .created_at = cell_time(result, row, CREATED_AT),
        .started_at = cell_time(result, row, STARTED_AT),
        .finished_at = cell_time(result, row, FINISHED_AT),
        .revision = cell_int(result, row, REVISION),
        .removed = (uint64_t)cell_int(result, row, REMOVED),
        .pid = (pid_t)cell_int(result, row, PID),
        .pid_start = (uint64_t)cell_int(result, row, PID_START),
        .journal_offset = cell_int(result, row, JOURNAL_OFFSET),
        .pinned = cell_bool(result, row, PINNED),
        .analysis = (int)cell_int(result, row, ANALYSIS),
        .imported = cell_bool(result, row, IMPORTED),
        .repeat = (uint64_t)cell_int(result, row, REPEAT),
        .seed = (uint64_t)cell_int(result, row, SEED),
        .kept_files = (uint64_t)cell_int(result, row, KEPT_FILES),
        .kept_bytes = (uint64_t)cell_int(result, row, KEPT_BYTES),
        .deleting = cell_bool(result, row, DELETING),
        .confirms = cell_int(result, row, CONFIRMS),
        .reboot_by = cell_time(result, row, REBOOT_BY),
    };
    if (!cell_null(result, row, PROBLEM_CODE)) {
        /* A code of a newer version is still a problem. */
        enum problem_code code = problem_by_slug(cell_text(result, row, PROBLEM_CODE));
        job.problem.code = code ? code : PROBLEM_INTERNAL;
        const char *field = cell_text(result, row, PROBLEM_FIELD);
        snprintf(job.problem.field, sizeof job.problem.field, "%s", field ? field : "");
        snprintf(job.problem.message, sizeof job.problem.message, "%s",
                 cell_text(result, row, PROBLEM_MESSAGE));
    }
    if (texts_read(result, row, &job, why) < 0)
        return -1;
    *ret = job;
    job = (struct job){ 0 };
    return 0;
}

void phase_read(const PGresult *result, int row, struct phase_total *ret)
{
    int column = 1;
    *ret = (struct phase_total){ 0 };
    ret->run = (unsigned)cell_int(result, row, column++);
    ret->leg = (unsigned)cell_int(result, row, column++);
    snprintf(ret->name, sizeof ret->name, "%s", cell_text(result, row, column++));
    snprintf(ret->unit, sizeof ret->unit, "%s", cell_text(result, row, column++));
    uint64_t *const counts[] = { &ret->lanes, &ret->batch, &ret->total,
                                 &ret->ops,   &ret->bytes, &ret->errors };
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        *counts[i] = (uint64_t)cell_int(result, row, column++);
    ret->first_start = cell_int(result, row, column++);
    ret->first_done = cell_int(result, row, column++);
    ret->last_done = cell_int(result, row, column++);
    ret->flush = cell_int(result, row, column++);
    ret->dirty_before = (uint64_t)cell_int(result, row, column++);
    snprintf(ret->cache, sizeof ret->cache, "%s", cell_text(result, row, column++));
    ret->finished = cell_bool(result, row, column++);
    ret->at_load = cell_bool(result, row, column++);
    ret->first_ops = (uint64_t)cell_int(result, row, column++);
    ret->first_bytes = (uint64_t)cell_int(result, row, column++);
    ret->sync = cell_int(result, row, column++);
    ret->resident = (uint64_t)cell_int(result, row, column++);
    ret->paced = cell_bool(result, row, column++);
    ret->paused = cell_int(result, row, column++);
    ret->latency.count = (uint64_t)cell_int(result, row, column++);
    ret->latency.sum = cell_number(result, row, column++);
    nsec *const latencies[] = { &ret->latency.min, &ret->latency.max, &ret->latency.p50,
                                &ret->latency.p90, &ret->latency.p99, &ret->latency.p999 };
    for (size_t i = 0; i < COUNT_OF(latencies); i++)
        *latencies[i] = cell_int(result, row, column++);
    if (cell_null(result, row, column))
        return;
    ret->limit.reached = true;
    ret->limit.at = (uint64_t)cell_int(result, row, column++);
    ret->limit.reason = name_index(limit_reasons, cell_text(result, row, column++));
    ret->limit.error = (int)cell_int(result, row, column++);
    snprintf(ret->limit.detail, sizeof ret->limit.detail, "%s", cell_text(result, row, column++));
}

/* Runs a query of parts of these jobs, whose rows begin with the job and are in its order, and gives each
 * job its own. */
typedef int part_fn(struct job *job, const PGresult *result, int first, size_t n,
                    struct problem *why);

static int each_part(struct connection *connection, enum query query, struct job *jobs, size_t n,
                     part_fn *each, struct problem *why)
{
    scoped(text_done) struct text ids = { 0 };
    for (size_t i = 0; i < n; i++)
        text_addf(&ids, "%c%lld", i ? ',' : '{', (long long)jobs[i].id);
    text_add(&ids, "}", 1);
    if (n == 0 || ids.failed)
        return n == 0 ? 0 : problem_memory(why);
    struct params params = { 0 };
    param_text(&params, ids.at);
    scoped_result PGresult *result = NULL;
    if (query_run(connection, query, &params, &result, why) < 0)
        return -1;
    int rows = PQntuples(result);
    for (int first = 0, next; first < rows; first = next) {
        job_id id = cell_int(result, first, 0);
        for (next = first + 1; next < rows && cell_int(result, next, 0) == id; next++)
            ;
        struct job *job = jobs;
        while (job < jobs + n && job->id != id)
            job++;
        if (job < jobs + n && each(job, result, first, (size_t)(next - first), why) < 0)
            return -1;
    }
    return 0;
}

static int phases_read(struct job *job, const PGresult *result, int first, size_t n,
                       struct problem *why)
{
    job->phases = calloc(n, sizeof *job->phases);
    job->parts = calloc(n, sizeof *job->parts);
    if (!job->phases || !job->parts)
        return problem_memory(why);
    for (; job->parts_n < n; job->parts_n++) {
        struct phase_total *part = &job->parts[job->parts_n];
        struct phase_total *last = job->phases_n ? &job->phases[job->phases_n - 1] : NULL;
        phase_read(result, first + (int)job->parts_n, part);
        if (last && last->run == part->run && strcmp(last->name, part->name) == 0)
            phase_join(last, part);
        else
            job->phases[job->phases_n++] = *part;
    }
    return 0;
}

/* Of a phase that worked in several legs: its percentiles follow from the buckets of all. */
static int latencies_read(struct job *job, const PGresult *result, int first, size_t n,
                          struct problem *why)
{
    scoped_free struct histogram *all = calloc(1, sizeof *all);
    if (!all)
        return problem_memory(why);
    int row = first, end = first + (int)n;
    for (size_t i = 0; i < job->phases_n; i++) {
        struct phase_total *phase = &job->phases[i];
        struct latency *latency = &phase->latency;
        if (phase->legs < 2 || latency->count == 0)
            continue;
        *all = (struct histogram){ .min = latency->min, .max = latency->max };
        for (row = first; row < end; row++) {
            int64_t bucket = cell_int(result, row, 3);
            if ((unsigned)cell_int(result, row, 1) != phase->run ||
                strcmp(cell_text(result, row, 2), phase->name) != 0 || bucket < 0 ||
                bucket >= HISTOGRAM_BUCKETS)
                continue;
            all->bucket[bucket] += (uint64_t)cell_int(result, row, 4);
            all->count += (uint64_t)cell_int(result, row, 4);
        }
        const struct latency spread = histogram_latency(all);
        latency->p50 = spread.p50;
        latency->p90 = spread.p90;
        latency->p99 = spread.p99;
        latency->p999 = spread.p999;
    }
    return 0;
}

static int boots_read(struct job *job, const PGresult *result, int first, size_t n unused,
                      struct problem *why)
{
    return cell_copy(result, first, 1, &job->boots, why);
}

static bool has_legs(const struct job *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < jobs[i].parts_n; k++)
            if (jobs[i].parts[k].leg > 1)
                return true;
    return false;
}

/* In the order of queries/job_runs.sql. */
static int run_read(const PGresult *result, int row, struct job_run *run, struct problem *why)
{
    run->run = (unsigned)cell_int(result, row, 1);
    run->point = (uint64_t)cell_int(result, row, 2);
    run->state = name_index(run_states, cell_text(result, row, 4));
    run->started_at = cell_time(result, row, 5);
    run->finished_at = cell_time(result, row, 6);
    run->used_bytes = cell_null(result, row, 7) ? NAN : (double)cell_int(result, row, 7);
    run->used_inodes = cell_null(result, row, 8) ? NAN : (double)cell_int(result, row, 8);
    run->cleanup = name_index(cleanup_states, cell_text(result, row, 9));
    return cell_copy(result, row, 3, &run->params, why);
}

static int runs_read(struct job *job, const PGresult *result, int first, size_t n,
                     struct problem *why)
{
    job->runs = calloc(n, sizeof *job->runs);
    if (!job->runs)
        return problem_memory(why);
    while (job->runs_n < n) {
        struct job_run *run = &job->runs[job->runs_n];
        if (run_read(result, first + (int)job->runs_n++, run, why) < 0)
            return -1;
    }
    return 0;
}

int jobs_runs(struct connection *connection, struct job *jobs, size_t n, struct problem *why)
{
    return each_part(connection, QUERY_JOB_RUNS, jobs, n, runs_read, why);
}

int jobs_parts(struct connection *connection, struct job *jobs, size_t n, struct problem *why)
{
    if (jobs_runs(connection, jobs, n, why) < 0 ||
        each_part(connection, QUERY_JOB_PHASES, jobs, n, phases_read, why) < 0)
        return -1;
    if (!has_legs(jobs, n))
        return 0;
    return each_part(connection, QUERY_JOB_LATENCIES, jobs, n, latencies_read, why) < 0 ||
                   each_part(connection, QUERY_JOB_BOOTS, jobs, n, boots_read, why) < 0
               ? -1
               : 0;
}

struct jobs {
    size_t n;
    struct job *at;
};
static void jobs_done(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        job_done(&jobs->at[i]);
    free(jobs->at);
}

int jobs_each(struct store *store, enum query query, const struct params *params, job_fn *each,
              void *arg, struct problem *why)
{
    scoped(jobs_done) struct jobs jobs = { 0 };
    {
        scoped_connection struct connection *connection = NULL;
        scoped_result PGresult *result = NULL;
        if (store_borrow(store, &connection, why) < 0 ||
            query_run(connection, query, params, &result, why) < 0)
            return -1;
        size_t rows = (size_t)PQntuples(result);
        if (rows == 0)
            return 0;
        if (!(jobs.at = calloc(rows, sizeof *jobs.at)))
            return problem_memory(why);
        for (; jobs.n < rows; jobs.n++)
            if (job_read(result, (int)jobs.n, &jobs.at[jobs.n], why) < 0)
                return -1;
        if (jobs_parts(connection, jobs.at, jobs.n, why) < 0)
            return -1;
    }
    /* `each` may call the store again: the connection went back before. */
    for (size_t i = 0; i < jobs.n; i++)
        if (each(arg, &jobs.at[i], why) < 0)
            return -1;
    return 0;
}
