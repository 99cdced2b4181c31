/* One thread owns the server's process. It waits on three descriptors only: the process (pidfd), the
 * data folder (inotify: postmaster.pid tells "ready") and a request to stop (eventfd). */
#include "service/embedded_postgres.h"

#include "engine/base/lock.h"
#include "engine/base/log.h"
#include "service/postgres_cluster.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#define GAP_FIRST (100 * NSEC_PER_MSEC)
#define GAP_MOST  (10 * NSEC_PER_SEC)
#define LIVED     (60 * NSEC_PER_SEC) /* after that long, a death is a new story: short gaps again */

/* Fast shutdown writes a checkpoint; then the server is told to drop everything, then killed: its
 * next start recovers from the log. */
static const struct stop {
    int signal;
    nsec patience;
} stops[] = {
    { SIGINT, 20 * NSEC_PER_SEC },
    { SIGQUIT, 5 * NSEC_PER_SEC },
    { SIGKILL, 5 * NSEC_PER_SEC },
};

struct embedded_postgres {
    struct postgres_cluster cluster;
    char *conninfo;
    int stop_fd, watch_fd;
    pthread_t thread;
    struct process process; /* the thread's alone, once it runs */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* CLOCK_MONOTONIC */
    bool ready;             /* lock */
    pid_t pid;              /* lock */
};

static void tell(struct embedded_postgres *postgres, pid_t pid, bool ready)
{
    scoped_lock(&postgres->lock);
    postgres->pid = pid;
    postgres->ready = ready;
    pthread_cond_broadcast(&postgres->changed);
}

/* Sends SIGINT, SIGQUIT, SIGKILL in turn until it has ended. */
static void stop_server(struct embedded_postgres *postgres)
{
    char fate[PROCESS_FATE];
    if (postgres->process.fd < 0)
        return;
    for (size_t i = 0; i < COUNT_OF(stops) && !process_ended(&postgres->process); i++) {
        if (i > 0)
            log_line(LOG_WARNING, "PostgreSQL has not stopped after signal %d: sending %d",
                     stops[i - 1].signal, stops[i].signal);
        (void)process_signal(&postgres->process, stops[i].signal);
        (void)process_wait(&postgres->process, stops[i].patience);
    }
    process_close(&postgres->process, fate);
    tell(postgres, 0, false);
}

static int start_server(struct embedded_postgres *postgres, struct problem *why)
{
    int running = postgres_cluster_running(&postgres->cluster, &postgres->process, why);
    if (running < 0)
        return -1;
    if (running == 2) /* it serves a folder that we no longer use */
        stop_server(postgres);
    else if (running == 1)
        log_line(LOG_NOTICE, "PostgreSQL still runs as process %d: adopted",
                 (int)postgres->process.pid);
    if (postgres->process.fd < 0 &&
        postgres_cluster_start(&postgres->cluster, &postgres->process, why) < 0)
        return -1;
    tell(postgres, postgres->process.pid, false);
    return 0;
}

/* The server writes "ready" into postmaster.pid; each change of the folder is a reason to look. */
static void look_ready(struct embedded_postgres *postgres)
{
    char events[4096];
    while (read(postgres->watch_fd, events, sizeof events) > 0)
        ;
    pid_t pid = postgres->process.pid;
    if (postgres_cluster_ready(&postgres->cluster, pid))
        tell(postgres, pid, true);
}

static bool is_ready(struct embedded_postgres *postgres)
{
    scoped_lock(&postgres->lock);
    return postgres->ready;
}

enum event { EVENT_STOP, EVENT_DIED };

static enum event watch_server(struct embedded_postgres *postgres)
{
    for (;;) {
        bool ready = is_ready(postgres);
        struct pollfd fds[] = {
            { .fd = postgres->stop_fd, .events = POLLIN },
            { .fd = postgres->process.fd, .events = POLLIN },
            { .fd = ready ? -1 : postgres->watch_fd, .events = POLLIN },
        };
        if (poll(fds, COUNT_OF(fds), -1) < 0)
            continue;
        if (fds[0].revents)
            return EVENT_STOP;
        if (fds[1].revents)
            return EVENT_DIED;
        if (fds[2].revents)
            look_ready(postgres);
    }
}

static bool asked_to_stop(struct embedded_postgres *postgres, nsec wait)
{
    struct pollfd fd = { .fd = postgres->stop_fd, .events = POLLIN };
    return poll(&fd, 1, (int)(wait / NSEC_PER_MSEC)) > 0;
}

static void *supervise(void *arg)
{
    struct embedded_postgres *postgres = arg;
    nsec gap = GAP_FIRST, started = clock_monotonic();
    look_ready(postgres);
    for (;;) {
        if (postgres->process.fd >= 0) {
            if (watch_server(postgres) == EVENT_STOP)
                break;
            char fate[PROCESS_FATE];
            process_close(&postgres->process, fate);
            tell(postgres, 0, false);
            if (clock_monotonic() - started > LIVED)
                gap = GAP_FIRST;
            log_line(LOG_ERROR, "PostgreSQL %s; starting it again in %.1f s; its log is %s", fate,
                     seconds_of(gap), postgres->cluster.log);
        }
        if (asked_to_stop(postgres, gap))
            break;
        gap = gap * 2 < GAP_MOST ? gap * 2 : GAP_MOST;
        started = clock_monotonic();
        struct problem why = { 0 };
        if (start_server(postgres, &why) < 0)
            log_problem(LOG_ERROR, "PostgreSQL", &why);
        else
            look_ready(postgres);
    }
    stop_server(postgres);
    return NULL;
}

static int open_descriptors(struct embedded_postgres *postgres, struct problem *why)
{
    postgres->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    postgres->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (postgres->stop_fd < 0 || postgres->watch_fd < 0)
        return problem_errno(why, errno, "cannot make a descriptor for PostgreSQL");
    if (inotify_add_watch(postgres->watch_fd, postgres->cluster.data,
                          IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
        return problem_errno(why, errno, "cannot watch %s", postgres->cluster.data);
    return 0;
}

static void release(struct embedded_postgres *postgres)
{
    close_cell(&postgres->stop_fd);
    close_cell(&postgres->watch_fd);
    pthread_cond_destroy(&postgres->changed);
    pthread_mutex_destroy(&postgres->lock);
    free(postgres->conninfo);
    free(postgres);
}

int embedded_postgres_open(const char *state, const char *runtime, struct embedded_postgres **ret,
                           struct problem *why)
{
    struct embedded_postgres *postgres = calloc(1, sizeof *postgres);
    if (!postgres)
        return problem_memory(why);
    postgres->stop_fd = postgres->watch_fd = -1;
    postgres->process = PROCESS_NONE;
    pthread_mutex_init(&postgres->lock, NULL);
    cond_init(&postgres->changed);
    if (postgres_cluster_open(state, runtime, &postgres->cluster, why) < 0 ||
        postgres_cluster_make(&postgres->cluster, why) < 0 || open_descriptors(postgres, why) < 0 ||
        start_server(postgres, why) < 0) {
        release(postgres);
        return -1;
    }
    postgres->conninfo = postgres_cluster_conninfo(runtime);
    int error =
        postgres->conninfo ? pthread_create(&postgres->thread, NULL, supervise, postgres) : ENOMEM;
    if (error) {
        problem_errno(why, error, "cannot watch over PostgreSQL");
        stop_server(postgres);
        release(postgres);
        return -1;
    }
    *ret = postgres;
    return 0;
}

const char *embedded_postgres_conninfo(const struct embedded_postgres *postgres)
{
    return postgres->conninfo;
}

int embedded_postgres_wait(struct embedded_postgres *postgres, nsec deadline_in,
                           struct problem *why)
{
    nsec deadline = clock_monotonic() + deadline_in;
    scoped_lock(&postgres->lock);
    while (!postgres->ready)
        if (!cond_wait_until(&postgres->changed, &postgres->lock, deadline))
            return problem_set(why, PROBLEM_STORE_FAILED,
                               "PostgreSQL has not been ready within %.0f s; its log is %s",
                               seconds_of(deadline_in), postgres->cluster.log);
    return 0;
}

pid_t embedded_postgres_pid(struct embedded_postgres *postgres)
{
    scoped_lock(&postgres->lock);
    return postgres->pid;
}

struct embedded_postgres *embedded_postgres_close(struct embedded_postgres *postgres)
{
    if (!postgres)
        return NULL;
    eventfd_write(postgres->stop_fd, 1);
    pthread_join(postgres->thread, NULL);
    release(postgres);
    return NULL;
}
