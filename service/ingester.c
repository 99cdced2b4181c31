/* The thread sleeps in one poll() over: a wish (eventfd), the jobs' folders (inotify) and their runners
 * (pidfds), until the earliest time at which a course wants to be looked at. Other threads only leave
 * orders; the courses are this thread's own. */
#include "service/ingester.h"

#include "engine/base/lock.h"
#include "engine/base/log.h"
#include "service/course.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

enum { FIXED = 2 }; /* descriptors before those of the runners */

/* A job that is followed, as other threads see it. */
struct known {
    struct known *next;
    job_id id;
    struct course *incoming; /* not yet taken up by the thread */
    bool cancel;
};

struct ingester {
    struct ingester_settings settings;
    int wish_fd, watch_fd;
    pthread_t thread;
    struct course *courses; /* the thread's */
    struct pollfd *fds;     /* the thread's */
    size_t fds_room;

    pthread_mutex_t lock;
    struct known *known; /* lock */
    bool stop;           /* lock */
};

static void wish(struct ingester *ingester)
{
    eventfd_write(ingester->wish_fd, 1);
}

static struct known **find(struct ingester *ingester, job_id id)
{
    struct known **at = &ingester->known;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

/* ---- what other threads ask ---- */

int ingester_follow(struct ingester *ingester, struct job *job, struct process process,
                    struct problem *why)
{
    scoped_free struct known *known = calloc(1, sizeof *known);
    if (!known)
        return problem_memory(why);
    job_id id = job->id;
    struct course *course =
        course_new(ingester->settings.store, ingester->settings.launcher, job, process, why);
    if (!course)
        return -1;
    known->id = id;
    known->incoming = course;
    {
        scoped_lock(&ingester->lock);
        known->next = ingester->known;
        ingester->known = known;
        known = NULL;
    }
    wish(ingester);
    return 0;
}

void ingester_cancel(struct ingester *ingester, job_id id)
{
    {
        scoped_lock(&ingester->lock);
        struct known *known = *find(ingester, id);
        if (!known || known->cancel)
            return;
        known->cancel = true;
    }
    wish(ingester);
}

bool ingester_follows(struct ingester *ingester, job_id id)
{
    scoped_lock(&ingester->lock);
    return *find(ingester, id) != NULL;
}

/* ---- the thread ---- */

/* Returns false when it is to stop. */
static bool take_orders(struct ingester *ingester)
{
    scoped_lock(&ingester->lock);
    for (struct known *known = ingester->known; known; known = known->next)
        if (known->incoming) {
            known->incoming->next = ingester->courses;
            ingester->courses = steal(&known->incoming);
        }
    for (struct course *course = ingester->courses; course; course = course->next) {
        const struct known *known = *find(ingester, course->job.id);
        if (known->cancel && !course->cancel)
            course->cancel = course->dirty = true;
    }
    return !ingester->stop;
}

static void forget(struct ingester *ingester, struct course *course)
{
    scoped_lock(&ingester->lock);
    struct known **at = find(ingester, course->job.id), *gone = *at;
    *at = gone->next;
    free(gone);
}

static void watch(struct ingester *ingester, struct course *course)
{
    if (course->watch < 0)
        course->watch = inotify_add_watch(ingester->watch_fd, course->folder,
                                          IN_CREATE | IN_MODIFY | IN_ONLYDIR);
}

static void end_course(struct ingester *ingester, struct course **at)
{
    struct course *course = *at;
    *at = course->next;
    if (course->watch >= 0)
        (void)inotify_rm_watch(ingester->watch_fd, course->watch);
    forget(ingester, course);
    course_free(course);
}

static void attend_all(struct ingester *ingester)
{
    const struct ingester_settings *settings = &ingester->settings;
    for (struct course **at = &ingester->courses; *at;) {
        struct course *course = *at;
        job_id id = course->job.id;
        nsec now = clock_monotonic();
        bool done = false;
        if (course->dirty || course->look <= now) {
            watch(ingester, course);
            enum course_result result = course_attend(course, now);
            done = result == COURSE_DONE;
            if (done)
                end_course(ingester, at);
            if (result != COURSE_GOES_ON)
                settings->changed(settings->arg, id);
            if (done)
                settings->freed(settings->arg);
        }
        if (!done)
            at = &course->next;
    }
}

static void read_watches(struct ingester *ingester)
{
    char room[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;
    while ((n = read(ingester->watch_fd, room, sizeof room)) > 0)
        for (char *p = room; p < room + n;) {
            const struct inotify_event *event = (const struct inotify_event *)(void *)p;
            for (struct course *course = ingester->courses; course; course = course->next)
                if (course->watch == event->wd || (event->mask & IN_Q_OVERFLOW))
                    course->dirty = true;
            p += sizeof *event + event->len;
        }
}

/* The descriptors to wait for; returns their number. */
static size_t gather(struct ingester *ingester)
{
    size_t n = FIXED;
    for (const struct course *course = ingester->courses; course; course = course->next)
        n++;
    if (n > ingester->fds_room) {
        struct pollfd *fds = realloc(ingester->fds, 2 * n * sizeof *fds);
        if (!fds)
            n = ingester->fds_room; /* the others are looked at when something else happens */
        else {
            ingester->fds = fds;
            ingester->fds_room = 2 * n;
        }
    }
    ingester->fds[0] = (struct pollfd){ .fd = ingester->wish_fd, .events = POLLIN };
    ingester->fds[1] = (struct pollfd){ .fd = ingester->watch_fd, .events = POLLIN };
    size_t i = FIXED;
    for (const struct course *course = ingester->courses; course && i < n; course = course->next)
        ingester->fds[i++] = (struct pollfd){ .fd = course->process.fd, .events = POLLIN };
    return i;
}

static int patience(const struct ingester *ingester)
{
    nsec earliest = COURSE_IDLE, now = clock_monotonic();
    for (const struct course *course = ingester->courses; course; course = course->next) {
        if (course->dirty || course->look <= now)
            return 0;
        if (course->look < earliest)
            earliest = course->look;
    }
    if (earliest == COURSE_IDLE)
        return -1;
    nsec left = (earliest - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
    return left > 60000 ? 60000 : (int)left;
}

static void wait_for_something(struct ingester *ingester)
{
    size_t n = gather(ingester);
    if (poll(ingester->fds, n, patience(ingester)) < 0)
        return;
    eventfd_t wishes;
    if (ingester->fds[0].revents)
        (void)eventfd_read(ingester->wish_fd, &wishes);
    if (ingester->fds[1].revents)
        read_watches(ingester);
    size_t i = FIXED;
    for (struct course *course = ingester->courses; course && i < n; course = course->next)
        if (ingester->fds[i++].revents)
            course->dirty = true;
}

static void *work(void *arg)
{
    struct ingester *ingester = arg;
    while (take_orders(ingester)) {
        attend_all(ingester);
        wait_for_something(ingester);
    }
    return NULL;
}

static void release(struct ingester *ingester)
{
    close_cell(&ingester->wish_fd);
    close_cell(&ingester->watch_fd);
    pthread_mutex_destroy(&ingester->lock);
    free(ingester->fds);
    free(ingester);
}

int ingester_start(const struct ingester_settings *settings, struct ingester **ret,
                   struct problem *why)
{
    struct ingester *ingester = calloc(1, sizeof *ingester);
    if (!ingester)
        return problem_memory(why);
    ingester->settings = *settings;
    pthread_mutex_init(&ingester->lock, NULL);
    ingester->wish_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ingester->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    ingester->fds_room = 16;
    ingester->fds = calloc(ingester->fds_room, sizeof *ingester->fds);
    int error = ingester->wish_fd < 0 || ingester->watch_fd < 0 ? errno
                : !ingester->fds                                ? ENOMEM
                                 : pthread_create(&ingester->thread, NULL, work, ingester);
    if (error) {
        release(ingester);
        return problem_errno(why, error, "cannot start following journals");
    }
    *ret = ingester;
    return 0;
}

struct ingester *ingester_stop(struct ingester *ingester)
{
    if (!ingester)
        return NULL;
    {
        scoped_lock(&ingester->lock);
        ingester->stop = true;
    }
    wish(ingester);
    pthread_join(ingester->thread, NULL);
    /* What was read but not committed is read again by the next daemon. */
    while (ingester->courses) {
        struct course *course = ingester->courses;
        ingester->courses = course->next;
        course_free(course);
    }
    for (struct known *known = ingester->known, *next; known; known = next) {
        next = known->next;
        course_free(known->incoming);
        free(known);
    }
    release(ingester);
    return NULL;
}
