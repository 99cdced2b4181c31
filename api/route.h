/* What one row of the surface says: address, who may call it, what goes in, what comes out. */
#pragma once
#include "api/app.h"

#include <jansson.h>

struct api;     /* api.h */
struct request; /* request.h */
struct reply;   /* reply.h */

#define METHODS(X) X(GET) X(POST) X(PATCH) X(DELETE) /* HEAD is GET without a body */
enum method {
#define X(name) METHOD_##name,
    METHODS(X)
#undef X
        METHOD_HEAD,
    METHOD_OTHER,
};

enum { ROLE_OPEN = -1 }; /* no token is needed */

enum { HOLD = 1 };
/* 0: answered; HOLD: call again when the job in->hold_job changes, or in->hold_until has passed. */
typedef int handle_fn(struct api *api, struct request *in, struct reply *out, struct problem *why);

/* What a query or a body is bound to before the handler is called. */
struct shape {
    const struct field *table;
    size_t size;
};

struct route {
    enum method method;
    const char *path; /* "/api/v1/jobs/{id}": {id} is a job's number, {name} a plain name */
    int role;         /* the least that may call it, or ROLE_OPEN */
    handle_fn *handle;
    unsigned status; /* on success */
    const char *summary;
    struct shape query, body;
    const struct field *answer;
    const char *const *types; /* what it can answer with, NULL-terminated; NULL: JSON alone */
    enum keyed { NOT_KEYED, KEYED } keyed; /* takes an Idempotency-Key */
    /* Media types of a body that is kept in a file (upload.h), NULL-terminated; NULL: JSON by `body`. */
    const char *const *takes;
};

extern const struct route routes[]; /* ends with a NULL path */

/* The row of a method and a decoded path, with what the braces matched: an id, a name. NULL with
 * NOT_FOUND, or BAD_METHOD and the methods that the path does take ("GET, HEAD") in `allow`. */
enum { ALLOW_TEXT = 48 };
const struct route *route_find(const struct route *table, enum method method, char *const *parts,
                               size_t parts_n, job_id *ret_id, const char **ret_name,
                               char allow[ALLOW_TEXT], struct problem *why);
enum method method_named(const char *text);
const char *method_text(enum method method);
