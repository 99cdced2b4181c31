#include "api/system.h"

#include "api/api.h"
#include "api/handlers.h"

struct health_view {
    char *status;
};
const struct field health_answer[] = {
    FIELD_TEXT(struct health_view, status, "ok: this process answers."),
    FIELD_END,
};
struct ready_view {
    bool ready;
};
const struct field ready_answer[] = {
    FIELD_BOOL(struct ready_view, ready, "Jobs can be taken; otherwise the answer is a problem."),
    FIELD_END,
};
struct version_view {
    char *name, *version, *api;
};
const struct field version_answer[] = {
    FIELD_TEXT(struct version_view, name, "plimsoll."),
    FIELD_TEXT(struct version_view, version, "Of this program."),
    FIELD_TEXT(struct version_view, api, "Where its interface begins."),
    FIELD_END,
};

int health_get(struct api *api unused, struct request *in unused, struct reply *out,
               struct problem *why)
{
    return reply_json(out, json_pack("{s:s}", "status", "ok"), why);
}

int ready_get(struct api *api, struct request *in unused, struct reply *out, struct problem *why)
{
    struct problem cause = { 0 };
    if (api->app->ready(api->app->service, &cause))
        return problem_set(why, PROBLEM_OVERLOADED, "not ready: %s", cause.message);
    return reply_json(out, json_pack("{s:b}", "ready", 1), why);
}

int version_get(struct api *api unused, struct request *in unused, struct reply *out,
                struct problem *why)
{
    return reply_json(out,
                      json_pack("{s:s, s:s, s:s}", "name", "plimsoll", "version", PLIMSOLL_VERSION,
                                "api", "/api/v1"),
                      why);
}
