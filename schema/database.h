/* Inside this folder only: a connection borrowed from the pool, queries by name, parameters and
 * results. Integers and times go out as text and come back in binary (network order); what is hot
 * goes both ways in binary. */
#pragma once
#include "queries.h"
#include "schema/store.h"

#include <libpq-fe.h>
#include <pthread.h>

/* A statement may take this long on the server, and a little longer until we give the connection
 * up: a server that does not even say so is stopped or gone. */
#define STATEMENT_MOST        "30s"
#define TRANSACTION_IDLE_MOST "60s"
#define ANSWER_MOST           (35 * NSEC_PER_SEC)
#define MIGRATION_MOST        (30 * 60 * NSEC_PER_SEC)
#define BORROW_MOST           (10 * NSEC_PER_SEC)

struct connection {
    struct store *store;
    PGconn *pg;       /* NULL: not connected */
    bool lent;        /* store->lock */
    char sqlstate[6]; /* of the last failure; "" if the server did not answer */
    nsec answer_most;
    bool prepared[QUERIES];
};

struct watch;                         /* watch.c */
void watch_stop(struct watch *watch); /* joins its thread; NULL is fine */

struct store {
    char *conninfo;
    pthread_mutex_t lock;
    pthread_cond_t returned;
    struct watch *watch; /* set once, by the thread that opened the store */
    unsigned connections_n;
    struct connection connections[];
};

/* Waits for a free one and opens it again if it broke. */
must_check int store_borrow(struct store *store, struct connection **ret, struct problem *why);
/* Rolls back what is open. NULL is fine. Returns NULL. */
struct connection *store_return(struct connection *connection);
static inline void store_return_cell(struct connection **connection)
{
    store_return(*connection);
}
#define scoped_connection scoped(store_return_cell)

/* A connection with our settings; for the pool and for watch.c. */
must_check int connection_dial(const char *conninfo, PGconn **ret, struct problem *why);
/* Fills why with libpq's own words. Returns -1. */
int connection_problem(const PGconn *pg, struct problem *why);

static inline void result_cell(PGresult **result)
{
    PQclear(*result);
}
#define scoped_result scoped(result_cell)

/* ---- parameters: in the order of $1, $2, ... ---- */
enum { PARAMS_MOST = 64, PARAMS_ROOM = 2048 };
struct params {
    int n;
    const char *value[PARAMS_MOST];
    int length[PARAMS_MOST], format[PARAMS_MOST];
    size_t used;
    char room[PARAMS_ROOM]; /* where numbers are written */
};
void param_text(struct params *params, const char *text); /* NULL is null; the text is borrowed */
void param_bytes(struct params *params, const void *bytes, size_t n); /* binary; borrowed */
void param_int(struct params *params, int64_t value);
void param_count(struct params *params, uint64_t value); /* clamped to what a bigint holds */
void param_null(struct params *params);
void param_number(struct params *params, double value); /* NAN is null */
void param_bool(struct params *params, bool value);
void param_time(struct params *params, nsec wall); /* 0 is null */
/* code, field, message; three nulls if there is none. `scrubbed` holds the text meanwhile. */
void param_problem(struct params *params, const struct problem *problem, struct problem *scrubbed);

/* ---- running ---- */
must_check int query_run(struct connection *connection, enum query query,
                         const struct params *params, PGresult **ret, struct problem *why);
/* For those that return no rows; ret_changed (may be NULL): how many rows changed. */
must_check int query_do(struct connection *connection, enum query query,
                        const struct params *params, uint64_t *ret_changed, struct problem *why);
must_check int transaction_begin(struct connection *connection, struct problem *why);
/* One snapshot for several reading queries. */
must_check int transaction_begin_reading(struct connection *connection, struct problem *why);
must_check int transaction_commit(struct connection *connection, struct problem *why);
/* Several statements at once, without parameters: a migration. */
must_check int script_run(struct connection *connection, const char *script, struct problem *why);
/* The last query failed because a row of this key exists. */
bool refused_as_duplicate(const struct connection *connection);
/* Hands a failure on that was looked at first. Returns -1. */
int problem_pass(struct problem *why, const struct problem *cause);

/* ---- results ---- */
bool cell_null(const PGresult *result, int row, int column);
int64_t cell_int(const PGresult *result, int row,
                 int column); /* of 1, 2, 4 or 8 bytes; null is 0 */
double cell_number(const PGresult *result, int row, int column); /* float8; null is NAN */
bool cell_bool(const PGresult *result, int row, int column);
nsec cell_time(const PGresult *result, int row, int column);        /* timestamptz; null is 0 */
const char *cell_text(const PGresult *result, int row, int column); /* null is NULL */
/* A new string; 0, or -1 when there is no memory. Null is NULL. */
must_check int cell_copy(const PGresult *result, int row, int column, char **ret,
                         struct problem *why);

/* Makes the text valid UTF-8 in place: a sentence cut within a character must not be refused. */
void text_scrub(char *text);

/* Shared by jobs.c and ingest.c: the columns of queries/job_phases.sql from `column` on. */
void phase_read(const PGresult *result, int row, struct phase_total *ret);
