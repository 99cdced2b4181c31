/* One request as the handlers see it: decoded, bound by tables, and who asks. */
#pragma once
#include "api/route.h"

enum {
    PATH_PARTS = 10,
    QUERY_MOST = 32,
    TARGET_MOST = 8192, /* bytes of path and query, as sent */
    JSON_DEPTH = 16,    /* no body here nests deeper than 4 */
};

struct request {
    /* As it came. */
    enum method method;
    char *target; /* path and query as sent */
    const char *(*header)(void *wire, const char *name);
    void *wire;
    char *body;
    size_t body_n;
    bool body_too_large;
    struct upload *upload; /* where the body is, of a route that takes more than fits into memory */
    size_t media;          /* which of route->takes it is */
    struct problem refused; /* found before the body was read; code 0: nothing */
    void (*client)(void *wire, char *text, size_t size); /* its address; "unix" */
    bool secure;                                         /* over TLS */
    nsec began;                                          /* monotonic */
    char id[20]; /* request_id; made when a problem is told */

    /* Decoded by request_parse. */
    char *buffer; /* what parts and params point into */
    char *parts[PATH_PARTS];
    size_t parts_n;
    struct pair params[QUERY_MOST];
    size_t params_n;

    /* Found by call_answer before the handler runs. */
    const struct route *route;
    job_id job;          /* {id} */
    const char *name;    /* {name} */
    void *query, *input; /* of route->query and route->body */
    size_t type;         /* which of route->types is asked for */
    bool gzip;           /* the client reads it */
    struct principal principal;
    bool by_cookie;
    unsigned char secret[SECRET_HASH]; /* the hash of what it signed in with */

    /* Of a handler that said HOLD. */
    job_id hold_job;
    int hold_state;    /* -1: not held yet */
    nsec hold_until;   /* monotonic */
    bool hold_over;    /* answer now: the server stops */
    struct task *task; /* what it waits for, of an import */
};

/* Splits and decodes the target. BAD_SYNTAX for bad escapes, control characters, broken UTF-8. */
must_check int request_parse(struct request *in, struct problem *why);
/* Binds the query to its table; an unknown, repeated or bad parameter is named "/?name". */
must_check int request_bind_query(struct request *in, struct problem *why);
/* Binds the JSON body; no body counts as {}. BAD_MEDIA, BAD_SYNTAX with line and column, BAD_FIELD. */
must_check int request_bind_body(struct request *in, struct problem *why);
/* Frees all it owns. */
void request_done(struct request *in);

/* Which of the route's `takes` Content-Type names; BAD_MEDIA if none. */
must_check int request_media(struct request *in, struct problem *why);
/* The Idempotency-Key, if there is one, with the hash of the body that is in memory. */
must_check int request_key(const struct request *in, struct idempotency *ret, struct problem *why);

/* A header that may be missing: NULL. Refuses control characters and broken UTF-8. */
must_check int request_header(const struct request *in, const char *name, const char **ret,
                              struct problem *why);
/* The first of `types` that the Accept header likes best; -1 (NOT_ACCEPTABLE) if it takes none. */
must_check int request_accepts(const char *accept, const char *const *types, size_t *ret,
                               struct problem *why);
/* Which of the route's types is wanted: by ?format=, whose choices are "accept" and then a name for each
 * type, or else by Accept. */
static inline size_t request_format(const struct request *in, int format)
{
    return format > 0 ? (size_t)format - 1 : in->type;
}
/* Whether Accept-Encoding (NULL: missing) lets us answer with gzip. */
bool request_takes_gzip(const char *accept_encoding);
/* Whether If-None-Match names the etag (or "*"); an encoding's suffix does not count. */
bool etag_listed(const char *if_none_match, const char *etag);
/* The value of a cookie, in `text`; -1: not there or too long. */
int cookie_value(const char *header, const char *name, char *text, size_t size);
