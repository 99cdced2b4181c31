/* The pool. A connection is opened when it is first needed and again whenever it broke, so the
 * store outlives the server: each call fails by itself while the server is away. */
#include "schema/database.h"

#include "engine/base/text.h"

#include <errno.h>
#include <poll.h>

/* Notices are for people at a terminal; libpq would print them. */
static void ignore_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

int connection_dial(const char *conninfo, PGconn **ret, struct problem *why)
{
    /* What stands before dbname is a preset that conninfo may replace; what stands after is not. */
    const char *const names[] = { "connect_timeout",
                                  "application_name",
                                  "tcp_user_timeout",
                                  "keepalives_idle",
                                  "dbname",
                                  "client_encoding",
                                  NULL };
    const char *const values[] = { "5", "plimsoll", "15000", "10", conninfo, "UTF8", NULL };
    PGconn *pg = PQconnectdbParams(names, values, 1);
    if (!pg)
        return problem_memory(why);
    if (PQstatus(pg) != CONNECTION_OK) {
        connection_problem(pg, why);
        PQfinish(pg);
        return -1;
    }
    PQsetNoticeProcessor(pg, ignore_notice, NULL);
    PQsetnonblocking(pg, 1);
    *ret = pg;
    return 0;
}

static int connection_open(struct connection *connection, struct problem *why)
{
    memset(connection->prepared, 0, sizeof connection->prepared);
    connection->answer_most = ANSWER_MOST;
    if (connection_dial(connection->store->conninfo, &connection->pg, why) < 0)
        return -1;
    struct params params = { 0 };
    param_text(&params, STATEMENT_MOST);
    param_text(&params, TRANSACTION_IDLE_MOST);
    if (query_do(connection, QUERY_CONNECTION_BEGIN, &params, NULL, why) < 0) {
        PQfinish(steal(&connection->pg));
        return -1;
    }
    return 0;
}

/* An idle connection has nothing to say. One that has was most likely closed by the server, of which
 * the farewell may be here before the end of the stream is. */
static bool connection_sound(const struct connection *connection)
{
    if (!connection->pg || PQstatus(connection->pg) != CONNECTION_OK)
        return false;
    struct pollfd fd = { PQsocket(connection->pg), POLLIN, 0 };
    return poll(&fd, 1, 0) == 0;
}

/* Prefers one that is open. Needs store->lock. */
static struct connection *idle_connection(struct store *store)
{
    struct connection *closed = NULL;
    for (unsigned i = 0; i < store->connections_n; i++) {
        struct connection *connection = &store->connections[i];
        if (!connection->lent && connection->pg)
            return connection;
        if (!connection->lent)
            closed = connection;
    }
    return closed;
}

static struct connection *wait_for_connection(struct store *store)
{
    nsec until = clock_monotonic() + BORROW_MOST;
    struct timespec deadline = { until / NSEC_PER_SEC, until % NSEC_PER_SEC };
    struct connection *connection = NULL;
    pthread_mutex_lock(&store->lock);
    while (!(connection = idle_connection(store)))
        if (pthread_cond_timedwait(&store->returned, &store->lock, &deadline) == ETIMEDOUT)
            break;
    if (connection)
        connection->lent = true;
    pthread_mutex_unlock(&store->lock);
    return connection;
}

int store_borrow(struct store *store, struct connection **ret, struct problem *why)
{
    scoped_connection struct connection *connection = wait_for_connection(store);
    if (!connection)
        return problem_set(why, PROBLEM_STORE_FAILED,
                           "all %u connections to the database are busy, for %.0f s now",
                           store->connections_n, seconds_of(BORROW_MOST));
    if (!connection_sound(connection)) {
        PQfinish(steal(&connection->pg));
        if (connection_open(connection, why) < 0)
            return -1;
    }
    connection->sqlstate[0] = '\0';
    *ret = steal(&connection);
    return 0;
}

struct connection *store_return(struct connection *connection)
{
    if (!connection)
        return NULL;
    connection->answer_most = ANSWER_MOST;
    if (connection->pg && PQtransactionStatus(connection->pg) != PQTRANS_IDLE) {
        struct problem ignored = { 0 };
        if (script_run(connection, "ROLLBACK", &ignored) < 0 ||
            PQtransactionStatus(connection->pg) != PQTRANS_IDLE)
            PQfinish(steal(&connection->pg));
    }
    struct store *store = connection->store;
    pthread_mutex_lock(&store->lock);
    connection->lent = false;
    pthread_cond_signal(&store->returned);
    pthread_mutex_unlock(&store->lock);
    return NULL;
}

static void store_close_cell(struct store **store)
{
    store_close(*store);
}

int store_open(const char *conninfo, unsigned connections, struct store **ret, struct problem *why)
{
    unsigned n = connections ? connections : 1;
    scoped(store_close_cell) struct store *store =
        calloc(1, sizeof *store + n * sizeof store->connections[0]);
    if (!store || !(store->conninfo = strdup(conninfo)))
        return problem_memory(why);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->returned, &monotonic);
    pthread_condattr_destroy(&monotonic);
    store->connections_n = n;
    for (unsigned i = 0; i < n; i++)
        store->connections[i].store = store;
    *ret = steal(&store);
    return 0;
}

struct store *store_close(struct store *store)
{
    if (!store)
        return NULL;
    watch_stop(store->watch);
    for (unsigned i = 0; i < store->connections_n; i++)
        PQfinish(store->connections[i].pg);
    if (store->connections_n) { /* else it was never initialised */
        pthread_cond_destroy(&store->returned);
        pthread_mutex_destroy(&store->lock);
    }
    free(store->conninfo);
    free(store);
    return NULL;
}

int store_ping(struct store *store, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    return query_do(connection, QUERY_PING, NULL, NULL, why);
}
