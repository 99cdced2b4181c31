/* How long a client may take to ask. The library closes a connection that is silent, but is content with a
 * byte of a head now and then; some hundreds of such connections would shut everybody out. So each
 * connection has a clock that runs while it owes us the head of a request, and the timer thread hangs up
 * on those whose time is over. */
#include "api/server_inside.h"

#include <sys/socket.h>

static const nsec look_every = NSEC_PER_SEC;

struct visitor {
    int socket;
    _Atomic nsec since; /* monotonic; 0: its request has been read, and is ours to answer */
    struct visitor *next, **cell;
};

static struct visitor *visitor_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void visitor_come(struct server *server, struct MHD_Connection *connection, void **ret)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct visitor *visitor = info ? calloc(1, sizeof *visitor) : NULL;
    if (!visitor)
        return; /* it is served all the same, with the library's patience alone */
    visitor->socket = info->connect_fd;
    atomic_store(&visitor->since, clock_monotonic());
    scoped_lock(&server->lock);
    visitor->next = server->visitors;
    visitor->cell = &server->visitors;
    if (visitor->next)
        visitor->next->cell = &visitor->next;
    server->visitors = visitor;
    *ret = visitor;
}

static void visitor_go(struct server *server, struct visitor *visitor)
{
    if (!visitor)
        return;
    {
        scoped_lock(&server->lock);
        *visitor->cell = visitor->next;
        if (visitor->next)
            visitor->next->cell = visitor->cell;
    }
    free(visitor);
}

void patience_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
                     enum MHD_ConnectionNotificationCode code)
{
    struct server *server = arg;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        visitor_come(server, connection, socket_context);
    else /* the library closes the socket after this */
        visitor_go(server, *socket_context);
}

void patience_stop(struct MHD_Connection *connection)
{
    struct visitor *visitor = visitor_of(connection);
    if (visitor)
        atomic_store_explicit(&visitor->since, 0, memory_order_relaxed);
}

void patience_start(struct MHD_Connection *connection)
{
    struct visitor *visitor = visitor_of(connection);
    if (visitor)
        atomic_store_explicit(&visitor->since, clock_monotonic(), memory_order_relaxed);
}

nsec patience_look(struct server *server, nsec now)
{
    for (struct visitor *visitor = server->visitors; visitor; visitor = visitor->next) {
        nsec since = atomic_load_explicit(&visitor->since, memory_order_relaxed);
        if (since && now - since > server->idle)
            shutdown(visitor->socket, SHUT_RDWR); /* its thread sees the end and closes it */
    }
    return server->visitors ? now + look_every : INT64_MAX;
}
