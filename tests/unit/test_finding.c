/* What is said of a phase: from samples to sentences. */
#include "tests/unit/cmocka_first.h"

#include "engine/finding.h"

#include "engine/base/field_json.h"

#include <math.h>

enum { BATCH = 100 };

/* A phase of n batches whose cost, in ms, is cost(i); hog(i) ms of it without a CPU, by force. */
typedef double cost_fn(size_t i);

static double none(size_t i)
{
    (void)i;
    return 0;
}

static double noise(size_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z ^= z >> 29;
    z *= UINT64_C(0xbf58476d1ce4e5b9);
    return (double)(z >> 40) / (double)(1 << 24) - 0.5;
}

static struct findings analyse(size_t n, unsigned lanes, cost_fn *cost, cost_fn *hog,
                               struct phase_total phase)
{
    struct series_kept *series;
    struct findings findings = { 0 };
    struct problem why = { 0 };
    nsec at = 0;
    phase.run = phase.leg = 1;
    phase.batch = BATCH;
    phase.lanes = lanes;
    phase.ops = n * BATCH;
    memcpy(phase.name, "create", 7);
    memcpy(phase.unit, "files", 6);
    struct sample *samples = calloc(n, sizeof *samples);
    for (size_t i = 0; i < n; i++) {
        double ms = cost(i) + hog(i);
        at += (nsec)(ms * 1e6 / lanes);
        samples[i] = (struct sample){ .load = (i + 1) * BATCH,
                                      .at = at,
                                      .elapsed = (nsec)(ms * 1e6),
                                      .lane = (uint32_t)(i % lanes),
                                      .ops = BATCH,
                                      .cpu = (nsec)(cost(i) * 0.9e6),
                                      .switches = hog(i) > 0 ? 3 : 0 };
    }
    phase.last_done = at;
    assert_int_equal(series_kept_new(&phase, &series, &why), 0);
    assert_int_equal(series_kept_add(series, samples, n / 2, &why), 0);
    assert_int_equal(series_kept_add(series, samples + n / 2, n - n / 2, &why), 0);
    assert_int_equal(findings_of_phase(series, &findings, &why), 0);
    series_kept_free(series);
    free(samples);
    return findings;
}

static const struct finding *find(const struct findings *findings, enum finding_kind kind)
{
    for (size_t i = 0; i < findings->n; i++)
        if (findings->at[i].kind == kind)
            return &findings->at[i];
    return NULL;
}

static double number(const struct finding *finding, const char *name)
{
    json_t *data = fields_render(finding->data.table, finding->data.object);
    double value = json_number_value(json_object_get(data, name));
    json_decref(data);
    return value;
}

static double flat(size_t i)
{
    return 10 + noise(i);
}
static double step(size_t i)
{
    return (i < 600 ? 10 : 15) + noise(i);
}
/* In the middle of a bin of two batches; noise in proportion, another in each series. */
static size_t series_number;
static double step_within_bin(size_t i)
{
    double sum = 0;
    for (size_t k = 0; k < 12; k++)
        sum += noise(i + 1000 * (12 * series_number + k));
    return (i < 499 ? 10 : 30) * (1 + 0.05 * sum);
}
static double bend(size_t i)
{
    return 10 + noise(i) + (i < 600 ? 0 : 0.05 * (double)(i - 600));
}
static double hog_from_half(size_t i)
{
    return i >= 500 && i % 3 ? 12 : 0;
}

static void a_flat_run_has_a_rate_and_no_knee(void **state)
{
    (void)state;
    struct findings f = analyse(1000, 1, flat, none, (struct phase_total){ 0 });
    assert_non_null(find(&f, FINDING_RATE));
    assert_true(fabs(number(find(&f, FINDING_RATE), "ops_per_second") - 10000) < 100);
    assert_null(find(&f, FINDING_KNEE));
    assert_null(find(&f, FINDING_ZONES));
    assert_null(find(&f, FINDING_DISTURBED));
    assert_null(find(&f, FINDING_LIMIT));
    assert_string_equal(find(&f, FINDING_GROWTH)->sentence,
                        "The time per file does not grow measurably.");
    findings_done(&f);
}

static void a_step_is_told_in_one_sentence(void **state)
{
    (void)state;
    struct findings f = analyse(1000, 1, step, none, (struct phase_total){ 0 });
    const struct finding *knee = find(&f, FINDING_KNEE);
    assert_non_null(knee);
    assert_true(fabs(number(knee, "at") - 60000) <= 200);
    assert_true(fabs(number(knee, "effect") - 0.5) < 0.05);
    assert_string_equal(
        knee->sentence,
        "Creating 100 files takes 9.99 ms up to 60,000 files and 50 % more after that "
        "(95 %: between 59,900 and 60,100).");
    assert_non_null(strstr(knee->sentence, "50 % more after that"));
    assert_non_null(find(&f, FINDING_GROWTH));
    findings_done(&f);
}

static void a_step_within_a_bin_is_as_high_as_any(void **state)
{
    (void)state;
    for (series_number = 0; series_number < 40; series_number++) {
        struct findings f = analyse(999, 1, step_within_bin, none, (struct phase_total){ 0 });
        const struct finding *knee = find(&f, FINDING_KNEE);
        assert_non_null(knee);
        if (fabs(number(knee, "at") - 49900) > 300 || fabs(number(knee, "effect") - 2) > 0.15)
            fail_msg("series %zu: %s", series_number, knee->sentence);
        findings_done(&f);
    }
}

static void a_bend_tells_what_each_further_file_adds(void **state)
{
    (void)state;
    struct findings f = analyse(1000, 1, bend, none, (struct phase_total){ 0 });
    const struct finding *knee = find(&f, FINDING_KNEE);
    assert_non_null(knee);
    assert_true(fabs(number(knee, "at") - 60000) <= 1500);
    /* 0.05 ms a batch more with each batch of 100 files: 0.5 us a file */
    assert_non_null(strstr(knee->sentence, "per further file after that"));
    findings_done(&f);
}

static void several_lanes_are_judged_by_the_wall(void **state)
{
    (void)state;
    struct findings f = analyse(2000, 2, flat, none, (struct phase_total){ 0 });
    assert_true(fabs(number(find(&f, FINDING_RATE), "ops_per_second") - 20000) < 200);
    assert_null(find(&f, FINDING_KNEE));
    findings_done(&f);
}

static void a_cpu_hog_is_told_and_makes_no_knee(void **state)
{
    (void)state;
    struct findings f = analyse(1000, 1, flat, hog_from_half, (struct phase_total){ 0 });
    const struct finding *disturbed = find(&f, FINDING_DISTURBED);
    assert_non_null(disturbed);
    assert_true(number(disturbed, "batches") > 300);
    assert_true(number(disturbed, "from") > 50000);
    assert_null(find(&f, FINDING_KNEE));
    /* the rate is of what was, whoever was to blame */
    assert_true(number(find(&f, FINDING_RATE), "ops_per_second") < 8000);
    findings_done(&f);
}

static void a_limit_names_its_cause(void **state)
{
    (void)state;
    struct phase_total phase = { .limit = { .reached = true,
                                            .at = 31998,
                                            .reason = LIMIT_LINKS,
                                            .error = 31,
                                            .detail = "no more links are possible there" } };
    struct findings f = analyse(40, 1, flat, none, phase);
    assert_string_equal(find(&f, FINDING_LIMIT)->sentence,
                        "Creating ended at 31,998 files: no more links are possible there.");
    findings_done(&f);
}

static void a_flush_that_matters_is_told_with_the_rate(void **state)
{
    (void)state;
    struct findings f = analyse(1000, 1, flat, none, (struct phase_total){ 0 });
    assert_true(isnan(number(find(&f, FINDING_RATE), "with_flush")) ||
                number(find(&f, FINDING_RATE), "with_flush") == 0);
    assert_null(strstr(find(&f, FINDING_RATE)->sentence, "flush"));
    findings_done(&f);
    /* 100,000 files in 10 s, and 2.5 s for the flush */
    f = analyse(1000, 1, flat, none, (struct phase_total){ .flush = 2500 * NSEC_PER_MSEC });
    assert_true(fabs(number(find(&f, FINDING_RATE), "with_flush") - 8000) < 80);
    assert_non_null(
        strstr(find(&f, FINDING_RATE)->sentence, "With the flush of 2.50 s after it: "));
    findings_done(&f);
    f = analyse(1000, 1, flat, none, (struct phase_total){ .flush = NSEC_PER_MSEC });
    assert_true(number(find(&f, FINDING_RATE), "with_flush") > 0);
    assert_null(strstr(find(&f, FINDING_RATE)->sentence, "flush"));
    findings_done(&f);
}

static void a_phase_without_samples_says_nothing(void **state)
{
    (void)state;
    struct series_kept *series;
    struct findings findings = { 0 };
    struct problem why = { 0 };
    assert_int_equal(series_kept_new(&(struct phase_total){ 0 }, &series, &why), 0);
    assert_int_equal(findings_of_phase(series, &findings, &why), 0);
    assert_int_equal(findings.n, 0);
    series_kept_free(series);
    findings_done(&findings);
}

static void the_same_series_gives_the_same_findings(void **state)
{
    (void)state;
    struct findings a = analyse(1000, 1, bend, none, (struct phase_total){ 0 });
    struct findings b = analyse(1000, 1, bend, none, (struct phase_total){ 0 });
    assert_int_equal(a.n, b.n);
    for (size_t i = 0; i < a.n; i++)
        assert_string_equal(a.at[i].sentence, b.at[i].sentence);
    findings_done(&a);
    findings_done(&b);
}

enum slower { OWN_CPU, WAITING, SWITCHED };

/* 1,000 batches of 10 ms; from the 600th on half as long again by CPU time, or, with one switch each, twenty or
 * five times as long by waiting. The host's programs take `before` and then `after` of all CPUs; `queued`: what
 * the kernel tells of the lane's waiting for a CPU then. */
static struct findings beside_queued(enum slower how, double before, double after, double queued)
{
    static const double times[] = { [OWN_CPU] = 1.5, [WAITING] = 20, [SWITCHED] = 5 };
    struct problem why = { 0 };
    struct findings findings = { 0 };
    struct series_kept *series = NULL;
    struct phase_total phase = { .name = "create", .unit = "files", .lanes = 1, .batch = BATCH };
    struct host_sample host[27] = { 0 };
    nsec at = 0;
    assert_int_equal(series_kept_new(&phase, &series, &why), 0);
    for (uint64_t i = 0; i < 1000; i++) {
        double usual = 10 + noise(i), ms = usual * (i < 600 ? 1 : times[how]);
        at += (nsec)(ms * 1e6);
        struct sample sample = { .load = (i + 1) * BATCH,
                                 .at = at,
                                 .elapsed = (nsec)(ms * 1e6),
                                 .ops = BATCH,
                                 .cpu = (nsec)(0.95e6 * (how == OWN_CPU ? ms : usual)),
                                 .switches = how != OWN_CPU };
        assert_int_equal(series_kept_add(series, &sample, 1, &why), 0);
    }
    for (size_t i = 0; i < COUNT_OF(host); i++)
        host[i] = (struct host_sample){ .at = (nsec)(i + 1) * NSEC_PER_SEC,
                                        .cpu_user = i < 6 ? before : after,
                                        .job_cpu_wait = i < 6 ? 0 : queued };
    phase.ops = 1000 * BATCH;
    phase.last_done = at;
    series_kept_total(series, &phase);
    series_kept_host(series, host, COUNT_OF(host));
    assert_int_equal(findings_of_phase(series, &findings, &why), 0);
    series_kept_free(series);
    return findings;
}

static struct findings beside(enum slower how, double before, double after)
{
    return beside_queued(how, before, after, NAN);
}

static void what_other_work_slowed_down_is_no_knee(void **state)
{
    (void)state;
    struct findings f = beside(OWN_CPU, 0.05, 0.55);
    assert_null(find(&f, FINDING_KNEE));
    assert_non_null(find(&f, FINDING_DISTURBED));
    print_message("%s\n", find(&f, FINDING_DISTURBED)->sentence);
    assert_non_null(strstr(find(&f, FINDING_DISTURBED)->sentence,
                           "programs took 55 % of all CPUs, and 5.00 % before"));
    findings_done(&f);
    f = beside(OWN_CPU, 0.05, 0.06); /* nobody else: it is the filesystem's own work */
    assert_non_null(find(&f, FINDING_KNEE));
    assert_null(find(&f, FINDING_DISTURBED));
    findings_done(&f);
}

static void waiting_for_a_device_is_a_knee_whoever_else_works(void **state)
{
    (void)state;
    struct findings f = beside(WAITING, 0.05, 0.55);
    assert_non_null(find(&f, FINDING_KNEE));
    assert_null(find(&f, FINDING_DISTURBED)); /* one switch does not explain 190 ms */
    findings_done(&f);
}

static void switches_explain_no_more_than_the_kernel_tells(void **state)
{
    (void)state;
    struct findings f = beside_queued(SWITCHED, 0.95, 0.95, 0.8); /* of each second, for a CPU */
    assert_null(find(&f, FINDING_KNEE));
    assert_non_null(find(&f, FINDING_DISTURBED));
    findings_done(&f);
    f = beside_queued(SWITCHED, 0.95, 0.95, 0.02); /* for the device, on a machine that is busy */
    assert_non_null(find(&f, FINDING_KNEE));
    assert_null(find(&f, FINDING_DISTURBED));
    findings_done(&f);
    f = beside(SWITCHED, 0.95, 0.95); /* it does not tell: the switches count */
    assert_null(find(&f, FINDING_KNEE));
    assert_non_null(find(&f, FINDING_DISTURBED));
    findings_done(&f);
}

static void what_was_not_measured_is_a_gap(void **state)
{
    (void)state;
    struct problem why = { 0 };
    struct series_kept *series = NULL;
    struct findings findings = { 0 };
    struct phase_total phase = { .name = "create", .unit = "files", .lanes = 1, .batch = BATCH };
    double load[16], seconds[16];
    assert_int_equal(series_kept_new(&phase, &series, &why), 0);
    for (uint64_t i = 0; i < 9; i++) {
        uint64_t batch = i + 2 + (i > 3); /* the first and the sixth are missing */
        struct sample sample = { .load = batch * BATCH,
                                 .ops = BATCH,
                                 .elapsed = NSEC_PER_SEC,
                                 .at = (nsec)(i + 1) * NSEC_PER_SEC };
        assert_int_equal(series_kept_add(series, &sample, 1, &why), 0);
    }
    assert_int_equal(series_kept_n(series), 11);
    assert_int_equal(series_kept_batches(series, load, seconds), 11);
    for (size_t i = 0; i < 11; i++) {
        assert_true(load[i] == (double)(i + 1) * BATCH);
        assert_true(seconds[i] == 1);
    }
    phase.ops = 9 * BATCH;
    phase.last_done = 9 * NSEC_PER_SEC;
    series_kept_total(series, &phase);
    assert_int_equal(findings_of_phase(series, &findings, &why), 0);
    assert_string_equal(find(&findings, FINDING_GROWTH)->sentence,
                        "The time per file does not grow measurably; low confidence, from few "
                        "points.");
    assert_true(fabs(number(find(&findings, FINDING_FIT), "slope") - 1.0 / BATCH) < 1e-9);
    findings_done(&findings);
    series_kept_free(series);
}

static void what_was_measured_at_a_load_has_no_rate(void **state)
{
    (void)state;
    struct problem why = { 0 };
    struct series_kept *series = NULL;
    struct findings findings = { 0 };
    struct phase_total phase = {
        .name = "cycle", .unit = "filesystems", .lanes = 1, .batch = 1, .ops = 20, .at_load = true
    };
    assert_int_equal(series_kept_new(&phase, &series, &why), 0);
    for (uint64_t i = 1; i <= 20; i++) {
        struct sample sample = { .load = i * 1000,
                                 .ops = 1,
                                 .elapsed = (nsec)(i * i) * NSEC_PER_SEC,
                                 .at = (nsec)(i * i * i) * NSEC_PER_SEC };
        assert_int_equal(series_kept_add(series, &sample, 1, &why), 0);
    }
    phase.last_done = 8000 * NSEC_PER_SEC;
    series_kept_total(series, &phase);
    assert_int_equal(findings_of_phase(series, &findings, &why), 0);
    assert_null(find(&findings, FINDING_RATE));
    assert_non_null(find(&findings, FINDING_GROWTH));
    double exponent = number(find(&findings, FINDING_GROWTH), "exponent");
    assert_true(exponent > 1.95 && exponent < 2.05);
    assert_non_null(strstr(find(&findings, FINDING_GROWTH)->sentence,
                           "Bringing back takes a time that grows with the square"));
    findings_done(&findings);
    series_kept_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flat_run_has_a_rate_and_no_knee),
        cmocka_unit_test(a_step_is_told_in_one_sentence),
        cmocka_unit_test(a_step_within_a_bin_is_as_high_as_any),
        cmocka_unit_test(a_bend_tells_what_each_further_file_adds),
        cmocka_unit_test(several_lanes_are_judged_by_the_wall),
        cmocka_unit_test(a_cpu_hog_is_told_and_makes_no_knee),
        cmocka_unit_test(a_limit_names_its_cause),
        cmocka_unit_test(a_flush_that_matters_is_told_with_the_rate),
        cmocka_unit_test(a_phase_without_samples_says_nothing),
        cmocka_unit_test(the_same_series_gives_the_same_findings),
        cmocka_unit_test(what_other_work_slowed_down_is_no_knee),
        cmocka_unit_test(waiting_for_a_device_is_a_knee_whoever_else_works),
        cmocka_unit_test(switches_explain_no_more_than_the_kernel_tells),
        cmocka_unit_test(what_was_not_measured_is_a_gap),
        cmocka_unit_test(what_was_measured_at_a_load_has_no_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
