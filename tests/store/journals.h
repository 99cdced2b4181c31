/* Journals for the tests of ingest and series, made by the engine's own writer. */
#pragma once
#include "engine/histogram.h"
#include "tests/store/fixture.h"

/* A phase to write: samples that tell each other apart, in lines of `line` samples. */
struct phase_plan {
    const char *name;
    size_t samples, line;
    unsigned lanes;
};

/* The i-th sample of a phase; one formula, so that rows can be checked against it. */
static inline struct sample sample_at(size_t i, unsigned lanes)
{
    nsec elapsed = 2 * NSEC_PER_MSEC + (nsec)(i * 7919 % 1000) * 1000;
    return (struct sample){ .load = (i + 1) * 100,
                            .at = (nsec)(i + 1) * 4 * NSEC_PER_MSEC / lanes,
                            .elapsed = elapsed,
                            .lane = (uint32_t)(i % lanes),
                            .switches = (uint32_t)(i % 3),
                            .ops = 100,
                            .bytes = 4096 * (i % 5),
                            .errors = i % 1000 == 999,
                            .cpu = elapsed / 2,
                            .p50 = elapsed / 100,
                            .p99 = elapsed / 50,
                            .max = elapsed / 20 };
}

static inline int journal_path(char path[128])
{
    return snprintf(path, 128, "%s/" JOURNAL_FILE, fixture.folder);
}

static inline void write_samples(struct journal *journal, const struct phase_plan *plan,
                                 size_t from, size_t to)
{
    struct sample line[SAMPLE_GROUP];
    for (size_t i = from; i < to;) {
        size_t n = 0;
        while (n < plan->line && i < to)
            line[n++] = sample_at(i++, plan->lanes);
        works(journal_samples(journal, 1, 1, plan->name, line, n, why));
    }
}

static inline struct phase_total planned(const struct phase_plan *plan)
{
    struct phase_total phase = {
        .run = 1, .leg = 1, .lanes = plan->lanes, .batch = 100, .total = plan->samples * 100
    };
    snprintf(phase.name, sizeof phase.name, "%s", plan->name);
    snprintf(phase.unit, sizeof phase.unit, "files");
    return phase;
}

static inline void write_begin(struct journal *journal, job_id job)
{
    json_t *environment = json_pack("{s:s}", "kernel", "6.1.0");
    const struct journal_begin begin = { .job = job,
                                         .run = 1,
                                         .leg = 1,
                                         .workload = "create-scaling",
                                         .target = "t",
                                         .workspace = "plimsoll-1-1-abc",
                                         .environment = environment };
    works(journal_begin(journal, &begin, why));
    json_decref(environment);
}

static inline void write_phase(struct journal *journal, const struct phase_plan *plan)
{
    struct phase_total phase = planned(plan);
    works(journal_phase(journal, &phase, why));
    write_samples(journal, plan, 0, plan->samples);
    struct host_sample host = { .at = NSEC_PER_SEC, .load1 = 0.5, .cpu_iowait = NAN };
    host.at += (nsec)plan->samples;
    works(journal_host(journal, 1, 1, &host, 1, why));
    for (size_t i = 0; i < plan->samples; i++) {
        struct sample sample = sample_at(i, plan->lanes);
        phase.ops += sample.ops;
        phase.bytes += sample.bytes;
        phase.errors += sample.errors;
        phase.last_done = sample.at;
    }
    phase.first_done = phase.last_done;
    phase.flush = 7 * NSEC_PER_MSEC;
    phase.dirty_before = 4096;
    phase.latency = (struct latency){
        .count = 2, .sum = 3, .min = 1, .max = 2, .p50 = 1, .p90 = 2, .p99 = 2, .p999 = 2
    };
    struct histogram histogram = { .count = 2, .sum = 3, .min = 1, .max = 2 };
    histogram.bucket[1] = histogram.bucket[2] = 1;
    works(journal_phase_end(journal, &phase, &histogram, why));
}

/* A whole journal: the phases, a limit in the last one, and an end. */
static inline void write_journal(job_id job, const struct phase_plan *plans, size_t n)
{
    char path[128];
    journal_path(path);
    unlink(path);
    scoped_fd int folder = open(fixture.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct journal *journal = NULL;
    works(journal_create(folder, JOURNAL_FILE, &journal, why));
    write_begin(journal, job);
    for (size_t i = 0; i < n; i++)
        write_phase(journal, &plans[i]);
    works(journal_end(journal, 1, 1, JOB_SUCCEEDED, NULL, NULL, 0, why));
    journal_close(journal);
}

/* Reads on from `offset` and adds at most `records` of them, committing after every `each`. On a
 * failure says so and leaves nothing open. */
static inline int ingest_from(job_id job, off_t offset, size_t records, size_t each,
                              struct problem *why)
{
    char path[128];
    journal_path(path);
    struct ingest *ingest = NULL;
    struct journal_reader *reader = NULL;
    off_t stored;
    int r = ingest_open(fixture.store, job, &ingest, &stored, why);
    if (r == 0)
        r = journal_reader_open(path, offset < 0 ? stored : offset, &reader, why);
    size_t taken = 0;
    const struct journal_record *record;
    while (r >= 0 && taken < records && (r = journal_next(reader, &record, why)) > 0) {
        r = ingest_add(ingest, record, why);
        if (r == 0 && ++taken % each == 0)
            r = ingest_commit(ingest, why);
    }
    if (r >= 0)
        r = ingest_commit(ingest, why);
    journal_reader_close(reader);
    ingest_close(ingest);
    return r < 0 ? -1 : 0;
}
enum { STORED = -1, ALL = 1 << 30 };

/* Everything that ingest wrote for a job, as one text; the job's own number left out. */
static inline const char *digest(job_id job)
{
    return sql(
        "SELECT md5(string_agg(line, chr(10) ORDER BY line)) FROM ("
        " SELECT 'chunk ' || (to_jsonb(c) - 'job')::text AS line FROM chunk c WHERE job = %lld"
        " UNION ALL SELECT 'phase ' || (to_jsonb(p) - 'job')::text FROM phase p WHERE job = %lld"
        " UNION ALL SELECT 'host ' || (to_jsonb(h) - 'job')::text FROM host_sample h WHERE job = "
        "%lld"
        " UNION ALL SELECT 'job ' || concat_ws(' ', state, cleanup, journal_seq, environment)"
        "   FROM job WHERE id = %lld) AS lines",
        (long long)job, (long long)job, (long long)job, (long long)job);
}
