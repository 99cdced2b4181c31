#include "engine/base/field_json.h"
#include "engine/journal.h"
#include "engine/journal_line.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

struct place {
    char path[64], file[96];
    int folder;
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    snprintf(place->path, sizeof place->path, "/tmp/test_journal.XXXXXX");
    if (!place || !mkdtemp(place->path))
        return -1;
    place->folder = open(place->path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    snprintf(place->file, sizeof place->file, "%s/%s", place->path, JOURNAL_FILE);
    *state = place;
    return place->folder < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    unlink(place->file);
    close(place->folder);
    rmdir(place->path);
    free(place);
    return 0;
}

#define must(call)                                  \
    do {                                            \
        if ((call) != 0)                            \
            fail_msg("%s: %s", #call, why.message); \
    } while (0)

/* Sample number i of a series whose every column differs. */
static struct sample sample_at(uint64_t i)
{
    return (struct sample){
        .load = (i + 1) * 100,
        .at = (nsec)(i + 1) * 1234567,
        .elapsed = (nsec)(1000000 + i),
        .lane = (uint32_t)(i % 3),
        .switches = (uint32_t)(i % 5),
        .ops = 100,
        .bytes = i * 4096,
        .errors = i % 2,
        .cpu = (nsec)(900000 + i),
        .p50 = (nsec)(9000 + i),
        .p99 = (nsec)(99000 + i),
        .max = i == 7 ? INT64_C(999999999999999999) : (nsec)(999000 + i),
    };
}

static void write_samples(struct journal *journal, uint64_t first, size_t n)
{
    struct problem why = { 0 };
    struct sample samples[SAMPLE_GROUP];
    for (size_t i = 0; i < n; i++)
        samples[i] = sample_at(first + i);
    must(journal_samples(journal, 1, 2, "create", samples, n, &why));
}

static const struct journal_record *next(struct journal_reader *reader)
{
    struct problem why = { 0 };
    const struct journal_record *record = NULL;
    int got = journal_next(reader, &record, &why);
    if (got != 1)
        fail_msg("journal_next gave %d: %s", got, why.message);
    return record;
}

static void write_every_kind(struct journal *journal)
{
    struct problem why = { 0 }, problem = { 0 };
    scoped_json json_t *params = json_pack("{s:i}", "files", 100);
    struct phase_total phase = { .name = "create",
                                 .unit = "files",
                                 .run = 1,
                                 .leg = 2,
                                 .lanes = 3,
                                 .batch = 100,
                                 .total = 1750000 };
    scoped_free struct histogram *histogram = calloc(1, sizeof *histogram);
    struct host_sample host = { .at = 5, .load1 = 0.25, .dirty = NAN, .pressure_memory = 1 };
    const char *names[] = { "a stranger" };

    must(journal_begin(journal,
                       &(struct journal_begin){ .job = 42,
                                                .run = 1,
                                                .leg = 2,
                                                .workload = "create-scaling",
                                                .target = "scratch",
                                                .workspace = "plimsoll-42-1-ab",
                                                .params = params },
                       &why));
    must(journal_phase(journal, &phase, &why));
    write_samples(journal, 0, SAMPLE_GROUP);
    must(journal_host(journal, 1, 2, &host, 1, &why));
    phase.limit = (struct limit){ .reached = true,
                                  .at = 700,
                                  .reason = LIMIT_DIRECTORY_INDEX,
                                  .error = ENOSPC,
                                  .detail = "full" };
    must(journal_limit(journal, &phase, &why));
    histogram_note(histogram, 1000, 3);
    phase.ops = 700;
    phase.bytes = 1;
    phase.errors = 2;
    phase.first_start = 10;
    phase.first_done = 20;
    phase.last_done = 30;
    phase.cpu = 40;
    phase.flush = 50;
    phase.dirty_before = 60;
    phase.latency = histogram_latency(histogram);
    must(journal_phase_end(journal, &phase, histogram, &why));
    problem_field(&problem, "/params/files", "too \"many\"");
    must(journal_end(journal, 1, 2, JOB_FAILED, &problem, names, 1, &why));
    must(journal_cleanup(journal, 1, 2, CLEANUP_BLOCKED, 699, names, 1, &why));
}

static void what_is_written_is_read_back(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    struct journal *journal = NULL;
    struct journal_reader *reader = NULL;
    const struct journal_record *r;
    must(journal_create(place->folder, JOURNAL_FILE, &journal, &why));
    write_every_kind(journal);
    must(journal_sync(journal, &why));
    must(journal_reader_open(place->file, 0, &reader, &why));

    r = next(reader);
    assert_int_equal(r->kind, RECORD_BEGIN);
    assert_true(r->seq == 1 && r->job == 42 && r->run == 1 && r->leg == 2 && r->pid == getpid());
    assert_true(r->pid_start > 0 && strlen(r->boot_id) == 36 && r->wall > 0);
    assert_string_equal(json_string_value(json_object_get(r->json, "workspace")),
                        "plimsoll-42-1-ab");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(r->json, "params"), "files")), 100);

    r = next(reader);
    assert_int_equal(r->kind, RECORD_PHASE);
    assert_string_equal(r->phase.name, "create");
    assert_string_equal(r->phase.unit, "files");
    assert_true(r->phase.lanes == 3 && r->phase.batch == 100 && r->phase.total == 1750000);

    r = next(reader);
    assert_int_equal(r->kind, RECORD_SAMPLES);
    assert_true(r->n == SAMPLE_GROUP && r->run == 1 && r->leg == 2);
    for (size_t i = 0; i < r->n; i++) {
        struct sample expected = sample_at(i);
        assert_memory_equal(&r->samples[i], &expected, sizeof expected);
    }

    r = next(reader);
    assert_int_equal(r->kind, RECORD_HOST);
    assert_true(r->n == 1 && r->host[0].load1 == 0.25 && isnan(r->host[0].dirty));
    assert_true(r->host[0].pressure_memory == 1 && r->host[0].at == 5);

    r = next(reader);
    assert_int_equal(r->kind, RECORD_LIMIT);
    assert_true(r->phase.limit.reached && r->phase.limit.at == 700);
    assert_int_equal(r->phase.limit.reason, LIMIT_DIRECTORY_INDEX);
    assert_int_equal(r->phase.limit.error, ENOSPC);
    assert_string_equal(r->phase.limit.detail, "full");

    r = next(reader);
    assert_int_equal(r->kind, RECORD_PHASE_END);
    assert_true(r->phase.ops == 700 && r->phase.bytes == 1 && r->phase.errors == 2);
    assert_true(r->phase.first_start == 10 && r->phase.first_done == 20);
    assert_true(r->phase.last_done == 30 && r->phase.cpu == 40 && r->phase.finished);
    assert_true(r->phase.flush == 50 && r->phase.dirty_before == 60);
    assert_true(r->phase.latency.count == 3 && r->phase.latency.p999 == 1000);

    r = next(reader);
    assert_int_equal(r->kind, RECORD_END);
    assert_int_equal(r->outcome, JOB_FAILED);
    assert_int_equal(r->problem.code, PROBLEM_BAD_FIELD);
    assert_string_equal(r->problem.field, "/params/files");
    assert_string_equal(r->problem.message, "too \"many\"");

    r = next(reader);
    assert_int_equal(r->kind, RECORD_CLEANUP);
    assert_true(r->cleanup == CLEANUP_BLOCKED && r->removed == 699);

    assert_int_equal(journal_next(reader, &r, &why), 0);
    reader = journal_reader_close(reader);
    journal = journal_close(journal);
}

static void records_and_fields_of_later_versions_are_skipped(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    struct journal *journal = NULL;
    struct journal_reader *reader = NULL;
    const struct journal_record *r;
    must(journal_create(place->folder, JOURNAL_FILE, &journal, &why));
    must(journal_append(journal, json_pack("{s:s, s:i}", "record", "weather", "wind", 7), &why));
    /* a column more, in another order, one absent */
    must(journal_append(
        journal,
        json_pack("{s:s, s:i, s:i, s:s, s:[i,i], s:[s,s], s:[i,i], s:[i,i], s:[i,i]}", "record",
                  "samples", "run", 1, "leg", 1, "phase", "create", "at", 10, 20, "mood", "a", "b",
                  "load", 100, 200, "ops", 100, 100, "elapsed", 9, 8),
        &why));
    must(journal_reader_open(place->file, 0, &reader, &why));
    assert_int_equal(next(reader)->kind, RECORD_UNKNOWN);
    r = next(reader);
    assert_int_equal(r->kind, RECORD_SAMPLES);
    assert_true(r->n == 2 && r->samples[1].load == 200 && r->samples[1].at == 20);
    assert_true(r->samples[1].elapsed == 8 && r->samples[1].p99 == 0);
    reader = journal_reader_close(reader);
    journal = journal_close(journal);
}

/* The file's bytes, for tests that damage it. */
static char *slurp(const struct place *place, size_t *ret_n)
{
    char *bytes = malloc(1 << 20);
    scoped_fd int fd = open(place->file, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, bytes, 1 << 20);
    assert_true(n > 0);
    *ret_n = (size_t)n;
    return bytes;
}

static void put_bytes(const struct place *place, const char *bytes, size_t n)
{
    scoped_fd int fd = open(place->file, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, n), n);
}

/* Reads all; gives how many records came, and what stopped it. */
static unsigned count_records(const struct place *place, int *ret_last, struct problem *why)
{
    struct journal_reader *reader = NULL;
    const struct journal_record *r;
    unsigned n = 0;
    assert_int_equal(journal_reader_open(place->file, 0, &reader, why), 0);
    while ((*ret_last = journal_next(reader, &r, why)) == 1)
        n++;
    reader = journal_reader_close(reader);
    return n;
}

static void a_tail_torn_at_any_byte_is_cut_and_written_over(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    struct journal *journal = NULL;
    must(journal_create(place->folder, JOURNAL_FILE, &journal, &why));
    write_samples(journal, 0, 2);
    write_samples(journal, 2, 3);
    journal = journal_close(journal);
    size_t n;
    scoped_free char *bytes = slurp(place, &n);
    size_t first = (size_t)((char *)memchr(bytes, '\n', n) - bytes) + 1;
    for (size_t cut = 0; cut <= n; cut++) {
        unsigned whole = cut == n ? 2 : cut >= first;
        int last;
        put_bytes(place, bytes, cut);
        assert_int_equal(count_records(place, &last, &why), whole);
        assert_int_equal(last, 0);
        must(journal_reopen(place->folder, JOURNAL_FILE, &journal, &why));
        write_samples(journal, 9, 1);
        journal = journal_close(journal);
        assert_int_equal(count_records(place, &last, &why), whole + 1);
        assert_int_equal(last, 0);
    }
}

static void a_reader_goes_on_over_a_tail_that_a_new_writer_cut(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    struct journal *journal = NULL;
    struct journal_reader *reader = NULL;
    const struct journal_record *r;
    must(journal_create(place->folder, JOURNAL_FILE, &journal, &why));
    write_samples(journal, 0, 2);
    journal = journal_close(journal);
    scoped_fd int fd = open(place->file, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "{\"seq\":2,\"record\":\"sam", 22), 22);
    must(journal_reader_open(place->file, 0, &reader, &why));
    next(reader);
    assert_int_equal(journal_next(reader, &r, &why), 0);
    must(journal_reopen(place->folder, JOURNAL_FILE, &journal, &why));
    write_samples(journal, 2, 4);
    r = next(reader);
    assert_true(r->seq == 2 && r->n == 4);
    /* and a reader that starts where that one stands */
    off_t end = r->end;
    reader = journal_reader_close(reader);
    write_samples(journal, 6, 5);
    must(journal_reader_open(place->file, end, &reader, &why));
    r = next(reader);
    assert_true(r->seq == 3 && r->n == 5 && r->samples[0].load == 700);
    reader = journal_reader_close(reader);
    journal = journal_close(journal);
}

static void a_byte_changed_in_the_middle_is_told_wherever_it_is(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    struct journal *journal = NULL;
    must(journal_create(place->folder, JOURNAL_FILE, &journal, &why));
    for (uint64_t i = 0; i < 4; i++) /* without its newline the second swallows the third */
        write_samples(journal, i, 1);
    journal = journal_close(journal);
    size_t n;
    scoped_free char *bytes = slurp(place, &n);
    char *second = (char *)memchr(bytes, '\n', n) + 1;
    char *third = (char *)memchr(second, '\n', n - (size_t)(second - bytes)) + 1;
    for (char *p = second; p < third; p++) {
        char held = *p;
        int last;
        *p = (char)(held ^ 1);
        put_bytes(place, bytes, n);
        *p = held;
        memset(&why, 0, sizeof why);
        assert_int_equal(count_records(place, &last, &why), 1);
        assert_int_equal(last, -1);
        assert_int_equal(why.code, PROBLEM_BAD_SYNTAX);
        assert_non_null(strstr(why.message, "damaged"));
    }
}

static void a_missing_line_is_told(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    struct journal *journal = NULL;
    must(journal_create(place->folder, JOURNAL_FILE, &journal, &why));
    for (uint64_t i = 0; i < 3; i++)
        write_samples(journal, i, 1);
    journal = journal_close(journal);
    size_t n;
    int last;
    scoped_free char *bytes = slurp(place, &n);
    char *second = (char *)memchr(bytes, '\n', n) + 1;
    char *third = (char *)memchr(second, '\n', n - (size_t)(second - bytes)) + 1;
    size_t rest = n - (size_t)(third - bytes);
    memmove(second, third, rest);
    put_bytes(place, bytes, (size_t)(second - bytes) + rest);
    assert_int_equal(count_records(place, &last, &why), 1);
    assert_int_equal(last, -1);
    assert_non_null(strstr(why.message, "record 3 comes after 1"));
}

static void one_writer_at_a_time_holds_it(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 }, refused = { 0 };
    struct journal *journal = NULL, *other = NULL;
    must(journal_create(place->folder, JOURNAL_FILE, &journal, &why));
    assert_int_equal(journal_create(place->folder, JOURNAL_FILE, &other, &refused), -1);
    assert_int_equal(journal_writer_lives(place->file, &why), 1);
    memset(&refused, 0, sizeof refused);
    assert_int_equal(journal_reopen(place->folder, JOURNAL_FILE, &other, &refused), -1);
    assert_int_equal(refused.code, PROBLEM_CONFLICT);
    assert_null(other);
    journal = journal_close(journal);
    assert_int_equal(journal_writer_lives(place->file, &why), 0);
    must(journal_reopen(place->folder, JOURNAL_FILE, &journal, &why));
    assert_int_equal(journal_writer_lives(place->file, &why), 1);
    journal = journal_close(journal);
}

/* Whoever may put files into the folder could have us cut and fill another file. */
static void goes_on_only_with_a_file_of_its_own(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 }, refused = { 0 };
    struct journal *journal = NULL, *other = NULL;
    must(journal_create(place->folder, JOURNAL_FILE, &journal, &why));
    journal = journal_close(journal);
    must(linkat(place->folder, JOURNAL_FILE, place->folder, "second", 0));
    assert_int_equal(journal_reopen(place->folder, JOURNAL_FILE, &other, &refused), -1);
    assert_int_equal(refused.code, PROBLEM_FORBIDDEN);
    must(unlinkat(place->folder, JOURNAL_FILE, 0));
    must(symlinkat("second", place->folder, JOURNAL_FILE));
    assert_int_equal(journal_reopen(place->folder, JOURNAL_FILE, &other, &refused), -1);
    must(unlinkat(place->folder, JOURNAL_FILE, 0));
    must(mkfifoat(place->folder, JOURNAL_FILE, 0600));
    refused = (struct problem){ 0 };
    assert_int_equal(journal_reopen(place->folder, JOURNAL_FILE, &other, &refused), -1);
    assert_int_equal(refused.code, PROBLEM_FORBIDDEN);
    assert_null(other);
    must(unlinkat(place->folder, JOURNAL_FILE, 0));
    must(unlinkat(place->folder, "second", 0));
}

static void the_lock_ends_with_its_process_and_is_not_inherited(void **state)
{
    struct place *place = *state;
    struct problem why = { 0 };
    int ready[2], status;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) { /* the writer: starts a program, which must not hold the lock, and dies */
        struct journal *journal = NULL;
        if (journal_create(place->folder, JOURNAL_FILE, &journal, &why))
            _exit(1);
        if (fork() == 0) {
            dup2(ready[1], 1);
            close(ready[0]);
            execlp("sh", "sh", "-c", "echo started; exec sleep 20", (char *)NULL);
            _exit(1);
        }
        pause();
    }
    close(ready[1]);
    char text[8];
    assert_int_equal(read(ready[0], text, sizeof text), 8);
    assert_int_equal(journal_writer_lives(place->file, &why), 1);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_int_equal(journal_writer_lives(place->file, &why), 0);
    close(ready[0]);
}

static void refuses_what_is_no_journal(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *bytes;
        unsigned records;
        int last;
    } cases[] = {
        { "", 0, 0 },
        { "\n\n\n", 0, 0 },
        { "not json\n", 0, 0 },
        { "{}\n", 0, 0 },
        { "{\"seq\":1,\"crc\":\"00000000\"}\n", 0, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct problem why = { 0 };
        int last;
        put_bytes(place, cases[i].bytes, strlen(cases[i].bytes));
        assert_int_equal(count_records(place, &last, &why), cases[i].records);
        assert_int_equal(last, cases[i].last);
    }
    scoped_free char *long_line = malloc(5 << 20);
    struct problem why = { 0 };
    int last;
    memset(long_line, 'x', 5 << 20);
    put_bytes(place, long_line, 5 << 20);
    assert_int_equal(count_records(place, &last, &why), 0);
    assert_int_equal(last, -1);
    assert_non_null(strstr(why.message, "4 MiB"));
}

#define at_a_place(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static void writes_every_length_of_a_number(void **state)
{
    (void)state;
    char text[24] = "", expected[24];
    for (uint64_t power = 1, last = 0; power > last; last = power, power *= 10)
        for (int off = -1; off <= 1; off++) {
            uint64_t value = power + (uint64_t)off;
            *line_number(text, value) = 0;
            snprintf(expected, sizeof expected, "%llu", (unsigned long long)value);
            assert_string_equal(text, expected);
            if (power > UINT64_MAX / 10 && off == 1)
                return;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        at_a_place(what_is_written_is_read_back),
        at_a_place(records_and_fields_of_later_versions_are_skipped),
        at_a_place(a_tail_torn_at_any_byte_is_cut_and_written_over),
        at_a_place(a_reader_goes_on_over_a_tail_that_a_new_writer_cut),
        at_a_place(a_byte_changed_in_the_middle_is_told_wherever_it_is),
        at_a_place(a_missing_line_is_told),
        at_a_place(one_writer_at_a_time_holds_it),
        at_a_place(goes_on_only_with_a_file_of_its_own),
        at_a_place(the_lock_ends_with_its_process_and_is_not_inherited),
        at_a_place(refuses_what_is_no_journal),
        cmocka_unit_test(writes_every_length_of_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
