/* What lives as long as the server and is shared by all its requests. */
#pragma once
#include "api/reply.h"

struct auth;
struct cache;
struct events;

struct api {
    struct app *app;
    struct auth *auth;
    struct cache *cache;
    struct events *events;
    int web;       /* the folder of static files; -1: none */
    char *openapi; /* made once, at the start */
    void (*wake)(void *arg,
                 job_id job); /* calls held requests that wait for it; set by the server */
    void *wake_arg;
    uint64_t upload_bytes;      /* cap of a body that is kept in a file */
    atomic_bool stopping;       /* whatever takes long shall end */
    atomic_uint uploads;        /* such bodies, until they are answered */
    atomic_uint_fast64_t tasks; /* numbers of them */
    atomic_uint exports;        /* streams that hold a connection of the store */
    atomic_uint_fast64_t told;  /* problems, for request_id */
    uint32_t salt;              /* so that request_ids of two lives of the service differ */
};

enum {
    EXPORTS_MOST =
        2, /* each holds one of the store's connections for as long as its client reads */
};

/* wire_free: of what the server remembers beside a kept answer. */
must_check int api_init(struct api *api, struct app *app, void (*wire_free)(void *wire),
                        struct problem *why);
void api_done(struct api *api);
/* Around whatever reads all samples of a job. OVERLOADED when EXPORTS_MOST do already. */
must_check int export_begin(struct api *api, struct problem *why);
void export_end(struct api *api);

/* Once the head of a request is there, before its body: 0, or -1 when the body need not be read, since it
 * is refused whatever it says (in->refused). */
must_check int api_expect(struct api *api, struct request *in);
/* Everything between the bytes of a request and those of its answer. 0 and *ret, which may tell the
 * problem that is then in *why; HOLD: call again when in->hold_job changes or at in->hold_until; -1:
 * no memory for any answer. ret_kept: the place where a kept answer's wire form is remembered, or
 * NULL; the caller drops both. */
struct kept;
must_check int api_answer(struct api *api, struct request *in, struct reply **ret,
                          struct kept **ret_kept, struct problem *why);
