/* Bench of the store: from a journal into PostgreSQL, and from there to a chart.
 *
 * Prints lines `NAME VALUE UNIT`:
 *   ingest             samples/s, a whole journal read and stored, as after an outage
 *   ingest-lag         s, how old the newest sample is when it is stored, at worst, while a journal
 *                      grows by 100,000 samples/s
 *   series             ms, a series of the whole phase at 1,000 points over HTTP, median; the server
 *                      computes each anew
 *   series-compressed  bytes of its body with gzip
 *   store-SERIES       ms, the same without HTTP, for a few y */
#include "api/app.h"
#include "tests/contract/client.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

enum { RATE = 100000, SECONDS = 5, TURNS = 21 };

static void or_die(int r, const struct problem *why, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "ingest: %s: %s\n", what, why->message);
    exit(1);
}
#define must(call)                   \
    do {                             \
        struct problem why_ = { 0 }; \
        struct problem *why = &why_; \
        or_die((call), why, #call);  \
    } while (0)

struct bench {
    uint64_t samples;
    struct store *store;
    char folder[64], path[96];
    job_id job;
};

/* ---- journals ---- */

/* As creating 100 files on a busy disk looks: around 2 ms, now and then much longer. */
static struct sample sample_at(uint64_t i)
{
    uint64_t noise = i * UINT64_C(0x9e3779b97f4a7c15) >> 44; /* 20 bits */
    nsec elapsed = 2000000 + (nsec)noise + (i % 4001 == 0 ? 80 * NSEC_PER_MSEC : 0);
    return (struct sample){ .load = (i + 1) * 100,
                            .at = (nsec)(i + 1) * 2500000,
                            .elapsed = elapsed,
                            .switches = noise % 97 == 0,
                            .ops = 100,
                            .cpu = elapsed * 3 / 5,
                            .p50 = elapsed / 105,
                            .p99 = elapsed / 40,
                            .max = elapsed / 9 };
}

static int job_answer(void *arg, const struct job *job, char **ret, struct problem *why)
{
    (void)arg;
    (void)job;
    *ret = strdup("");
    return *ret ? 0 : problem_memory(why);
}

static job_id add_job(struct bench *bench)
{
    const struct job_new new = { .workload = "create-scaling",
                                 .target = "bench",
                                 .host = "bench",
                                 .nonce = "bench",
                                 .params = "{}",
                                 .labels = "{}" };
    struct job job = { 0 };
    job_id id = 0;
    char *answer = NULL;
    must(store_job_add(bench->store, &new, NULL, job_answer, NULL, &id, &answer, why));
    int claimed = 0;
    must(claimed = store_job_claim(bench->store, "bench", "bench", &job, why));
    if (!claimed || job.id != id) {
        fprintf(stderr, "ingest: job %lld was not claimed\n", (long long)id);
        exit(1);
    }
    job_done(&job);
    free(answer);
    return id;
}

static struct journal *start_journal(const struct bench *bench)
{
    struct journal *journal = NULL;
    unlink(bench->path);
    int folder = open(bench->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(journal_create(folder, JOURNAL_FILE, &journal, why));
    close(folder);
    const struct journal_begin begin = { .job = bench->job,
                                         .run = 1,
                                         .leg = 1,
                                         .workload = "create-scaling",
                                         .target = "bench",
                                         .workspace = "plimsoll-bench" };
    must(journal_begin(journal, &begin, why));
    struct phase_total phase = { .name = "create",
                                 .unit = "files",
                                 .run = 1,
                                 .leg = 1,
                                 .lanes = 1,
                                 .batch = 100,
                                 .total = bench->samples * 100 };
    must(journal_phase(journal, &phase, why));
    return journal;
}

static void write_journal(const struct bench *bench)
{
    struct journal *journal = start_journal(bench);
    for (uint64_t i = 0; i < bench->samples;) {
        struct sample line[SAMPLE_GROUP];
        size_t n = 0;
        while (n < SAMPLE_GROUP && i < bench->samples)
            line[n++] = sample_at(i++);
        must(journal_samples(journal, 1, 1, "create", line, n, why));
    }
    journal_close(journal);
}

/* ---- ingest ---- */

static double elapsed_since(nsec start)
{
    return seconds_of(clock_monotonic() - start);
}

static void bench_ingest(struct bench *bench)
{
    bench->job = add_job(bench);
    write_journal(bench);
    struct ingest *ingest = NULL;
    struct journal_reader *reader = NULL;
    const struct journal_record *record;
    off_t offset;
    nsec start = clock_monotonic(), committed = start;
    must(ingest_open(bench->store, bench->job, &ingest, &offset, why));
    must(journal_reader_open(bench->path, offset, &reader, why));
    for (;;) {
        int r = 0;
        must(r = journal_next(reader, &record, why));
        if (r == 0)
            break;
        must(ingest_add(ingest, record, why));
        if (clock_monotonic() - committed > NSEC_PER_SEC) {
            must(ingest_commit(ingest, why));
            committed = clock_monotonic();
        }
    }
    must(ingest_commit(ingest, why));
    printf("ingest %.0f samples/s\n", (double)bench->samples / elapsed_since(start));
    fflush(stdout);
    journal_reader_close(reader);
    ingest_close(ingest);
}

struct writer {
    const struct bench *bench;
    struct journal *journal;
    nsec start;
    atomic_bool done;
};

/* RATE samples a second, each told when it is made: `at` counts from writer->start. */
static void *write_steadily(void *arg)
{
    struct writer *writer = arg;
    uint64_t written = 0;
    while (written < RATE * SECONDS) {
        nsec due = writer->start + (nsec)(written + SAMPLE_GROUP) * NSEC_PER_SEC / RATE;
        struct timespec until = { due / NSEC_PER_SEC, due % NSEC_PER_SEC };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        struct sample line[SAMPLE_GROUP];
        for (size_t i = 0; i < SAMPLE_GROUP; i++) {
            line[i] = sample_at(written++);
            line[i].at = (nsec)written * NSEC_PER_SEC / RATE;
        }
        must(journal_samples(writer->journal, 1, 1, "create", line, SAMPLE_GROUP, why));
    }
    atomic_store(&writer->done, true);
    return NULL;
}

static void bench_lag(struct bench *bench)
{
    must(store_job_finish(bench->store, bench->job, JOB_SUCCEEDED, CLEANUP_NONE, NULL, why));
    job_id whole = bench->job;
    bench->job = add_job(bench);
    struct writer writer = { .bench = bench, .journal = start_journal(bench) };
    struct ingest *ingest = NULL;
    struct journal_reader *reader = NULL;
    const struct journal_record *record;
    off_t offset;
    must(ingest_open(bench->store, bench->job, &ingest, &offset, why));
    must(journal_reader_open(bench->path, offset, &reader, why));
    writer.start = clock_monotonic();
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_steadily, &writer) != 0)
        exit(1);
    nsec newest = 0, lag = 0, committed = writer.start;
    for (bool last = false;;) {
        int r = 0;
        must(r = journal_next(reader, &record, why));
        if (r > 0) {
            must(ingest_add(ingest, record, why));
            if (record->n)
                newest = record->samples[record->n - 1].at;
        }
        if (r == 0 && last)
            break;
        last = r == 0 && atomic_load(&writer.done);
        if (last || clock_monotonic() - committed > NSEC_PER_SEC) {
            must(ingest_commit(ingest, why));
            committed = clock_monotonic();
            nsec age = committed - writer.start - newest;
            lag = age > lag ? age : lag;
        } else if (r == 0) {
            nanosleep(&(struct timespec){ 0, 5 * NSEC_PER_MSEC }, NULL);
        }
    }
    pthread_join(thread, NULL);
    printf("ingest-lag %.3f s\n", seconds_of(lag));
    fflush(stdout);
    journal_reader_close(reader);
    ingest_close(ingest);
    journal_close(writer.journal);
    bench->job = whole;
}

/* ---- series ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return values[n / 2];
}

static void bench_store_series(const struct bench *bench, const char *y)
{
    double ms[TURNS];
    for (int i = 0; i < TURNS; i++) {
        const struct series_query query = { .job = bench->job,
                                            .phase = "create",
                                            .x = "load",
                                            .y = y,
                                            .from = NAN,
                                            .to = NAN,
                                            .points = 1000 };
        struct series series = { 0 };
        nsec start = clock_monotonic();
        must(store_series(bench->store, &query, &series, why));
        ms[i] = elapsed_since(start) * 1e3;
        if (series.count != bench->samples || series.n > 1000 || series.n < 900) {
            fprintf(stderr, "ingest: %zu points of %zu samples\n", series.n, (size_t)series.count);
            exit(1);
        }
        series_done(&series);
    }
    printf("store-%s %.2f ms\n", y, median(ms, TURNS));
    fflush(stdout);
}

static const struct targets *no_targets(void *service)
{
    return service;
}
static void release_targets(void *service, const struct targets *targets)
{
    (void)service;
    (void)targets;
}
static bool no_facts(void *service, const char *name, struct target_facts *ret)
{
    (void)service;
    (void)name;
    (void)ret;
    return false;
}
static void no_nudge(void *service)
{
    (void)service;
}
static int always_ready(void *service, struct problem *why)
{
    (void)service;
    (void)why;
    return 0;
}

static void bench_http_series(const struct bench *bench)
{
    struct targets targets = { 0 };
    struct app app = { .store = bench->store,
                       .host = "bench",
                       .state = bench->folder,
                       .web = bench->folder,
                       .service = &targets,
                       .targets_hold = no_targets,
                       .targets_release = release_targets,
                       .target_facts = no_facts,
                       .nudge = no_nudge,
                       .ready = always_ready };
    struct principal reader = { .role = ROLE_VIEWER };
    char secret[SECRET_TEXT];
    unsigned char hash[SECRET_HASH];
    int64_t id;
    snprintf(reader.name, sizeof reader.name, "bench-%d", (int)getpid());
    secret_new("plm_", secret);
    secret_hash(secret, hash);
    must(store_token_add(bench->store, &reader, hash, &id, why));
    char *listen[] = { (char[]){ "127.0.0.1:0" } };
    struct server_settings settings = { .listen = { 1, listen }, .threads = 2 };
    struct server *server = NULL;
    must(server_start(&app, &settings, &server, why));
    const struct place place = { .port = server_port(server, 0) };

    double ms[TURNS];
    size_t bytes = 0;
    for (int i = 0; i < TURNS; i++) {
        char target[160]; /* another range each time, so that no kept answer is sent again */
        snprintf(target, sizeof target,
                 "/api/v1/jobs/%lld/series?phase=create&y=elapsed&x=load&points=1000&from=-%d",
                 (long long)bench->job, i);
        nsec start = clock_monotonic();
        struct answer answer =
            client_call(&place, &(struct ask){ .target = target,
                                               .token = secret,
                                               .headers = "Accept-Encoding: gzip\r\n" });
        ms[i] = elapsed_since(start) * 1e3;
        bytes = answer.n;
        if (answer.status != 200) {
            fprintf(stderr, "ingest: %s\n%s\n", answer.head, answer.body);
            exit(1);
        }
        answer_done(&answer);
    }
    printf("series %.2f ms\nseries-compressed %zu bytes\n", median(ms, TURNS), bytes);
    server_stop(server, NSEC_PER_SEC);
}

/* ---- */

static void usage(FILE *to)
{
    fputs("usage: ingest [--samples N] [--no-http] [CONNINFO]\n"
          "Stores a journal of N samples (1750000) in the database CONNINFO (PLIMSOLL_TEST_DB), "
          "which\n"
          "should be a throwaway one (tests/store/with_postgres.sh), and reads a chart of it. "
          "Prints\n"
          "NAME VALUE UNIT: ingest, ingest-lag, store-elapsed, store-cpu, store-rate, series and\n"
          "series-compressed.\n",
          to);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "samples", required_argument, NULL, 'n' },
        { "no-http", no_argument, NULL, 's' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    struct bench bench = { .samples = 1750000 };
    bool http = true;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        switch (option) {
        case 'n':
            bench.samples = strtoull(optarg, NULL, 10);
            break;
        case 's':
            http = false;
            break;
        case 'h':
            usage(stdout);
            return 0;
        default:
            usage(stderr);
            return 2;
        }
    }
    const char *conninfo = optind < argc ? argv[optind] : getenv("PLIMSOLL_TEST_DB");
    if (!conninfo || bench.samples < 10000) {
        usage(stderr);
        return 2;
    }
    snprintf(bench.folder, sizeof bench.folder, "/tmp/plimsoll-ingest.XXXXXX");
    if (!mkdtemp(bench.folder)) {
        perror("ingest: /tmp");
        return 1;
    }
    snprintf(bench.path, sizeof bench.path, "%s/" JOURNAL_FILE, bench.folder);
    must(store_open(conninfo, 4, &bench.store, why));
    must(store_migrate(bench.store, why));
    bench_ingest(&bench);
    bench_lag(&bench);
    bench_store_series(&bench, "elapsed");
    bench_store_series(&bench, "cpu");
    bench_store_series(&bench, "rate");
    if (http)
        bench_http_series(&bench);
    unlink(bench.path);
    rmdir(bench.folder);
    store_close(bench.store);
    return 0;
}
