/* One request in the library's hands: its head, its body, its answer, and while that is held. */
#include "api/server_inside.h"
#include "api/upload.h"
#include "engine/base/log.h"
#include "engine/base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum {
    DRAIN = 16, /* bodies up to so many times the cap are read to their end and refused in good
                 * order: a client that still sends when the connection is closed may never see the
                 * answer. Beyond, the connection is closed */
    DRAIN_UPLOAD = 2,   /* the same for those that go to a file, whose cap is large */
    SLOWEST = 64 << 10, /* bytes/s: a large body may take longer, but no longer than at this rate */
};

/* The library's own timeout is for silence only: it is content with a byte now and then. */
static const nsec body_patience = 60 * NSEC_PER_SEC;

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
void *call_new(void *arg, const char *target, struct MHD_Connection *connection)
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

void call_free(void *arg, struct MHD_Connection *connection, void **state,
               enum MHD_RequestTerminationCode code unused)
{
    struct server *server = arg;
    struct call *call = *state;
    *state = NULL;
    if (!call)
        return;
    patience_start(connection);
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
    if (clock_monotonic() - in->began >
        body_patience + (nsec)(call->received / SLOWEST * NSEC_PER_SEC))
        return MHD_NO;
    if (in->upload) {
        upload_add(in->upload, bytes, n);
        return call->received > DRAIN_UPLOAD * call->server->upload_bytes ? MHD_NO : MHD_YES;
    }
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
    struct MHD_Response *response = kept ? response_kept(call, kept) : response_new(call, reply);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_queue_response(call->connection, reply->status, response);
    if (!kept)
        MHD_destroy_response(response);
    return result;
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
    bool refused = api_expect(&server->api, &call->in) < 0;
    uint64_t most = call->in.upload ? server->upload_bytes : server->body_bytes;
    uint64_t drained = (call->in.upload ? DRAIN_UPLOAD : DRAIN) * most;
    if (!header_of(call->connection, "Expect") && announced <= drained)
        return MHD_YES;
    if (announced > most)
        call->in.body_too_large = true;
    return refused || announced > most ? call_answer(call) : MHD_YES;
}

enum MHD_Result call_ask(void *arg unused, struct MHD_Connection *connection,
                         const char *url unused, const char *method, const char *version unused,
                         const char *upload, size_t *upload_n, void **state)
{
    struct call *call = *state;
    if (!call)
        return MHD_NO;
    if (!call->begun) {
        call->begun = true;
        patience_stop(connection);
        return call_begin(call, method);
    }
    if (*upload_n == 0)
        return call_answer(call);
    size_t n = *upload_n;
    *upload_n = 0;
    return call_gather(call, upload, n);
}
