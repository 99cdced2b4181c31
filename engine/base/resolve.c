#include "engine/base/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define LOOK_EVERY (250 * NSEC_PER_MSEC)

/* Whoever is last to need it frees it: the thread that asks, or who waits for it. */
struct request {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done, left; /* lock */
    int error, system_error;
    char address[HOST_ADDRESS];
    char host[];
};

static int look_up(const char *host, int flags, char address[HOST_ADDRESS])
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = flags };
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host, NULL, &hints, &found);
    if (error)
        return error;
    error = getnameinfo(found->ai_addr, found->ai_addrlen, address, HOST_ADDRESS, NULL, 0,
                        NI_NUMERICHOST);
    freeaddrinfo(found);
    return error;
}

static struct request *request_free(struct request *request)
{
    pthread_cond_destroy(&request->ended);
    pthread_mutex_destroy(&request->lock);
    free(request);
    return NULL;
}

static struct request *request_new(const char *host)
{
    struct request *request = calloc(1, sizeof *request + strlen(host) + 1);
    pthread_condattr_t attributes;
    if (!request)
        return NULL;
    memcpy(request->host, host, strlen(host) + 1);
    pthread_mutex_init(&request->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&request->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    return request;
}

static void *ask(void *arg)
{
    struct request *request = arg;
    int error = look_up(request->host, 0, request->address);
    pthread_mutex_lock(&request->lock);
    request->error = error;
    request->system_error = errno;
    request->done = true;
    bool left = request->left;
    pthread_cond_signal(&request->ended);
    pthread_mutex_unlock(&request->lock);
    if (left)
        request_free(request);
    return NULL;
}

static int start(struct request *request)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &attributes, ask, request);
    pthread_attr_destroy(&attributes);
    return error;
}

/* Until it is done, or there is no more time, or no more wish. */
static void wait_for(struct request *request, nsec until, bool (*stopped)(void *arg), void *arg,
                     bool *ret_stopped)
{
    *ret_stopped = false;
    for (nsec now = clock_monotonic(); !request->done && now < until && !*ret_stopped;
         now = clock_monotonic()) {
        nsec next = until < now + LOOK_EVERY ? until : now + LOOK_EVERY;
        const struct timespec at = { .tv_sec = next / NSEC_PER_SEC,
                                     .tv_nsec = next % NSEC_PER_SEC };
        pthread_cond_timedwait(&request->ended, &request->lock, &at);
        *ret_stopped = !request->done && stopped && stopped(arg);
    }
}

static int tell(const struct request *request, bool done, bool stopped, struct problem *why)
{
    if (!done && stopped)
        return problem_set(why, PROBLEM_CANCELLED, "stopped on request");
    if (!done)
        return problem_set(why, PROBLEM_IO_FAILED,
                           "the address of %s was not found in time: no name server has answered",
                           request->host);
    if (request->error == EAI_SYSTEM)
        return problem_errno(why, request->system_error, "cannot find the address of %s",
                             request->host);
    return problem_set(why, PROBLEM_IO_FAILED, "cannot find the address of %s: %s", request->host,
                       gai_strerror(request->error));
}

int resolve_host(const char *host, nsec until, bool (*stopped)(void *arg), void *arg,
                 char ret[HOST_ADDRESS], struct problem *why)
{
    char address[HOST_ADDRESS];
    bool stop;
    if (look_up(host, AI_NUMERICHOST, address) == 0) { /* asks nobody */
        memcpy(ret, address, HOST_ADDRESS);
        return 0;
    }
    struct request *request = request_new(host);
    if (!request)
        return problem_memory(why);
    int error = start(request);
    if (error) {
        request_free(request);
        return problem_errno(why, error, "cannot start a thread to find %s", host);
    }
    pthread_mutex_lock(&request->lock);
    wait_for(request, until, stopped, arg, &stop);
    bool done = request->done, found = done && request->error == 0;
    int result = found ? 0 : tell(request, done, stop, why);
    if (found)
        memcpy(ret, request->address, HOST_ADDRESS);
    request->left = true;
    pthread_mutex_unlock(&request->lock);
    if (done)
        request_free(request);
    return result;
}
