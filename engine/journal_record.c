/* What the records of a journal say, whoever wrote them: members that are absent or unknown do no
 * harm. */
#include "engine/base/field_json.h"
#include "engine/journal.h"
#include "engine/journal_line.h"
#include "engine/ledger.h"

#include <math.h>

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

static int64_t number_of(const json_t *json, const char *name)
{
    return json_integer_value(json_object_get(json, name));
}

static uint64_t count_of(const json_t *json, const char *name)
{
    int64_t n = number_of(json, name);
    return n > 0 ? (uint64_t)n : 0;
}

static int read_begin(const json_t *json, struct journal_record *record, struct problem *why)
{
    if (number_of(json, "format") > JOURNAL_FORMAT)
        return problem_set(why, PROBLEM_UNSUPPORTED, "the journal has format %lld, later than %d",
                           (long long)number_of(json, "format"), JOURNAL_FORMAT);
    record->job = number_of(json, "job");
    record->pid = (pid_t)number_of(json, "pid");
    record->pid_start = count_of(json, "pid_start");
    snprintf(record->boot_id, sizeof record->boot_id, "%s", text_of(json, "boot_id"));
    return 0;
}

static int read_phase(const json_t *json, struct journal_record *record, struct problem *why)
{
    (void)why;
    struct phase_total *phase = &record->phase;
    snprintf(phase->unit, sizeof phase->unit, "%s", text_of(json, "unit"));
    phase->lanes = count_of(json, "lanes");
    phase->batch = count_of(json, "batch");
    phase->total = count_of(json, "total");
    snprintf(phase->cache, sizeof phase->cache, "%s", text_of(json, "cache"));
    phase->at_load = json_is_true(json_object_get(json, "at_load"));
    phase->resident = count_of(json, "resident");
    phase->paced = json_is_true(json_object_get(json, "paced"));
    return 0;
}

/* Columns as any writer may put them: in any order, with unknown ones between, absent ones zero. */
static int read_samples(const json_t *json, struct journal_record *record, struct problem *why)
{
    record->n = json_array_size(json_object_get(json, "at"));
    if (record->n == 0 || record->n > SAMPLE_GROUP)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "a line must hold 1 to %d samples, not %zu",
                           SAMPLE_GROUP, record->n);
    memset(record->samples, 0, record->n * sizeof record->samples[0]);
    for (size_t c = 0; c < SAMPLE_COLUMN_COUNT; c++) {
        const struct sample_column *column = &sample_columns[c];
        const json_t *list = json_object_get(json, column->name);
        if (list && json_array_size(list) != record->n)
            return problem_set(why, PROBLEM_BAD_SYNTAX, "the columns at and %s differ in length",
                               column->name);
        for (size_t i = 0; list && i < record->n; i++) {
            const json_t *value = json_array_get(list, i);
            if (!json_is_integer(value) || json_integer_value(value) < 0)
                return problem_set(why, PROBLEM_BAD_SYNTAX, "%s must hold whole numbers",
                                   column->name);
            sample_column_set(&record->samples[i], column, (uint64_t)json_integer_value(value));
        }
    }
    return 0;
}

static double figure_of(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int read_host(const json_t *json, struct journal_record *record, struct problem *why)
{
    const json_t *at = json_object_get(json, "at");
    record->n = json_array_size(at);
    if (record->n == 0 || record->n > COUNT_OF(record->host))
        return problem_set(why, PROBLEM_BAD_SYNTAX, "a line must hold 1 to %zu host samples",
                           COUNT_OF(record->host));
    for (size_t i = 0; i < record->n; i++) {
        record->host[i].at = json_integer_value(json_array_get(at, i));
#define X(member, unit) record->host[i].member = figure_of(json_object_get(json, #member), i);
        HOST_COLUMNS(X)
#undef X
    }
    return 0;
}

static int read_limit(const json_t *json, struct journal_record *record, struct problem *why)
{
    struct limit *limit = &record->phase.limit;
    int reason = name_index(limit_reasons, text_of(json, "reason"));
    if (reason < 0)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "%s is no reason of a limit",
                           text_of(json, "reason"));
    limit->reached = true;
    limit->at = count_of(json, "at");
    limit->reason = reason;
    limit->error = (int)number_of(json, "errno");
    snprintf(limit->detail, sizeof limit->detail, "%s", text_of(json, "detail"));
    return 0;
}

static int read_phase_end(const json_t *json, struct journal_record *record, struct problem *why)
{
    (void)why;
    struct phase_total *phase = &record->phase;
    const json_t *latency = json_object_get(json, "latency");
    phase->ops = count_of(json, "ops");
    phase->bytes = count_of(json, "bytes");
    phase->errors = count_of(json, "errors");
    phase->first_start = number_of(json, "first_start");
    phase->first_done = number_of(json, "first_done");
    phase->first_ops = count_of(json, "first_ops");
    phase->first_bytes = count_of(json, "first_bytes");
    phase->sync = (nsec)count_of(json, "sync_ns");
    phase->cpu = number_of(json, "cpu");
    phase->last_done = number_of(json, "last_done");
    phase->paused = (nsec)count_of(json, "paused_ns");
    phase->flush = (nsec)count_of(json, "flush_ns");
    phase->dirty_before = count_of(json, "dirty_before");
    phase->finished = true;
    phase->latency = (struct latency){
        .count = count_of(latency, "count"),
        .sum = json_number_value(json_object_get(latency, "sum")),
        .min = number_of(latency, "min"),
        .max = number_of(latency, "max"),
        .p50 = number_of(latency, "p50"),
        .p90 = number_of(latency, "p90"),
        .p99 = number_of(latency, "p99"),
        .p999 = number_of(latency, "p999"),
    };
    return 0;
}

static int read_end(const json_t *json, struct journal_record *record, struct problem *why)
{
    int outcome = name_index(job_states, text_of(json, "outcome"));
    if (outcome < 0 || !job_state_final((enum job_state)outcome))
        return problem_set(why, PROBLEM_BAD_SYNTAX, "%s is no outcome", text_of(json, "outcome"));
    record->outcome = (enum job_state)outcome;
    const json_t *problem = json_object_get(json, "problem");
    if (json_is_object(problem)) {
        enum problem_code code = problem_by_slug(text_of(problem, "code"));
        record->problem.code = code ? code : PROBLEM_INTERNAL;
        snprintf(record->problem.field, sizeof record->problem.field, "%s",
                 text_of(problem, "field"));
        snprintf(record->problem.message, sizeof record->problem.message, "%s",
                 text_of(problem, "message"));
    }
    return 0;
}

static int read_cleanup(const json_t *json, struct journal_record *record, struct problem *why)
{
    int state = name_index(cleanup_states, text_of(json, "state"));
    if (state < 0)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "%s is no state of a clean-up",
                           text_of(json, "state"));
    record->cleanup = (enum cleanup_state)state;
    record->removed = count_of(json, "removed");
    return 0;
}

static int read_reboot(const json_t *json, struct journal_record *record, struct problem *why)
{
    (void)why;
    record->within = (nsec)count_of(json, "within_ns");
    return 0;
}

typedef int read_fn(const json_t *json, struct journal_record *record, struct problem *why);

static const struct record_kind {
    const char *name;
    read_fn *read;
} record_kinds[] = {
    [RECORD_BEGIN] = { "begin", read_begin },
    [RECORD_PHASE] = { "phase", read_phase },
    [RECORD_SAMPLES] = { "samples", read_samples },
    [RECORD_HOST] = { "host", read_host },
    [RECORD_LIMIT] = { "limit", read_limit },
    [RECORD_MADE] = { "made", NULL },
    [RECORD_PHASE_END] = { "phase_end", read_phase_end },
    [RECORD_REBOOT] = { "reboot", read_reboot },
    [RECORD_BOOT] = { "boot", NULL },
    [RECORD_RUN_END] = { "run_end", NULL },
    [RECORD_END] = { "end", read_end },
    [RECORD_CLEANUP] = { "cleanup", read_cleanup },
};

static enum journal_record_kind kind_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(record_kinds); i++)
        if (strcmp(record_kinds[i].name, name) == 0)
            return (enum journal_record_kind)i;
    return RECORD_UNKNOWN;
}

/* Everything but the samples, which are large and set by whoever fills them. */
static void reset(struct journal_record *record)
{
    json_decref(record->json);
    memset(record, 0, offsetof(struct journal_record, samples));
    memset(record->host, 0, sizeof record->host);
    memset(&record->outcome, 0, sizeof *record - offsetof(struct journal_record, outcome));
}

/* Reads a valid line through the JSON parser. */
static int read_json(const char *line, size_t n, struct journal_record *record, struct problem *why)
{
    json_error_t error;
    json_t *json = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "%s", error.text);
    record->json = json;
    record->seq = count_of(json, "seq");
    record->kind = kind_of(text_of(json, "record"));
    record->run = (unsigned)count_of(json, "run");
    record->leg = (unsigned)count_of(json, "leg");
    if (json_is_string(json_object_get(json, "at")) &&
        clock_parse(text_of(json, "at"), &record->wall) != 0)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "at is no time: %s", text_of(json, "at"));
    struct phase_total *phase = &record->phase;
    snprintf(phase->name, sizeof phase->name, "%s", text_of(json, "phase"));
    phase->run = record->run;
    phase->leg = record->leg;
    read_fn *read = record->kind == RECORD_UNKNOWN ? NULL : record_kinds[record->kind].read;
    return read ? read(json, record, why) : 0;
}

int journal_record_read(const char *line, size_t n, struct journal_record *record,
                        struct problem *why)
{
    struct samples_line samples;
    reset(record);
    if (!line_read_samples(line, n, &samples, record->samples))
        return read_json(line, n, record, why);
    record->kind = RECORD_SAMPLES;
    record->seq = samples.seq;
    record->run = record->phase.run = (unsigned)samples.run;
    record->leg = record->phase.leg = (unsigned)samples.leg;
    record->n = samples.n;
    snprintf(record->phase.name, sizeof record->phase.name, "%.*s", (int)samples.phase_n,
             samples.phase);
    return 0;
}

static int read_shares(const json_t *json, struct ledger_shares *shares, struct problem *why)
{
    const json_t *clients = json_object_get(json, "clients"), *ids = json_object_get(json, "ids");
    uint64_t first = count_of(json, "first");
    bool known = shares->clients.n > 0;
    for (int i = 0; share_means[i]; i++)
        if (strcmp(share_means[i], text_of(json, "means")) == 0)
            shares->means = i;
    snprintf(shares->root, sizeof shares->root, "%s", text_of(json, "root"));
    shares->prefix = text_of(json, "prefix")[0];
    shares->claimed = count_of(json, "claimed");
    for (size_t i = 0; i < json_array_size(clients) && !known; i++) {
        const char *client = json_string_value(json_array_get(clients, i));
        if (client && ledger_share_to(shares, client, why))
            return -1;
    }
    for (size_t i = 0; i < json_array_size(ids); i++) {
        json_int_t id = json_integer_value(json_array_get(ids, i));
        if (first + i == shares->n && ledger_share_add(shares, (uint16_t)id, why))
            return -1;
    }
    return 0;
}

int journal_read_made(const struct journal_record *record, struct ledger *made, struct problem *why)
{
    const json_t *identities = json_object_get(record->json, "identities");
    uint64_t first = count_of(record->json, "first");
    made->claimed = count_of(record->json, "claimed");
    made->mark = strtoull(text_of(record->json, "mark"), NULL, 16);
    made->group = (uint32_t)count_of(record->json, "group");
    snprintf(made->parent, sizeof made->parent, "%s", text_of(record->json, "parent"));
    snprintf(made->search, sizeof made->search, "%s", text_of(record->json, "search"));
    for (size_t i = 0; i < json_array_size(identities); i++) {
        const char *identity = json_string_value(json_array_get(identities, i));
        if (first + i == made->n && ledger_add(made, identity ? identity : "", why))
            return -1;
    }
    const json_t *shares = json_object_get(record->json, "shares");
    return shares ? read_shares(shares, &made->shares, why) : 0;
}
