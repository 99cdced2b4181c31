/* Queries by name. Every wait for the server has a deadline, since a server that is stopped (not
 * dead) keeps its sockets open and never answers. */
#include "schema/database.h"

#include <endian.h>
#include <math.h>
#include <poll.h>

/* PostgreSQL counts from 2000-01-01. */
static const nsec EPOCH_2000 = INT64_C(946684800) * NSEC_PER_SEC;

/* ---- parameters ---- */

static void param(struct params *params, const char *value, size_t n, int format)
{
    params->value[params->n] = value;
    params->length[params->n] = (int)n;
    params->format[params->n] = format;
    params->n++;
}

void param_text(struct params *params, const char *text)
{
    param(params, text, 0, 0);
}

void param_null(struct params *params)
{
    param(params, NULL, 0, 0);
}

void param_bytes(struct params *params, const void *bytes, size_t n)
{
    param(params, bytes, n, 1);
}

/* PARAMS_ROOM holds PARAMS_MOST of the longest numbers: 32 bytes each. */
_Static_assert(PARAMS_ROOM >= PARAMS_MOST * 32, "room for every parameter as a number");
enum { NUMBER_TEXT = 32 };

static char *number_room(struct params *params)
{
    char *room = params->room + params->used;
    params->used += NUMBER_TEXT;
    return room;
}

void param_int(struct params *params, int64_t value)
{
    char *room = number_room(params);
    snprintf(room, NUMBER_TEXT, "%lld", (long long)value);
    param_text(params, room);
}

void param_count(struct params *params, uint64_t value)
{
    param_int(params, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void param_number(struct params *params, double value)
{
    if (isnan(value)) {
        param_null(params);
        return;
    }
    char *room = number_room(params);
    snprintf(room, NUMBER_TEXT, "%.17g", value);
    param_text(params, room);
}

void param_bool(struct params *params, bool value)
{
    param_text(params, value ? "t" : "f");
}

void param_time(struct params *params, nsec wall)
{
    if (wall == 0) {
        param_null(params);
        return;
    }
    _Static_assert((int)CLOCK_TEXT <= (int)NUMBER_TEXT, "room for a time");
    param_text(params, clock_format(wall, number_room(params)));
}

void param_problem(struct params *params, const struct problem *problem, struct problem *scrubbed)
{
    if (!problem || !problem->code) {
        for (int i = 0; i < 3; i++)
            param_null(params);
        return;
    }
    *scrubbed = *problem;
    text_scrub(scrubbed->field);
    text_scrub(scrubbed->message);
    param_text(params, problem_slug(problem->code));
    param_text(params, scrubbed->field);
    param_text(params, scrubbed->message);
}

/* The length of the valid UTF-8 character at p, or 0. */
static size_t character(const unsigned char *p)
{
    size_t n = p[0] < 0x80                   ? 1
               : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
               : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
               : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

void text_scrub(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p;) {
        size_t n = character(p);
        if (n == 0)
            *p++ = '?';
        else
            p += n;
    }
}

/* ---- running ---- */

int connection_problem(const PGconn *pg, struct problem *why)
{
    char text[sizeof why->message];
    const char *said = PQerrorMessage(pg);
    size_t n = 0;
    for (; *said && n < sizeof text - 1; said++)
        if (*said != '\n' && *said != '\t')
            text[n++] = *said;
        else if (n && text[n - 1] != ' ')
            text[n++] = ' ';
    while (n && text[n - 1] == ' ')
        n--;
    text[n] = '\0';
    return problem_set(why, PROBLEM_STORE_FAILED, "the database says: %s",
                       n ? text : "the connection was lost");
}

static int fail(struct connection *connection, const PGresult *result, struct problem *why)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    snprintf(connection->sqlstate, sizeof connection->sqlstate, "%s", state ? state : "");
    return connection_problem(connection->pg, why);
}

/* The server does not answer: this connection cannot be used again. */
static int give_up(struct connection *connection, struct problem *why)
{
    connection->sqlstate[0] = '\0';
    PQfinish(steal(&connection->pg));
    return problem_set(why, PROBLEM_STORE_FAILED, "the database does not answer within %.0f s",
                       seconds_of(connection->answer_most));
}

/* Waits until libpq has a whole result (or a broken connection, which is one). */
static int await(struct connection *connection, nsec deadline, struct problem *why)
{
    for (;;) {
        int unsent = PQflush(connection->pg);
        if (unsent < 0)
            return 0; /* PQgetResult tells the failure */
        if (!unsent && !PQisBusy(connection->pg))
            return 0;
        nsec left = deadline - clock_monotonic();
        if (left <= 0)
            return give_up(connection, why);
        struct pollfd fd = { PQsocket(connection->pg), (short)(POLLIN | (unsent ? POLLOUT : 0)),
                             0 };
        poll(&fd, 1, (int)(left / NSEC_PER_MSEC) + 1);
        if (!PQconsumeInput(connection->pg))
            return 0;
    }
}

/* Takes in the results of what was sent: the last one, or the first that failed. */
static int collect(struct connection *connection, PGresult **ret, struct problem *why)
{
    nsec deadline = clock_monotonic() + connection->answer_most;
    scoped_result PGresult *kept = NULL;
    for (;;) {
        if (await(connection, deadline, why) < 0)
            return -1;
        PGresult *result = PQgetResult(connection->pg);
        if (!result)
            break;
        ExecStatusType status = PQresultStatus(kept);
        if (kept && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
            PQclear(result);
            continue;
        }
        PQclear(kept);
        kept = result;
    }
    ExecStatusType status = PQresultStatus(kept);
    if (!kept || (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK))
        return fail(connection, kept, why);
    *ret = steal(&kept);
    return 0;
}

static int prepare(struct connection *connection, enum query query, struct problem *why)
{
    scoped_result PGresult *result = NULL;
    if (!PQsendPrepare(connection->pg, queries[query].name, queries[query].text, 0, NULL))
        return fail(connection, NULL, why);
    if (collect(connection, &result, why) < 0)
        return problem_during(why, "query %s: ", queries[query].name);
    connection->prepared[query] = true;
    return 0;
}

int query_run(struct connection *connection, enum query query, const struct params *params,
              PGresult **ret, struct problem *why)
{
    static const struct params none;
    const struct params *p = params ? params : &none;
    if (!connection->pg)
        return problem_set(why, PROBLEM_STORE_FAILED, "the connection to the database was lost");
    if (!connection->prepared[query] && prepare(connection, query, why) < 0)
        return -1;
    if (!PQsendQueryPrepared(connection->pg, queries[query].name, p->n, p->value, p->length,
                             p->format, 1))
        return fail(connection, NULL, why);
    return collect(connection, ret, why);
}

int query_do(struct connection *connection, enum query query, const struct params *params,
             uint64_t *ret_changed, struct problem *why)
{
    scoped_result PGresult *result = NULL;
    if (query_run(connection, query, params, &result, why) < 0)
        return -1;
    if (ret_changed)
        *ret_changed = strtoull(PQcmdTuples(result), NULL, 10);
    return 0;
}

int script_run(struct connection *connection, const char *script, struct problem *why)
{
    scoped_result PGresult *result = NULL;
    if (!connection->pg)
        return problem_set(why, PROBLEM_STORE_FAILED, "the connection to the database was lost");
    if (!PQsendQuery(connection->pg, script))
        return fail(connection, NULL, why);
    return collect(connection, &result, why);
}

int transaction_begin(struct connection *connection, struct problem *why)
{
    return script_run(connection, "BEGIN", why);
}

int transaction_begin_reading(struct connection *connection, struct problem *why)
{
    return script_run(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", why);
}

int transaction_commit(struct connection *connection, struct problem *why)
{
    scoped_result PGresult *result = NULL;
    if (!connection->pg)
        return problem_set(why, PROBLEM_STORE_FAILED, "the connection to the database was lost");
    if (!PQsendQuery(connection->pg, "COMMIT"))
        return fail(connection, NULL, why);
    if (collect(connection, &result, why) < 0)
        return -1;
    /* A transaction in which something failed answers COMMIT with ROLLBACK, and calls it success. */
    if (strcmp(PQcmdStatus(result), "COMMIT") != 0)
        return problem_set(why, PROBLEM_INTERNAL, "the database rolled the transaction back");
    return 0;
}

bool refused_as_duplicate(const struct connection *connection)
{
    return strcmp(connection->sqlstate, "23505") == 0;
}

int problem_pass(struct problem *why, const struct problem *cause)
{
    if (!why->code)
        *why = *cause;
    return -1;
}

/* ---- results ---- */

bool cell_null(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column);
}

int64_t cell_int(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return 0;
    const char *at = PQgetvalue(result, row, column);
    uint64_t wide;
    uint32_t middle;
    uint16_t narrow;
    switch (PQgetlength(result, row, column)) {
    case 8:
        memcpy(&wide, at, 8);
        return (int64_t)be64toh(wide);
    case 4:
        memcpy(&middle, at, 4);
        return (int32_t)be32toh(middle);
    case 2:
        memcpy(&narrow, at, 2);
        return (int16_t)be16toh(narrow);
    default:
        return *(const signed char *)at;
    }
}

double cell_number(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return NAN;
    uint64_t bits;
    double value;
    memcpy(&bits, PQgetvalue(result, row, column), 8);
    bits = be64toh(bits);
    memcpy(&value, &bits, 8);
    return value;
}

bool cell_bool(const PGresult *result, int row, int column)
{
    return cell_int(result, row, column) != 0;
}

nsec cell_time(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return 0;
    return cell_int(result, row, column) * NSEC_PER_USEC + EPOCH_2000;
}

const char *cell_text(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column);
}

int cell_copy(const PGresult *result, int row, int column, char **ret, struct problem *why)
{
    const char *text = cell_text(result, row, column);
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return problem_memory(why);
    *ret = copy;
    return 0;
}
