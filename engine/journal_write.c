/* The journal's writer: what each record says. How a record becomes a line is in journal_file.c. */
#include "engine/journal.h"
#include "engine/journal_line.h"
#include "engine/ledger.h"

#include <math.h>

const char *journal_boot_id(char text[40])
{
    scoped_file FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
    text[0] = 0;
    if (boot && fgets(text, 40, boot))
        text[strcspn(text, "\n")] = 0;
    return text;
}

/* Which start of which boot this process is: the boot's id, and field 22 of its stat. */
static void identify(json_t *record)
{
    char text[1024] = "", boot_id[40];
    unsigned long long start = 0;
    scoped_file FILE *stat = fopen("/proc/self/stat", "re");
    if (stat && fgets(text, sizeof text, stat)) {
        const char *p = strrchr(text, ')'); /* the name before it may hold anything */
        for (int field = 3; p && field <= 22; field++)
            p = strchr(p + 1, ' ');
        if (p)
            start = strtoull(p, NULL, 10);
    }
    json_object_set_new(record, "boot_id", json_string(journal_boot_id(boot_id)));
    json_object_set_new(record, "pid", json_integer(getpid()));
    json_object_set_new(record, "pid_start", json_integer((json_int_t)start));
}

static json_t *record_new(const char *kind, unsigned run, unsigned leg)
{
    return json_pack("{s:s, s:i, s:i}", "record", kind, "run", (int)run, "leg", (int)leg);
}

static void set_now(json_t *record)
{
    char text[CLOCK_TEXT];
    json_object_set_new(record, "at", json_string(clock_format(clock_wall(), text)));
}

static void set_count(json_t *record, const char *name, uint64_t value)
{
    json_object_set_new(record, name, json_integer((json_int_t)value));
}

static json_t *known_count(uint64_t value)
{
    return value && value <= INT64_MAX ? json_integer((json_int_t)value) : json_null();
}

static void set_names(json_t *record, const char *const *names, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n && i < FOREIGN_MOST; i++)
        json_array_append_new(list, json_string(names[i]));
    json_object_set_new(record, "foreign", list);
}

int journal_begin(struct journal *journal, const struct journal_begin *begin, struct problem *why)
{
    json_t *record = json_pack("{s:s, s:i, s:s, s:I, s:s, s:s, s:i, s:i}", "record", "begin",
                               "format", JOURNAL_FORMAT, "engine", PLIMSOLL_VERSION, "job",
                               (json_int_t)begin->job, "workload", begin->workload, "target",
                               begin->target, "run", (int)begin->run, "leg", (int)begin->leg);
    set_now(record);
    identify(record);
    json_object_set_new(record, "workspace", json_string(begin->workspace));
    json_object_set_new(record, "place", json_string(begin->place ? begin->place : ""));
    json_object_set_new(record, "params",
                        begin->params ? json_deep_copy(begin->params) : json_object());
    if (begin->runs) {
        set_count(record, "runs", begin->runs);
        set_count(record, "point", begin->point);
    }
    json_object_set_new(record, "used",
                        json_pack("{s:o, s:o}", "bytes", known_count(begin->used_bytes), "inodes",
                                  known_count(begin->used_inodes)));
    if (begin->environment)
        json_object_set_new(record, "environment", json_deep_copy(begin->environment));
    return journal_append(journal, record, why);
}

int journal_phase(struct journal *journal, const struct phase_total *phase, struct problem *why)
{
    json_t *record = record_new("phase", phase->run, phase->leg);
    json_object_set_new(record, "phase", json_string(phase->name));
    json_object_set_new(record, "unit", json_string(phase->unit));
    set_count(record, "lanes", phase->lanes);
    set_count(record, "batch", phase->batch);
    set_count(record, "total", phase->total);
    if (phase->cache[0])
        json_object_set_new(record, "cache", json_string(phase->cache));
    if (phase->at_load)
        json_object_set_new(record, "at_load", json_true());
    if (phase->resident)
        set_count(record, "resident", phase->resident);
    if (phase->paced)
        json_object_set_new(record, "paced", json_true());
    return journal_append(journal, record, why);
}

/* A figure that the host does not tell is null. */
static json_t *figure(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

int journal_host(struct journal *journal, unsigned run, unsigned leg,
                 const struct host_sample *samples, size_t n, struct problem *why)
{
    if (n == 0)
        return 0;
    json_t *record = record_new("host", run, leg), *at = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(at, json_integer(samples[i].at));
    json_object_set_new(record, "at", at);
#define X(member, unit)                                             \
    {                                                               \
        json_t *list = json_array();                                \
        for (size_t i = 0; i < n; i++)                              \
            json_array_append_new(list, figure(samples[i].member)); \
        json_object_set_new(record, #member, list);                 \
    }
    HOST_COLUMNS(X)
#undef X
    return journal_append(journal, record, why);
}

int journal_limit(struct journal *journal, const struct phase_total *phase, struct problem *why)
{
    json_t *record = record_new("limit", phase->run, phase->leg);
    json_object_set_new(record, "phase", json_string(phase->name));
    set_count(record, "at", phase->limit.at);
    json_object_set_new(record, "reason", json_string(limit_reasons[phase->limit.reason]));
    json_object_set_new(record, "errno", json_integer(phase->limit.error));
    json_object_set_new(record, "detail", json_string(phase->limit.detail));
    return journal_append(journal, record, why);
}

static json_t *latency_json(const struct latency *latency, const struct histogram *histogram)
{
    json_t *buckets = json_array();
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (histogram->bucket[i])
            json_array_append_new(buckets,
                                  json_pack("[i, I]", (int)i, (json_int_t)histogram->bucket[i]));
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "count", (json_int_t)latency->count, "sum",
        (json_int_t)histogram->sum, "min", (json_int_t)latency->min, "max",
        (json_int_t)latency->max, "p50", (json_int_t)latency->p50, "p90", (json_int_t)latency->p90,
        "p99", (json_int_t)latency->p99, "p999", (json_int_t)latency->p999, "buckets", buckets);
}

static json_t *shares_json(const struct ledger_shares *shares)
{
    json_t *clients = json_array(), *ids = json_array();
    char prefix[2] = { shares->prefix, '\0' };
    for (size_t i = 0; i < shares->clients.n; i++)
        json_array_append_new(clients, json_string(shares->clients.at[i]));
    for (uint64_t i = shares->told; i < shares->n; i++)
        json_array_append_new(ids, json_integer(shares->ids[i]));
    return json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:o}", "means", share_means[shares->means],
                     "root", shares->root, "prefix", prefix, "clients", clients, "claimed",
                     (json_int_t)shares->claimed, "first", (json_int_t)shares->told, "ids", ids);
}

int journal_made(struct journal *journal, unsigned run, unsigned leg, const struct ledger *made,
                 uint64_t first, struct problem *why)
{
    json_t *record = record_new("made", run, leg), *identities = json_array();
    set_count(record, "claimed", made->claimed);
    set_count(record, "first", first);
    char mark[17];
    snprintf(mark, sizeof mark, "%016llx", (unsigned long long)made->mark);
    json_object_set_new(record, "mark", json_string(mark));
    set_count(record, "group", made->group);
    json_object_set_new(record, "parent", json_string(made->parent));
    json_object_set_new(record, "search", json_string(made->search));
    for (uint64_t i = first; i < made->n; i++)
        json_array_append_new(identities, json_string(made->at[i]));
    json_object_set_new(record, "identities", identities);
    if (made->shares.claimed)
        json_object_set_new(record, "shares", shares_json(&made->shares));
    return journal_append(journal, record, why);
}

int journal_phase_end(struct journal *journal, const struct phase_total *phase,
                      const struct histogram *histogram, struct problem *why)
{
    json_t *record = record_new("phase_end", phase->run, phase->leg);
    json_object_set_new(record, "phase", json_string(phase->name));
    set_count(record, "ops", phase->ops);
    set_count(record, "bytes", phase->bytes);
    set_count(record, "errors", phase->errors);
    json_object_set_new(record, "first_start", json_integer(phase->first_start));
    json_object_set_new(record, "first_done", json_integer(phase->first_done));
    json_object_set_new(record, "last_done", json_integer(phase->last_done));
    if (phase->paused)
        json_object_set_new(record, "paused_ns", json_integer(phase->paused));
    set_count(record, "first_ops", phase->first_ops);
    set_count(record, "first_bytes", phase->first_bytes);
    json_object_set_new(record, "sync_ns", json_integer(phase->sync));
    json_object_set_new(record, "cpu", json_integer(phase->cpu));
    json_object_set_new(record, "flush_ns", json_integer(phase->flush));
    set_count(record, "dirty_before", phase->dirty_before);
    json_object_set_new(record, "latency", latency_json(&phase->latency, histogram));
    return journal_append(journal, record, why);
}

int journal_reboot(struct journal *journal, unsigned run, unsigned leg, const struct reboot *reboot,
                   struct problem *why)
{
    char boot_id[40];
    json_t *record = record_new("reboot", run, leg);
    set_now(record);
    json_object_set_new(record, "boot_id", json_string(journal_boot_id(boot_id)));
    set_count(record, "batch", reboot->batch);
    json_object_set_new(record, "within_ns", json_integer(reboot->within));
    json_object_set_new(record, "clock", json_string(clock_syncs[clock_sync()]));
    json_object_set_new(record, "state", json_string(reboot->state));
    return journal_append(journal, record, why);
}

/* null: the clock was set back, or another one counts. */
static void set_seconds(json_t *record, const char *name, nsec took)
{
    json_object_set_new(record, name, figure(took > 0 ? seconds_of(took) : NAN));
}

int journal_boot(struct journal *journal, unsigned run, unsigned leg, const struct boot *boot,
                 struct problem *why)
{
    json_t *record = record_new("boot", run, leg);
    set_now(record);
    set_count(record, "load", boot->load);
    set_seconds(record, "kernel", boot->kernel);
    set_seconds(record, "daemon", boot->daemon);
    set_seconds(record, "all", boot->all);
    set_count(record, "brought_back", boot->brought_back);
    json_object_set_new(record, "clock_then", json_string(clock_syncs[boot->clock_then]));
    json_object_set_new(record, "clock_now", json_string(clock_syncs[boot->clock_now]));
    return journal_append(journal, record, why);
}

int journal_run_end(struct journal *journal, unsigned run, unsigned leg, const char *const *foreign,
                    size_t foreign_n, struct problem *why)
{
    json_t *record = record_new("run_end", run, leg);
    set_now(record);
    if (foreign_n)
        set_names(record, foreign, foreign_n);
    return journal_append(journal, record, why);
}

static json_t *problem_json(const struct journal *journal, const struct problem *problem)
{
    if (!problem || !problem->code)
        return json_null();
    struct problem told = journal_public(journal, problem);
    return json_pack("{s:s, s:s, s:s}", "code", problem_slug(told.code), "field", told.field,
                     "message", told.message);
}

int journal_end(struct journal *journal, unsigned run, unsigned leg, enum job_state outcome,
                const struct problem *problem, const char *const *foreign, size_t foreign_n,
                struct problem *why)
{
    json_t *record = record_new("end", run, leg);
    set_now(record);
    json_object_set_new(record, "outcome", json_string(job_states[outcome]));
    json_object_set_new(record, "problem", problem_json(journal, problem));
    if (foreign_n)
        set_names(record, foreign, foreign_n);
    return journal_append(journal, record, why);
}

static json_t *cleanup_new(unsigned run, unsigned leg, enum cleanup_state state, uint64_t removed,
                           const char *const *foreign, size_t foreign_n)
{
    json_t *record = record_new("cleanup", run, leg);
    set_now(record);
    json_object_set_new(record, "state", json_string(cleanup_states[state]));
    set_count(record, "removed", removed);
    set_names(record, foreign, foreign_n);
    return record;
}

int journal_cleanup(struct journal *journal, unsigned run, unsigned leg, enum cleanup_state state,
                    uint64_t removed, const char *const *foreign, size_t foreign_n,
                    struct problem *why)
{
    return journal_append(journal, cleanup_new(run, leg, state, removed, foreign, foreign_n), why);
}

int journal_cleanup_blocked(struct journal *journal, unsigned run, unsigned leg, uint64_t removed,
                            const char *const *foreign, size_t foreign_n,
                            const struct problem *reason, struct problem *why)
{
    json_t *record = cleanup_new(run, leg, CLEANUP_BLOCKED, removed, foreign, foreign_n);
    if (reason->code) {
        struct problem told = journal_public(journal, reason);
        json_object_set_new(record, "reason", json_string(told.message));
    }
    return journal_append(journal, record, why);
}

int journal_kept(struct journal *journal, unsigned run, unsigned leg, const struct kept_files *kept,
                 struct problem *why)
{
    json_t *record = cleanup_new(run, leg, CLEANUP_KEPT, 0, NULL, 0);
    json_object_set_new(record, "workspace", json_string(kept->workspace));
    set_count(record, "files", kept->files);
    set_count(record, "bytes", kept->bytes);
    return journal_append(journal, record, why);
}
