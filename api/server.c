/* The only file that sees libmicrohttpd: connections, bodies, held answers, stopping.
 *
 * Each listener is a daemon of the library with a pool of epoll threads; a request is answered in
 * the thread that read it. A handler that says HOLD has its connection suspended; server_wake, the
 * deadline (one timer thread) or server_stop resume it and it is called again. No wake is lost: they
 * are counted, and a connection is suspended only if none came since before its handler looked. A
 * client that leaves while it is held is not noticed by the library; hence the deadline of every
 * hold and the cap on their number. */
#include "api/api.h"
#include "api/auth.h"
#include "api/cache.h"
#include "api/listen.h"
#include "api/lock.h"
#include "engine/base/log.h"
#include "engine/base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/stat.h>

enum {
    LISTENERS_MOST = 8,
    DRAIN = 16, /* bodies up to so many times the cap are read to their end and refused
                              * in good order; beyond, the connection is closed */
    STREAM_BLOCK = 32 * 1024,
    PEM_MOST = 1024 * 1024,
};

/* The library's own timeout is for silence only: it is content with a byte now and then. */
static const nsec body_patience = 60 * NSEC_PER_SEC;

/* A listener's daemon. After a change of certificates a new one takes its socket over, and this one
 * serves the connections that it has. */
struct front {
    struct server *server;
    struct MHD_Daemon *daemon;
    int socket;   /* its own copy of the listener's */
    bool retired; /* the server's lock: holds nothing any more */
};

struct server {
    struct api api;
    uint64_t body_bytes;
    unsigned held_most;
    size_t listeners_n;
    struct listener listener[LISTENERS_MOST];
    struct front *front[LISTENERS_MOST], *retired[LISTENERS_MOST];
    char *certificate, *key; /* PEM, in use */
    bool tls;
    pthread_t timer;
    bool timer_runs;

    atomic_uint active;         /* requests under way */
    atomic_uint_fast64_t wakes; /* changed under the lock, read without it */
    atomic_bool stopping;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* lock, and all below */
    struct call *held;
    unsigned held_n;
    bool ended;
};

/* A request under way. */
struct call {
    struct request in;
    struct server *server;
    struct front *front;
    struct MHD_Connection *connection;
    bool begun;
    uint64_t received;
    struct call *next, **cell; /* among the held; cell NULL: not held. The server's lock */
};

/* ---- reading ---- */

static const char *header_of(void *wire, const char *name)
{
    return MHD_lookup_connection_value(wire, MHD_HEADER_KIND, name);
}

static void client_of(void *wire, char *text, size_t size)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(wire, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    const void *bytes = NULL;
    if (address && address->sa_family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    else if (address && address->sa_family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (!bytes || !inet_ntop(address->sa_family, bytes, text, (socklen_t)size))
        (void)!text_fit(text, size, "unix");
}

/* Where a request is first heard of, with its target as sent; what it returns is the call. */
static void *call_new(void *arg, const char *target, struct MHD_Connection *connection)
{
    struct front *front = arg;
    struct server *server = front->server;
    struct call *call = calloc(1, sizeof *call);
    char *copy = strdup(target);
    if (!call || !copy) {
        free(call);
        free(copy);
        return NULL;
    }
    call->server = server;
    call->front = front;
    call->connection = connection;
    call->in = (struct request){ .target = copy,
                                 .header = header_of,
                                 .client = client_of,
                                 .wire = connection,
                                 .hold_state = -1,
                                 .began = clock_monotonic() };
    atomic_fetch_add(&server->active, 1);
    return call;
}

static void call_free(void *arg, struct MHD_Connection *connection unused, void **state,
                      enum MHD_RequestTerminationCode code unused)
{
    struct server *server = arg;
    struct call *call = *state;
    *state = NULL;
    if (!call)
        return;
    request_done(&call->in);
    free(call);
    if (atomic_fetch_sub(&server->active, 1) == 1 && atomic_load(&server->stopping)) {
        scoped_lock(&server->lock);
        pthread_cond_broadcast(&server->changed);
    }
}

static enum MHD_Result call_gather(struct call *call, const char *bytes, size_t n)
{
    struct request *in = &call->in;
    call->received += n;
    if (clock_monotonic() - in->began > body_patience)
        return MHD_NO;
    if (call->received > call->server->body_bytes) {
        in->body_too_large = true;
        free(steal(&in->body));
        in->body_n = 0;
        return call->received > DRAIN * call->server->body_bytes ? MHD_NO : MHD_YES;
    }
    char *body = realloc(in->body, in->body_n + n);
    if (!body)
        return MHD_NO;
    memcpy(body + in->body_n, bytes, n);
    in->body = body;
    in->body_n += n;
    return MHD_YES;
}

/* ---- answering ---- */

static void add(struct MHD_Response *response, const char *name, const char *value)
{
    if (value && MHD_add_response_header(response, name, value) != MHD_YES)
        log_line(LOG_WARNING, "the header %s of an answer was lost", name);
}

static void add_headers(struct MHD_Response *response, const struct reply *reply)
{
    add(response, "Cache-Control", reply->cache_control);
    add(response, "ETag", reply->etag[0] ? reply->etag : NULL);
    add(response, "Vary", reply->page ? NULL : "Accept, Accept-Encoding, Authorization, Cookie");
    add(response, "X-Content-Type-Options", "nosniff");
    add(response, "Content-Security-Policy",
        reply->policy[0] ? reply->policy
        : reply->page    ? page_policy
                         : data_policy);
    add(response, "Referrer-Policy", "no-referrer");
    for (size_t i = 0; i < reply->headers_n; i++)
        add(response, reply->headers[i].name, reply->headers[i].value);
}

static ssize_t read_stream(void *arg, uint64_t at unused, char *bytes, size_t size)
{
    struct reply *reply = arg;
    struct problem why = { 0 };
    size_t n = 0;
    if (reply->stream.read(reply->stream.arg, bytes, size, &n, &why)) {
        log_problem(LOG_ERROR, "an answer was cut short", &why);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    return n ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

static void release_reply(void *arg)
{
    reply_drop(arg);
}

static struct MHD_Response *response_body(struct reply *reply)
{
    if (reply->file >= 0)
        return MHD_create_response_from_fd64(reply->file_bytes, steal_fd(&reply->file));
    if (reply->stream.read) {
        struct MHD_Response *response = MHD_create_response_from_callback(
            MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, reply, release_reply);
        if (response)
            reply_hold(reply);
        return response;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        reply->n, reply->body, release_reply, reply);
    if (response)
        reply_hold(reply);
    return response;
}

static struct MHD_Response *response_new(struct reply *reply)
{
    struct MHD_Response *response = response_body(reply);
    if (!response)
        return NULL;
    if (reply->type && (reply->n || reply->stream.read || reply->file_bytes))
        add(response, "Content-Type", reply->type);
    if (reply->gzip)
        add(response, "Content-Encoding", "gzip");
    add_headers(response, reply);
    return response;
}

static struct MHD_Response *response_unchanged(const struct reply *reply)
{
    static char nothing[1];
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
    if (response)
        add_headers(response, reply);
    return response;
}

static void wire_free(void *wire)
{
    MHD_destroy_response(wire);
}

/* The response of a kept answer is made once and queued for everybody. */
static struct MHD_Response *response_kept(struct kept *kept)
{
    void *wire = atomic_load(&kept->wire);
    if (wire)
        return wire;
    struct MHD_Response *made = response_new(kept->reply);
    if (!made || atomic_compare_exchange_strong(&kept->wire, &wire, made))
        return made;
    MHD_destroy_response(made);
    return wire;
}

static enum MHD_Result call_send(struct call *call, struct reply *reply, struct kept *kept)
{
    bool reads = call->in.method == METHOD_GET || call->in.method == METHOD_HEAD;
    const char *known = header_of(call->connection, "If-None-Match");
    if (reads && reply->status == 200 && reply->etag[0] && etag_listed(known, reply->etag)) {
        struct MHD_Response *same = response_unchanged(reply);
        if (!same)
            return MHD_NO;
        enum MHD_Result result = MHD_queue_response(call->connection, 304, same);
        MHD_destroy_response(same);
        return result;
    }
    struct MHD_Response *response = kept ? response_kept(kept) : response_new(reply);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_queue_response(call->connection, reply->status, response);
    if (!kept)
        MHD_destroy_response(response);
    return result;
}

/* ---- held answers ---- */

static void release(struct server *server, struct call *call)
{
    *call->cell = call->next;
    if (call->next)
        call->next->cell = call->cell;
    call->cell = NULL;
    server->held_n--;
    MHD_resume_connection(call->connection);
}

/* Suspends it and returns true, unless the handler should look again at once. */
static bool call_hold(struct call *call, uint64_t wakes)
{
    struct server *server = call->server;
    scoped_lock(&server->lock);
    if (atomic_load(&server->stopping) || call->front->retired ||
        server->held_n >= server->held_most)
        call->in.hold_over = true;
    if (call->in.hold_over || atomic_load(&server->wakes) != wakes)
        return false;
    call->next = server->held;
    call->cell = &server->held;
    if (call->next)
        call->next->cell = &call->next;
    server->held = call;
    server->held_n++;
    MHD_suspend_connection(call->connection);
    pthread_cond_broadcast(&server->changed); /* the timer: perhaps an earlier deadline */
    return true;
}

static void *run_timer(void *arg)
{
    struct server *server = arg;
    scoped_lock(&server->lock);
    while (!server->ended) {
        nsec now = clock_monotonic(), next = now + 3600 * NSEC_PER_SEC;
        for (struct call *call = server->held, *after; call; call = after) {
            after = call->next;
            if (call->in.hold_until <= now)
                release(server, call);
            else if (call->in.hold_until < next)
                next = call->in.hold_until;
        }
        struct timespec until = { next / NSEC_PER_SEC, next % NSEC_PER_SEC };
        pthread_cond_timedwait(&server->changed, &server->lock, &until);
    }
    return NULL;
}

void server_wake(struct server *server, job_id job)
{
    cache_stale(server->api.cache, job);
    scoped_lock(&server->lock);
    atomic_fetch_add(&server->wakes, 1);
    for (struct call *call = server->held, *after; call; call = after) {
        after = call->next;
        if (job == 0 || call->in.hold_job == job)
            release(server, call);
    }
}

void server_forget(struct server *server)
{
    auth_forget(server->api.auth, NULL);
}

/* ---- a request's way ---- */

static void log_failure(const struct request *in, const struct problem *why)
{
    char target[200];
    log_line(LOG_ERROR, "request %s: %s %s: %s", in->id, method_text(in->method),
             text_shown(in->target, target, sizeof target), why->message);
}

static enum MHD_Result call_answer(struct call *call)
{
    struct server *server = call->server;
    for (;;) {
        uint64_t wakes = atomic_load(&server->wakes);
        scoped_reply struct reply *reply = NULL;
        struct kept *kept = NULL;
        struct problem why = { 0 };
        int result = api_answer(&server->api, &call->in, &reply, &kept, &why);
        if (result < 0)
            return MHD_NO;
        if (result == HOLD) {
            if (call_hold(call, wakes))
                return MHD_YES;
            continue;
        }
        if (reply->status == 500)
            log_failure(&call->in, &why);
        enum MHD_Result sent = call_send(call, reply, kept);
        kept_drop(kept);
        return sent;
    }
}

/* The headers are there. A body that is announced as far too large is not waited for, nor one whose
 * sender asks first. */
static enum MHD_Result call_begin(struct call *call, const char *method)
{
    struct server *server = call->server;
    const union MHD_ConnectionInfo *tls =
        server->tls ? MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_PROTOCOL)
                    : NULL;
    call->in.secure = tls != NULL;
    call->in.method = method_named(method);
    const char *length = header_of(call->connection, "Content-Length");
    uint64_t announced = length ? strtoull(length, NULL, 10) : 0;
    if (announced > server->body_bytes &&
        (announced > DRAIN * server->body_bytes || header_of(call->connection, "Expect"))) {
        call->in.body_too_large = true;
        return call_answer(call);
    }
    return MHD_YES;
}

static enum MHD_Result ask(void *arg unused, struct MHD_Connection *connection unused,
                           const char *url unused, const char *method, const char *version unused,
                           const char *upload, size_t *upload_n, void **state)
{
    struct call *call = *state;
    if (!call)
        return MHD_NO;
    if (!call->begun) {
        call->begun = true;
        return call_begin(call, method);
    }
    if (*upload_n == 0)
        return call_answer(call);
    size_t n = *upload_n;
    *upload_n = 0;
    return call_gather(call, upload, n);
}

/* Targets are decoded in request.c; the library shall leave them alone. */
static size_t keep_escapes(void *arg unused, struct MHD_Connection *connection unused, char *text)
{
    return strlen(text);
}

/* ---- start and stop ---- */

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
    nsec idle = settings->idle ? settings->idle : 30 * NSEC_PER_SEC;
    struct MHD_OptionItem options[] = {
        { MHD_OPTION_LISTEN_SOCKET, socket, NULL },
        { MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? threads : 0, NULL },
        { MHD_OPTION_CONNECTION_LIMIT, connections < threads ? threads : connections, NULL },
        { MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)(idle / NSEC_PER_SEC), NULL },
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
    front->daemon = MHD_start_daemon(flags, 0, NULL, NULL, ask, server, MHD_OPTION_EXTERNAL_LOGGER,
                                     log_library, NULL, MHD_OPTION_URI_LOG_CALLBACK, call_new,
                                     front, MHD_OPTION_NOTIFY_COMPLETED, call_free, server,
                                     MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
                                     MHD_OPTION_ARRAY, options, MHD_OPTION_END);
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
    scoped_lock(&server->lock);
    front->retired = true;
    for (struct call *call = server->held, *after; call; call = after) {
        after = call->next;
        if (call->front == front)
            release(server, call);
    }
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
    server->body_bytes = settings->body_bytes ? settings->body_bytes : 1024 * 1024;
    server->held_most = (settings->connections ? (unsigned)settings->connections : 512) / 2 + 1;
    return server;
}

int server_start(struct app *app, const struct server_settings *settings, struct server **ret,
                 struct problem *why)
{
    struct server *server = server_new(settings);
    if (!server)
        return problem_memory(why);
    if (api_init(&server->api, app, wire_free, why) || start_timer(server, why) ||
        start_fronts(server, settings, why)) {
        server_stop(server, 0);
        return -1;
    }
    *ret = server;
    return 0;
}

/* No new connections; held answers end; the others may finish until the deadline. */
static void wind_down(struct server *server, nsec deadline)
{
    for (size_t i = 0; i < server->listeners_n; i++)
        if (server->front[i])
            MHD_quiesce_daemon(server->front[i]->daemon);
    struct timespec until = { deadline / NSEC_PER_SEC, deadline % NSEC_PER_SEC };
    scoped_lock(&server->lock);
    atomic_store(&server->stopping, true);
    while (server->held)
        release(server, server->held);
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
