/* What a Prometheus node exporter says: line by line, and as figures of a host. */
#include "service/exporter.h"
#include "service/exposition.h"
#include "tests/unit/cmocka_first.h"

#include "engine/base/text.h"

#include <math.h>
#include <stdbool.h>

/* The lines as NAME(LABEL=VALUE,...)=NUMBER, separated by spaces; or "refused: <why>". */
static char *told_of(const char *text, size_t n)
{
    scoped_free char *bytes = malloc(n + 1);
    struct exposition exposition = { .at = bytes, .end = bytes + n };
    struct metric metric;
    struct problem why = { 0 };
    struct text told = { 0 };
    int more;
    assert_non_null(bytes);
    memcpy(bytes, text, n);
    while ((more = exposition_next(&exposition, &metric, &why)) > 0) {
        text_addf(&told, "%s%s(", told.n ? " " : "", metric.name);
        for (size_t i = 0; i < metric.labels_n; i++)
            text_addf(&told, "%s%s=%s", i ? "," : "", metric.labels[i].name,
                      metric.labels[i].value);
        text_addf(&told, ")=%g", metric.value);
    }
    if (more < 0)
        text_addf(&told, "%srefused: %s", told.n ? " " : "", why.message);
    return text_take(&told);
}

static void takes_lines_as_the_format_says(void **state)
{
    (void)state;
    static const struct {
        const char *text, *told;
    } rows[] = {
        { "", "" },
        { "\n  \n# HELP a is a comment\n#x\n", "" },
        { "a 1\n", "a()=1" },
        { "a:b_C9 -1.5e+3\n", "a:b_C9()=-1500" },
        { "a{} 1\n", "a()=1" },
        { "a{b=\"c\"} 1\n", "a(b=c)=1" },
        { "  a { b = \"c\" , d = \"e\" , } 1  \n", "a(b=c,d=e)=1" },
        { "a{b=\"\",d=\"x y}\"} .5\n", "a(b=,d=x y})=0.5" },
        { "a{b=\"\\\\ \\\" \\n\"} 2.\n", "a(b=\\ \" \n)=2" },
        { "a NaN\na +Inf\na -Inf\n", "a()=nan a()=inf a()=-inf" },
        { "a 1 1395066363000\na 1\t-3 \n", "a()=1 a()=1" },
        { "a 1\r\n", "refused: line 1 of the figures: its value is no number" },
        { "a 1\nb 2", "a()=1 refused: line 2 of the figures: the text ends within it" },
        { "9a 1\n", "refused: line 1 of the figures: it does not begin with the name of a metric" },
        { "a\n",
          "refused: line 1 of the figures: its metric has a name that is none, or no value" },
        { "a-b 1\n",
          "refused: line 1 of the figures: its metric has a name that is none, or no value" },
        { "a \n", "refused: line 1 of the figures: its value is no number" },
        { "a 0x10\n", "refused: line 1 of the figures: its value is no number" },
        { "a nan(2)\n", "refused: line 1 of the figures: its value is no number" },
        { "a infinity\n", "refused: line 1 of the figures: its value is no number" },
        { "a 1e\n", "refused: line 1 of the figures: its value is no number" },
        { "a -\n", "refused: line 1 of the figures: its value is no number" },
        { "a .\n", "refused: line 1 of the figures: its value is no number" },
        { "a 1 x\n", "refused: line 1 of the figures: what follows its value is no time" },
        { "a 1 -\n", "refused: line 1 of the figures: what follows its value is no time" },
        { "a 1 2 3\n", "refused: line 1 of the figures: what follows its value is no time" },
        { "a{b=\"c} 1\n",
          "refused: line 1 of the figures: its labels are not as {name=\"value\"}" },
        { "a{b=\"\\t\"} 1\n",
          "refused: line 1 of the figures: its labels are not as {name=\"value\"}" },
        { "a{b=\"\\\n", "refused: line 1 of the figures: its labels are not as {name=\"value\"}" },
        { "a{b=c} 1\n", "refused: line 1 of the figures: its labels are not as {name=\"value\"}" },
        { "a{b} 1\n", "refused: line 1 of the figures: its labels are not as {name=\"value\"}" },
        { "a{,} 1\n", "refused: line 1 of the figures: its labels are not as {name=\"value\"}" },
        { "a{b:c=\"d\"} 1\n",
          "refused: line 1 of the figures: its labels are not as {name=\"value\"}" },
        { "a{b=\"c\"d=\"e\"} 1\n",
          "refused: line 1 of the figures: its labels are not as {name=\"value\"}" },
        { "a{b=\"c\"", "refused: line 1 of the figures: the text ends within it" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        scoped_free char *told = told_of(rows[i].text, strlen(rows[i].text));
        assert_string_equal(told, rows[i].told);
    }
    scoped_free char *nul = told_of("a\0b 1\n", 6);
    assert_string_equal(nul, "refused: line 1 of the figures: it has a NUL byte");
}

static void takes_a_line_of_any_length(void **state)
{
    (void)state;
    struct text line = { 0 };
    text_addf(&line, "node_load1{a=\"");
    for (int i = 0; i < 1 << 20; i++)
        text_add(&line, "x", 1);
    text_addf(&line, "\"");
    for (int i = 0; i < 100; i++)
        text_addf(&line, ",l%d=\"%d\"", i, i);
    text_addf(&line, "} 3\n");
    struct exposition exposition = { .at = line.at, .end = line.at + line.n };
    struct metric metric;
    struct problem why = { 0 };
    assert_int_equal(exposition_next(&exposition, &metric, &why), 1);
    assert_int_equal(metric.labels_n, METRIC_LABELS);
    assert_int_equal(strlen(metric_label(&metric, "a")), 1 << 20);
    assert_string_equal(metric_label(&metric, "l3"), "3");
    assert_null(metric_label(&metric, "l99"));
    assert_true(metric.value == 3);
    text_done(&line);

    /* A number is not as long as that. */
    for (int i = 0; i < 100; i++)
        text_add(&line, "1", 1);
    struct text text = { 0 };
    text_addf(&text, "a %s\n", line.at);
    scoped_free char *told = told_of(text.at, text.n);
    assert_string_equal(told, "refused: line 1 of the figures: its value is no number");
    text_done(&line);
    text_done(&text);
}

static struct exporter_reading reading_of(const char *text, nsec at)
{
    struct exporter_reading reading;
    struct problem why = { 0 };
    scoped_free char *bytes = strdup(text);
    assert_non_null(bytes);
    if (exporter_read(bytes, strlen(bytes), &reading, &why) < 0)
        fail_msg("%s", why.message);
    reading.at = at;
    return reading;
}

#define CPU(cpu, user, system, iowait, idle)                                 \
    "node_cpu_seconds_total{cpu=\"" #cpu "\",mode=\"user\"} " #user "\n"     \
    "node_cpu_seconds_total{cpu=\"" #cpu "\",mode=\"nice\"} 0\n"             \
    "node_cpu_seconds_total{cpu=\"" #cpu "\",mode=\"system\"} " #system "\n" \
    "node_cpu_seconds_total{cpu=\"" #cpu "\",mode=\"softirq\"} 5\n"          \
    "node_cpu_seconds_total{cpu=\"" #cpu "\",mode=\"iowait\"} " #iowait "\n" \
    "node_cpu_seconds_total{cpu=\"" #cpu "\",mode=\"steal\"} 0\n"            \
    "node_cpu_seconds_total{cpu=\"" #cpu "\",mode=\"idle\"} " #idle "\n"

#define DISK(name, read, writes, busy)                                    \
    "node_disk_read_bytes_total{device=\"" name "\"} " #read "\n"         \
    "node_disk_writes_completed_total{device=\"" name "\"} " #writes "\n" \
    "node_disk_io_time_seconds_total{device=\"" name "\"} " #busy "\n"

static void tells_what_happened_between_two_readings(void **state)
{
    (void)state;
    struct exporter_reading before = reading_of(
        "node_load1 1.5\nnode_load5 2\nnode_load15 3\nnode_memory_MemAvailable_bytes 1e+09\n" CPU(
            0, 10, 20, 1, 100) CPU(1, 30, 40, 1, 100) DISK("sda", 1000, 10, 5) DISK("dm-0", 7, 7, 7)
            DISK("sdb", 5000, 20, 50),
        0);
    struct exporter_reading now = reading_of(
        "node_load1 2.5\n" CPU(0, 11, 20.5, 1, 100) CPU(1, 30, 40.5, 1, 102)
            DISK("sda", 3000, 14, 5.5) DISK("dm-0", 9e9, 99, 9)
                DISK("sdb", 5000, 24, 51) "node_network_receive_bytes_total{device=\"lo\"} 5\n",
        2 * NSEC_PER_SEC);
    struct host_sample sample;

    exporter_sample(NULL, &before, 7, &sample);
    assert_int_equal(sample.at, 7);
    assert_true(sample.load1 == 1.5 && sample.load15 == 3 && sample.memory_available == 1e9);
    assert_true(isnan(sample.dirty) && isnan(sample.cpu_user) && isnan(sample.disk_read));

    exporter_sample(&before, &now, 9, &sample);
    assert_true(sample.load1 == 2.5 && isnan(sample.load5));
    assert_float_equal(sample.cpu_user, 0.25, 1e-9);
    assert_float_equal(sample.cpu_system, 0.25, 1e-9);
    assert_float_equal(sample.cpu_iowait, 0, 1e-9);
    assert_float_equal(sample.cpu_idle, 0.5, 1e-9);
    assert_float_equal(sample.disk_read, 1000, 1e-9);
    assert_float_equal(sample.disk_writes, 4, 1e-9);
    assert_float_equal(sample.disk_busy, 0.5, 1e-9);
    assert_true(isnan(sample.disk_written) && isnan(sample.net_received));
    assert_true(isnan(sample.job_cpu) && isnan(sample.pressure_io));
}

static void tells_nothing_of_counters_that_went_back(void **state)
{
    (void)state;
    static const struct {
        const char *what, *before, *now;
    } rows[] = {
        { "all went back", CPU(0, 10, 20, 1, 100), CPU(0, 1, 1, 0, 2) },
        { "one went back", CPU(0, 10, 20, 1, 100), CPU(0, 11, 19, 1, 103) },
        { "none moved", CPU(0, 10, 20, 1, 100), CPU(0, 10, 20, 1, 100) },
        { "a CPU came", CPU(0, 10, 20, 1, 100), CPU(0, 11, 20, 1, 101) CPU(1, 5, 5, 5, 5) },
        { "a CPU went", CPU(0, 10, 20, 1, 100) CPU(1, 5, 5, 5, 5), CPU(0, 90, 90, 9, 901) },
        { "it is no number", CPU(0, 10, 20, 1, 100), CPU(0, NaN, 20, 1, 101) },
        { "it has no end", CPU(0, 10, 20, 1, 100), CPU(0, +Inf, 20, 1, 101) },
        { "they are gone", CPU(0, 10, 20, 1, 100), "node_load1 1\n" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct exporter_reading before = reading_of(rows[i].before, 0),
                                now = reading_of(rows[i].now, NSEC_PER_SEC);
        struct host_sample sample;
        exporter_sample(&before, &now, 1, &sample);
        if (!isnan(sample.cpu_user) || !isnan(sample.cpu_idle) || !isnan(sample.cpu_system))
            fail_msg("%s: %g %g", rows[i].what, sample.cpu_user, sample.cpu_idle);
    }
    struct exporter_reading before = reading_of(DISK("sda", 5, 5, 5) DISK("sdb", 1, 1, 1), 0),
                            now = reading_of(DISK("sda", 6, 4, 5.5) DISK("sdb", 1, 1, 0.5),
                                             NSEC_PER_SEC);
    struct host_sample sample;
    exporter_sample(&before, &now, 1, &sample);
    assert_float_equal(sample.disk_read, 1, 1e-9);
    assert_true(isnan(sample.disk_writes));
    assert_float_equal(sample.disk_busy, 0.5, 1e-9);
}

static void refuses_what_is_no_node_exporter(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "", "its figures are not those of a node exporter: none is of load, CPUs, memory, disks "
              "or networks" },
        { "go_goroutines 7\nnode_other 3\n",
          "its figures are not those of a node exporter: none is of load, CPUs, memory, disks or "
          "networks" },
        { "<!doctype html>\n",
          "line 1 of the figures: it does not begin with the name of a metric" },
        { "node_load1 0.5\nnode_load5", "line 2 of the figures: the text ends within it" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct exporter_reading reading;
        struct problem why = { 0 };
        scoped_free char *bytes = strdup(rows[i].text);
        assert_int_equal(exporter_read(bytes, strlen(bytes), &reading, &why), -1);
        assert_string_equal(why.message, rows[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_lines_as_the_format_says),
        cmocka_unit_test(takes_a_line_of_any_length),
        cmocka_unit_test(tells_what_happened_between_two_readings),
        cmocka_unit_test(tells_nothing_of_counters_that_went_back),
        cmocka_unit_test(refuses_what_is_no_node_exporter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
