/* Building answers. JSON is only ever made by jansson. */
#include "api/reply.h"

#include "api/gzip.h"
#include "engine/base/field_json.h"
#include "engine/base/text.h"

#include <sodium.h>
#include <stdarg.h>

const char *const page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const char *const data_policy = "default-src 'none'; frame-ancestors 'none'";

struct reply *reply_new(void)
{
    struct reply *reply = calloc(1, sizeof *reply);
    if (!reply)
        return NULL;
    atomic_init(&reply->uses, 1);
    reply->status = 200;
    reply->file = -1;
    reply->cache_control = "private, no-cache";
    return reply;
}

struct reply *reply_hold(struct reply *reply)
{
    atomic_fetch_add_explicit(&reply->uses, 1, memory_order_relaxed);
    return reply;
}

/* Back to an empty one. */
static void reply_clear(struct reply *reply)
{
    free(steal(&reply->body));
    reply->n = 0;
    if (reply->file >= 0)
        close(steal_fd(&reply->file));
    if (reply->stream.done)
        reply->stream.done(reply->stream.arg);
    reply->stream = (struct stream){ 0 };
    for (size_t i = 0; i < reply->headers_n; i++)
        free(reply->headers[i].value);
    reply->headers_n = 0;
    reply->etag[0] = reply->policy[0] = '\0';
    reply->gzip = reply->page = false;
    reply->keep = 0;
}

struct reply *reply_drop(struct reply *reply)
{
    if (reply && atomic_fetch_sub_explicit(&reply->uses, 1, memory_order_acq_rel) == 1) {
        reply_clear(reply);
        free(reply);
    }
    return NULL;
}

void reply_bytes(struct reply *reply, const char *type, char *body, size_t n)
{
    free(reply->body);
    reply->type = type;
    reply->body = body;
    reply->n = n;
}

/* A figure that is asked for shows what was computed; a curve of a thousand points is for the eye. */
enum { DIGITS = 12 };

int reply_json(struct reply *reply, json_t *json, struct problem *why)
{
    scoped_json json_t *held = json;
    if (!held)
        return problem_memory(why);
    char *text = json_dumps(held, JSON_COMPACT |
                                      JSON_REAL_PRECISION(reply->digits ? reply->digits : DIGITS));
    if (!text)
        return problem_set(why, PROBLEM_INTERNAL, "the answer cannot be written as JSON");
    reply_bytes(reply, "application/json", text, strlen(text));
    return 0;
}

int reply_fields(struct reply *reply, const struct field *table, const void *object,
                 struct problem *why)
{
    return reply_json(reply, fields_render(table, object), why);
}

int reply_header(struct reply *reply, struct problem *why, const char *name, const char *fmt, ...)
{
    if (reply->headers_n == REPLY_HEADERS)
        return problem_set(why, PROBLEM_INTERNAL, "an answer has at most %d headers of its own",
                           REPLY_HEADERS);
    char *value = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&value, fmt, ap);
    va_end(ap);
    if (n < 0)
        return problem_memory(why);
    reply->headers[reply->headers_n++] = (struct reply_header){ name, value };
    return 0;
}

json_t *json_text(const char *text)
{
    json_t *json = json_string(text);
    if (json)
        return json;
    size_t room = strlen(text) + 4;
    scoped_free char *shown = malloc(room);
    return shown ? json_string(text_shown(text, shown, room)) : NULL;
}

struct problem_place {
    char *pointer, *detail;
    uint64_t line, column;
};
static const struct field place_answer[] = {
    FIELD_TEXT(struct problem_place, pointer,
               "Where: a JSON pointer into the body, /?name for a parameter of the query."),
    FIELD_TEXT(struct problem_place, detail, "What is wrong there, and what would be right."),
    FIELD_COUNT(struct problem_place, line, "Of the body, from 1; null unless it has lines.",
                .nullable = true),
    FIELD_COUNT(struct problem_place, column,
                "The character in that line, from 1; in CSV the number of the cell; null likewise.",
                .nullable = true),
    FIELD_END,
};
struct problem_view {
    char *type, *title, *detail, *code, *request_id;
    uint64_t status;
    struct array errors;
};
const struct field problem_answer[] = {
    FIELD_TEXT(struct problem_view, type, "The kind of problem, as a URI."),
    FIELD_TEXT(struct problem_view, title, "The kind of problem, in words."),
    FIELD_COUNT(struct problem_view, status, "The HTTP status."),
    FIELD_TEXT(struct problem_view, detail, "What happened this time."),
    FIELD_TEXT(struct problem_view, code, "The kind of problem, for programs."),
    FIELD_ARRAY(struct problem_view, errors, "The fields at fault.", .of = place_answer,
                .of_size = sizeof(struct problem_place)),
    FIELD_TEXT(struct problem_view, request_id, "Names this request in the log of the service."),
    FIELD_END,
};

static json_t *place_number(uint64_t number)
{
    return number ? json_integer((json_int_t)number) : json_null();
}

static json_t *problem_json(const struct problem *problem, const char *request_id)
{
    const char *slug = problem_slug(problem->code);
    json_t *errors = json_array();
    if (problem->field[0] || problem->line) {
        json_t *place =
            json_pack("{s:o, s:o, s:o, s:o}", "pointer", json_text(problem->field), "detail",
                      json_text(problem->message), "line", place_number(problem->line), "column",
                      place_number(problem->column));
        json_array_append_new(errors, place);
    }
    return json_pack("{s:o, s:s, s:i, s:o, s:s, s:o, s:s}", "type",
                     json_sprintf("urn:plimsoll:problem:%s", slug), "title",
                     problem_title(problem->code), "status", (int)problem_status(problem->code),
                     "detail", json_text(problem->message), "code", slug, "errors", errors,
                     "request_id", request_id);
}

void reply_problem(struct reply *reply, const struct problem *problem, const char *request_id)
{
    struct problem why = { 0 };
    reply_clear(reply);
    reply->status = problem_status(problem->code);
    reply->cache_control = "no-store";
    if (reply_json(reply, problem_json(problem, request_id), &why))
        reply->status = 500; /* no memory: a status without a body */
    reply->type = "application/problem+json";
    bool later = reply->status == 429 || reply->status == 503;
    if (reply->status == 401)
        (void)!reply_header(reply, &why, "WWW-Authenticate", "Bearer realm=\"plimsoll\"");
    if (later)
        (void)!reply_header(reply, &why, "Retry-After", "%d", reply->status == 429 ? 5 : 2);
}

int reply_style(struct reply *reply, const char *css, struct problem *why)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char text[sodium_base64_ENCODED_LEN(sizeof hash, sodium_base64_VARIANT_ORIGINAL)];
    crypto_hash_sha256(hash, (const unsigned char *)css, strlen(css));
    sodium_bin2base64(text, sizeof text, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
    if (text_fit(reply->policy, sizeof reply->policy,
                 "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; "
                 "frame-ancestors 'none'",
                 text))
        return problem_set(why, PROBLEM_INTERNAL, "the policy does not fit");
    return 0;
}

int reply_etag(struct reply *reply, struct problem *why)
{
    unsigned char hash[16];
    char text[2 * sizeof hash + 1];
    if (reply->etag[0])
        return 0;
    crypto_generichash(hash, sizeof hash, (const unsigned char *)reply->body, reply->n, NULL, 0);
    sodium_bin2hex(text, sizeof text, hash, sizeof hash);
    if (text_fit(reply->etag, sizeof reply->etag, "\"%s\"", text))
        return problem_set(why, PROBLEM_INTERNAL, "the etag does not fit");
    return 0;
}

static int compress_body(struct reply *reply, struct problem *why)
{
    char *small = NULL;
    size_t small_n = 0;
    if (gzip_whole(reply->body, reply->n, &small, &small_n, why))
        return -1;
    reply_bytes(reply, reply->type, small, small_n);
    return 0;
}

int reply_seal(struct reply *reply, bool gzip, struct problem *why)
{
    if (reply->body && reply->status == 200 && reply_etag(reply, why))
        return -1;
    if (!gzip || reply->stream.attach ||
        (reply->body ? reply->n < GZIP_LEAST : !reply->stream.read))
        return 0;
    if (reply->body ? compress_body(reply, why) : gzip_stream(&reply->stream, why))
        return -1;
    reply->gzip = true;
    size_t n = strlen(reply->etag);
    if (n && n + strlen("-gzip") < sizeof reply->etag)
        memcpy(reply->etag + n - 1, "-gzip\"", sizeof "-gzip\"");
    return 0;
}
