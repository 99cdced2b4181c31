/* What each record of a journal becomes: a row at once, or something in memory until the commit. */
#include "schema/ingest.h"

#include "engine/base/field_json.h"

#include <jansson.h>

static char *json_text(const json_t *json, const char *otherwise)
{
    return json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : strdup(otherwise);
}

static int leg_write(struct ingest *ingest, const struct journal_record *record,
                     const char *boot_id, struct problem *why)
{
    struct params leg = { 0 };
    param_int(&leg, ingest->job);
    param_int(&leg, record->run);
    param_int(&leg, record->leg);
    param_time(&leg, record->wall);
    param_text(&leg, boot_id);
    return query_do(ingest->connection, QUERY_INGEST_LEG, &leg, NULL, why);
}

/* A figure of how full the target was; null is not known. */
static void param_used(struct params *params, const json_t *begin, const char *name)
{
    const json_t *used = json_object_get(json_object_get(begin, "used"), name);
    if (json_is_integer(used) && json_integer_value(used) >= 0)
        param_int(params, json_integer_value(used));
    else
        param_null(params);
}

static int run_begin(struct ingest *ingest, const struct journal_record *record,
                     struct problem *why)
{
    const char *workspace = json_string_value(json_object_get(record->json, "workspace"));
    struct params run = { 0 };
    param_int(&run, ingest->job);
    param_int(&run, record->run);
    param_time(&run, record->wall);
    param_used(&run, record->json, "bytes");
    param_used(&run, record->json, "inodes");
    param_bool(&run, workspace && *workspace);
    return query_do(ingest->connection, QUERY_INGEST_BEGIN_RUN, &run, NULL, why);
}

static int take_begin(struct ingest *ingest, const struct journal_record *record,
                      struct problem *why)
{
    if (record->job != 0 && record->job != ingest->job)
        return problem_set(why, PROBLEM_BAD_FIELD, "the journal belongs to job %lld, not to %lld",
                           (long long)record->job, (long long)ingest->job);
    scoped_free char *environment = json_text(json_object_get(record->json, "environment"), "{}");
    if (!environment)
        return problem_memory(why);
    struct params begin = { 0 };
    param_int(&begin, ingest->job);
    param_time(&begin, record->wall);
    param_text(&begin, environment);
    param_text(&begin, record->boot_id);
    param_int(&begin, record->pid);
    param_count(&begin, record->pid_start);
    if (ingest_transaction(ingest, why) < 0 ||
        query_do(ingest->connection, QUERY_INGEST_BEGIN, &begin, NULL, why) < 0)
        return -1;
    return leg_write(ingest, record, record->boot_id, why) < 0 || run_begin(ingest, record, why) < 0
               ? -1
               : 0;
}

/* The phase that a record speaks of; one that was never announced is known from now on. */
static struct gather *gather_of(struct ingest *ingest, const struct journal_record *record,
                                struct problem *why)
{
    struct gather *gather = gather_find(ingest, record->run, record->leg, record->phase.name);
    if (gather || !(gather = gather_new(ingest, why)))
        return gather;
    gather->began_seq = record->seq;
    gather->total = (struct phase_total){ .run = record->run, .leg = record->leg };
    memcpy(gather->total.name, record->phase.name, sizeof gather->total.name);
    return gather;
}

static int take_phase(struct ingest *ingest, const struct journal_record *record,
                      struct problem *why)
{
    struct gather *gather = gather_of(ingest, record, why);
    if (!gather)
        return -1;
    memcpy(gather->total.unit, record->phase.unit, sizeof gather->total.unit);
    gather->total.lanes = record->phase.lanes;
    gather->total.batch = record->phase.batch;
    gather->total.total = record->phase.total;
    memcpy(gather->total.cache, record->phase.cache, sizeof gather->total.cache);
    gather->total.at_load = record->phase.at_load;
    gather->total.resident = record->phase.resident;
    gather->total.paced = record->phase.paced;
    gather->dirty = true;
    return 0;
}

static void total_add(struct phase_total *total, const struct sample *sample)
{
    nsec start = sample->at - sample->elapsed;
    if (total->last_done == 0 || start < total->first_start)
        total->first_start = start;
    if (sample->at > total->last_done)
        total->last_done = sample->at;
    total->ops += sample->ops;
    total->bytes += sample->bytes;
    total->errors += sample->errors;
}

static int take_samples(struct ingest *ingest, const struct journal_record *record,
                        struct problem *why)
{
    struct gather *gather = gather_of(ingest, record, why);
    if (!gather)
        return -1;
    if (record->n == 0)
        return 0;
    if (gather->n + record->n > SAMPLE_GROUP && gather_seal(ingest, gather, why) < 0)
        return -1;
    if (gather_room(gather, why) < 0)
        return -1;
    if (gather->n == 0)
        gather->seq_first = record->seq;
    if (gather->n == gather->stored)
        gather->seq_unstored = record->seq;
    gather->seq_last = record->seq;
    memcpy(&gather->samples[gather->n], record->samples, record->n * sizeof record->samples[0]);
    gather->n += record->n;
    gather->dirty = true;
    if (!gather->total.finished)
        for (size_t i = 0; i < record->n; i++)
            total_add(&gather->total, &record->samples[i]);
    return gather->n == SAMPLE_GROUP ? gather_seal(ingest, gather, why) : 0;
}

static int take_limit(struct ingest *ingest, const struct journal_record *record,
                      struct problem *why)
{
    struct gather *gather = gather_of(ingest, record, why);
    if (!gather)
        return -1;
    gather->total.limit = record->phase.limit;
    gather->total.limit.reached = true;
    gather->dirty = true;
    return 0;
}

static int take_phase_end(struct ingest *ingest, const struct journal_record *record,
                          struct problem *why)
{
    struct gather *gather = gather_of(ingest, record, why);
    if (!gather)
        return -1;
    struct phase_total *total = &gather->total;
    total->ops = record->phase.ops;
    total->bytes = record->phase.bytes;
    total->errors = record->phase.errors;
    total->first_start = record->phase.first_start;
    total->first_done = record->phase.first_done;
    total->last_done = record->phase.last_done;
    total->paused = record->phase.paused;
    total->flush = record->phase.flush;
    total->first_ops = record->phase.first_ops;
    total->first_bytes = record->phase.first_bytes;
    total->sync = record->phase.sync;
    total->dirty_before = record->phase.dirty_before;
    total->latency = record->phase.latency;
    if (record->phase.limit.reached)
        total->limit = record->phase.limit;
    total->finished = true;
    const json_t *latency = json_object_get(record->json, "latency");
    const json_t *buckets = json_object_get(latency, "buckets");
    free(gather->histogram);
    gather->histogram = json_text(buckets, "[]");
    if (!gather->histogram)
        return problem_memory(why);
    gather->dirty = true;
    if (gather_seal(ingest, gather, why) < 0)
        return -1;
    free(steal(&gather->samples));
    return 0;
}

static int take_host(struct ingest *ingest, const struct journal_record *record,
                     struct problem *why)
{
    for (size_t i = 0; i < record->n; i++) {
        if (ingest->host_n == HOST_ROWS && ingest_host(ingest, why) < 0)
            return -1;
        ingest->host[ingest->host_n++] =
            (struct host_row){ { record->run, record->leg, 0 }, record->host[i] };
    }
    return 0;
}

static int take_reboot(struct ingest *ingest, const struct journal_record *record,
                       struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_time(&params, record->wall + record->within);
    if (gather_seal_all(ingest, why) < 0 || ingest_transaction(ingest, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_INGEST_REBOOT, &params, NULL, why);
}

/* Of the record only what it measured. */
static int take_boot(struct ingest *ingest, const struct journal_record *record,
                     struct problem *why)
{
    static const char *const passing[] = { "seq", "record", "run", "leg", "crc" };
    scoped_json json_t *boot = json_copy(record->json);
    for (size_t i = 0; boot && i < COUNT_OF(passing); i++)
        json_object_del(boot, passing[i]);
    scoped_free char *text = boot ? json_dumps(boot, JSON_COMPACT) : NULL;
    struct params params = { 0 };
    if (!text)
        return problem_memory(why);
    param_int(&params, ingest->job);
    param_int(&params, record->run);
    param_int(&params, record->leg);
    param_text(&params, text);
    if (ingest_transaction(ingest, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_INGEST_BOOT, &params, NULL, why);
}

static int take_run_end(struct ingest *ingest, const struct journal_record *record,
                        struct problem *why)
{
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_int(&params, record->run);
    param_time(&params, record->wall ? record->wall : clock_wall());
    if (gather_seal_all(ingest, why) < 0 || ingest_transaction(ingest, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_INGEST_RUN_END, &params, NULL, why);
}

static int take_end(struct ingest *ingest, const struct journal_record *record, struct problem *why)
{
    struct problem scrubbed;
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_text(&params, job_states[record->outcome]);
    param_time(&params, record->wall ? record->wall : clock_wall());
    param_problem(&params, &record->problem, &scrubbed);
    if (gather_seal_all(ingest, why) < 0 || ingest_transaction(ingest, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_INGEST_END, &params, NULL, why);
}

static int take_cleanup(struct ingest *ingest, const struct journal_record *record,
                        struct problem *why)
{
    scoped_free char *names = json_text(json_object_get(record->json, "foreign"), "[]");
    if (!names)
        return problem_memory(why);
    struct params run = { 0 }, job = { 0 };
    param_int(&run, ingest->job);
    param_int(&run, record->run);
    param_text(&run, cleanup_states[record->cleanup]);
    param_count(&run, record->removed);
    param_text(&run, names);
    param_int(&job, ingest->job);
    param_text(&job, cleanup_states[record->cleanup]);
    param_text(&job, json_string_value(json_object_get(record->json, "reason")));
    param_text(&job, json_string_value(json_object_get(record->json, "workspace")));
    param_int(&job, json_integer_value(json_object_get(record->json, "files")));
    param_int(&job, json_integer_value(json_object_get(record->json, "bytes")));
    /* Its runner is gone or the run has ended: no more will be measured of it. */
    if (gather_seal_all(ingest, why) < 0 || ingest_transaction(ingest, why) < 0 ||
        query_do(ingest->connection, QUERY_INGEST_CLEANUP_RUN, &run, NULL, why) < 0)
        return -1;
    return query_do(ingest->connection, QUERY_INGEST_CLEANUP, &job, NULL, why);
}

int ingest_take(struct ingest *ingest, const struct journal_record *record, struct problem *why)
{
    switch (record->kind) {
    case RECORD_BEGIN:
        return take_begin(ingest, record, why);
    case RECORD_PHASE:
        return take_phase(ingest, record, why);
    case RECORD_SAMPLES:
        return take_samples(ingest, record, why);
    case RECORD_HOST:
        return take_host(ingest, record, why);
    case RECORD_LIMIT:
        return take_limit(ingest, record, why);
    case RECORD_PHASE_END:
        return take_phase_end(ingest, record, why);
    case RECORD_REBOOT:
        return take_reboot(ingest, record, why);
    case RECORD_RUN_END:
        return take_run_end(ingest, record, why);
    case RECORD_END:
        return take_end(ingest, record, why);
    case RECORD_CLEANUP:
        return take_cleanup(ingest, record, why);
    case RECORD_BOOT:
        return take_boot(ingest, record, why);
    case RECORD_MADE: /* for clean-up alone */
    case RECORD_UNKNOWN:
        break; /* of a newer writer */
    }
    return 0;
}

/* Runs of the same parameters are runs of one point. */
static int run_import(struct ingest *ingest, const struct journal_record *record,
                      struct problem *why)
{
    scoped_free char *text = json_text(json_object_get(record->json, "params"), "{}");
    if (!text)
        return problem_memory(why);
    struct params params = { 0 };
    param_int(&params, ingest->job);
    param_int(&params, record->run);
    param_text(&params, text);
    param_time(&params, record->wall);
    param_used(&params, record->json, "bytes");
    param_used(&params, record->json, "inodes");
    const json_t *point = json_object_get(record->json, "point");
    if (json_is_integer(point) && json_integer_value(point) >= 0)
        param_int(&params, json_integer_value(point));
    else
        param_null(&params);
    return query_do(ingest->connection, QUERY_IMPORT_RUN, &params, NULL, why);
}

/* The journal of a job that ended elsewhere: of its begin, end and clean-up only the times count here. */
int ingest_imported(struct ingest *ingest, const struct journal_record *record, struct problem *why)
{
    switch (record->kind) {
    case RECORD_BEGIN:
        return leg_write(ingest, record, NULL, why) < 0 || run_import(ingest, record, why) < 0 ? -1
                                                                                               : 0;
    case RECORD_REBOOT:
    case RECORD_END:
    case RECORD_CLEANUP:
        return 0;
    default:
        return ingest_take(ingest, record, why);
    }
}
