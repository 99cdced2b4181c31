#include "tests/contract/world.h"

#include "engine/base/text.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define works(call)                                                                              \
    do {                                                                                         \
        struct problem why_ = { 0 };                                                             \
        struct problem *why = &why_;                                                             \
        if ((call) < 0)                                                                          \
            fail_msg("%s: %s %s: %s", #call, problem_slug(why_.code), why_.field, why_.message); \
    } while (0)

/* ---- the daemon's part ---- */

static const struct targets *targets_hold(void *service)
{
    return &((struct world *)service)->targets;
}

static void targets_release(void *service, const struct targets *targets)
{
    (void)service;
    (void)targets;
}

/* The attic is not known yet. */
static bool target_facts(void *service, const char *name, struct target_facts *ret)
{
    if (strcmp(name, ((struct world *)service)->scratch) != 0)
        return false;
    *ret = (struct target_facts){ .filesystem = "ext4",
                                  .mount_options = "rw,relatime",
                                  .mount_point = "/secret/place",
                                  .source = "/dev/secret",
                                  .space_total = 1 << 30,
                                  .space_available = 1 << 29,
                                  .usable = true };
    return true;
}

static void nudge(void *service)
{
    atomic_fetch_add(&((struct world *)service)->nudges, 1);
}

static int forget(void *service, job_id id, struct problem *why)
{
    struct world *world = service;
    if (atomic_load(&world->keeps))
        return problem_set(why, PROBLEM_CONFLICT, "there is a stranger in its folder");
    atomic_store(&world->forgotten, id);
    return 0;
}

static int ready(void *service, struct problem *why)
{
    if (atomic_load(&((struct world *)service)->unready))
        return problem_set(why, PROBLEM_STORE_FAILED, "the database is starting");
    return 0;
}

/* Of world->server while the store's watcher may wake it. */
static pthread_mutex_t wake_lock = PTHREAD_MUTEX_INITIALIZER;

static void wake(void *arg, job_id id)
{
    struct world *world = arg;
    pthread_mutex_lock(&wake_lock);
    if (world->server)
        server_wake(world->server, id);
    pthread_mutex_unlock(&wake_lock);
}

/* ---- up and down ---- */

static void make_folders(struct world *world)
{
    snprintf(world->folder, sizeof world->folder, "/tmp/plimsoll-api.XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->state, sizeof world->state, "%s/state", world->folder);
    snprintf(world->web, sizeof world->web, "%s/web", world->folder);
    snprintf(world->socket, sizeof world->socket, "%s/http", world->folder);
    char jobs[128];
    snprintf(jobs, sizeof jobs, "%s/jobs", world->state);
    assert_int_equal(mkdir(world->state, 0700) | mkdir(jobs, 0700) | mkdir(world->web, 0755), 0);
}

static void make_targets(struct world *world)
{
    static const char settings[] = "[target %s]\npath = %s\n[target %s]\npath = /srv/attic\n";
    char path[128];
    snprintf(world->host, sizeof world->host, "host%d", (int)getpid());
    snprintf(world->scratch, sizeof world->scratch, "scratch%d", (int)getpid());
    snprintf(world->attic, sizeof world->attic, "attic%d", (int)getpid());
    snprintf(path, sizeof path, "%s/plimsoll.conf", world->folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, settings, world->scratch, world->folder, world->attic);
    fclose(file);
    works(targets_load(path, &world->targets, why));
}

int64_t world_token(struct world *world, const char *name, int role, const char *targets,
                    nsec expires_at, char secret[SECRET_TEXT])
{
    struct principal principal = { .role = role, .expires_at = expires_at };
    unsigned char hash[SECRET_HASH];
    int64_t id = 0;
    snprintf(principal.name, sizeof principal.name, "%s%d", name, (int)getpid());
    snprintf(principal.targets, sizeof principal.targets, "%s", targets);
    secret_new("plm_", secret);
    secret_hash(secret, hash);
    works(store_token_add(world->store, &principal, hash, &id, why));
    return id;
}

int world_start(struct world *world, struct server_settings settings)
{
    char *listen[2] = { NULL, NULL };
    char local[128];
    snprintf(local, sizeof local, "unix:%s", world->socket);
    listen[0] = (char[]){ "127.0.0.1:0" };
    listen[1] = local;
    if (!settings.listen.n)
        settings.listen = (struct texts){ 2, listen };
    if (!settings.threads)
        settings.threads = 2;
    works(server_start(&world->app, &settings, &world->server, why));
    world->place = (struct place){ .port = server_port(world->server, 0) };
    return 0;
}

int world_setup(void **state)
{
    const char *database = getenv("PLIMSOLL_TEST_DB");
    struct world *world = calloc(1, sizeof *world);
    if (!database || !world) {
        fputs("run this through tests/store/with_postgres.sh\n", stderr);
        return -1;
    }
    world->batch = 4 * NSEC_PER_MSEC;
    world->kernel = "6.1";
    make_folders(world);
    make_targets(world);
    works(store_open(database, 6, &world->store, why));
    works(store_migrate(world->store, why));
    world->viewer_id = world_token(world, "viewer", ROLE_VIEWER, "", 0, world->viewer);
    world->operator_id = world_token(world, "operator", ROLE_OPERATOR, "", 0, world->operator_);
    world_token(world, "admin", ROLE_ADMIN, "", 0, world->admin);
    world_token(world, "limited", ROLE_OPERATOR, world->attic, 0, world->limited);
    world->app = (struct app){ .store = world->store,
                               .host = world->host,
                               .state = world->state,
                               .web = world->web,
                               .service = world,
                               .targets_hold = targets_hold,
                               .targets_release = targets_release,
                               .target_facts = target_facts,
                               .nudge = nudge,
                               .forget = forget,
                               .ready = ready };
    *state = world;
    world_start(world, (struct server_settings){ 0 });
    works(store_watch(world->store, wake, world, why));
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

int world_teardown(void **state)
{
    struct world *world = *state;
    pthread_mutex_lock(&wake_lock);
    struct server *server = steal(&world->server);
    pthread_mutex_unlock(&wake_lock);
    server_stop(server, NSEC_PER_SEC);
    world->store = store_close(world->store);
    targets_done(&world->targets);
    nftw(world->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(world);
    return 0;
}

/* ---- jobs ---- */

static int render_nothing(void *arg, const struct job *job, char **ret, struct problem *why)
{
    (void)arg;
    (void)job;
    *ret = strdup("{}");
    return *ret ? 0 : problem_memory(why);
}

job_id world_job(struct world *world)
{
    return world_job_of(world, "create-scaling", "{\"files\":1000}");
}

job_id world_job_of(struct world *world, const char *workload, const char *params)
{
    const struct job_new new = { .workload = workload,
                                 .target = world->scratch,
                                 .host = world->host,
                                 .nonce = "0123456789abcdef",
                                 .params = params,
                                 .labels = "{\"kernel\":\"6.1\"}" };
    scoped_free char *answer = NULL;
    job_id id = 0;
    works(store_job_add(world->store, &new, NULL, render_nothing, NULL, &id, &answer, why));
    return id;
}

static void append(struct journal *journal, json_t *record)
{
    assert_non_null(record);
    works(journal_append(journal, record, why));
}

static void write_samples(struct journal *journal, size_t n, nsec batch)
{
    struct sample group[SAMPLE_GROUP];
    for (size_t i = 0, k = 0; i < n; i++) {
        group[k++] = (struct sample){ .load = 100 * (i + 1),
                                      .at = (nsec)(i + 1) * batch,
                                      .elapsed = (i == n / 2 ? 10 : 1) * batch,
                                      .ops = 100,
                                      .cpu = batch / 4 * 3,
                                      .p50 = 30000,
                                      .p99 = 90000,
                                      .max = 500000 };
        if (k == SAMPLE_GROUP || i + 1 == n) {
            works(journal_samples(journal, 1, 1, "create", group, k, why));
            k = 0;
        }
    }
}

static void write_journal(const struct world *world, struct journal *journal, job_id job, size_t n,
                          enum job_state outcome)
{
    struct host_sample host[3] = { { .at = NSEC_PER_SEC, .load1 = 0.5 },
                                   { .at = 2 * NSEC_PER_SEC, .load1 = 0.6 },
                                   { .at = 3 * NSEC_PER_SEC, .load1 = 0.7 } };
    char at[CLOCK_TEXT];
    append(journal,
           json_pack("{s:s, s:i, s:I, s:s, s:i, s:i, s:s, s:s, s:i, s:i, s:s, s:{}, s:{s:s}}",
                     "record", "begin", "format", 1, "job", (json_int_t)job, "workload",
                     "create-scaling", "run", 1, "leg", 1, "at", clock_format(clock_wall(), at),
                     "boot_id", "b", "pid", 1, "pid_start", 1, "workspace", "w", "params",
                     "environment", "kernel", world->kernel));
    append(journal, json_pack("{s:s, s:i, s:i, s:s, s:s, s:i, s:i, s:I}", "record", "phase", "run",
                              1, "leg", 1, "phase", "create", "unit", "files", "lanes", 1, "batch",
                              100, "total", (json_int_t)n * 100));
    write_samples(journal, n, world->batch);
    works(journal_host(journal, 1, 1, host, 3, why));
    if (outcome == JOB_RUNNING)
        return;
    append(journal,
           json_pack("{s:s, s:i, s:i, s:s, s:I, s:i, s:i, s:i, s:I, s:I, s:{s:I, s:i, s:i, s:i, "
                     "s:i, s:i, s:i, s:i, s:[[i,I]]}}",
                     "record", "phase_end", "run", 1, "leg", 1, "phase", "create", "ops",
                     (json_int_t)n * 100, "bytes", 0, "errors", 0, "first_start", 0, "first_done",
                     (json_int_t)n * world->batch, "last_done", (json_int_t)n * world->batch,
                     "latency", "count", (json_int_t)n * 100, "sum", 4000000, "min", 10, "max",
                     500000, "p50", 30000, "p90", 60000, "p99", 90000, "p999", 400000, "buckets",
                     100, (json_int_t)n * 100));
    append(journal,
           json_pack("{s:s, s:i, s:i, s:s, s:s, s:n}", "record", "end", "run", 1, "leg", 1, "at",
                     clock_format(clock_wall(), at), "outcome", job_states[outcome], "problem"));
}

static void ingest_all(struct world *world, job_id job, const char *path)
{
    struct journal_reader *reader = NULL;
    struct ingest *ingest = NULL;
    const struct journal_record *record;
    off_t offset;
    int more = 0;
    works(ingest_open(world->store, job, &ingest, &offset, why));
    works(journal_reader_open(path, offset, &reader, why));
    do {
        works(more = journal_next(reader, &record, why));
        if (more > 0)
            works(ingest_add(ingest, record, why));
    } while (more > 0);
    works(ingest_commit(ingest, why));
    ingest_close(ingest);
    journal_reader_close(reader);
}

struct open_jobs {
    size_t n;
    job_id at[256];
};

static int note_open(void *arg, const struct job *job, struct problem *why)
{
    struct open_jobs *open = arg;
    if (open->n == COUNT_OF(open->at))
        return problem_set(why, PROBLEM_TOO_LARGE, "too many open jobs");
    open->at[open->n++] = job->id;
    return 0;
}

/* Ends every other job of this host, so that this one is the next. */
static void end_others(struct world *world, job_id job)
{
    struct open_jobs open = { 0 };
    const struct problem none = { 0 };
    works(store_job_open(world->store, world->host, note_open, &open, why));
    for (size_t i = 0; i < open.n; i++)
        if (open.at[i] != job) {
            works(store_job_finish(world->store, open.at[i], JOB_CANCELLED, CLEANUP_NONE, &none,
                                   why));
            works(store_job_cleanup(world->store, open.at[i], CLEANUP_DONE, why));
        }
}

void world_run(struct world *world, job_id job, size_t n, enum job_state outcome)
{
    struct job claimed = { 0 };
    struct journal *journal = NULL;
    char folder[160], path[192];
    int found = 0;
    end_others(world, job);
    works(found = store_job_claim(world->store, world->host, world->scratch, &claimed, why));
    assert_int_equal(found, 1);
    assert_int_equal(claimed.id, job);
    job_done(&claimed);
    snprintf(folder, sizeof folder, "%s/jobs/%lld", world->state, (long long)job);
    snprintf(path, sizeof path, "%s/" JOURNAL_FILE, folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    works(journal_create(fd, JOURNAL_FILE, &journal, why));
    write_journal(world, journal, job, n, outcome);
    journal_close(journal);
    close(fd);
    ingest_all(world, job, path);
}

/* ---- baselines and alerts ---- */

int64_t world_baseline(struct world *world, const char *name)
{
    char *const borrowed = (char *)(uintptr_t)name;
    const struct baseline new = { .name = borrowed,
                                  .workload = (char[]){ "create-scaling" },
                                  .target = world->scratch,
                                  .host = world->host,
                                  .labels = (char[]){ "{}" },
                                  .phase = (char[]){ "create" },
                                  .created_by = (char[]){ "world" },
                                  .rule = { FIGURE_RATE, DIRECTION_WORSE, 0.05 },
                                  .runs = 100,
                                  .confirm = true };
    scoped(baseline_done) struct baseline made = { 0 };
    works(store_baseline_add(world->store, &new, &made, why));
    return made.id;
}

static int note_alert(void *arg, const struct alert *alert, struct problem *why)
{
    (void)why;
    *(int64_t *)arg = alert->id;
    return 0;
}

int64_t world_alert(struct world *world, int64_t baseline, job_id job)
{
    char fingerprint[64], sentence[] = "create: the rate is less", unit[] = "files/s";
    snprintf(fingerprint, sizeof fingerprint, "baseline-%lld-create-rate-job-%lld",
             (long long)baseline, (long long)job);
    const struct alert new = { .fingerprint = fingerprint,
                               .baseline = baseline,
                               .job = job,
                               .run = 1,
                               .sentence = sentence,
                               .unit = unit,
                               .before = 100,
                               .after = 80,
                               .effect = -0.2,
                               .p = 0.01,
                               .runs_before = 8,
                               .runs_after = 3 };
    const struct alert_filter filter = { .baseline = baseline, .limit = 1 };
    int opened = 0;
    int64_t id = 0;
    works(opened = store_alert_open(world->store, &new, why));
    assert_int_equal(opened, 1);
    works(store_alert_list(world->store, &filter, note_alert, &id, why));
    return id;
}

/* ---- asking ---- */

struct answer world_get(struct world *world, const char *token, const char *target)
{
    return client_call(&world->place, &(struct ask){ .target = target, .token = token });
}

struct answer world_post(struct world *world, const char *token, const char *target,
                         const char *body)
{
    return client_call(
        &world->place,
        &(struct ask){ .method = "POST", .target = target, .token = token, .body = body });
}

void expect_status(const struct answer *answer, int status)
{
    if (answer->status != status)
        fail_msg("status %d instead of %d:\n%s\n%.2000s", answer->status, status, answer->head,
                 answer->body);
}

void expect_problem(const struct answer *answer, int status, const char *code, const char *field)
{
    char text[512], type[96];
    expect_status(answer, status);
    assert_string_equal(answer_header(answer, "Content-Type", text), "application/problem+json");
    assert_string_equal(answer_header(answer, "Cache-Control", text), "no-store");
    assert_int_equal(answer_number(answer, "status"), status);
    assert_string_equal(answer_text(answer, "code"), code);
    assert_string_not_equal(answer_text(answer, "title"), "");
    assert_string_not_equal(answer_text(answer, "detail"), "");
    assert_string_not_equal(answer_text(answer, "request_id"), "");
    snprintf(type, sizeof type, "urn:plimsoll:problem:%s", code);
    assert_string_equal(answer_text(answer, "type"), type);
    assert_string_equal(answer_text(answer, "errors/0/pointer"), field);
    assert_int_equal(json_array_size(answer_at(answer, "errors")), field[0] ? 1 : 0);
}
