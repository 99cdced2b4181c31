/* What the tests of the store share: a schema of their own in the database of PLIMSOLL_TEST_DB, and
 * journals made by the engine's own writer. */
#pragma once
#include "schema/store.h"

#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
/* after the above */
#include <cmocka.h>

/* 0, or the failure is printed and the test fails. */
#define works(call)                                                                              \
    do {                                                                                         \
        struct problem why_ = { 0 };                                                             \
        struct problem *why = &why_;                                                             \
        if ((call) < 0)                                                                          \
            fail_msg("%s: %s %s: %s", #call, problem_slug(why_.code), why_.field, why_.message); \
    } while (0)
/* The call must fail with this code; the problem is left in `refused`. */
#define refuses(code_, call)                                                            \
    do {                                                                                \
        refused = (struct problem){ 0 };                                                \
        struct problem *why = &refused;                                                 \
        if ((call) >= 0)                                                                \
            fail_msg("%s: did not fail", #call);                                        \
        if (refused.code != (code_))                                                    \
            fail_msg("%s: %s: %s", #call, problem_slug(refused.code), refused.message); \
    } while (0)

struct fixture {
    char conninfo[512];
    char schema[64];
    char folder[64]; /* for journals */
    struct store *store;
    PGconn *pg; /* to look at the rows, and to do damage */
};
static struct fixture fixture;
static struct problem refused unused;

/* Runs SQL of the test itself; returns the first cell as text, valid until the next call. */
static inline const char *sql(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline const char *sql(const char *fmt, ...)
{
    static PGresult *result;
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    PQclear(result);
    result = PQexec(fixture.pg, text);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        fail_msg("%s: %s", text, PQerrorMessage(fixture.pg));
    return PQntuples(result) && PQnfields(result) ? PQgetvalue(result, 0, 0) : "";
}

static inline int fixture_open(unsigned connections)
{
    const char *database = getenv("PLIMSOLL_TEST_DB");
    if (!database) {
        fputs("run this through tests/store/with_postgres.sh\n", stderr);
        return -1;
    }
    snprintf(fixture.folder, sizeof fixture.folder, "/tmp/plimsoll-test.XXXXXX");
    if (!mkdtemp(fixture.folder))
        return -1;
    snprintf(fixture.schema, sizeof fixture.schema, "t%d", (int)getpid());
    snprintf(fixture.conninfo, sizeof fixture.conninfo,
             "%s application_name=%s options='-c search_path=%s'", database, fixture.schema,
             fixture.schema);
    fixture.pg = PQconnectdb(fixture.conninfo);
    if (PQstatus(fixture.pg) != CONNECTION_OK) {
        fprintf(stderr, "%s", PQerrorMessage(fixture.pg));
        return -1;
    }
    sql("SET client_min_messages = warning");
    sql("CREATE SCHEMA %s", fixture.schema);
    struct problem why = { 0 };
    if (store_open(fixture.conninfo, connections, &fixture.store, &why) < 0 ||
        store_migrate(fixture.store, &why) < 0) {
        fprintf(stderr, "%s\n", why.message);
        return -1;
    }
    return 0;
}

static inline int fixture_close(void)
{
    fixture.store = store_close(fixture.store);
    sql("DROP SCHEMA %s CASCADE", fixture.schema);
    PQfinish(fixture.pg);
    char path[128];
    snprintf(path, sizeof path, "%s/" JOURNAL_FILE, fixture.folder);
    unlink(path);
    return rmdir(fixture.folder);
}

static inline int render_id(void *arg, const struct job *job, char **ret, struct problem *why)
{
    (void)arg;
    (void)why;
    return asprintf(ret, "job %lld", (long long)job->id) < 0 ? -1 : 0;
}

static inline job_id add_job(const char *target, int64_t priority)
{
    const struct job_new new = { .workload = "create-scaling",
                                 .target = target,
                                 .host = "here",
                                 .nonce = "abc",
                                 .params = "{\"files\": 1000}",
                                 .labels = "{}",
                                 .priority = priority };
    job_id id = 0;
    scoped_free char *answer = NULL;
    works(store_job_add(fixture.store, &new, NULL, render_id, NULL, &id, &answer, why));
    return id;
}

static inline job_id claim(const char *targets)
{
    struct job job = { 0 };
    int r = -1;
    works(r = store_job_claim(fixture.store, "here", targets, &job, why));
    job_id id = r ? job.id : 0;
    job_done(&job);
    return id;
}

/* Ends every connection of the store, from the server's side. */
static inline void end_connections(void)
{
    sql("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
        "WHERE application_name = '%s' AND pid <> pg_backend_pid()",
        fixture.schema);
}

/* A job that runs. */
static inline job_id running_job(const char *target)
{
    job_id id = add_job(target, 0);
    assert_int_equal(claim(target), id);
    return id;
}

static inline struct job job_now(job_id id)
{
    struct job job = { 0 };
    works(store_job_get(fixture.store, id, &job, why));
    return job;
}
