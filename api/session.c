/* /session: a token or a one-time code for a cookie, who am I, sign out. */
#include "api/session.h"

#include "api/api.h"
#include "api/auth.h"
#include "api/handlers.h"

static const nsec session_life = 12 * 3600 * NSEC_PER_SEC;

const struct field session_body[] = {
    FIELD_TEXT(struct session_body, token, "A token: plm_...", .min = 1, .max = 100),
    FIELD_TEXT(struct session_body, code, "Or a one-time code.", .min = 1, .max = 100),
    FIELD_END,
};
struct session_view {
    char *name, *targets;
    int role;
    nsec expires_at;
};
const struct field session_answer[] = {
    FIELD_TEXT(struct session_view, name, "The token's name."),
    FIELD_CHOICE(struct session_view, role,
                 "viewer reads, operator also runs and cancels, admin may do all.",
                 .choices = roles),
    FIELD_TEXT(struct session_view, targets,
               "The targets it may run on, separated by commas; empty: all."),
    FIELD_TIME(struct session_view, expires_at, "When it ends; null: never."),
    FIELD_END,
};

static int reply_principal(struct reply *out, const struct principal *principal, nsec expires_at,
                           struct problem *why)
{
    const struct session_view view = { .name = (char *)(uintptr_t)principal->name,
                                       .targets = (char *)(uintptr_t)principal->targets,
                                       .role = principal->role,
                                       .expires_at = expires_at };
    out->cache_control = "no-store";
    return reply_fields(out, session_answer, &view, why);
}

static int reply_cookie(struct reply *out, const struct request *in, const char *secret,
                        long long seconds, struct problem *why)
{
    return reply_header(out, why, "Set-Cookie",
                        SESSION_COOKIE "=%s; HttpOnly; SameSite=Strict; Path=/; Max-Age=%lld%s",
                        secret, seconds, in->secure ? "; Secure" : "");
}

/* 1 and whose secret it is; 0: nobody's. */
static int redeem(struct store *store, const struct session_body *body, struct principal *ret,
                  struct problem *why)
{
    unsigned char hash[SECRET_HASH];
    secret_hash(body->code ? body->code : body->token, hash);
    int found = body->code ? store_code_redeem(store, hash, ret, why)
                           : store_token_find(store, hash, ret, why);
    bool expired = found > 0 && ret->expires_at && ret->expires_at <= clock_wall();
    return expired ? 0 : found;
}

int session_post(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct session_body *body = in->input;
    struct store *store = api->app->store;
    struct principal who = { 0 };
    unsigned char hash[SECRET_HASH];
    char secret[SECRET_TEXT];
    if (!body->token == !body->code)
        return problem_field(why, body->token ? "/code" : "/token",
                             "give either a token or a one-time code");
    if (auth_origin(in, ORIGIN_IF_GIVEN, why))
        return -1;
    int found = redeem(store, body, &who, why);
    if (found < 0)
        return -1;
    if (!found)
        return auth_failed(api->auth, in, body->code ? "/code" : "/token", why,
                           body->code ? "this code is not known, was used, or has expired"
                                      : "this token is not known or has expired");
    nsec ends = clock_wall() + session_life;
    if (who.expires_at && who.expires_at < ends)
        ends = who.expires_at;
    secret_new("pls_", secret);
    secret_hash(secret, hash);
    if (store_session_add(store, who.token, hash, ends, why) ||
        reply_cookie(out, in, secret, (ends - clock_wall()) / NSEC_PER_SEC, why))
        return -1;
    return reply_principal(out, &who, ends, why);
}

int session_get(struct api *api unused, struct request *in, struct reply *out, struct problem *why)
{
    return reply_principal(out, &in->principal, in->principal.expires_at, why);
}

int session_delete(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    if (!in->by_cookie)
        return problem_set(why, PROBLEM_CONFLICT,
                           "there is no session to end: this request came with a token");
    if (store_session_remove(api->app->store, in->secret, why))
        return -1;
    auth_forget(api->auth, in->secret);
    return reply_cookie(out, in, "", 0, why);
}
