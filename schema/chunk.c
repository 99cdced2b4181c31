/* Arrays travel in PostgreSQL's binary form: dimensions (1), a flag for nulls (0), the element's
 * type, count and lower bound (1), then each element behind its length; all big-endian. */
#include "schema/chunk.h"

#include <endian.h>

enum {
    INT4_OID = 23,
    INT8_OID = 20,
    ARRAY_HEAD = 20,
    INT4_CELL = 4 + 4,
    INT8_CELL = 4 + 8,
};

static unsigned char *put32(unsigned char *p, uint32_t value)
{
    value = htobe32(value);
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}

static unsigned char *put64(unsigned char *p, uint64_t value)
{
    value = htobe64(value);
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}

static unsigned char *put_head(unsigned char *p, uint32_t type, size_t n)
{
    p = put32(p, 1);
    p = put32(p, 0);
    p = put32(p, type);
    p = put32(p, (uint32_t)n);
    return put32(p, 1);
}

/* A bigint holds 63 bits; no figure of ours comes near, and a wrong one must not stop the ingest. */
static int64_t clamp(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int by_at(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->load < y->load ? -1 : x->load > y->load;
}

void samples_sort(struct sample *samples, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_at(&samples[i - 1], &samples[i]) > 0) {
            qsort(samples, n, sizeof *samples, by_at);
            return;
        }
}

struct figures {
    int64_t min, max;
    double sum;
};

static void figure(struct figures *figures, int64_t value)
{
    if (value < figures->min)
        figures->min = value;
    if (value > figures->max)
        figures->max = value;
    figures->sum += (double)value;
}

/* Every array of a full chunk in its binary form. */
struct arrays {
    unsigned char lane[ARRAY_HEAD + SAMPLE_GROUP * INT4_CELL];
    unsigned char at[ARRAY_HEAD + SAMPLE_GROUP * INT8_CELL];
    unsigned char series[SAMPLE_SERIES_N][ARRAY_HEAD + SAMPLE_GROUP * INT8_CELL];
    struct figures figures[SAMPLE_SERIES_N];
};

static void arrays_fill(struct arrays *arrays, const struct sample *samples, size_t n)
{
    unsigned char *lane = put_head(arrays->lane, INT4_OID, n);
    unsigned char *at = put_head(arrays->at, INT8_OID, n);
    for (size_t i = 0; i < n; i++) {
        lane = put32(put32(lane, 4), samples[i].lane);
        at = put64(put32(at, 8), (uint64_t)samples[i].at);
    }
    size_t column = 0;
#define X(name)                                                           \
    {                                                                     \
        unsigned char *p = put_head(arrays->series[column], INT8_OID, n); \
        struct figures figures = { INT64_MAX, INT64_MIN, 0 };             \
        for (size_t i = 0; i < n; i++) {                                  \
            int64_t value = clamp((uint64_t)samples[i].name);             \
            p = put64(put32(p, 8), (uint64_t)value);                      \
            figure(&figures, value);                                      \
        }                                                                 \
        arrays->figures[column++] = figures;                              \
    }
    SAMPLE_SERIES(X)
#undef X
}

static void arrays_params(struct params *params, const struct arrays *arrays, size_t n)
{
    for (size_t i = 0; i < SAMPLE_SERIES_N; i++) {
        param_int(params, arrays->figures[i].min);
        param_int(params, arrays->figures[i].max);
        param_number(params, arrays->figures[i].sum);
    }
    param_bytes(params, arrays->lane, ARRAY_HEAD + n * INT4_CELL);
    param_bytes(params, arrays->at, ARRAY_HEAD + n * INT8_CELL);
    for (size_t i = 0; i < SAMPLE_SERIES_N; i++)
        param_bytes(params, arrays->series[i], ARRAY_HEAD + n * INT8_CELL);
}

int chunk_add(struct connection *connection, const struct chunk *chunk, struct problem *why)
{
    struct sample samples[SAMPLE_GROUP];
    memcpy(samples, chunk->samples, chunk->n * sizeof samples[0]);
    samples_sort(samples, chunk->n);
    const struct sample *first = &samples[0], *last = &samples[chunk->n - 1];
    struct arrays arrays;
    arrays_fill(&arrays, samples, chunk->n);

    struct params params = { 0 };
    param_int(&params, chunk->job);
    param_int(&params, chunk->run);
    param_int(&params, chunk->leg);
    param_text(&params, chunk->phase);
    param_count(&params, chunk->seq);
    param_count(&params, chunk->seq_last);
    param_bool(&params, chunk->small);
    param_count(&params, chunk->n);
    param_int(&params, first->at);
    param_int(&params, last->at);
    param_count(&params, first->load);
    param_count(&params, last->load);
    param_int(&params, first->elapsed);
    param_int(&params, last->elapsed);
    arrays_params(&params, &arrays, chunk->n);
    return query_do(connection, QUERY_CHUNK_ADD, &params, NULL, why);
}

/* ---- reading ---- */

static uint32_t get32(const char *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return be32toh(value);
}

static int64_t get64(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return (int64_t)be64toh(value);
}

/* Where the elements of an array are, and how many; NULL if it is not such an array. */
static const char *elements(const PGresult *result, int row, int column, uint32_t type, size_t cell,
                            size_t *ret_n)
{
    size_t length = (size_t)PQgetlength(result, row, column);
    const char *p = PQgetvalue(result, row, column);
    if (length < ARRAY_HEAD || get32(p) != 1 || get32(p + 8) != type)
        return NULL;
    size_t n = get32(p + 12);
    if (n == 0 || n > SAMPLE_GROUP || length != ARRAY_HEAD + n * cell)
        return NULL;
    *ret_n = n;
    return p + ARRAY_HEAD;
}

int chunk_array(const PGresult *result, int row, int column, int64_t ret[SAMPLE_GROUP],
                struct problem *why)
{
    size_t n;
    const char *p = elements(result, row, column, INT8_OID, INT8_CELL, &n);
    if (!p)
        return problem_set(why, PROBLEM_INTERNAL, "a chunk in the database holds no samples");
    for (size_t i = 0; i < n; i++)
        ret[i] = get64(p + i * INT8_CELL + 4);
    return (int)n;
}

int chunk_samples(const PGresult *result, int row, int column, struct sample ret[SAMPLE_GROUP],
                  struct problem *why)
{
    size_t n;
    const char *lane = elements(result, row, column++, INT4_OID, INT4_CELL, &n);
    if (!lane)
        return problem_set(why, PROBLEM_INTERNAL, "a chunk in the database holds no samples");
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct sample){ .lane = get32(lane + i * INT4_CELL + 4) };
    int64_t values[SAMPLE_GROUP];
#define X(name)                                                                             \
    if (chunk_array(result, row, column++, values, why) != (int)n)                          \
        return problem_set(why, PROBLEM_INTERNAL, "a chunk in the database lacks samples"); \
    for (size_t i = 0; i < n; i++)                                                          \
        ret[i].name = (__typeof__(ret[i].name))values[i];
    X(at)
    SAMPLE_SERIES(X)
#undef X
    return (int)n;
}
