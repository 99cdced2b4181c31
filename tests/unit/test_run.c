#include "engine/flush.h"
#include "engine/lane.h"
#include "tests/unit/place.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

/* What the lanes of these tests do, and what they count themselves. */
struct task {
    uint64_t fail_at; /* the operation that fails; with this errno */
    int error;
    nsec each;               /* how long an operation takes, by the clock */
    uint64_t slow_from;      /* from this operation on it takes 20 times as long; 0: never */
    bool own_signal;         /* sends this process SIGTERM once lane 0 has done 1000 operations */
    pthread_barrier_t *meet; /* where lanes wait for each other in their first operation */
    _Atomic uint64_t *done;
};

static void spend(nsec duration)
{
    for (nsec end = clock_monotonic() + duration; duration && clock_monotonic() < end;)
        continue;
}

static int work(struct lane *lane, const void *arg, struct problem *why)
{
    const struct task *task = arg;
    uint64_t mine = 0;
    for (uint64_t first, n; (n = lane_claim(lane, &first)) > 0;)
        for (uint64_t i = first; i < first + n; i++) {
            if (task->error && i == task->fail_at)
                return lane_refused(lane, task->error, ATTEMPT_NAME, i, "create", "f", why);
            if (mine++ == 0 && task->meet)
                pthread_barrier_wait(task->meet);
            spend(task->slow_from && i >= task->slow_from ? 20 * task->each : task->each);
            atomic_fetch_add(task->done, 1);
            if (task->own_signal && lane_index(lane) == 0 && mine == 1000)
                kill(getpid(), SIGTERM);
            if (!lane_note(lane, 3))
                return 0;
        }
    return 0;
}

static int run_task(struct place *place, struct task *task, struct phase phase, int signals,
                    bool *ret_limited, struct problem *why)
{
    _Atomic uint64_t *done = calloc(1, sizeof *done);
    task->done = done;
    phase.name = "create";
    phase.unit = "files";
    phase.body = work;
    phase.arg = task;
    int result = run_phase(place_run(place, signals), &phase, ret_limited, why);
    size_t n;
    const struct phase_total *total = run_phases(place->run, &n);
    assert_int_equal(n, 1);
    assert_true(total->ops == atomic_load(done) && total->bytes == 3 * total->ops);
    free(done);
    return result;
}

static void two_lanes_hold_the_sums_and_the_rate(void **state)
{
    struct place *place = *state;
    pthread_barrier_t meet; /* so that both work, however busy the machine is */
    pthread_barrier_init(&meet, NULL, 2);
    struct task task = { .each = 2000, .meet = &meet };
    bool limited = true;
    nsec started = clock_monotonic();
    must(run_task(place, &task, (struct phase){ .lanes = 2, .total = 50050, .batch = 100 }, -1,
                  &limited, &unmet));
    nsec took = clock_monotonic() - started;
    pthread_barrier_destroy(&meet);
    scoped_series struct series series;
    series_read(place, "create", &series);
    series_holds(&series);
    assert_false(limited);
    assert_int_equal(series.n, 501);
    assert_true(series.total.ops == 50050);
    nsec alone[2] = { 0 }, wall = series.total.last_done - series.total.first_start;
    for (size_t i = 0; i < series.n; i++)
        alone[series.samples[i].lane] += series.samples[i].elapsed;
    /* the rate's time is wall time: no lane was busy for longer, and the test saw no shorter one */
    assert_true(alone[0] > 0 && alone[1] > 0);
    assert_true(alone[0] <= wall && alone[1] <= wall && wall <= took);
    assert_true(alone[0] + alone[1] >= 50050 * 2000);
}

static void no_sample_is_lost_when_the_rings_are_full_all_the_time(void **state)
{
    struct place *place = *state;
    struct task task = { 0 };
    bool limited;
    must(run_task(place, &task, (struct phase){ .lanes = 4, .total = 40000, .batch = 1 }, -1,
                  &limited, &unmet));
    scoped_series struct series series;
    series_read(place, "create", &series);
    series_holds(&series);
    assert_int_equal(series.n, 40000);
    assert_true(series.lines >= 40000 / SAMPLE_GROUP);
}

static void each_lane_works_off_its_own_quota(void **state)
{
    struct place *place = *state;
    struct task task = { 0 };
    static const uint64_t quota[] = { 1000, 0, 55, 1 };
    bool limited;
    must(run_task(place, &task,
                  (struct phase){ .lanes = 4, .total = 1056, .quota = quota, .batch = 10 }, -1,
                  &limited, &unmet));
    scoped_series struct series series;
    series_read(place, "create", &series);
    series_holds(&series);
    uint64_t of[4] = { 0 };
    for (size_t i = 0; i < series.n; i++)
        of[series.samples[i].lane] += series.samples[i].ops;
    assert_memory_equal(of, quota, sizeof quota);
}

static void many_lanes_start_and_end(void **state)
{
    struct place *place = *state;
    struct task task = { .each = 1000 };
    bool limited;
    must(run_task(place, &task, (struct phase){ .lanes = 300, .total = 9000, .batch = 7 }, -1,
                  &limited, &unmet));
    scoped_series struct series series;
    series_read(place, "create", &series);
    series_holds(&series);
    assert_true(series.total.ops == 9000);
}

static void a_phase_that_takes_too_long_ends_at_its_deadline(void **state)
{
    struct place *place = *state;
    struct task task = { .each = 10000 };
    bool limited = false;
    const struct phase phase = {
        .lanes = 2, .total = UINT64_C(1) << 60, .batch = 1000000, .duration = NSEC_PER_SEC
    };
    must(run_task(place, &task, phase, -1, &limited, &unmet));
    scoped_series struct series series;
    series_read(place, "create", &series);
    series_holds(&series);
    assert_true(limited && series.limit.reached && series.limit.error == 0);
    assert_int_equal(series.limit.reason, LIMIT_DEADLINE);
    assert_true(series.limit.at == series.total.ops);
    /* within one operation, however long the batch: here a whole one takes 10 s */
    assert_true(series.total.ops > 0 && series.total.ops < 1000000);
    assert_true(series.n == 1 ||
                series.n == 2); /* a batch that ended early of each lane that ran */
    assert_true(series.total.last_done >= NSEC_PER_SEC);
}

static void a_phase_that_has_become_slower_ends_when_that_is_asked_for(void **state)
{
    (void)state;
    for (unsigned lanes = 1; lanes <= 2; lanes++) {
        void *own = NULL;
        assert_int_equal(place_setup(&own), 0);
        struct task task = { .each = 20000, .slow_from = 2000 };
        bool limited = false;
        const struct phase phase = { .lanes = lanes, .total = 1000000, .batch = 10, .slower = 4 };
        must(run_task(own, &task, phase, -1, &limited, &unmet));
        scoped_series struct series series;
        series_read(own, "create", &series);
        series_holds(&series);
        assert_true(limited && series.limit.reached && series.limit.error == 0);
        assert_int_equal(series.limit.reason, LIMIT_SLOWER);
        assert_true(series.limit.at == series.total.ops);
        /* not before the first twenty wall-time batches and five more: a busy machine may hold up those */
        assert_true(series.total.ops >= 25 * lanes * 10 && series.total.ops < 1000000);
        place_teardown(&own);
    }
}

static void a_signal_cancels_within_the_operation_and_keeps_what_was_done(void **state)
{
    struct place *place = *state;
    pthread_barrier_t meet;
    pthread_barrier_init(&meet, NULL, 2);
    struct task task = { .own_signal = true, .each = 1000, .meet = &meet };
    struct problem why = { 0 };
    sigset_t set;
    bool limited;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    scoped_fd int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    const struct phase phase = { .lanes = 2,
                                 .total = UINT64_C(1) << 60,
                                 .batch = UINT64_C(1) << 59 };
    assert_int_equal(run_task(place, &task, phase, signals, &limited, &why), -1);
    assert_int_equal(why.code, PROBLEM_CANCELLED);
    scoped_series struct series series;
    series_read(place, "create", &series);
    series_holds(&series);
    /* a lane that was not yet scheduled when the other one cancelled has no sample */
    assert_true(series.total.ops >= 1000 && (series.n == 1 || series.n == 2));
    pthread_barrier_destroy(&meet);

    memset(&why, 0, sizeof why); /* and no later phase starts */
    assert_int_equal(run_phase(place->run, &phase, &limited, &why), -1);
    assert_int_equal(why.code, PROBLEM_CANCELLED);
}

static void the_first_failure_stops_all_lanes_and_is_told(void **state)
{
    struct place *place = *state;
    struct task task = { .fail_at = 5003, .error = EIO };
    struct problem why = { 0 };
    bool limited;
    const struct phase phase = { .lanes = 3, .total = UINT64_C(1) << 60, .batch = 100 };
    assert_int_equal(run_task(place, &task, phase, -1, &limited, &why), -1);
    assert_int_equal(why.code, PROBLEM_IO_FAILED);
    assert_string_equal(why.message,
                        "phase create: operation 5003: cannot create f: Input/output error");
    scoped_series struct series series;
    series_read(place, "create", &series);
    series_holds(&series);
    assert_true(series.total.errors == 1);
}

static void a_limit_ends_the_phase_and_is_a_result(void **state)
{
    static const struct {
        int error;
        enum limit_reason reason;
    } cases[] = { { ENOSPC, LIMIT_SPACE }, { EDQUOT, LIMIT_QUOTA }, { EMLINK, LIMIT_LINKS } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct place *place;
        void *own = NULL;
        (void)state;
        assert_int_equal(place_setup(&own), 0);
        place = own;
        struct task task = { .fail_at = 1234, .error = cases[i].error };
        bool limited = false;
        must(run_task(place, &task, (struct phase){ .lanes = 1, .total = 5000, .batch = 100 }, -1,
                      &limited, &unmet));
        scoped_series struct series series;
        series_read(place, "create", &series);
        series_holds(&series);
        assert_true(limited && series.limit.at == 1234 && series.total.ops == 1234);
        assert_int_equal(series.limit.reason, cases[i].reason);
        assert_int_equal(series.limit.error, cases[i].error);
        assert_int_equal(series.samples[series.n - 1].ops, 34);
        assert_int_equal(series.samples[series.n - 1].errors, 1);
        place_teardown(&own);
    }
}

/* A body that leaves something to be written out. */
static int write_some(struct lane *lane, const void *arg, struct problem *why)
{
    const struct place *place = arg;
    for (uint64_t first, n; (n = lane_claim(lane, &first)) > 0;)
        for (uint64_t i = first; i < first + n; i++) {
            char name[32];
            snprintf(name, sizeof name, "f%llu", (unsigned long long)i);
            scoped_fd int fd =
                openat(workspace_fd(place->workspace), name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
            if (fd < 0 || write(fd, name, sizeof name) != sizeof name)
                return problem_errno(why, errno, "cannot write %s", name);
            if (!lane_note(lane, sizeof name))
                return 0;
        }
    return 0;
}

static void what_a_phase_left_is_flushed_after_it_and_not_in_its_time(void **state)
{
    struct place *place = *state;
    bool limited;
    size_t n;
    must(workspace_make(place->path, "run", &place->workspace, &unmet));
    const struct phase phase = { .name = "create",
                                 .unit = "files",
                                 .lanes = 2,
                                 .total = 20,
                                 .batch = 5,
                                 .body = write_some,
                                 .arg = place };
    nsec began = clock_monotonic();
    must(run_phase(place_run(place, -1), &phase, &limited, &unmet));
    nsec took = clock_monotonic() - began;
    const struct phase_total *total = run_phases(place->run, &n);
    scoped_series struct series series;
    series_read(place, "create", &series);
    series_holds(&series);
    assert_true(series.total.flush > 0 && series.total.flush == total->flush);
    assert_true(series.total.flush + series.total.last_done - series.total.first_start <= took);
    assert_true(series.total.dirty_before == total->dirty_before);
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(unlinkat(workspace_fd(place->workspace), name, 0), 0);
    }
    assert_int_equal(workspace_remove(place->workspace, &(struct problem){ 0 }), 0);
}

static void a_flush_that_nobody_waits_for_ends_by_itself(void **state)
{
    struct place *place = *state;
    nsec took;
    int error;
    for (int i = 0; i < 20; i++) {
        struct flush *flush = NULL;
        must(flush_start(place->folder, &flush, &unmet));
        struct pollfd over = { .fd = flush_fd(flush), .events = POLLIN };
        if (i % 2)
            assert_int_equal(poll(&over, 1, 60000), 1);
        if (i % 2)
            assert_true(flush_over(flush, &took, &error) && took > 0 && error == 0);
        assert_null(flush_leave(flush));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        at_a_place(two_lanes_hold_the_sums_and_the_rate),
        at_a_place(no_sample_is_lost_when_the_rings_are_full_all_the_time),
        at_a_place(each_lane_works_off_its_own_quota),
        at_a_place(many_lanes_start_and_end),
        at_a_place(a_phase_that_takes_too_long_ends_at_its_deadline),
        cmocka_unit_test(a_phase_that_has_become_slower_ends_when_that_is_asked_for),
        at_a_place(a_signal_cancels_within_the_operation_and_keeps_what_was_done),
        at_a_place(the_first_failure_stops_all_lanes_and_is_told),
        cmocka_unit_test(a_limit_ends_the_phase_and_is_a_result),
        at_a_place(what_a_phase_left_is_flushed_after_it_and_not_in_its_time),
        at_a_place(a_flush_that_nobody_waits_for_ends_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
