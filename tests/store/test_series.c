/* Charts and CSV: thinning keeps every spike and both ends, whatever is read plain or in detail. */
#include "tests/store/journals.h"

enum { SAMPLES = 300000, SPIKE_EVERY = 9973 };
static job_id big, lanes;

/* Smooth but for rare spikes of one sample each, up and down. One lane: each batch begins where the
 * one before ended. */
static struct sample spiky(size_t i)
{
    static nsec ends[SAMPLES];
    static size_t known;
    for (; known <= i; known++) {
        nsec elapsed = NSEC_PER_MSEC + (nsec)(known % 50) * 100;
        if (known % SPIKE_EVERY == SPIKE_EVERY / 2)
            elapsed = (nsec)(known + 1) * NSEC_PER_USEC + NSEC_PER_SEC;
        if (known % SPIKE_EVERY == 17)
            elapsed = 10;
        ends[known] = elapsed + (known ? ends[known - 1] : 0);
    }
    struct sample sample = sample_at(i, 1);
    sample.at = ends[i];
    sample.elapsed = ends[i] - (i ? ends[i - 1] : 0);
    return sample;
}

static void write_spiky(job_id job)
{
    char path[128];
    journal_path(path);
    unlink(path);
    scoped_fd int folder = open(fixture.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct journal *journal = NULL;
    works(journal_create(folder, JOURNAL_FILE, &journal, why));
    write_begin(journal, job);
    const struct phase_plan plan = { "create", SAMPLES, SAMPLE_GROUP, 1 };
    struct phase_total phase = planned(&plan);
    works(journal_phase(journal, &phase, why));
    struct sample line[SAMPLE_GROUP];
    for (size_t i = 0; i < SAMPLES;) {
        size_t n = 0;
        while (n < SAMPLE_GROUP && i < SAMPLES)
            line[n++] = spiky(i++);
        works(journal_samples(journal, 1, 1, "create", line, n, why));
    }
    journal_close(journal);
}

static struct series series_of(const struct series_query *query)
{
    struct series series = { 0 };
    works(store_series(fixture.store, query, &series, why));
    assert_true(series.n <= query->points || query->points < 1);
    for (size_t i = 0; i < series.n; i++) {
        if (i && series.x[i] < series.x[i - 1])
            fail_msg("x[%zu] = %.17g after %.17g", i, series.x[i], series.x[i - 1]);
        if (!(series.min[i] <= series.mean[i] * (1 + 1e-9) &&
              series.mean[i] <= series.max[i] * (1 + 1e-9)))
            fail_msg("at %.17g: min %.17g mean %.17g max %.17g", series.x[i], series.min[i],
                     series.mean[i], series.max[i]);
    }
    return series;
}

/* Some point that could be at x has this value as its maximum (or minimum). */
static bool shows(const struct series *series, double x, double value, double reach, bool high)
{
    for (size_t i = 0; i < series->n; i++)
        if (fabs(series->x[i] - x) <= reach &&
            fabs((high ? series->max : series->min)[i] - value) < 1e-12)
            return true;
    return false;
}

static void thinning_keeps_every_spike(void **state)
{
    (void)state;
    const uint64_t points[] = { 10, 100, 500, 1000, 1500, 5000 };
    const char *const xs[] = { "load", "at" };
    for (size_t c = 0; c < COUNT_OF(points) * COUNT_OF(xs); c++) {
        const struct series_query query = { .job = big,
                                            .phase = "create",
                                            .x = xs[c % 2],
                                            .y = "elapsed",
                                            .from = NAN,
                                            .to = NAN,
                                            .points = points[c / 2] };
        scoped(series_done) struct series series = series_of(&query);
        assert_int_equal(series.count, SAMPLES);
        assert_true(series.thinned);
        double whole = c % 2 ? seconds_of(spiky(SAMPLES - 1).at) : SAMPLES * 100.0;
        /* Half a column, and the half of a chunk that is as wide as two. */
        double reach = 2.5 * whole / (double)(points[c / 2] - 2);
        for (size_t i = 0; i < SAMPLES; i++) {
            struct sample sample = spiky(i);
            bool high = sample.elapsed > NSEC_PER_SEC, low = sample.elapsed == 10;
            if (!high && !low)
                continue;
            double x = c % 2 ? seconds_of(sample.at) : (double)sample.load;
            /* A column shows one maximum: of two spikes in it, the greater. */
            if (low || points[c / 2] >= 100)
                if (!shows(&series, x, seconds_of(sample.elapsed), reach, high))
                    fail_msg("%zu points lose the spike of sample %zu", (size_t)points[c / 2], i);
        }
        struct sample first = spiky(0), last = spiky(SAMPLES - 1);
        assert_true(series.x[0] == (c % 2 ? seconds_of(first.at) : (double)first.load));
        assert_true(series.mean[0] == seconds_of(first.elapsed));
        assert_true(series.x[series.n - 1] == (c % 2 ? seconds_of(last.at) : (double)last.load));
        assert_true(series.mean[series.n - 1] == seconds_of(last.elapsed));
    }
}

static void a_zoomed_in_range_has_every_sample(void **state)
{
    (void)state;
    const struct series_query query = { .job = big,
                                        .run = 1,
                                        .phase = "create",
                                        .x = "load",
                                        .y = "elapsed",
                                        .from = 100 * 1001,
                                        .to = 100 * 1900,
                                        .points = 1000 };
    scoped(series_done) struct series series = series_of(&query);
    assert_int_equal(series.count, 900);
    assert_int_equal(series.n, 900);
    assert_false(series.thinned);
    for (size_t i = 0; i < series.n; i++) {
        struct sample sample = spiky(1000 + i);
        assert_true(series.x[i] == (double)sample.load);
        assert_true(series.min[i] == seconds_of(sample.elapsed));
        assert_true(series.max[i] == seconds_of(sample.elapsed));
    }
}

static void a_range_counts_its_samples_exactly(void **state)
{
    (void)state;
    const struct {
        double from, to;
        uint64_t points, count;
    } cases[] = {
        { NAN, 100 * 100000, 200, 100000 },
        { 100 * 100001, NAN, 200, 200000 },
        { 100 * 1001, 100 * 251000, 1000, 250000 },
        { 100 * 512.5, 100 * 1024.5, 10, 512 },
        { 100 * 5, 100 * 5, 10, 1 },
        { 100 * 5.1, 100 * 5.9, 10, 0 },
        { 1e12, 2e12, 10, 0 },
        { 100, 200, 0, 2 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct series_query query = { .job = big,
                                            .phase = "create",
                                            .x = "load",
                                            .y = "ops",
                                            .from = cases[i].from,
                                            .to = cases[i].to,
                                            .points = cases[i].points };
        scoped(series_done) struct series series = series_of(&query);
        if (series.count != cases[i].count)
            fail_msg("%g to %g: %zu samples, not %zu", cases[i].from, cases[i].to,
                     (size_t)series.count, (size_t)cases[i].count);
        for (size_t k = 0; k < series.n; k++)
            assert_true(series.min[k] == 100 && series.max[k] == 100);
    }
}

static void every_y_has_its_figures_zoomed_out_and_in(void **state)
{
    (void)state;
    const struct sample sample = spiky(1234);
    const struct {
        const char *y;
        double value;
    } cases[] = {
        { "elapsed", seconds_of(sample.elapsed) },
        { "cpu", (double)sample.cpu },
        { "switches", sample.switches },
        { "ops", 100 },
        { "bytes", (double)sample.bytes },
        { "errors", (double)sample.errors },
        { "p50", (double)sample.p50 },
        { "p99", (double)sample.p99 },
        { "max", (double)sample.max },
        { "rate", 100 / seconds_of(sample.elapsed) },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct series_query query = { .job = big,
                                      .phase = "create",
                                      .x = "load",
                                      .y = cases[i].y,
                                      .from = (double)sample.load,
                                      .to = (double)sample.load,
                                      .points = 100 };
        scoped(series_done) struct series one = series_of(&query);
        assert_int_equal(one.n, 1);
        if (fabs(one.mean[0] - cases[i].value) > 1e-9 * fabs(cases[i].value))
            fail_msg("%s: %.17g, not %.17g", cases[i].y, one.mean[0], cases[i].value);
        query.from = query.to = NAN;
        scoped(series_done) struct series all = series_of(&query);
        assert_int_equal(all.count, SAMPLES);
        assert_true(all.n > 50);
    }
}

/* One lane: read from the plain columns, and from every sample. */
static void a_rate_is_the_same_zoomed_out_and_in(void **state)
{
    (void)state;
    struct series_query query = { .job = big,
                                  .phase = "create",
                                  .x = "load",
                                  .y = "rate",
                                  .from = NAN,
                                  .to = NAN,
                                  .points = 100 };
    scoped(series_done) struct series out = series_of(&query);
    query.points = 100000;
    scoped(series_done) struct series in = series_of(&query);
    double low = INFINITY, high = 0, low_in = INFINITY, high_in = 0;
    for (size_t i = 0; i < out.n; i++) {
        low = fmin(low, out.min[i]);
        high = fmax(high, out.max[i]);
    }
    for (size_t i = 0; i < in.n; i++) {
        low_in = fmin(low_in, in.min[i]);
        high_in = fmax(high_in, in.max[i]);
    }
    assert_true(fabs(low / low_in - 1) < 1e-9 && fabs(high / high_in - 1) < 1e-9);
    assert_true(fabs(high / (100 / 10e-9) - 1) < 1e-9);
}

/* Two lanes of 100 operations every 4 ms each, one batch ending every 2 ms: 50,000 a second. */
static void the_rate_of_two_lanes_is_that_of_the_wall_clock(void **state)
{
    (void)state;
    const struct series_query query = {
        .job = lanes, .phase = "stat", .x = "at", .y = "rate", .from = 1, .to = NAN, .points = 50
    };
    scoped(series_done) struct series series = series_of(&query);
    assert_true(series.n > 40);
    for (size_t i = 1; i + 1 < series.n; i++)
        if (fabs(series.mean[i] / 50000 - 1) > 0.01)
            fail_msg("%g operations/s at %g s", series.mean[i], series.x[i]);
}

static void lanes_that_overlap_come_in_the_order_of_time(void **state)
{
    (void)state;
    struct samples_cursor *cursor = NULL;
    works(samples_open(fixture.store, lanes, NULL, &cursor, why));
    nsec last = 0;
    size_t seen = 0;
    for (;;) {
        const char *phase;
        unsigned run, leg;
        const struct sample *samples;
        size_t n;
        int r = 0;
        works(r = samples_next(cursor, &phase, &run, &leg, &samples, &n, why));
        if (r == 0)
            break;
        assert_true(n <= SAMPLE_GROUP);
        for (size_t i = 0; i < n; i++, seen++) {
            assert_true(samples[i].at >= last);
            last = samples[i].at;
        }
    }
    samples_close(cursor);
    assert_int_equal(seen, 5000);
}

static void refuses_unknown_axes_and_knows_no_samples_of_unknown_phases(void **state)
{
    (void)state;
    struct series series;
    struct series_query query = { .job = big,
                                  .phase = "create",
                                  .x = "time",
                                  .y = "elapsed",
                                  .from = NAN,
                                  .to = NAN,
                                  .points = 10 };
    refuses(PROBLEM_BAD_FIELD, store_series(fixture.store, &query, &series, why));
    assert_string_equal(refused.field, "/x");
    query.x = "load";
    query.y = "speed";
    refuses(PROBLEM_BAD_FIELD, store_series(fixture.store, &query, &series, why));
    assert_string_equal(refused.field, "/y");
    query.y = "elapsed";
    query.phase = "no-such";
    scoped(series_done) struct series none = series_of(&query);
    assert_int_equal(none.n, 0);
    assert_int_equal(none.count, 0);
}

/* Lane 1 is told a chunk later than it should be, as by a recorder that drains lanes in turn. */
static void write_lanes(job_id job)
{
    char path[128];
    journal_path(path);
    unlink(path);
    scoped_fd int folder = open(fixture.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct journal *journal = NULL;
    works(journal_create(folder, JOURNAL_FILE, &journal, why));
    write_begin(journal, job);
    const struct phase_plan plan = { "stat", 5000, SAMPLE_GROUP, 2 };
    struct phase_total phase = planned(&plan);
    works(journal_phase(journal, &phase, why));
    enum { DRAIN = 250 };
    for (size_t from = 0; from < 5000; from += DRAIN)
        for (size_t lane = 0; lane < 2; lane++) {
            struct sample line[SAMPLE_GROUP];
            size_t n = 0;
            for (size_t i = from; i < from + DRAIN; i++)
                if (i % 2 == lane) {
                    line[n] = sample_at(i, 2);
                    line[n++].elapsed = 4 * NSEC_PER_MSEC;
                }
            works(journal_samples(journal, 1, 1, "stat", line, n, why));
        }
    journal_close(journal);
}

static int open_all(void **state)
{
    (void)state;
    if (fixture_open(2) < 0)
        return -1;
    big = running_job("big");
    write_spiky(big);
    works(ingest_from(big, 0, ALL, 200, why));
    lanes = running_job("lanes");
    write_lanes(lanes);
    works(ingest_from(lanes, 0, ALL, ALL, why));
    return 0;
}
static int close_all(void **state)
{
    (void)state;
    return fixture_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thinning_keeps_every_spike),
        cmocka_unit_test(a_zoomed_in_range_has_every_sample),
        cmocka_unit_test(a_range_counts_its_samples_exactly),
        cmocka_unit_test(every_y_has_its_figures_zoomed_out_and_in),
        cmocka_unit_test(a_rate_is_the_same_zoomed_out_and_in),
        cmocka_unit_test(the_rate_of_two_lanes_is_that_of_the_wall_clock),
        cmocka_unit_test(lanes_that_overlap_come_in_the_order_of_time),
        cmocka_unit_test(refuses_unknown_axes_and_knows_no_samples_of_unknown_phases),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
