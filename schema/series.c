/* A series thinned to what a chart can show.
 *
 * The range of x is cut into columns ("pixels"). A chunk no wider than two of them is taken as a
 * whole by its plain columns; a wider one, and one that the range cuts, is read sample by sample. So a
 * zoomed-out chart reads no arrays and a zoomed-in one few. Minimum and maximum of every column are
 * kept, and the first and the last sample are points of their own: no spike and no end disappears. */
#include "schema/chunk.h"
#include "schema/recent.h"

#include "engine/base/text.h"

#include <math.h>

enum {
    POINTS_MOST = 100000,
    PAGE = 128, /* chunks whose arrays are read at once: 1.5 MB of two arrays, 3 MB of four */
};
static const double PLAIN_WIDTH = 2; /* columns */

struct point {
    double x, y;
    double weight; /* in the mean */
};

struct column {
    uint64_t count;
    double min, max, sum, weight, x_sum;
};

struct thinner {
    const struct series_query *query;
    double x_per, y_per; /* what the stored figures are divided by: ns are given as seconds */
    double from, to;     /* of x, as given out */
    uint64_t points;
    size_t columns_n;
    double start, width; /* of the columns */
    struct column *columns;
    bool collects; /* few enough to look at each: they go to `all` instead */
    size_t all_n;
    struct point *all;
    struct point first, last; /* by x */
    uint64_t count;
    struct recent *recent;
};

void series_done(struct series *series)
{
    free(series->x);
    free(series->min);
    free(series->max);
    free(series->mean);
    *series = (struct series){ 0 };
}

static void thinner_done(struct thinner *thinner)
{
    free(thinner->columns);
    free(thinner->all);
    free(thinner->recent);
}

static bool is_rate(const struct thinner *thinner)
{
    return strcmp(thinner->query->y, "rate") == 0;
}

/* ---- taking in ---- */

static struct column *column_at(struct thinner *thinner, double x)
{
    double place = thinner->width > 0 ? (x - thinner->start) / thinner->width : 0;
    size_t i = place <= 0 ? 0 : (size_t)place;
    return &thinner->columns[i < thinner->columns_n ? i : thinner->columns_n - 1];
}

static void column_add(struct column *column, const struct column *more)
{
    if (column->count == 0) {
        *column = *more;
        return;
    }
    column->count += more->count;
    column->min = fmin(column->min, more->min);
    column->max = fmax(column->max, more->max);
    column->sum += more->sum;
    column->weight += more->weight;
    column->x_sum += more->x_sum;
}

static void point_to_column(struct thinner *thinner, const struct point *point)
{
    const struct column one = {
        1, point->y, point->y, point->y * point->weight, point->weight, point->x
    };
    column_add(column_at(thinner, point->x), &one);
}

static void take_point(struct thinner *thinner, const struct point *point)
{
    if (point->x < thinner->from || point->x > thinner->to)
        return;
    if (point->x < thinner->first.x)
        thinner->first = *point;
    if (point->x >= thinner->last.x)
        thinner->last = *point;
    thinner->count++;
    if (thinner->collects)
        thinner->all[thinner->all_n++] = *point;
    else
        point_to_column(thinner, point);
}

static int take_arrays(struct thinner *thinner, const PGresult *result, int row,
                       struct problem *why)
{
    int64_t x[SAMPLE_GROUP], y[SAMPLE_GROUP], at[SAMPLE_GROUP], elapsed[SAMPLE_GROUP];
    int n = chunk_array(result, row, 2, x, why);
    if (n < 0 || chunk_array(result, row, 3, y, why) < 0)
        return -1;
    struct recent *recent = thinner->recent;
    if (recent) {
        if (chunk_array(result, row, 4, at, why) < 0 ||
            chunk_array(result, row, 5, elapsed, why) < 0)
            return -1;
        recent_of(recent, (unsigned)cell_int(result, row, 0), (unsigned)cell_int(result, row, 1));
    }
    for (int i = 0; i < n; i++) {
        struct point point = { (double)x[i] / thinner->x_per, 0, 1 };
        if (recent) {
            point.y = recent_rate(recent, at[i], elapsed[i], y[i]);
            point.weight = (double)elapsed[i];
        } else {
            point.y = (double)y[i] / thinner->y_per;
        }
        take_point(thinner, &point);
    }
    return 0;
}

/* Columns of queries/series_chunks.sql. */
enum { SEQ, COUNT, X_MIN, X_MAX, Y_MIN, Y_MAX, Y_SUM, WEIGHT };

static double x_of(const struct thinner *thinner, const PGresult *result, int row, int column)
{
    return (double)cell_int(result, row, column) / thinner->x_per;
}

static void take_plain(struct thinner *thinner, const PGresult *result, int row)
{
    uint64_t count = (uint64_t)cell_int(result, row, COUNT);
    double middle = (x_of(thinner, result, row, X_MIN) + x_of(thinner, result, row, X_MAX)) / 2;
    const struct column chunk = { .count = count,
                                  .min = cell_number(result, row, Y_MIN) / thinner->y_per,
                                  .max = cell_number(result, row, Y_MAX) / thinner->y_per,
                                  .sum = cell_number(result, row, Y_SUM) / thinner->y_per,
                                  .weight = cell_null(result, row, WEIGHT)
                                                ? (double)count
                                                : cell_number(result, row, WEIGHT),
                                  .x_sum = middle * (double)count };
    column_add(column_at(thinner, middle), &chunk);
    thinner->count += count;
}

/* ---- which chunks ---- */

struct extent {
    uint64_t count;
    int first, last; /* rows that hold the smallest and the greatest x */
};

static struct extent extent_of(const struct thinner *thinner, const PGresult *chunks)
{
    struct extent extent = { 0 };
    for (int row = 0; row < PQntuples(chunks); row++) {
        extent.count += (uint64_t)cell_int(chunks, row, COUNT);
        if (x_of(thinner, chunks, row, X_MIN) < x_of(thinner, chunks, extent.first, X_MIN))
            extent.first = row;
        if (x_of(thinner, chunks, row, X_MAX) >= x_of(thinner, chunks, extent.last, X_MAX))
            extent.last = row;
    }
    return extent;
}

static bool needs_arrays(const struct thinner *thinner, const PGresult *chunks, int row,
                         const struct extent *extent)
{
    double x_min = x_of(thinner, chunks, row, X_MIN), x_max = x_of(thinner, chunks, row, X_MAX);
    return thinner->collects || cell_null(chunks, row, Y_MIN) || row == extent->first ||
           row == extent->last || x_min < thinner->from || x_max > thinner->to ||
           x_max - x_min > PLAIN_WIDTH * thinner->width;
}

static int read_arrays(struct thinner *thinner, struct connection *connection,
                       const struct text *seqs, struct problem *why)
{
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_int(&params, thinner->query->job);
    param_text(&params, thinner->query->phase);
    param_text(&params, seqs->at);
    param_text(&params, thinner->query->x);
    param_text(&params, thinner->query->y);
    if (query_run(connection, QUERY_SERIES_ARRAYS, &params, &result, why) < 0)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        if (take_arrays(thinner, result, row, why) < 0)
            return -1;
    return 0;
}

static int take_chunks(struct thinner *thinner, struct connection *connection,
                       const PGresult *chunks, const struct extent *extent, struct problem *why)
{
    int rows = PQntuples(chunks);
    for (int row = 0; row < rows;) {
        scoped(text_done) struct text seqs = { 0 };
        size_t n = 0;
        for (; row < rows && n < PAGE; row++) {
            if (!needs_arrays(thinner, chunks, row, extent))
                take_plain(thinner, chunks, row);
            else
                text_addf(&seqs, "%c%lld", n++ ? ',' : '{', (long long)cell_int(chunks, row, SEQ));
        }
        if (n == 0)
            continue;
        text_add(&seqs, "}", 1);
        if (seqs.failed)
            return problem_memory(why);
        if (read_arrays(thinner, connection, &seqs, why) < 0)
            return -1;
    }
    return 0;
}

/* ---- giving out ---- */

static int by_x(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

static int series_room(struct series *series, size_t n, struct problem *why)
{
    double **const arrays[] = { &series->x, &series->min, &series->max, &series->mean };
    for (size_t i = 0; i < COUNT_OF(arrays); i++)
        if (!(*arrays[i] = calloc(n + 1, sizeof **arrays[i])))
            return problem_memory(why);
    return 0;
}

static void series_put(struct series *series, double x, double min, double max, double mean)
{
    series->x[series->n] = x;
    series->min[series->n] = min;
    series->max[series->n] = max;
    series->mean[series->n] = mean;
    series->n++;
}

static void put_point(struct series *series, const struct point *point)
{
    series_put(series, point->x, point->y, point->y, point->y);
}

static bool is_end(const struct thinner *thinner, const struct column *column)
{
    return column->count == 1 &&
           (column->x_sum == thinner->first.x || column->x_sum == thinner->last.x);
}

static int give_columns(const struct thinner *thinner, struct series *series, struct problem *why)
{
    bool ends = thinner->columns_n + 2 <= thinner->points;
    if (series_room(series, thinner->columns_n + 2, why) < 0)
        return -1;
    series->thinned = true;
    if (ends)
        put_point(series, &thinner->first);
    for (size_t i = 0; i < thinner->columns_n; i++) {
        const struct column *column = &thinner->columns[i];
        if (column->count == 0 || (ends && is_end(thinner, column)))
            continue;
        series_put(series, column->x_sum / (double)column->count, column->min, column->max,
                   column->weight > 0 ? column->sum / column->weight : column->min);
    }
    if (ends)
        put_point(series, &thinner->last);
    return 0;
}

static int give_all(struct thinner *thinner, struct series *series, struct problem *why)
{
    if (series_room(series, thinner->all_n, why) < 0)
        return -1;
    if (thinner->all_n)
        qsort(thinner->all, thinner->all_n, sizeof thinner->all[0], by_x);
    for (size_t i = 0; i < thinner->all_n; i++)
        put_point(series, &thinner->all[i]);
    return 0;
}

static int give(struct thinner *thinner, struct series *series, struct problem *why)
{
    series->count = thinner->count;
    if (!thinner->collects)
        return give_columns(thinner, series, why);
    if (thinner->all_n <= thinner->points)
        return give_all(thinner, series, why);
    for (size_t i = 0; i < thinner->all_n; i++)
        point_to_column(thinner, &thinner->all[i]);
    return give_columns(thinner, series, why);
}

/* ---- the whole ---- */

static int thinner_init(struct thinner *thinner, const struct series_query *query,
                        struct problem *why)
{
    static const char *const xs[] = { "load", "at", NULL };
    static const char *const ys[] = { "elapsed", "cpu", "switches", "ops",  "bytes", "errors",
                                      "p50",     "p99", "max",      "rate", NULL };
    if (name_index(xs, query->x) < 0)
        return problem_field(why, "/x", "there is no x axis %s: load or at", query->x);
    if (name_index(ys, query->y) < 0)
        return problem_field(why, "/y",
                             "there is no y axis %s: elapsed, cpu, switches, ops, bytes, errors, "
                             "p50, p99, max or rate",
                             query->y);
    thinner->query = query;
    thinner->first.x = INFINITY;
    thinner->last.x = -INFINITY;
    thinner->x_per = strcmp(query->x, "at") == 0 ? 1e9 : 1;
    thinner->y_per = strcmp(query->y, "elapsed") == 0 ? 1e9 : 1;
    thinner->from = isnan(query->from) ? -INFINITY : query->from;
    thinner->to = isnan(query->to) ? INFINITY : query->to;
    thinner->points = query->points < 1             ? 1
                      : query->points > POINTS_MOST ? POINTS_MOST
                                                    : query->points;
    thinner->columns_n = thinner->points > 2 ? thinner->points - 2 : thinner->points;
    thinner->columns = calloc(thinner->columns_n, sizeof thinner->columns[0]);
    if (is_rate(thinner))
        thinner->recent = calloc(1, sizeof *thinner->recent);
    if (!thinner->columns || (is_rate(thinner) && !thinner->recent))
        return problem_memory(why);
    return 0;
}

static int thinner_lay(struct thinner *thinner, const PGresult *chunks, const struct extent *extent,
                       struct problem *why)
{
    double start = fmax(thinner->from, x_of(thinner, chunks, extent->first, X_MIN));
    double end = fmin(thinner->to, x_of(thinner, chunks, extent->last, X_MAX));
    thinner->start = start;
    thinner->width = (end - start) / (double)thinner->columns_n;
    /* The range may cut two chunks, of which only a part counts. */
    thinner->collects = extent->count <= thinner->points + 2 * SAMPLE_GROUP;
    if (thinner->collects && !(thinner->all = calloc(extent->count, sizeof thinner->all[0])))
        return problem_memory(why);
    return 0;
}

int store_series(struct store *store, const struct series_query *query, struct series *ret,
                 struct problem *why)
{
    scoped(thinner_done) struct thinner thinner = { 0 };
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *chunks = NULL;
    if (thinner_init(&thinner, query, why) < 0)
        return -1;
    struct params params = { 0 };
    param_int(&params, query->job);
    param_int(&params, query->run);
    param_text(&params, query->phase);
    param_text(&params, query->x);
    param_text(&params, query->y);
    /* By one more on both sides, since seconds do not hold every nanosecond. */
    param_number(&params, query->from * thinner.x_per - 1);
    param_number(&params, query->to * thinner.x_per + 1);
    /* One snapshot: a chunk of the first query may be replaced before the second. */
    if (store_borrow(store, &connection, why) < 0 ||
        transaction_begin_reading(connection, why) < 0 ||
        query_run(connection, QUERY_SERIES_CHUNKS, &params, &chunks, why) < 0)
        return -1;
    scoped(series_done) struct series series = { 0 };
    struct extent extent = extent_of(&thinner, chunks);
    if (extent.count > 0 && (thinner_lay(&thinner, chunks, &extent, why) < 0 ||
                             take_chunks(&thinner, connection, chunks, &extent, why) < 0))
        return -1;
    thinner.collects = thinner.collects || extent.count == 0;
    if (give(&thinner, &series, why) < 0)
        return -1;
    *ret = series;
    series = (struct series){ 0 };
    return 0;
}
