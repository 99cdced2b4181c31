#include "engine/lane.h"

#include "engine/base/lock.h"
#include "engine/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- the crew --- */

void crew_stop(struct crew *crew, enum stop_cause cause)
{
    int none = STOP_NOT;
    if (!atomic_compare_exchange_strong(&crew->stop, &none, (int)cause))
        return;
    pthread_mutex_lock(&crew->lock);
    pthread_cond_broadcast(&crew->stopped_or_together);
    pthread_mutex_unlock(&crew->lock);
}

void crew_wake(struct crew *crew)
{
    if (!atomic_exchange(&crew->woken, true))
        eventfd_write(crew->wake, 1);
}

void crew_limit(struct crew *crew, const struct limit *limit)
{
    pthread_mutex_lock(&crew->lock);
    if (!crew->limit.reached)
        crew->limit = *limit;
    pthread_mutex_unlock(&crew->lock);
    crew_stop(crew, STOP_LIMIT);
}

void crew_over(struct crew *crew, nsec at)
{
    scoped_lock(&crew->lock);
    if (atomic_load(&crew->over))
        return;
    crew->first_done = at;
    atomic_store_explicit(&crew->over, 1, memory_order_release);
}

void crew_room(struct crew *crew)
{
    if (atomic_load(&crew->starved) == 0)
        return;
    pthread_mutex_lock(&crew->lock);
    pthread_cond_broadcast(&crew->room);
    pthread_mutex_unlock(&crew->lock);
}

/* --- operations --- */

static void note_pending(struct lane *lane)
{
    struct histogram_sums sums = HISTOGRAM_SUMS_NONE;
    uint64_t last = lane->last;
    for (unsigned i = 0; i < lane->pending; i++) {
        histogram_note_in(lane->batch, &sums, tick_nsec(&lane->scale, lane->ticks[i] - last));
        last = lane->ticks[i];
    }
    histogram_add_up(lane->batch, &sums);
    lane->pending = 0;
}

void lane_settle(struct lane *lane)
{
    note_pending(lane);
    lane->last = tick_read(&lane->scale);
}

bool lane_note_many(struct lane *lane, uint64_t n, uint64_t bytes)
{
    uint64_t now = tick_read(&lane->scale);
    if (n)
        histogram_note(lane->batch, tick_nsec(&lane->scale, now - lane->last) / (nsec)n, n);
    lane->last = now;
    lane->bytes += bytes;
    return !lane_stopped(lane);
}

/* --- batches --- */

/* How long this thread has waited in the queue for a CPU since it began: the second figure of schedstat. */
static int thread_queued(nsec *ret)
{
    char text[128];
    unsigned long long ran, queued;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    if (sscanf(text, "%llu %llu", &ran, &queued) != 2)
        return -1;
    *ret = (nsec)queued;
    return 0;
}

/* It takes some system calls: only after a switch, which cost more. */
static void note_queued(struct lane *lane)
{
    nsec queued;
    if (thread_queued(&queued)) {
        atomic_store(&lane->crew->queue_untold, true);
        return;
    }
    atomic_fetch_add(&lane->crew->queued, queued - lane->queued);
    lane->queued = queued;
}

/* Switches need a system call, and one that matters leaves a gap between the lane's time and its CPU
 * time; without a gap there is nothing to ask. The kernel counts on, so none is lost. */
static uint32_t switches_since(struct lane *lane, nsec elapsed, nsec cpu)
{
    if (elapsed <= cpu)
        return 0;
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    uint32_t n = (uint32_t)((uint64_t)used.ru_nivcsw - lane->switches);
    lane->switches = (uint64_t)used.ru_nivcsw;
    if (n)
        note_queued(lane);
    return n;
}

/* Two CPUs may be a few ticks apart: no operation is longer than its batch. */
static void within_batch(const struct lane *lane, struct sample *sample)
{
    if (lane->overlapping || sample->max <= sample->elapsed)
        return;
    sample->max = sample->elapsed;
    if (sample->p99 > sample->max)
        sample->p99 = sample->max;
    if (sample->p50 > sample->max)
        sample->p50 = sample->max;
}

/* What the lane had done when the first one ended: of the batch in which that was, by its share of time. */
static void note_first_done(struct lane *lane, const struct sample *sample)
{
    if (lane->cut || !atomic_load_explicit(lane->over, memory_order_acquire))
        return;
    nsec into = lane->crew->first_done - (sample->at - sample->elapsed);
    double share = sample->elapsed <= 0 ? 1 : (double)into / (double)sample->elapsed;
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    lane->cut = true;
    lane->first_ops = lane->ops + (uint64_t)((double)sample->ops * share + 0.5);
    lane->first_bytes = lane->all_bytes + (uint64_t)((double)sample->bytes * share + 0.5);
}

/* The recorder orders samples by `at`, so it must know whether one older than its own look at the clock
 * may still come: `closing` is set before `at` is read and cleared when the sample can be seen. */
static void close_batch(struct lane *lane)
{
    struct histogram *batch = lane->batch;
    atomic_store(&lane->closing, true);
    uint64_t end = tick_read(&lane->scale);
    nsec at = clock_monotonic(), cpu = clock_thread_cpu();
    note_pending(lane);
    struct sample sample = {
        .at = at - lane->crew->epoch,
        .elapsed = tick_nsec(&lane->scale, end - lane->began),
        .lane = lane->index,
        .ops = batch->count,
        .bytes = lane->bytes,
        .errors = lane->errors,
        .load = lane->load,
        .cpu = cpu - lane->cpu,
        .max = batch->max,
    };
    lane->cpu = cpu;
    lane->open = false;
    lane->all_errors += lane->errors;
    if (sample.ops) {
        sample.switches = switches_since(lane, sample.elapsed, sample.cpu);
        histogram_pour(lane->whole, batch, &sample.p50, &sample.p99);
        within_batch(lane, &sample);
        note_first_done(lane, &sample);
        lane->ops += sample.ops;
        lane->all_bytes += sample.bytes;
        lane->last_done = sample.at;
        if (lane->first_start < 0)
            lane->first_start = sample.at - sample.elapsed;
        ring_push(&lane->ring, &sample);
    }
    atomic_store_explicit(&lane->closing, false, memory_order_release);
    if (ring_used(&lane->ring) >= lane->crew->wake_at &&
        !atomic_load_explicit(&lane->crew->woken, memory_order_relaxed))
        crew_wake(lane->crew);
}

/* Waits until the recorder has made room for the next sample. */
static void wait_for_room(struct lane *lane)
{
    struct crew *crew = lane->crew;
    pthread_mutex_lock(&crew->lock);
    atomic_fetch_add(&crew->starved, 1);
    while (ring_full(&lane->ring) && !lane_stopped(lane)) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++; /* a look at `stop` at least once a second */
        crew_wake(crew);
        pthread_cond_timedwait(&crew->room, &crew->lock, &until);
    }
    atomic_fetch_sub(&crew->starved, 1);
    pthread_mutex_unlock(&crew->lock);
}

static bool may_start(struct lane *lane)
{
    if (lane->open)
        close_batch(lane);
    if (ring_full(&lane->ring))
        wait_for_room(lane);
    return !lane_stopped(lane);
}

static void start_batch(struct lane *lane)
{
    lane->bytes = lane->errors = 0;
    lane->open = true;
    lane->last = lane->began = tick_read(&lane->scale);
    lane->due = lane->last + lane->interval;
}

bool lane_begin(struct lane *lane)
{
    if (!may_start(lane))
        return false;
    start_batch(lane);
    return true;
}

void lane_prepared(struct lane *lane)
{
    lane->cpu = clock_thread_cpu();
    lane->last = lane->began = tick_read(&lane->scale);
}

static uint64_t at_most(uint64_t n, uint64_t batch)
{
    return n < batch ? n : batch;
}

/* What is left to claim, as far as it can be known before claiming. */
static uint64_t left(struct lane *lane)
{
    const struct phase *phase = lane->crew->phase;
    if (phase->quota)
        return phase->quota[lane->index] - lane->claimed;
    uint64_t next = atomic_load_explicit(&lane->crew->next, memory_order_relaxed);
    return next < lane->crew->until ? lane->crew->until - next : 0;
}

static uint64_t take(struct lane *lane, uint64_t *ret_first)
{
    const struct phase *phase = lane->crew->phase;
    if (phase->quota) {
        uint64_t n = at_most(phase->quota[lane->index] - lane->claimed, phase->batch);
        *ret_first = lane->claimed;
        lane->claimed += n;
        return n;
    }
    uint64_t first =
        atomic_fetch_add_explicit(&lane->crew->next, phase->batch, memory_order_relaxed);
    *ret_first = first;
    uint64_t until = lane->crew->until;
    return first < until ? at_most(until - first, phase->batch) : 0;
}

uint64_t lane_claim(struct lane *lane, uint64_t *ret_first)
{
    struct crew *crew = lane->crew;
    struct limit limit;
    if (!may_start(lane))
        return 0;
    uint64_t n = at_most(left(lane), crew->phase->batch);
    if (n == 0)
        return 0;
    nsec now = lane->last_done + crew->epoch; /* its last look at the clock is near enough */
    int refused = limits_admit(&crew->limits, n, now, &limit, &lane->why);
    if (refused > 0)
        crew_limit(crew, &limit);
    if (refused < 0)
        crew_stop(crew, STOP_FAILURE);
    if (refused || (n = take(lane, ret_first)) == 0)
        return 0;
    start_batch(lane);
    return n;
}

bool lane_admit(struct lane *lane)
{
    struct crew *crew = lane->crew;
    struct limit limit;
    int refused =
        limits_admit(&crew->limits, crew->phase->stride, clock_monotonic(), &limit, &lane->why);
    if (refused > 0)
        crew_limit(crew, &limit);
    if (refused < 0)
        crew_stop(crew, STOP_FAILURE);
    return !lane_stopped(lane);
}

bool lane_cancelled(const struct lane *lane)
{
    return atomic_load(lane->stop) == STOP_CANCEL;
}

bool lane_together(struct lane *lane)
{
    struct crew *crew = lane->crew;
    scoped_lock(&crew->lock);
    if (++crew->together == crew->phase->lanes)
        pthread_cond_broadcast(&crew->stopped_or_together);
    while (crew->together < crew->phase->lanes && !lane_stopped(lane))
        pthread_cond_wait(&crew->stopped_or_together, &crew->lock);
    return !lane_stopped(lane);
}

bool lane_sleep(struct lane *lane, nsec until)
{
    struct crew *crew = lane->crew;
    bool early = until > clock_monotonic();
    if (!early)
        return !lane_stopped(lane);
    scoped_lock(&crew->lock);
    while (early && !lane_stopped(lane))
        early = cond_wait_until(&crew->stopped_or_together, &crew->lock, until);
    return !lane_stopped(lane);
}

void lane_limit(struct lane *lane, const struct limit *limit)
{
    lane->errors++;
    crew_limit(lane->crew, limit);
}

int lane_refused(struct lane *lane, int error, enum attempt attempt, uint64_t number,
                 const char *doing, const char *name, struct problem *why)
{
    struct limit limit;
    lane->errors++;
    if (limits_explain(&lane->crew->limits, error, attempt == ATTEMPT_NAME, &limit)) {
        crew_limit(lane->crew, &limit);
        return 0;
    }
    problem_errno(why, error, "cannot %s %s", doing, name);
    return problem_during(why, "operation %llu: ", (unsigned long long)number);
}

/* --- the thread --- */

static enum gate wait_at_gate(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->ready++;
    pthread_cond_broadcast(&crew->ready_or_open);
    while (crew->gate == GATE_CLOSED)
        pthread_cond_wait(&crew->ready_or_open, &crew->lock);
    enum gate gate = crew->gate;
    pthread_mutex_unlock(&crew->lock);
    return gate;
}

/* A table of descriptors of its own: the kernel then takes no reference and no lock of the table for each
 * call, as in a process without threads. Without it all works, a little slower. ThreadSanitizer knows
 * one table only, and would see one lane's descriptors in another's. */
static void own_descriptors(void)
{
#ifndef __SANITIZE_THREAD__
    (void)!unshare(CLONE_FILES);
#endif
}

void *lane_main(void *arg)
{
    struct lane *lane = arg;
    struct crew *crew = lane->crew;
    own_descriptors();
    if (wait_at_gate(crew) == GATE_ABANDONED)
        return NULL;
    lane->cpu = clock_thread_cpu();
    lane->switches = 0; /* of this thread, which has just begun */
    lane->queued = 0;
    if (crew->phase->body(lane, crew->phase->arg, &lane->why))
        crew_stop(crew, STOP_FAILURE);
    if (lane->open)
        close_batch(lane);
    if (lane->last_done && !lane_stopped(lane))
        crew_over(crew, lane->last_done);
    atomic_fetch_sub(&crew->running, 1);
    crew_wake(crew);
    return NULL;
}
