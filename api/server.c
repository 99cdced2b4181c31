/* With the other server_*.c the only file that sees libmicrohttpd: listeners, held
 * answers, starting and stopping.
 *
 * Each listener is a daemon of the library with a pool of epoll threads; a request is answered in
 * the thread that read it. A handler that says HOLD has its connection suspended; server_wake, the
 * deadline (one timer thread) or server_stop resume it and it is called again. No wake is lost: they
 * are counted, and a connection is suspended only if none came since before its handler looked. A
 * client that leaves while it is held is not noticed by the library; hence the deadline of every
 * hold and the cap on their number. */
#include "api/server_inside.h"

#include "api/auth.h"
#include "api/events.h"
#include "engine/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { PEM_MOST = 1024 * 1024 };

/* ---- held answers ---- */

void call_release(struct server *server, struct call *call)
{
    *call->cell = call->next;
    if (call->next)
        call->next->cell = call->cell;
    call->cell = NULL;
    server->held_n--;
    MHD_resume_connection(call->connection);
}

static void *run_timer(void *arg)
{
    struct server *server = arg;
    scoped_lock(&server->lock);
    while (!server->ended) {
        nsec now = clock_monotonic(), next = now + 5 * NSEC_PER_SEC;
        for (struct call *call = server->held, *after; call; call = after) {
            after = call->next;
            if (call->in.hold_until <= now)
                call_release(server, call);
            else if (call->in.hold_until < next)
                next = call->in.hold_until;
        }
        nsec look = patience_look(server, now);
        next = look < next ? look : next;
        struct timespec until = { next / NSEC_PER_SEC, next % NSEC_PER_SEC };
        pthread_cond_timedwait(&server->changed, &server->lock, &until);
    }
    return NULL;
}

void server_wake(struct server *server, job_id job)
{
    cache_stale(server->api.cache, job);
    events_wake(server->api.events, job);
    scoped_lock(&server->lock);
    atomic_fetch_add(&server->wakes, 1);
    for (struct call *call = server->held, *after; call; call = after) {
        after = call->next;
        if (job == 0 || call->in.hold_job == job)
            call_release(server, call);
    }
}

static void wake(void *arg, job_id job)
{
    server_wake(arg, job);
}

void server_forget(struct server *server)
{
    auth_forget(server->api.auth, NULL);
}

/* ---- start and stop ---- */

/* Targets are decoded in request.c; the library shall leave them alone. */
static size_t keep_escapes(void *arg unused, struct MHD_Connection *connection unused, char *text)
{
    return strlen(text);
}

static void printf_like(2, 0) log_library(void *arg unused, const char *fmt, va_list ap)
{
    char line[256];
    int n = vsnprintf(line, sizeof line, fmt, ap);
    if (n > 0) {
        line[strcspn(line, "\n")] = '\0';
        log_line(LOG_DEBUG, "http: %s", line);
    }
}

static int read_pem(const char *path, char **ret, struct problem *why)
{
    scoped_file FILE *file = fopen(path, "re");
    scoped_free char *pem = calloc(1, PEM_MOST + 1);
    if (!pem)
        return problem_memory(why);
    if (!file)
        return problem_errno(why, errno, "cannot read %s", path);
    size_t n = fread(pem, 1, PEM_MOST, file);
    if (ferror(file) || n == 0)
        return problem_set(why, PROBLEM_IO_FAILED, "cannot read %s, or it is empty", path);
    *ret = steal(&pem);
    return 0;
}

static int front_open(struct server *server, size_t i, const struct server_settings *settings,
                      const char *certificate, const char *key, struct front **ret,
                      struct problem *why)
{
    bool tls = certificate && !server->listener[i].path[0];
    /* A copy, which the library closes when the daemon does not start, and we when it has stopped. */
    int socket = fcntl(server->listener[i].fd, F_DUPFD_CLOEXEC, 3);
    if (socket < 0)
        return problem_errno(why, errno, "cannot copy the socket of a listener");
    unsigned threads = settings->threads ? (unsigned)settings->threads : 4;
    unsigned connections = settings->connections ? (unsigned)settings->connections : 512;
    struct MHD_OptionItem options[] = {
        { MHD_OPTION_LISTEN_SOCKET, socket, NULL },
        { MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? threads : 0, NULL },
        { MHD_OPTION_CONNECTION_LIMIT, connections < threads ? threads : connections, NULL },
        { MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)(server->idle / NSEC_PER_SEC), NULL },
        { MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
        { tls ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, (char *)(intptr_t)certificate },
        { tls ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, (char *)(intptr_t)key },
        { MHD_OPTION_END, 0, NULL },
    };
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (tls ? MHD_USE_TLS : 0);
    scoped_free struct front *front = calloc(1, sizeof *front);
    if (!front)
        return problem_memory(why);
    front->server = server;
    front->socket = socket;
    front->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, call_ask, server, MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, call_new, front, MHD_OPTION_NOTIFY_COMPLETED, call_free,
        server, MHD_OPTION_NOTIFY_CONNECTION, patience_notify, server, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, NULL, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (!front->daemon)
        return problem_set(why, PROBLEM_INTERNAL, "the HTTP server does not start%s",
                           tls ? "; is the certificate right?" : "");
    *ret = steal(&front);
    return 0;
}

static struct front *front_close(struct front *front)
{
    if (!front)
        return NULL;
    MHD_quiesce_daemon(front->daemon); /* so that it leaves the socket alone */
    MHD_stop_daemon(front->daemon);
    close(front->socket);
    free(front);
    return NULL;
}

static int read_certificate(const struct server_settings *settings, char **ret_certificate,
                            char **ret_key, struct problem *why)
{
    scoped_free char *certificate = NULL, *key = NULL;
    if (!settings->certificate != !settings->key)
        return problem_set(why, PROBLEM_BAD_FIELD, "certificate and key go together");
    if (settings->certificate &&
        (read_pem(settings->certificate, &certificate, why) || read_pem(settings->key, &key, why)))
        return -1;
    *ret_certificate = steal(&certificate);
    *ret_key = steal(&key);
    return 0;
}

static int start_fronts(struct server *server, const struct server_settings *settings,
                        struct problem *why)
{
    if (read_certificate(settings, &server->certificate, &server->key, why))
        return -1;
    if (settings->listen.n == 0 || settings->listen.n > LISTENERS_MOST)
        return problem_set(why, PROBLEM_BAD_FIELD, "listen takes 1 to %d addresses",
                           LISTENERS_MOST);
    server->tls = server->certificate != NULL; /* before the first request */
    for (size_t i = 0; i < settings->listen.n; i++) {
        if (listener_open(settings->listen.at[i], &server->listener[i], why))
            return -1;
        server->listeners_n++;
        if (front_open(server, i, settings, server->certificate, server->key, &server->front[i],
                       why))
            return -1;
    }
    return 0;
}

/* Takes no new connections and holds none of those it has; what they ask is answered. */
static void retire(struct server *server, size_t i, struct front *heir)
{
    struct front *front = server->front[i];
    server->front[i] = heir;
    server->retired[i] = front;
    MHD_quiesce_daemon(front->daemon);
    {
        scoped_lock(&server->lock);
        front->retired = true;
        for (struct call *call = server->held, *after; call; call = after) {
            after = call->next;
            if (call->front == front)
                call_release(server, call);
        }
    }
    events_stir(server->api.events);
}

int server_reload(struct server *server, const struct server_settings *settings,
                  struct problem *why)
{
    scoped_free char *certificate = NULL, *key = NULL;
    if (!server->tls)
        return 0;
    if (read_certificate(settings, &certificate, &key, why))
        return -1;
    if (strcmp(certificate, server->certificate) == 0 && strcmp(key, server->key) == 0)
        return 0;
    /* All new ones first: a certificate that does not fit its key changes nothing. */
    struct front *heir[LISTENERS_MOST] = { 0 };
    for (size_t i = 0; i < server->listeners_n; i++)
        if (!server->listener[i].path[0] &&
            front_open(server, i, settings, certificate, key, &heir[i], why)) {
            while (i-- > 0)
                front_close(heir[i]);
            return -1;
        }
    for (size_t i = 0; i < server->listeners_n; i++)
        if (heir[i]) {
            front_close(server->retired[i]); /* since the last change its idle time is long over */
            retire(server, i, heir[i]);
        }
    free(server->certificate);
    free(server->key);
    server->certificate = steal(&certificate);
    server->key = steal(&key);
    return 1;
}

static int start_timer(struct server *server, struct problem *why)
{
    int error = pthread_create(&server->timer, NULL, run_timer, server);
    if (error)
        return problem_errno(why, error, "cannot start a thread");
    server->timer_runs = true;
    return 0;
}

static struct server *server_new(const struct server_settings *settings)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&server->lock, NULL);
    server->idle = settings->idle ? settings->idle : 30 * NSEC_PER_SEC;
    server->body_bytes = settings->body_bytes ? settings->body_bytes : 1024 * 1024;
    server->upload_bytes = settings->upload_bytes ? settings->upload_bytes : UINT64_C(1) << 30;
    server->held_most = (settings->connections ? (unsigned)settings->connections : 512) / 2 + 1;
    return server;
}

int server_start(struct app *app, const struct server_settings *settings, struct server **ret,
                 struct problem *why)
{
    struct server *server = server_new(settings);
    if (!server)
        return problem_memory(why);
    if (api_init(&server->api, app, response_free, why) || start_timer(server, why))
        goto failed;
    server->api.wake = wake;
    server->api.wake_arg = server;
    server->api.upload_bytes = server->upload_bytes;
    if (start_fronts(server, settings, why))
        goto failed;
    *ret = server;
    return 0;
failed:
    server_stop(server, 0);
    return -1;
}

/* No new connections; held answers end; the others may finish until the deadline. */
static void wind_down(struct server *server, nsec deadline)
{
    for (size_t i = 0; i < server->listeners_n; i++)
        if (server->front[i])
            MHD_quiesce_daemon(server->front[i]->daemon);
    struct timespec until = { deadline / NSEC_PER_SEC, deadline % NSEC_PER_SEC };
    atomic_store(&server->stopping, true);
    atomic_store(&server->api.stopping, true);
    events_stop(server->api.events);
    scoped_lock(&server->lock);
    while (server->held)
        call_release(server, server->held);
    while (atomic_load(&server->active) &&
           pthread_cond_timedwait(&server->changed, &server->lock, &until) != ETIMEDOUT)
        ;
    server->ended = true;
    pthread_cond_broadcast(&server->changed);
}

struct server *server_stop(struct server *server, nsec deadline_in)
{
    if (!server)
        return NULL;
    wind_down(server, clock_monotonic() + deadline_in);
    if (server->timer_runs)
        pthread_join(server->timer, NULL);
    for (size_t i = 0; i < server->listeners_n; i++) {
        server->front[i] = front_close(server->front[i]);
        server->retired[i] = front_close(server->retired[i]);
        listener_close(&server->listener[i]);
    }
    api_done(&server->api);
    free(server->certificate);
    free(server->key);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
    return NULL;
}

unsigned server_port(const struct server *server, size_t i)
{
    return i < server->listeners_n ? server->listener[i].port : 0;
}
