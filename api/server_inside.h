/* Inside server*.c only, which alone see libmicrohttpd: the server's parts. */
#pragma once
#include "api/api.h"
#include "api/cache.h"
#include "api/listen.h"
#include "api/live.h"
#include "engine/base/lock.h"

#include <microhttpd.h>

enum { LISTENERS_MOST = 8 };

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
    uint64_t body_bytes, upload_bytes;
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
    nsec idle;                /* for silence, and for the head of a request */
    pthread_cond_t changed;   /* lock, and all below */
    struct visitor *visitors; /* server_patience.c */
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

/* ---- server.c ---- */
/* Lets a held call go on; under the server's lock. */
void call_release(struct server *server, struct call *call);

/* ---- server_call.c: what the library calls, in this order ---- */
void *call_new(void *arg, const char *target, struct MHD_Connection *connection);
enum MHD_Result call_ask(void *arg, struct MHD_Connection *connection, const char *url,
                         const char *method, const char *version, const char *upload,
                         size_t *upload_n, void **state);
void call_free(void *arg, struct MHD_Connection *connection, void **state,
               enum MHD_RequestTerminationCode code);

/* ---- server_patience.c: who has connected, and for how long they have owed a request ---- */
void patience_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
                     enum MHD_ConnectionNotificationCode code);
/* The head of a request is there; it has been answered. */
void patience_stop(struct MHD_Connection *connection);
void patience_start(struct MHD_Connection *connection);
/* Hangs up on those whose time is over; under the server's lock. When to look again. */
nsec patience_look(struct server *server, nsec now);

/* ---- server_response.c: a sealed reply as the library sends it; NULL: no memory ---- */
struct MHD_Response *response_new(struct call *call, struct reply *reply);
/* Without its body, for 304. */
struct MHD_Response *response_unchanged(const struct reply *reply);
/* That of a kept answer is made once and queued for everybody; response_free ends what it keeps. */
struct MHD_Response *response_kept(struct call *call, struct kept *kept);
void response_free(void *wire);
