/* The thread that calls run_phase() is the recorder: while the lanes work it waits for their samples,
 * for signals, for the deadline and for the next look at the host, and sleeps otherwise. */
#include "engine/flush.h"
#include "engine/host.h"
#include "engine/recorder.h"
#include "engine/run_inside.h"
#include "engine/workspace.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK = 2 << 20 };
#else
enum { STACK = 128 << 10 }; /* 1024 lanes must fit into little memory */
#endif

enum {
    RINGS = 1 << 20, /* bytes of all rings of a phase together, but for the least of each */
    RING_LEAST = 16,
    RING_MOST = 4096,
    HISTOGRAM_PLACE = 16 << 10, /* whole pages: latencies below 1 ms touch one of them */
};
_Static_assert(sizeof(struct histogram) <= HISTOGRAM_PLACE, "a histogram fits its place");
#define DRAIN_EVERY (250 * NSEC_PER_MSEC)

static nsec process_cpu(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return ((nsec)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * NSEC_PER_SEC +
           ((nsec)used.ru_utime.tv_usec + used.ru_stime.tv_usec) * NSEC_PER_USEC;
}

/* --- one phase --- */

struct work {
    struct run *run;
    const struct phase *phase;
    struct crew crew;
    unsigned lanes_n;
    struct lane *lanes;
    char *histograms; /* two of each lane, HISTOGRAM_PLACE bytes apart */
    struct sample *slots;
    size_t slots_each;
    struct phase_total *total;
    struct recorder *recorder;
    nsec deadline; /* monotonic; 0: none */
    nsec worked;   /* in earlier stretches */
};

/* Memory that costs nothing until it is touched. */
static void *map_zeroed(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static size_t slots_for(unsigned lanes)
{
    size_t slots = RING_MOST;
    while (slots > RING_LEAST && slots * lanes * sizeof(struct sample) > RINGS)
        slots /= 2;
    return slots;
}

static size_t bytes_of_lanes(const struct work *work)
{
    return work->lanes_n * sizeof(struct lane);
}
static size_t bytes_of_histograms(const struct work *work)
{
    return 2 * work->lanes_n * (size_t)HISTOGRAM_PLACE;
}
static size_t bytes_of_slots(const struct work *work)
{
    return work->lanes_n * work->slots_each * sizeof(struct sample);
}

static void work_done(struct work *work)
{
    if (work->lanes)
        munmap(work->lanes, bytes_of_lanes(work));
    if (work->histograms)
        munmap(work->histograms, bytes_of_histograms(work));
    if (work->slots)
        munmap(work->slots, bytes_of_slots(work));
    recorder_free(work->recorder);
    limits_done(&work->crew.limits);
    pthread_cond_destroy(&work->crew.room);
    pthread_cond_destroy(&work->crew.stopped_or_together);
    pthread_cond_destroy(&work->crew.ready_or_open);
    pthread_mutex_destroy(&work->crew.lock);
    if (work->crew.wake >= 0)
        close(work->crew.wake);
}

/* A phase whose lanes work in stretches; those of most phases have one. */
struct stage {
    struct phase phase;
    struct work work;
};

static void crew_init(struct crew *crew, const struct phase *phase, nsec epoch, size_t slots)
{
    pthread_condattr_t attributes;
    crew->phase = phase;
    crew->epoch = epoch;
    crew->until = phase->before;
    atomic_store(&crew->next, phase->before);
    crew->wake_at = slots / 2 < SAMPLE_GROUP ? slots / 2 : SAMPLE_GROUP;
    atomic_store(&crew->running, phase->lanes);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->ready_or_open, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->room, &attributes);
    pthread_cond_init(&crew->stopped_or_together, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void lane_init(struct work *work, unsigned i)
{
    work->lanes[i].scale = work->run->scale;
    work->lanes[i].stop = &work->crew.stop;
    work->lanes[i].over = &work->crew.over;
    work->lanes[i].interval = tick_count(&work->run->scale, work->phase->interval);
    work->lanes[i].overlapping = work->phase->interval != 0;
    work->lanes[i].stride = work->phase->stride;
    char *places = work->histograms + 2 * i * (size_t)HISTOGRAM_PLACE;
    work->lanes[i].batch = (void *)places;
    work->lanes[i].whole = (void *)(places + HISTOGRAM_PLACE);
    work->lanes[i].ring.slots = work->slots + i * work->slots_each;
    work->lanes[i].ring.mask = work->slots_each - 1;
    work->lanes[i].crew = &work->crew;
    work->lanes[i].index = i;
    work->lanes[i].first_start = -1;
}

static int work_init(struct work *work, struct problem *why)
{
    const struct run_options *with = &work->run->with;
    const struct phase *phase = work->phase;
    crew_init(&work->crew, phase, work->run->epoch, work->slots_each);
    work->crew.limits = (struct limits){
        .folder = with->workspace ? workspace_fd(with->workspace) : -1,
        .ask = phase->room,
        .ask_arg = phase->room_arg,
        .reserve = with->reserve,
    };
    if (limits_init(&work->crew.limits, phase->cost, phase->lanes,
                    phase->interval ? phase->stride : phase->batch, why))
        return -1;
    work->crew.limits.in_flight += phase->lanes * phase->overlap;
    work->crew.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (work->crew.wake < 0)
        return problem_errno(why, errno, "cannot make an eventfd");
    work->lanes = map_zeroed(bytes_of_lanes(work));
    work->histograms = map_zeroed(bytes_of_histograms(work));
    work->slots = map_zeroed(bytes_of_slots(work));
    if (!work->lanes || !work->histograms || !work->slots)
        return problem_memory(why);
    for (unsigned i = 0; i < work->lanes_n; i++)
        lane_init(work, i);
    return recorder_new(with->journal, &work->crew, work->lanes, work->lanes_n, work->total,
                        &work->recorder, why);
}

/* Gives what CPU the process has used, at the moment when all lanes are ready. */
static nsec open_gate(struct crew *crew, unsigned lanes, enum gate gate)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->ready < lanes)
        pthread_cond_wait(&crew->ready_or_open, &crew->lock);
    nsec cpu = process_cpu();
    crew->gate = gate;
    pthread_cond_broadcast(&crew->ready_or_open);
    pthread_mutex_unlock(&crew->lock);
    return cpu;
}

/* Starts the threads and lets them go together; if one cannot start, none goes. *ret_cpu is what the
 * process had used when they went. */
static int start_lanes(struct work *work, nsec *ret_cpu, struct problem *why)
{
    pthread_attr_t attributes;
    int error = 0;
    unsigned started = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    while (started < work->lanes_n && !error) {
        struct lane *lane = &work->lanes[started];
        error = pthread_create(&lane->thread, &attributes, lane_main, lane);
        started += !error;
    }
    pthread_attr_destroy(&attributes);
    *ret_cpu = open_gate(&work->crew, started, error ? GATE_ABANDONED : GATE_OPEN);
    if (!error)
        return 0;
    for (unsigned i = 0; i < started; i++)
        pthread_join(work->lanes[i].thread, NULL);
    return problem_errno(why, error, "cannot start lane %u of %u", started + 1, work->lanes_n);
}

static int milliseconds_until(nsec when, nsec now)
{
    return when <= now ? 0 : (int)((when - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

/* Sleeps until a lane, a signal, the deadline, the host or the next drain wants something. */
static void wait_for_something(struct work *work, nsec next_drain)
{
    struct run *run = work->run;
    nsec until = next_drain;
    if (work->deadline && work->deadline < until)
        until = work->deadline;
    if (run->with.host && run->next_host < until)
        until = run->next_host;
    struct pollfd waits[] = { { .fd = work->crew.wake, .events = POLLIN },
                              { .fd = run->with.signals, .events = POLLIN } };
    poll(waits, COUNT_OF(waits), milliseconds_until(until, clock_monotonic()));
    eventfd_t value;
    if (waits[0].revents && eventfd_read(work->crew.wake, &value) == 0)
        atomic_store(&work->crew.woken, false);
    if (run_is_cancelled(run))
        crew_stop(&work->crew, STOP_CANCEL);
}

/* What the lanes of this phase waited for a CPU goes to the next look at the host. */
static void take_queued(struct work *work)
{
    struct run *run = work->run;
    run->queued += atomic_exchange(&work->crew.queued, 0);
    run->queue_untold |= atomic_load(&work->crew.queue_untold);
}

static int look_at_host(struct work *work, nsec now, struct problem *why)
{
    struct run *run = work->run;
    if (now < run->next_host)
        return 0;
    take_queued(work);
    return run_look_at_host(run, now, why);
}

/* Until the last lane has ended. A journal that cannot be written stops them. */
static int record(struct work *work, struct problem *why)
{
    struct run *run = work->run;
    int result = 0;
    for (nsec next = clock_monotonic() + DRAIN_EVERY; atomic_load(&work->crew.running) > 0;) {
        wait_for_something(work, next);
        nsec now = clock_monotonic();
        if (work->deadline && now >= work->deadline)
            crew_stop(&work->crew, STOP_DEADLINE);
        if (recorder_drain(work->recorder, DRAIN_SOME, why) || look_at_host(work, now, why)) {
            result = -1;
            crew_stop(&work->crew, STOP_FAILURE);
        }
        if (now >= next) {
            next = now + DRAIN_EVERY;
            if (run->with.progress)
                run->with.progress(run->with.progress_arg, work->total);
        }
    }
    take_queued(work);
    return result;
}

/* Adds up what each lane counted; the samples must say the same. */
static int settle(struct work *work, struct histogram *all, struct problem *why)
{
    struct phase_total *total = work->total, sum = { .first_start = -1 };
    uint64_t lost = 0;
    for (unsigned i = 0; i < work->lanes_n; i++) {
        struct lane *lane = &work->lanes[i];
        sum.ops += lane->ops;
        sum.bytes += lane->all_bytes;
        sum.errors += lane->all_errors;
        /* One that ended before it could see that another had is as far as it came. */
        sum.first_ops += lane->cut ? lane->first_ops : lane->ops;
        sum.first_bytes += lane->cut ? lane->first_bytes : lane->all_bytes;
        if (lane->sync > sum.sync)
            sum.sync = lane->sync;
        lost += lane->whole->count != lane->ops;
        histogram_merge(all, lane->whole);
        if (lane->first_start < 0)
            continue;
        if (sum.first_start < 0 || lane->first_start < sum.first_start)
            sum.first_start = lane->first_start;
        if (sum.first_done == 0 || lane->last_done < sum.first_done)
            sum.first_done = lane->last_done;
        if (lane->last_done > sum.last_done)
            sum.last_done = lane->last_done;
    }
    if (lost || sum.ops != total->ops || sum.bytes != total->bytes)
        return problem_set(why, PROBLEM_INTERNAL,
                           "phase %s: the lanes did %llu operations, their samples say %llu",
                           total->name, (unsigned long long)sum.ops,
                           (unsigned long long)total->ops);
    total->errors = sum.errors;
    total->first_ops = sum.first_ops;
    total->first_bytes = sum.first_bytes;
    total->sync = sum.sync;
    total->first_start = sum.first_start < 0 ? 0 : sum.first_start;
    total->first_done = sum.first_done;
    total->last_done = sum.last_done;
    total->latency = histogram_latency(all);
    total->finished = true;
    return 0;
}

static void note_limit(struct work *work)
{
    struct phase_total *total = work->total;
    uint64_t done = work->phase->before + phase_load(total);
    bool all_done = work->crew.limit.reason == LIMIT_SLOWER && done == total->total;
    if (work->crew.limit.reached && !all_done) {
        total->limit = work->crew.limit;
    } else if (atomic_load(&work->crew.stop) == STOP_DEADLINE && done < total->total) {
        total->limit = (struct limit){ .reached = true, .reason = LIMIT_DEADLINE };
        snprintf(total->limit.detail, sizeof total->limit.detail,
                 "the phase had %g s, and did %llu of %llu %s in them",
                 seconds_of(work->phase->duration), (unsigned long long)done,
                 (unsigned long long)total->total, total->unit);
    }
    total->limit.at = done;
}

static int conclude(struct work *work, struct problem *why)
{
    struct journal *journal = work->run->with.journal;
    scoped_free struct histogram *all = calloc(1, sizeof *all);
    if (!all)
        return problem_memory(why);
    if (settle(work, all, why))
        return -1;
    note_limit(work);
    if (work->total->limit.reached && journal_limit(journal, work->total, why))
        return -1;
    return journal_phase_end(journal, work->total, all, why);
}

/* What the phase came to: the first lane's failure, the request to stop, or 0. */
static int verdict(struct work *work, struct problem *why)
{
    for (unsigned i = 0; i < work->lanes_n; i++)
        if (work->lanes[i].why.code) {
            *why = work->lanes[i].why;
            return problem_during(why, "phase %s: ", work->phase->name);
        }
    if (work->run->cancelled)
        return problem_set(why, PROBLEM_CANCELLED, "stopped on request in phase %s",
                           work->phase->name);
    return 0;
}

static void flush_cell(struct flush **flush)
{
    *flush = flush_leave(*flush);
}

/* Writes out what the phase left behind, so that it does not fall into the next one; not in its time nor
 * its CPU. Whoever stops the run does not wait for it. */
static int flush_after(struct work *work, struct problem *why)
{
    struct run *run = work->run;
    scoped(flush_cell) struct flush *flush = NULL;
    nsec took = 0;
    int error = 0;
    if (!run->with.workspace || atomic_load(&work->crew.stop) == STOP_FAILURE ||
        run_is_cancelled(run))
        return 0;
    if (flush_start(workspace_fd(run->with.workspace), &flush, why))
        return -1;
    while (!flush_over(flush, &took, &error) && !run_is_cancelled(run)) {
        struct pollfd waits[] = { { .fd = flush_fd(flush), .events = POLLIN },
                                  { .fd = run->with.signals, .events = POLLIN } };
        nsec now = clock_monotonic();
        if (look_at_host(work, now, why))
            return -1;
        poll(waits, COUNT_OF(waits), milliseconds_until(now + HOST_EVERY, now));
    }
    work->total->flush += took;
    if (error)
        return problem_errno(why, error, "cannot write out what the phase made");
    return 0;
}

/* The lanes start anew, where the last stretch ended. What passed between belongs to no phase's time. */
static void begin_stretch(struct work *work, uint64_t until)
{
    struct crew *crew = &work->crew;
    struct phase_total *total = work->total;
    if (atomic_load(&crew->next) > crew->until) /* claimed by lanes that found nothing left */
        atomic_store(&crew->next, crew->until);
    crew->until = until;
    crew->gate = GATE_CLOSED;
    crew->ready = crew->together = 0;
    atomic_store(&crew->over, 0);
    atomic_store(&crew->running, work->lanes_n);
    nsec now = clock_monotonic();
    if (total->last_done)
        total->paused += now - crew->epoch - total->last_done;
    if (work->phase->duration)
        work->deadline = now + work->phase->duration - work->worked;
}

/* 0 also when a limit or a request to stop ended it; what a lane failed with is found out at the end. */
static int work_stretch(struct work *work, uint64_t until, struct problem *why)
{
    nsec cpu, began = clock_monotonic();
    begin_stretch(work, until);
    if (start_lanes(work, &cpu, why))
        return -1;
    int recorded = record(work, why);
    for (unsigned i = 0; i < work->lanes_n; i++)
        pthread_join(work->lanes[i].thread, NULL);
    if (recorded || recorder_drain(work->recorder, DRAIN_ALL, why))
        return -1;
    work->total->cpu += process_cpu() - cpu;
    work->worked += clock_monotonic() - began;
    return 0;
}

int run_begin_phase(struct run *run, const struct phase *phase, struct problem *why)
{
    if (run_is_cancelled(run))
        return problem_set(why, PROBLEM_CANCELLED, "stopped on request before phase %s",
                           phase->name);
    if (run->phases_n == PHASES_MOST || phase->lanes == 0 || phase->batch == 0)
        return problem_set(why, PROBLEM_INTERNAL, "phase %s cannot be run", phase->name);
    struct phase_total *total = &run->phases[run->phases_n];
    *total = (struct phase_total){ .run = run->with.run,
                                   .leg = run->with.leg,
                                   .lanes = phase->lanes,
                                   .batch = phase->batch,
                                   .total = phase->total,
                                   .at_load = phase->at_load,
                                   .resident = phase->resident,
                                   .paced = phase->paced,
                                   .dirty_before = flush_pending() };
    snprintf(total->name, sizeof total->name, "%s", phase->name);
    snprintf(total->unit, sizeof total->unit, "%s", phase->unit);
    snprintf(total->cache, sizeof total->cache, "%s", phase->cache ? phase->cache : "");
    return journal_phase(run->with.journal, total, why);
}

int stage_open(struct run *run, const struct phase *phase, struct stage **ret, struct problem *why)
{
    if (run_begin_phase(run, phase, why))
        return -1;
    struct stage *stage = aligned_alloc(_Alignof(struct stage), sizeof *stage);
    if (!stage)
        return problem_memory(why);
    *stage = (struct stage){ .phase = *phase };
    stage->work = (struct work){ .run = run,
                                 .phase = &stage->phase,
                                 .lanes_n = phase->lanes,
                                 .worked = phase->worked,
                                 .slots_each = slots_for(phase->lanes),
                                 .total = &run->phases[run->phases_n++],
                                 .crew = { .wake = -1 } };
    if (work_init(&stage->work, why)) {
        stage_free(stage);
        return -1;
    }
    *ret = stage;
    return 0;
}

nsec stage_worked(const struct stage *stage)
{
    return stage->work.worked;
}

struct stage *stage_free(struct stage *stage)
{
    if (!stage)
        return NULL;
    work_done(&stage->work);
    free(stage);
    return NULL;
}

int stage_work(struct stage *stage, uint64_t until, struct problem *why)
{
    struct work *work = &stage->work;
    if (work_stretch(work, until, why))
        return -1;
    if (work->run->with.progress)
        work->run->with.progress(work->run->with.progress_arg, work->total);
    return atomic_load(&work->crew.stop) != STOP_NOT;
}

int stage_end(struct stage *stage, bool *ret_limited, struct problem *why)
{
    struct work *work = &stage->work;
    struct problem unflushed = { 0 };
    int flushed = flush_after(work, &unflushed);
    if (conclude(work, why))
        return -1;
    if (work->run->with.progress)
        work->run->with.progress(work->run->with.progress_arg, work->total);
    if (journal_sync(work->run->with.journal, why) || verdict(work, why))
        return -1;
    if (flushed) {
        *why = unflushed;
        return problem_during(why, "phase %s: ", work->phase->name);
    }
    *ret_limited = work->total->limit.reached;
    return 0;
}

static void stage_cell(struct stage **stage)
{
    stage_free(*stage);
}

int run_phase(struct run *run, const struct phase *phase, bool *ret_limited, struct problem *why)
{
    scoped(stage_cell) struct stage *stage = NULL;
    if (stage_open(run, phase, &stage, why) || stage_work(stage, phase->total, why) < 0)
        return -1;
    return stage_end(stage, ret_limited, why);
}
