/* Listens for changed jobs. NOTIFY is only a hint: who waits looks at the database again, and after
 * a lost connection everything may have changed, which is told as job 0. */
#include "schema/database.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

struct watch {
    pthread_t thread;
    int stop; /* an eventfd: readable once the thread shall end */
    const char *conninfo;
    void (*wake)(void *arg, job_id id);
    void *arg;
};

static const nsec GAP_FIRST = 100 * NSEC_PER_MSEC, GAP_MOST = 5 * NSEC_PER_SEC;

/* Waits until the socket (-1: none) is readable, it is time to end, or the gap has passed (0: none).
 * Returns whether to go on. */
static bool watch_wait(const struct watch *watch, int socket, nsec gap)
{
    struct pollfd fds[] = { { watch->stop, POLLIN, 0 }, { socket, POLLIN, 0 } };
    poll(fds, 2, gap ? (int)(gap / NSEC_PER_MSEC) : -1);
    return fds[0].revents == 0;
}

static bool watch_listen(const struct watch *watch, PGconn **ret)
{
    struct problem ignored = { 0 };
    PGconn *pg = NULL;
    if (connection_dial(watch->conninfo, &pg, &ignored) < 0)
        return false;
    scoped_result PGresult *result = PQexec(pg, "LISTEN plimsoll_job");
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        PQfinish(pg);
        return false;
    }
    *ret = pg;
    return true;
}

static void watch_tell(const struct watch *watch, PGconn *pg)
{
    PGnotify *notify;
    while ((notify = PQnotifies(pg))) {
        watch->wake(watch->arg, strtoll(notify->extra, NULL, 10));
        PQfreemem(notify);
    }
}

static void *watch_run(void *arg)
{
    const struct watch *watch = arg;
    PGconn *pg = NULL;
    nsec gap = GAP_FIRST;
    do {
        if (pg) {
            if (!PQconsumeInput(pg) || PQstatus(pg) != CONNECTION_OK) {
                PQfinish(steal(&pg));
                continue; /* wait a gap, then dial again */
            }
            watch_tell(watch, pg);
        } else if (watch_listen(watch, &pg)) {
            gap = GAP_FIRST;
            watch->wake(watch->arg, 0);
            watch_tell(watch, pg); /* what came in together with the answer to LISTEN */
        } else {
            gap = gap * 2 < GAP_MOST ? gap * 2 : GAP_MOST;
        }
    } while (watch_wait(watch, pg ? PQsocket(pg) : -1, pg ? 0 : gap));
    PQfinish(pg);
    return NULL;
}

int store_watch(struct store *store, void (*wake)(void *arg, job_id id), void *arg,
                struct problem *why)
{
    if (store->watch)
        return problem_set(why, PROBLEM_INTERNAL, "the store is already watched");
    scoped_free struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return problem_memory(why);
    *watch = (struct watch){
        .stop = eventfd(0, EFD_CLOEXEC), .conninfo = store->conninfo, .wake = wake, .arg = arg
    };
    if (watch->stop < 0)
        return problem_errno(why, errno, "cannot make an event descriptor");
    int error = pthread_create(&watch->thread, NULL, watch_run, watch);
    if (error) {
        close(watch->stop);
        return problem_errno(why, error, "cannot start a thread");
    }
    store->watch = steal(&watch);
    return 0;
}

void watch_stop(struct watch *watch)
{
    if (!watch)
        return;
    uint64_t one = 1;
    if (write(watch->stop, &one, sizeof one) == sizeof one)
        pthread_join(watch->thread, NULL);
    close(watch->stop);
    free(watch);
}
