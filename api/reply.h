/* One answer: status, headers, and a body that is bytes, an open file or a stream. Counted, so that
 * an answer that does not change can be kept and sent many times. Immutable once sealed. */
#pragma once
#include "api/request.h"

#include <stdatomic.h>

enum { REPLY_HEADERS = 8, ETAG_TEXT = 48, POLICY_TEXT = 192, GZIP_LEAST = 1024 };

struct live;

/* Bytes that are made while they are sent. */
enum { STREAM_WAIT = 1 };
struct stream {
    /* Fills up to `size` bytes; *ret 0: the end. STREAM_WAIT, with `attach` only: nothing yet, call again
     * after live_wake. Called by one thread at a time. */
    int (*read)(void *arg, char *bytes, size_t size, size_t *ret, struct problem *why);
    void (*done)(void *arg);
    void *arg;
    /* NULL: it never waits. Otherwise told whom to wake, and NULL when nobody is to be woken any more. */
    void (*attach)(void *arg, struct live *live);
};

struct reply_header {
    const char *name; /* literal */
    char *value;
};

struct reply {
    atomic_uint uses;
    unsigned status;
    const char *type; /* literal */
    char *body;
    size_t n;
    unsigned digits; /* significant ones, of numbers in JSON; 0: as many as matter to anybody */
    int file;        /* -1: none */
    uint64_t file_bytes;
    struct stream stream;     /* read NULL: none */
    bool gzip;                /* the body is compressed, or the stream shall be */
    bool page;                /* for a browser to show: may load its own scripts and styles */
    char policy[POLICY_TEXT]; /* Content-Security-Policy of its own; "": page_policy, data_policy */
    const char *cache_control;
    char etag[ETAG_TEXT]; /* with its quotes; "": none */
    struct reply_header headers[REPLY_HEADERS];
    size_t headers_n;

    /* May be sent again for this long without asking the store, and while the job's revision is
     * this one after asking. 0: never. */
    nsec keep;
    job_id job;
    int64_t revision;
};

struct reply *reply_new(void); /* NULL: no memory */
struct reply *reply_hold(struct reply *reply);
struct reply *reply_drop(struct reply *reply); /* NULL */
static inline void reply_drop_cell(struct reply **reply)
{
    reply_drop(*reply);
}
#define scoped_reply scoped(reply_drop_cell)
enum { CURVE_DIGITS = 9 }; /* of points that are drawn: a third less to send */

/* The body is this JSON, which it steals; NULL means that there was no memory for it. */
must_check int reply_json(struct reply *reply, json_t *json, struct problem *why);
/* Takes the bytes, made by malloc. */
void reply_bytes(struct reply *reply, const char *type, char *body, size_t n);
must_check int reply_fields(struct reply *reply, const struct field *table, const void *object,
                            struct problem *why);
/* RFC 9457; forgets everything that was prepared. */
void reply_problem(struct reply *reply, const struct problem *problem, const char *request_id);
must_check int reply_header(struct reply *reply, struct problem *why, const char *name,
                            const char *fmt, ...) printf_like(4, 5);
/* The body may use this style sheet, which stands in it, and load nothing else. */
must_check int reply_style(struct reply *reply, const char *css, struct problem *why);
/* The ETag of the bytes, unless there is one. */
must_check int reply_etag(struct reply *reply, struct problem *why);
/* ETag from the bytes and compression if asked for and worth it. No change after it. */
must_check int reply_seal(struct reply *reply, bool gzip, struct problem *why);

/* Text from anywhere as JSON; bytes that are not UTF-8 are shown as '?'. */
json_t *json_text(const char *text);
extern const struct field problem_answer[];
extern const char *const page_policy; /* Content-Security-Policy of a page */
extern const char *const data_policy; /* and of everything else */
