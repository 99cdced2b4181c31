/* Answers in the library's form: bytes, files, streams, and streams that go on as things happen. */
#include "api/server_inside.h"
#include "engine/base/log.h"

#include <sys/socket.h>

enum {
    STREAM_BLOCK = 32 * 1024,
    LIVE_BLOCK = 4 * 1024,
    LIVE_SOCKET = 32 * 1024,
};

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

/* ---- streams that go on ---- */

/* A connection that is suspended while there is nothing to send. */
struct live {
    struct reply *reply;
    struct server *server;
    struct front *front;
    struct MHD_Connection *connection;
    bool stirred, suspended; /* the server's lock */
};

void live_wake(struct live *live)
{
    scoped_lock(&live->server->lock);
    live->stirred = true;
    if (!live->suspended)
        return;
    live->suspended = false;
    MHD_resume_connection(live->connection);
}

/* No wake is lost: one that came since before the stream was asked keeps the connection going. */
static ssize_t live_read(void *arg, uint64_t at unused, char *bytes, size_t size)
{
    struct live *live = arg;
    struct server *server = live->server;
    const struct stream *stream = &live->reply->stream;
    struct problem why = { 0 };
    size_t n = 0;
    {
        scoped_lock(&server->lock);
        live->stirred = false;
    }
    int result = stream->read(stream->arg, bytes, size, &n, &why);
    if (result < 0) {
        log_problem(LOG_INFO, "events are told no longer", &why);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (result != STREAM_WAIT)
        return n ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
    scoped_lock(&server->lock);
    if (atomic_load(&server->stopping) || live->front->retired)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!live->stirred) {
        live->suspended = true;
        MHD_suspend_connection(live->connection);
    }
    return 0;
}

static void live_free(void *arg)
{
    struct live *live = arg;
    live->reply->stream.attach(live->reply->stream.arg, NULL);
    reply_drop(live->reply);
    free(live);
}

/* What the kernel holds for a reader that does not read is bounded like what is held here. */
static void bound_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int bytes = LIVE_SOCKET;
    if (info)
        (void)setsockopt(info->connect_fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static struct MHD_Response *live_new(struct call *call, struct reply *reply)
{
    struct live *live = calloc(1, sizeof *live);
    struct MHD_Response *response =
        live ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, LIVE_BLOCK, live_read, live,
                                                 live_free)
             : NULL;
    if (!response) {
        free(live);
        return NULL;
    }
    *live = (struct live){ .reply = reply_hold(reply),
                           .server = call->server,
                           .front = call->front,
                           .connection = call->connection };
    bound_socket(call->connection);
    reply->stream.attach(reply->stream.arg, live);
    return response;
}

static struct MHD_Response *response_body(struct call *call, struct reply *reply)
{
    if (reply->file >= 0)
        return MHD_create_response_from_fd64(reply->file_bytes, steal_fd(&reply->file));
    if (reply->stream.attach)
        return live_new(call, reply);
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

struct MHD_Response *response_new(struct call *call, struct reply *reply)
{
    struct MHD_Response *response = response_body(call, reply);
    if (!response)
        return NULL;
    if (reply->type && (reply->n || reply->stream.read || reply->file_bytes))
        add(response, "Content-Type", reply->type);
    if (reply->gzip)
        add(response, "Content-Encoding", "gzip");
    add_headers(response, reply);
    return response;
}

struct MHD_Response *response_unchanged(const struct reply *reply)
{
    static char nothing[1];
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
    if (response)
        add_headers(response, reply);
    return response;
}

void response_free(void *wire)
{
    MHD_destroy_response(wire);
}

struct MHD_Response *response_kept(struct call *call, struct kept *kept)
{
    void *wire = atomic_load(&kept->wire);
    if (wire)
        return wire;
    struct MHD_Response *made = response_new(call, kept->reply);
    if (!made || atomic_compare_exchange_strong(&kept->wire, &wire, made))
        return made;
    MHD_destroy_response(made);
    return wire;
}
