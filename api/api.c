/* A request from its first check to its sealed answer, in this order: address, who asks, what they
 * accept, an answer that is kept, query, body, handler. */
#include "api/api.h"

#include "api/auth.h"
#include "api/cache.h"
#include "api/events.h"
#include "api/files.h"
#include "api/openapi.h"
#include "api/upload.h"
#include "engine/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>

int api_init(struct api *api, struct app *app, void (*wire_free)(void *wire), struct problem *why)
{
    *api = (struct api){ .app = app, .web = -1 };
    if (sodium_init() < 0)
        return problem_set(why, PROBLEM_INTERNAL, "libsodium does not start");
    api->salt = randombytes_random();
    uploads_sweep(app->state);
    if (auth_new(app->store, &api->auth, why) || cache_new(wire_free, &api->cache, why) ||
        events_new(app->store, &api->events, why) || openapi_text(&api->openapi, why))
        goto failed;
    if (app->web && (api->web = open(app->web, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0) {
        problem_errno(why, errno, "cannot open the folder of web pages %s", app->web);
        goto failed;
    }
    return 0;
failed:
    api_done(api);
    return -1;
}

void api_done(struct api *api)
{
    api->events = events_free(api->events);
    api->auth = auth_free(api->auth);
    api->cache = cache_free(api->cache);
    free(steal(&api->openapi));
    if (api->web >= 0)
        close(steal_fd(&api->web));
}

int export_begin(struct api *api, struct problem *why)
{
    if (atomic_fetch_add(&api->exports, 1) < EXPORTS_MOST)
        return 0;
    export_end(api);
    return problem_set(why, PROBLEM_OVERLOADED, "%d exports are being read already", EXPORTS_MOST);
}

void export_end(struct api *api)
{
    atomic_fetch_sub(&api->exports, 1);
}

enum { KEY_TEXT = TARGET_MOST + 4 };

static const char *const json_types[] = { "application/json", NULL };

static const struct route pages = {
    .method = METHOD_GET,
    .path = "/{file}",
    .role = ROLE_OPEN,
    .handle = file_get,
    .status = 200,
};

/* What is outside the API is looked for among the web pages. */
static int find_route(struct request *in, char allow[ALLOW_TEXT], struct problem *why)
{
    in->route =
        route_find(routes, in->method, in->parts, in->parts_n, &in->job, &in->name, allow, why);
    if (in->route)
        return 0;
    bool api = in->parts_n && strcmp(in->parts[0], "api") == 0;
    if (why->code != PROBLEM_NOT_FOUND || api)
        return -1;
    *why = (struct problem){ 0 };
    if (in->method != METHOD_GET && in->method != METHOD_HEAD) {
        (void)!text_fit(allow, ALLOW_TEXT, "GET, HEAD");
        return problem_set(why, PROBLEM_BAD_METHOD, "this address takes GET, HEAD");
    }
    in->route = &pages;
    return 0;
}

static int negotiate(struct request *in, struct problem *why)
{
    const char *accept = NULL, *encodings = NULL;
    if (request_header(in, "Accept", &accept, why) ||
        request_header(in, "Accept-Encoding", &encodings, why))
        return -1;
    in->gzip = request_takes_gzip(encodings);
    if (in->route == &pages)
        return 0;
    return request_accepts(accept, in->route->types ? in->route->types : json_types, &in->type,
                           why);
}

/* An answer that is kept and still true. */
static struct kept *find_kept(struct api *api, const char *key, uint64_t stamp)
{
    bool fresh = false;
    struct kept *kept = cache_find(api->cache, key, &fresh);
    if (!kept || fresh)
        return kept;
    struct problem why = { 0 };
    int64_t revision = 0;
    int state;
    if (store_job_revision(api->app->store, kept->reply->job, &revision, &state, &why) ||
        revision != kept->reply->revision)
        return kept_drop(kept);
    cache_refresh(api->cache, kept, stamp);
    return kept;
}

/* The target as sent, what of its types is asked for, and whether compressed. */
static void cache_key(const struct request *in, char key[KEY_TEXT])
{
    size_t n = strlen(in->target); /* at most TARGET_MOST: it was parsed */
    memcpy(key, in->target, n);
    key[n++] = ' ';
    key[n++] = (char)('0' + in->type);
    key[n++] = in->gzip ? 'z' : '-';
    key[n] = '\0';
}

static int handle(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    if (in->body_too_large)
        return problem_set(why, PROBLEM_TOO_LARGE, "the body is larger than this service reads");
    /* What follows a page's address is for its scripts. */
    if (in->route != &pages && !in->query && request_bind_query(in, why))
        return -1;
    if (!in->input && !in->route->takes && request_bind_body(in, why))
        return -1;
    out->status = in->route->status;
    int result = in->route->handle(api, in, out, why);
    if (result)
        return result;
    return reply_seal(out, in->gzip, why);
}

/* A body that goes to a file is asked for only from those who may send it. */
static int expect(struct api *api, struct request *in, struct problem *why)
{
    char allow[ALLOW_TEXT] = "";
    struct problem later = { 0 }; /* of the address: told when it is answered */
    if (request_parse(in, why))
        return -1;
    if (find_route(in, allow, &later) || !in->route->takes)
        return 0;
    if (auth_check(api->auth, in, why) || request_media(in, why))
        return -1;
    return upload_open(api, in, &in->upload, why);
}

int api_expect(struct api *api, struct request *in)
{
    return in->method == METHOD_POST ? expect(api, in, &in->refused) : 0;
}

/* 0: *ret, and *ret_kept if it is a kept one. */
static int answer(struct api *api, struct request *in, char allow[ALLOW_TEXT], struct reply **ret,
                  struct kept **ret_kept, struct problem *why)
{
    char key[KEY_TEXT];
    if (in->refused.code) {
        *why = in->refused;
        return -1;
    }
    if (!in->buffer && request_parse(in, why))
        return -1;
    if (find_route(in, allow, why) || auth_check(api->auth, in, why) || negotiate(in, why))
        return -1;
    bool reads = in->route->method == METHOD_GET;
    uint64_t stamp = cache_stamp(api->cache);
    if (reads) {
        cache_key(in, key);
        *ret_kept = find_kept(api, key, stamp);
        if (*ret_kept) {
            *ret = reply_hold((*ret_kept)->reply);
            return 0;
        }
    }
    scoped_reply struct reply *out = reply_new();
    if (!out)
        return problem_memory(why);
    int result = handle(api, in, out, why);
    if (result)
        return result;
    if (reads && out->keep)
        *ret_kept = cache_add(api->cache, key, out, stamp);
    *ret = steal(&out);
    return 0;
}

/* The problem as an answer, under a name that the log uses too. */
static struct reply *tell(struct api *api, struct request *in, const char *allow,
                          const struct problem *problem)
{
    struct problem why = { 0 };
    struct reply *out = reply_new();
    (void)!text_fit(in->id, sizeof in->id, "%08x-%06llx", api->salt,
                    (unsigned long long)atomic_fetch_add(&api->told, 1) & 0xffffff);
    if (!out)
        return NULL;
    reply_problem(out, problem, in->id);
    if (allow[0])
        (void)!reply_header(out, &why, "Allow", "%s", allow);
    return out;
}

int api_answer(struct api *api, struct request *in, struct reply **ret, struct kept **ret_kept,
               struct problem *why)
{
    char allow[ALLOW_TEXT] = "";
    int result = answer(api, in, allow, ret, ret_kept, why);
    if (result >= 0)
        return result;
    *ret = tell(api, in, allow, why);
    return *ret ? 0 : -1;
}
