/* JSON of any size: only what describes it is ever held in memory. The numbers of a column go to a file as
 * they are read, since the columns of a sample stand far apart; when all columns of an object are there,
 * its samples are put together from that file. */
#include "engine/base/field_json.h"
#include "engine/base/text.h"
#include "engine/import/import.h"
#include "engine/import/json_source.h"

#include <errno.h>
#include <math.h>

enum { POINTER = 96, COLUMN_BUFFER = 1024 };

/* --- what describes a phase --- */

struct latency_head {
    uint64_t count, min, p50, p90, p99, p999, max;
    double sum;
};
static const struct field latency_fields[] = {
    FIELD_COUNT(struct latency_head, count, "Operations whose latency is known."),
    FIELD_COUNT(struct latency_head, min, "The shortest.", .unit = "ns"),
    FIELD_NUMBER(struct latency_head, sum, "The sum of all.", .unit = "ns"),
    FIELD_COUNT(struct latency_head, p50, "Half took no longer.", .unit = "ns"),
    FIELD_COUNT(struct latency_head, p90, "90 % took no longer.", .unit = "ns"),
    FIELD_COUNT(struct latency_head, p99, "99 % took no longer.", .unit = "ns"),
    FIELD_COUNT(struct latency_head, p999, "99.9 % took no longer.", .unit = "ns"),
    FIELD_COUNT(struct latency_head, max, "The longest.", .unit = "ns"),
    FIELD_END,
};
struct limit_head {
    uint64_t at;
    int reason;
    int64_t error;
    char *detail;
};
static const struct field limit_fields[] = {
    FIELD_COUNT(struct limit_head, at, "The load at which the phase ended.", .required = true),
    FIELD_CHOICE(struct limit_head, reason, "What was exhausted.", .choices = limit_reasons,
                 .required = true),
    { .name = "errno",
      .type = FT_SIGNED,
      .offset = offsetof(struct limit_head, error),
      .doc = "What the target answered; 0: a floor or deadline was reached first." },
    FIELD_TEXT(struct limit_head, detail, "One sentence with the figures.", .max = 255,
               .preset_text = ""),
    FIELD_END,
};
struct phase_head {
    char *name, *unit, *cache;
    uint64_t run, leg, lanes, batch, total, ops, bytes, errors, dirty_before, resident;
    uint64_t first_ops, first_bytes, first_done_ns, last_done_ns;
    int64_t first_start_ns;
    uint64_t flush_ns, sync_ns, cpu_ns;
    bool at_load, paced;
    void *latency_ns, *limited_by;
};
const struct field import_phase_fields[] = {
    FIELD_TEXT(struct phase_head, name, "What it did: create, write, ...", .required = true,
               .min = 1, .max = 31),
    FIELD_TEXT(struct phase_head, unit, "What its load counts; preset: by the workload.", .max = 31,
               .preset_text = ""),
    FIELD_COUNT(struct phase_head, run, "The pass through the phases.", .min = 1, .max = 1e6,
                .preset = 1),
    FIELD_COUNT(struct phase_head, leg, "The stretch between two boots.", .min = 1, .max = 1e6,
                .preset = 1),
    FIELD_BOOL(struct phase_head, at_load,
               "Each value was measured at that load, not for the batch that ends there."),
    FIELD_COUNT(struct phase_head, lanes, "Worker threads; 0: as the samples say.", .max = 65536),
    FIELD_COUNT(struct phase_head, batch, "Operations timed together; 0: as the samples say."),
    FIELD_COUNT(struct phase_head, total, "Operations planned; 0: as many as were done."),
    FIELD_COUNT(struct phase_head, ops, "Operations done; 0: as the samples say."),
    FIELD_COUNT(struct phase_head, bytes, "Bytes written or read; 0: as the samples say."),
    FIELD_COUNT(struct phase_head, errors, "Operations that failed; 0: as the samples say."),
    FIELD_SIGNED(struct phase_head, first_start_ns,
                 "Since the leg began; below 0: a restart of the machine, before it."),
    FIELD_COUNT(struct phase_head, first_done_ns, "Likewise, when the first lane had no more."),
    FIELD_COUNT(struct phase_head, last_done_ns, "Likewise, when the last lane had no more."),
    FIELD_COUNT(struct phase_head, first_ops,
                "Operations of all lanes until the first had no more."),
    FIELD_COUNT(struct phase_head, first_bytes, "Bytes of all lanes until then.", .unit = "bytes"),
    FIELD_COUNT(struct phase_head, sync_ns, "The most that a lane spent on making data stable."),
    FIELD_BOOL(struct phase_head, paced, "Its rate was bounded."),
    FIELD_COUNT(struct phase_head, resident, "Bytes of its files that were in memory before it.",
                .unit = "bytes"),
    FIELD_COUNT(struct phase_head, flush_ns, "The flush after it, which is in no other time."),
    FIELD_COUNT(struct phase_head, cpu_ns, "CPU time of the whole runner."),
    FIELD_COUNT(struct phase_head, dirty_before, "Bytes that were still to be written before it.",
                .unit = "bytes"),
    FIELD_TEXT(struct phase_head, cache, "The cache before it: warm, or how it was emptied.",
               .max = 15, .preset_text = ""),
    FIELD_OBJECT(struct phase_head, latency_ns, "Time of one operation.", .of = latency_fields,
                 .of_size = sizeof(struct latency_head)),
    FIELD_OBJECT(struct phase_head, limited_by, "Why it ended before its total.",
                 .of = limit_fields, .of_size = sizeof(struct limit_head)),
    FIELD_END,
};

/* --- columns --- */

#define COLUMNS(X)              \
    X(LOAD, "load")             \
    X(ELAPSED, "elapsed")       \
    X(ELAPSED_NS, "elapsed_ns") \
    X(AT_NS, "at_ns")           \
    X(LANE, "lane")             \
    X(OPS, "ops")               \
    X(BYTES, "bytes")           \
    X(ERRORS, "errors")         \
    X(CPU_NS, "cpu_ns")         \
    X(SWITCHES, "switches")     \
    X(P50_NS, "p50_ns")         \
    X(P99_NS, "p99_ns")         \
    X(MAX_NS, "max_ns")

enum column {
#define X(code, name) code,
    COLUMNS(X)
#undef X
        COLUMN_COUNT
};
const char *const import_columns[] = {
#define X(code, name) name,
    COLUMNS(X)
#undef X
        NULL,
};

struct numbers {
    bool there;
    size_t n;
    off_t at;          /* in the file */
    size_t done, have; /* elements read back: before the buffer, in the buffer */
    double buffer[COLUMN_BUFFER];
};

struct reading {
    struct json_source source;
    struct import *to;
    int columns; /* the file of numbers, which is used anew for each object */
    off_t end;
    struct numbers column[COLUMN_COUNT];
    struct json_place began; /* the object of columns that is read */
    uint64_t samples;        /* of the phase */
};

static int flush(struct reading *r, struct numbers *column, struct problem *why)
{
    size_t bytes = column->have * sizeof column->buffer[0];
    if (pwrite(r->columns, column->buffer, bytes, r->end) != (ssize_t)bytes)
        return problem_errno(why, errno ? errno : ENOSPC, "cannot keep the numbers meanwhile");
    r->end += (off_t)bytes;
    column->have = 0;
    return 0;
}

static int check_value(const struct reading *r, enum column which, double value,
                       const char *pointer, struct problem *why)
{
    const struct json_place *at = &r->source.value;
    if (isnan(value))
        return 0; /* null: a gap, or not told */
    if (value < 0)
        return problem_at(why, pointer, at->line, at->column, "a number from 0 up is wanted");
    if (which == ELAPSED ? value > IMPORT_SECONDS_MOST : value > IMPORT_LOAD_MOST)
        return problem_at(why, pointer, at->line, at->column, "a smaller number is wanted");
    if (which != ELAPSED && value != floor(value))
        return problem_at(why, pointer, at->line, at->column, "a whole number is wanted");
    if ((which == LANE && value > 65535) || (which == SWITCHES && value > UINT32_MAX))
        return problem_at(why, pointer, at->line, at->column, "a smaller number is wanted");
    return 0;
}

static int read_column(struct reading *r, enum column which, const char *pointer,
                       struct problem *why)
{
    struct numbers *column = &r->column[which];
    char place[POINTER];
    int more;
    *column = (struct numbers){ .there = true, .at = r->end };
    if (json_begin(&r->source, '[', pointer, why))
        return -1;
    while ((more = json_element(&r->source, column->n == 0, pointer, why)) > 0) {
        double value = 0;
        (void)!text_fit(place, sizeof place, "%s/%zu", pointer, column->n);
        if (json_number(&r->source, &value, place, why) ||
            check_value(r, which, value, place, why) ||
            (column->have == COLUMN_BUFFER && flush(r, column, why)))
            return -1;
        column->buffer[column->have++] = value;
        column->n++;
    }
    return more < 0 ? -1 : flush(r, column, why);
}

/* The next number of a column, in order. NAN: null, or there is no such column. */
static int next(struct reading *r, enum column which, double *ret, struct problem *why)
{
    struct numbers *column = &r->column[which];
    *ret = NAN;
    if (!column->there)
        return 0;
    size_t i = column->done % COLUMN_BUFFER;
    if (i == 0) {
        size_t left = column->n - column->done;
        size_t n = left < COLUMN_BUFFER ? left : COLUMN_BUFFER;
        off_t at = column->at + (off_t)(column->done * sizeof column->buffer[0]);
        if (pread(r->columns, column->buffer, n * sizeof column->buffer[0], at) !=
            (ssize_t)(n * sizeof column->buffer[0]))
            return problem_errno(why, errno ? errno : EIO, "cannot read the numbers again");
    }
    column->done++;
    *ret = column->buffer[i];
    return 0;
}

static uint64_t or_else(double value, uint64_t otherwise)
{
    return isnan(value) ? otherwise : (uint64_t)value;
}

static int take_sample(struct reading *r, struct import_phase *phase, const double v[],
                       const char *pointer, struct problem *why)
{
    double seconds = isnan(v[ELAPSED_NS]) ? v[ELAPSED] : v[ELAPSED_NS] / 1e9;
    bool timed = !isnan(v[AT_NS]);
    if (isnan(seconds) || isnan(v[LOAD]))
        return 0;
    nsec elapsed = isnan(v[ELAPSED_NS]) ? (nsec)llround(seconds * 1e9) : (nsec)v[ELAPSED_NS];
    struct sample s = {
        .load = (uint64_t)v[LOAD],
        .elapsed = elapsed,
        .at = (nsec)or_else(v[AT_NS], (uint64_t)(phase->total.last_done + elapsed)),
        .lane = (uint32_t)or_else(v[LANE], 0),
        .bytes = or_else(v[BYTES], 0),
        .errors = or_else(v[ERRORS], 0),
        .cpu = (nsec)or_else(v[CPU_NS], (uint64_t)elapsed),
        .switches = (uint32_t)or_else(v[SWITCHES], 0),
        .p50 = (nsec)or_else(v[P50_NS], 0),
        .p99 = (nsec)or_else(v[P99_NS], 0),
        .max = (nsec)or_else(v[MAX_NS], 0),
    };
    if (!timed && s.load < phase->load)
        return problem_at(why, pointer, r->began.line, r->began.column,
                          "the load must not fall: %llu follows %llu", (unsigned long long)s.load,
                          (unsigned long long)phase->load);
    s.ops = or_else(v[OPS], s.load > phase->load ? s.load - phase->load : 0);
    return import_sample(r->to, phase, &s, why);
}

/* All columns of an object are there: its samples. */
static int join(struct reading *r, struct import_phase *phase, const char *pointer,
                struct problem *why)
{
    const struct json_place *at = &r->began;
    const struct numbers *load = &r->column[LOAD];
    bool both = r->column[ELAPSED].there && r->column[ELAPSED_NS].there;
    if (!load->there || both || !(r->column[ELAPSED].there || r->column[ELAPSED_NS].there))
        return problem_at(why, pointer, at->line, at->column,
                          "load is wanted, and elapsed or elapsed_ns: the time of each batch");
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        if (r->column[c].there && r->column[c].n != load->n)
            return problem_at(why, pointer, at->line, at->column,
                              "load has %zu values and %s has %zu", load->n, import_columns[c],
                              r->column[c].n);
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        r->column[c].done = 0;
    for (size_t i = 0; i < load->n; i++, r->samples++) {
        double value[COLUMN_COUNT];
        char place[POINTER];
        for (size_t c = 0; c < COLUMN_COUNT; c++)
            if (next(r, (enum column)c, &value[c], why))
                return -1;
        (void)!text_fit(place, sizeof place, "%s/load/%zu", pointer, i);
        if (take_sample(r, phase, value, place, why))
            return -1;
        if (isnan(value[LOAD]) || (isnan(value[ELAPSED]) && isnan(value[ELAPSED_NS])))
            phase->load = or_else(value[LOAD], phase->load); /* a gap: the load moved on */
    }
    return 0;
}

static int read_columns(struct reading *r, struct import_phase *phase, const char *pointer,
                        struct problem *why)
{
    char key[JSON_KEY], place[POINTER];
    bool first = true;
    int more;
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        r->column[c].there = false;
    r->end = 0;
    if (json_begin(&r->source, '{', pointer, why))
        return -1;
    r->began = r->source.value;
    for (; (more = json_member(&r->source, first, key, pointer, why)) > 0; first = false) {
        int which = name_index(import_columns, key);
        (void)!text_fit(place, sizeof place, "%s/%s", pointer, key);
        if (which < 0)
            return problem_at(why, place, r->source.value.line, r->source.value.column,
                              "there is no column of this name");
        if (r->column[which].there)
            return problem_at(why, place, r->source.value.line, r->source.value.column,
                              "this column stands here twice");
        if (read_column(r, (enum column)which, place, why))
            return -1;
    }
    return more < 0 ? -1 : join(r, phase, pointer, why);
}

/* One object of columns, or a list of them, one after the other. */
static int read_samples(struct reading *r, struct import_phase *phase, const char *pointer,
                        struct problem *why)
{
    char place[POINTER];
    size_t i = 0;
    int more;
    r->samples = 0;
    if (json_peek(&r->source) != '[')
        return read_columns(r, phase, pointer, why);
    if (json_begin(&r->source, '[', pointer, why))
        return -1;
    for (; (more = json_element(&r->source, i == 0, pointer, why)) > 0; i++) {
        (void)!text_fit(place, sizeof place, "%s/%zu", pointer, i);
        if (read_columns(r, phase, place, why))
            return -1;
    }
    return more;
}

/* --- phases --- */

static void take_head(struct import_phase *phase, const struct phase_head *head)
{
    struct phase_total *total = &phase->total;
    const struct {
        uint64_t told;
        uint64_t *to;
    } counts[] = { { head->lanes, &total->lanes }, { head->batch, &total->batch },
                   { head->total, &total->total }, { head->ops, &total->ops },
                   { head->bytes, &total->bytes }, { head->errors, &total->errors } };
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if (counts[i].told)
            *counts[i].to = counts[i].told;
    if (head->last_done_ns) {
        total->first_start = head->first_start_ns;
        total->first_done = (nsec)(head->first_done_ns ? head->first_done_ns : head->last_done_ns);
        total->last_done = (nsec)head->last_done_ns;
    }
    total->run = (unsigned)head->run;
    total->leg = (unsigned)head->leg;
    total->at_load = head->at_load;
    total->first_ops = head->first_ops;
    total->first_bytes = head->first_bytes;
    total->sync = (nsec)head->sync_ns;
    total->paced = head->paced;
    total->resident = head->resident;
    total->flush = (nsec)head->flush_ns;
    total->cpu = (nsec)head->cpu_ns;
    total->dirty_before = head->dirty_before;
    (void)!text_fit(total->name, sizeof total->name, "%s", head->name);
    (void)!text_fit(total->unit, sizeof total->unit, "%s", head->unit);
    (void)!text_fit(total->cache, sizeof total->cache, "%s", head->cache);
    const struct latency_head *latency = head->latency_ns;
    if (latency)
        total->latency = (struct latency){
            .count = latency->count,
            .sum = isnan(latency->sum) ? 0 : latency->sum,
            .min = (nsec)latency->min,
            .max = (nsec)latency->max,
            .p50 = (nsec)latency->p50,
            .p90 = (nsec)latency->p90,
            .p99 = (nsec)latency->p99,
            .p999 = (nsec)latency->p999,
        };
    const struct limit_head *limit = head->limited_by;
    if (limit) {
        total->limit = (struct limit){
            .reached = true, .at = limit->at, .reason = limit->reason, .error = (int)limit->error
        };
        (void)!text_fit(total->limit.detail, sizeof total->limit.detail, "%s", limit->detail);
    }
}

json_t *import_phase_json(const struct phase_total *total)
{
    struct latency_head latency = {
        .count = total->latency.count,
        .sum = total->latency.sum,
        .min = (uint64_t)total->latency.min,
        .p50 = (uint64_t)total->latency.p50,
        .p90 = (uint64_t)total->latency.p90,
        .p99 = (uint64_t)total->latency.p99,
        .p999 = (uint64_t)total->latency.p999,
        .max = (uint64_t)total->latency.max,
    };
    struct limit_head limit = { total->limit.at, total->limit.reason, total->limit.error,
                                (char *)(uintptr_t)total->limit.detail };
    const struct phase_head head = {
        .name = (char *)(uintptr_t)total->name,
        .unit = (char *)(uintptr_t)total->unit,
        .cache = (char *)(uintptr_t)total->cache,
        .run = total->run,
        .leg = total->leg,
        .lanes = total->lanes,
        .batch = total->batch,
        .total = total->total,
        .ops = total->ops,
        .bytes = total->bytes,
        .errors = total->errors,
        .dirty_before = total->dirty_before,
        .first_start_ns = total->first_start,
        .first_done_ns = (uint64_t)total->first_done,
        .last_done_ns = (uint64_t)total->last_done,
        .first_ops = total->first_ops,
        .first_bytes = total->first_bytes,
        .sync_ns = (uint64_t)total->sync,
        .paced = total->paced,
        .resident = total->resident,
        .flush_ns = (uint64_t)total->flush,
        .cpu_ns = (uint64_t)total->cpu,
        .at_load = total->at_load,
        .latency_ns = latency.count ? &latency : NULL,
        .limited_by = total->limit.reached ? &limit : NULL,
    };
    return fields_render(import_phase_fields, &head);
}

/* What a table refuses is told with the place where its object began. */
static int placed(const struct json_place *at, struct problem *why)
{
    why->line = at->line;
    why->column = at->column;
    return problem_during(why, "line %llu, column %llu: ", (unsigned long long)at->line,
                          (unsigned long long)at->column);
}

/* at_load decides what a sample's operations are; it may stand after them. */
static int read_phase(struct reading *r, size_t i, struct problem *why)
{
    char pointer[32], place[POINTER + 8], key[JSON_KEY], alone[32];
    scoped_json json_t *members = json_object();
    struct phase_head head = { 0 };
    bool first = true, sampled = false;
    int more;
    snprintf(pointer, sizeof pointer, "/phases/%zu", i);
    snprintf(alone, sizeof alone, "\n%zu",
             i); /* a name that no phase can have, until it has its own */
    if (json_begin(&r->source, '{', pointer, why))
        return -1;
    struct json_place began = r->source.value;
    struct import_phase *phase = import_phase(r->to, alone, 1, 1, "", why);
    if (!phase || !members)
        return problem_memory(why);
    for (; (more = json_member(&r->source, first, key, pointer, why)) > 0; first = false) {
        json_t *value = NULL;
        snprintf(place, sizeof place, "%s/%s", pointer, key);
        if (strcmp(key, "samples") == 0) {
            if (sampled)
                return problem_at(why, place, r->source.value.line, r->source.value.column,
                                  "it stands here twice");
            if (read_samples(r, phase, place, why))
                return -1;
            sampled = true;
            continue;
        }
        if (json_object_get(members, key))
            return problem_at(why, place, r->source.value.line, r->source.value.column,
                              "it stands here twice");
        if (json_value(&r->source, IMPORT_JSON_MOST, &value, place, why))
            return -1;
        if (json_object_set_new(members, key, value))
            return problem_memory(why);
    }
    if (more < 0)
        return -1;
    if (!sampled)
        return problem_at(why, pointer, began.line, began.column, "samples are wanted");
    if (fields_bind(import_phase_fields, members, pointer, &head, why))
        return placed(&began, why);
    take_head(phase, &head);
    fields_done(import_phase_fields, &head);
    for (size_t k = 0; k + 1 < r->to->n; k++) {
        const struct phase_total *a = &r->to->phase[k]->total, *b = &phase->total;
        if (a->run == b->run && a->leg == b->leg && strcmp(a->name, b->name) == 0)
            return problem_at(why, pointer, began.line, began.column,
                              "there is another phase %s of this run and leg", b->name);
    }
    if (strpbrk(phase->total.name, "\"\\"))
        return problem_at(why, pointer, began.line, began.column,
                          "a phase's name has no quotes and no backslashes");
    return 0;
}

static int read_phases(struct reading *r, struct problem *why)
{
    size_t i = 0;
    int more;
    if (r->to->n)
        return problem_at(why, "/phases", r->source.value.line, r->source.value.column,
                          "they stand here twice");
    if (json_begin(&r->source, '[', "/phases", why))
        return -1;
    for (; (more = json_element(&r->source, i == 0, "/phases", why)) > 0; i++)
        if (read_phase(r, i, why))
            return -1;
    return more;
}

/* --- the host --- */

static int take_host(struct import *to, const json_t *columns, struct problem *why)
{
    const json_t *at = json_object_get(columns, "at_ns");
    size_t n = json_array_size(at);
    const char *name;
    json_t *list;
    struct import_host *host = calloc(n ? n : 1, sizeof *host);
    if (!host)
        return problem_memory(why);
    free(to->host);
    to->host = host;
    to->host_n = n;
    json_object_foreach((json_t *)(uintptr_t)columns, name, list)
    {
        if (json_array_size(list) != n)
            return problem_field(why, "/host", "at_ns and %s differ in length", name);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *run = json_array_get(json_object_get(columns, "run"), i);
        const json_t *leg = json_array_get(json_object_get(columns, "leg"), i);
        host[i].run = run ? (unsigned)json_integer_value(run) : 1;
        host[i].leg = leg ? (unsigned)json_integer_value(leg) : 1;
        host[i].sample.at = json_integer_value(json_array_get(at, i));
#define X(column, unit)                                                                 \
    {                                                                                   \
        const json_t *value = json_array_get(json_object_get(columns, #column), i);     \
        host[i].sample.column = json_is_number(value) ? json_number_value(value) : NAN; \
    }
        HOST_COLUMNS(X)
#undef X
    }
    return 0;
}

/* --- runs --- */

struct run_head {
    uint64_t run, point;
};
static const struct field run_fields[] = {
    FIELD_COUNT(struct run_head, run, "Which one.", .required = true, .min = 1, .max = 1e6),
    FIELD_COUNT(struct run_head, point, "The same of those that measured the same.", .max = 1e6),
    FIELD_END,
};

static int take_run(struct import *to, json_t *one, size_t i, struct problem *why)
{
    char pointer[64];
    struct run_head head = { 0 };
    scoped_json json_t *params = json_incref(json_object_get(one, "params"));
    snprintf(pointer, sizeof pointer, "/runs/%zu", i);
    if (!json_is_object(one) || !json_is_object(params))
        return problem_field(why, pointer, "an object with run and params is wanted");
    json_object_del(one, "params");
    if (fields_bind(run_fields, one, pointer, &head, why))
        return -1;
    struct import_run *run = &to->runs[to->runs_n];
    run->run = (unsigned)head.run;
    run->point = head.point;
    run->params = json_dumps(params, JSON_COMPACT);
    if (!run->params)
        return problem_memory(why);
    to->runs_n++;
    return 0;
}

static int read_runs(struct reading *r, struct problem *why)
{
    scoped_json json_t *list = NULL;
    size_t i;
    json_t *one;
    if (json_value(&r->source, IMPORT_JSON_MOST, &list, "/runs", why))
        return -1;
    struct json_place at = r->source.value;
    if (!json_is_array(list))
        return problem_at(why, "/runs", at.line, at.column, "a list is wanted");
    if (r->to->runs)
        return problem_at(why, "/runs", at.line, at.column, "it stands here twice");
    r->to->runs = calloc(json_array_size(list) + 1, sizeof *r->to->runs);
    if (!r->to->runs)
        return problem_memory(why);
    json_array_foreach(list, i, one)
    {
        if (take_run(r->to, one, i, why))
            return placed(&at, why);
    }
    return 0;
}

/* --- the whole --- */

enum { HOST_JSON_MOST = 16 << 20 };

/* A member that is an object and kept as text. */
static int keep_object(struct reading *r, const char *pointer, char **to, struct problem *why)
{
    scoped_json json_t *json = NULL;
    if (json_value(&r->source, IMPORT_JSON_MOST, &json, pointer, why))
        return -1;
    struct json_place at = r->source.value;
    if (!json_is_object(json))
        return problem_at(why, pointer, at.line, at.column, "an object is wanted");
    if (*to)
        return problem_at(why, pointer, at.line, at.column, "it stands here twice");
    *to = json_dumps(json, JSON_COMPACT);
    return *to ? 0 : problem_memory(why);
}

static int read_host(struct reading *r, struct problem *why)
{
    scoped_json json_t *columns = NULL;
    if (json_value(&r->source, HOST_JSON_MOST, &columns, "/host", why))
        return -1;
    struct json_place at = r->source.value;
    return take_host(r->to, columns, why) ? placed(&at, why) : 0;
}

static int read_body(struct reading *r, json_t *members, bool inner, bool *ret_report,
                     struct problem *why);

static int read_member(struct reading *r, const char *key, json_t *members, bool inner,
                       bool *ret_report, struct problem *why)
{
    char pointer[POINTER];
    json_t *value = NULL;
    struct json_place at = r->source.value;
    snprintf(pointer, sizeof pointer, "/%s", key);
    if (strcmp(key, "phases") == 0)
        return read_phases(r, why);
    if (strcmp(key, "params") == 0)
        return keep_object(r, pointer, &r->to->head.params, why);
    if (strcmp(key, "environment") == 0)
        return keep_object(r, pointer, &r->to->head.environment, why);
    if (strcmp(key, "host") == 0)
        return read_host(r, why);
    if (strcmp(key, "runs") == 0)
        return read_runs(r, why);
    if (!inner && strcmp(key, "import") == 0) {
        if (*ret_report || json_object_size(members) || r->to->n)
            return problem_at(why, pointer, at.line, at.column,
                              "a report has its import, and nothing of an import beside it");
        *ret_report = true;
        return read_body(r, members, true, ret_report, why);
    }
    if (!inner && (strcmp(key, "job") == 0 || strcmp(key, "series") == 0))
        return json_skip(&r->source, pointer, why); /* of a report */
    if (json_object_get(members, key))
        return problem_at(why, pointer, at.line, at.column, "it stands here twice");
    if (!field_named(import_head_fields, key)) {
        field_unknown(import_head_fields, key, pointer, why);
        return placed(&at, why);
    }
    if (json_value(&r->source, IMPORT_JSON_MOST, &value, pointer, why))
        return -1;
    return json_object_set_new(members, key, value) ? problem_memory(why) : 0;
}

static int read_body(struct reading *r, json_t *members, bool inner, bool *ret_report,
                     struct problem *why)
{
    char key[JSON_KEY];
    bool first = true;
    int more;
    if (json_begin(&r->source, '{', "", why))
        return -1;
    for (; (more = json_member(&r->source, first, key, "", why)) > 0; first = false)
        if (read_member(r, key, members, inner, ret_report, why))
            return -1;
    return more;
}

static int finish(struct reading *r, const json_t *members, struct problem *why)
{
    struct import_head head = { 0 };
    struct json_place start = { 1, 1 };
    if (json_end(&r->source, why))
        return -1;
    if (fields_bind(import_head_fields, members, "", &head, why))
        return placed(&start, why);
    head.params = r->to->head.params;
    head.environment = r->to->head.environment;
    r->to->head = head;
    if (!import_workload_named(head.workload)) {
        problem_field(why, "/workload", "a workload's name has letters, digits, '.', '_' and '-'");
        return placed(&start, why);
    }
    if (r->to->n == 0)
        return problem_at(why, "/phases", 1, 1, "at least one phase is wanted");
    for (size_t i = 0; i < r->to->n; i++) {
        struct phase_total *total = &r->to->phase[i]->total;
        if (!total->unit[0])
            (void)!text_fit(total->unit, sizeof total->unit, "%s", import_unit(head.workload));
    }
    return 0;
}

int import_json(FILE *file, struct import *to, struct problem *why)
{
    scoped_json json_t *members = json_object();
    scoped_free struct reading *r = calloc(1, sizeof *r);
    scoped_fd int columns = -1;
    bool report = false;
    if (!members || !r)
        return problem_memory(why);
    if (import_scratch(to->folder, &columns, why))
        return -1;
    r->to = to;
    r->columns = columns;
    json_source_init(&r->source, file);
    if (read_body(r, members, false, &report, why))
        return -1;
    return finish(r, members, why);
}
