/* Every sample of a phase or of a job, in order, a group at a time: for CSV of any length. The reader
 * sees one snapshot, so chunks that are replaced meanwhile are neither missed nor read twice. */
#include "schema/chunk.h"

#include "engine/base/text.h"

struct samples_cursor {
    struct connection *connection;
    job_id job;
    size_t phases_n, phase; /* all of them, and which is read */
    struct phase_total *phases;
    nsec *shift;    /* of each, added to its times; NULL: none */
    uint64_t seq;   /* the last chunk read of this phase */
    PGresult *page; /* NULL: read the next one */
    int row;        /* of the page */
    size_t held_n;  /* read but not yet given */
    size_t given;   /* of those, what the caller had last time */
    struct sample held[2 * SAMPLE_GROUP];
};

struct samples_cursor *samples_close(struct samples_cursor *cursor)
{
    if (!cursor)
        return NULL;
    PQclear(cursor->page);
    store_return(cursor->connection);
    free(cursor->phases);
    free(cursor->shift);
    free(cursor);
    return NULL;
}

static void samples_close_cell(struct samples_cursor **cursor)
{
    samples_close(*cursor);
}

static int phases_choose(struct samples_cursor *cursor, const char *phase, struct problem *why)
{
    char ids[32];
    snprintf(ids, sizeof ids, "{%lld}", (long long)cursor->job);
    struct params params = { 0 };
    param_text(&params, ids);
    scoped_result PGresult *result = NULL;
    if (query_run(cursor->connection, QUERY_JOB_PHASES, &params, &result, why) < 0)
        return -1;
    int rows = PQntuples(result);
    cursor->phases = calloc((size_t)rows + 1, sizeof *cursor->phases);
    if (!cursor->phases)
        return problem_memory(why);
    for (int row = 0; row < rows; row++) {
        struct phase_total *total = &cursor->phases[cursor->phases_n];
        phase_read(result, row, total);
        if (!phase || strcmp(total->name, phase) == 0)
            cursor->phases_n++;
    }
    return 0;
}

int samples_open(struct store *store, job_id job, const char *phase, struct samples_cursor **ret,
                 struct problem *why)
{
    scoped(samples_close_cell) struct samples_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return problem_memory(why);
    cursor->job = job;
    if (store_borrow(store, &cursor->connection, why) < 0 ||
        transaction_begin_reading(cursor->connection, why) < 0 ||
        phases_choose(cursor, phase, why) < 0)
        return -1;
    *ret = steal(&cursor);
    return 0;
}

int samples_open_whole(struct store *store, job_id job, const char *phase,
                       struct samples_cursor **ret, struct problem *why)
{
    scoped(samples_close_cell) struct samples_cursor *cursor = NULL;
    if (samples_open(store, job, phase, &cursor, why) < 0)
        return -1;
    cursor->shift = calloc(cursor->phases_n + 1, sizeof *cursor->shift);
    if (!cursor->shift)
        return problem_memory(why);
    struct phase_total whole = { 0 };
    for (size_t i = 0; i < cursor->phases_n; i++) {
        const struct phase_total *part = &cursor->phases[i];
        if (i && part->run == whole.run && strcmp(part->name, whole.name) == 0)
            cursor->shift[i] = phase_join(&whole, part);
        else
            whole = *part;
    }
    *ret = steal(&cursor);
    return 0;
}

static int page_read(struct samples_cursor *cursor, struct problem *why)
{
    const struct phase_total *phase = &cursor->phases[cursor->phase];
    struct params params = { 0 };
    param_int(&params, cursor->job);
    param_int(&params, phase->run);
    param_int(&params, phase->leg);
    param_text(&params, phase->name);
    param_count(&params, cursor->seq);
    cursor->row = 0;
    return query_run(cursor->connection, QUERY_SAMPLES_PAGE, &params, &cursor->page, why);
}

/* Holds one more chunk of this phase. Returns 1; 0: there is none. */
static int chunk_hold(struct samples_cursor *cursor, struct problem *why)
{
    if (cursor->page && cursor->row == PQntuples(cursor->page)) {
        PQclear(cursor->page);
        cursor->page = NULL;
    }
    if (!cursor->page && page_read(cursor, why) < 0)
        return -1;
    if (PQntuples(cursor->page) == 0)
        return 0;
    int n = chunk_samples(cursor->page, cursor->row, 1, &cursor->held[cursor->held_n], why);
    if (n < 0)
        return -1;
    for (int i = 0; cursor->shift && i < n; i++)
        cursor->held[cursor->held_n + (size_t)i].at += cursor->shift[cursor->phase];
    cursor->seq = (uint64_t)cell_int(cursor->page, cursor->row, 0);
    cursor->row++;
    cursor->held_n += (size_t)n;
    return 1;
}

int samples_next(struct samples_cursor *cursor, const char **ret_phase, unsigned *ret_run,
                 unsigned *ret_leg, const struct sample **ret, size_t *ret_n, struct problem *why)
{
    cursor->held_n -= cursor->given;
    memmove(cursor->held, cursor->held + cursor->given, cursor->held_n * sizeof cursor->held[0]);
    cursor->given = 0;
    while (cursor->phase < cursor->phases_n) {
        size_t before = cursor->held_n;
        int more = chunk_hold(cursor, why);
        if (more < 0)
            return -1;
        /* Lanes overlap, so a batch may stand in the chunk after the one it belongs to by time: of
         * two chunks in order, the first's worth is given. */
        samples_sort(cursor->held, cursor->held_n);
        cursor->given = before;
        const struct phase_total *phase = &cursor->phases[cursor->phase];
        if (!more) {
            PQclear(steal(&cursor->page));
            cursor->phase++;
            cursor->seq = 0;
        }
        if (cursor->given == 0)
            continue;
        *ret_phase = phase->name;
        *ret_run = phase->run;
        *ret_leg = cursor->shift ? 1 : phase->leg;
        *ret = cursor->held;
        *ret_n = cursor->given;
        return 1;
    }
    return 0;
}
