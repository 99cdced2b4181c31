/* Principals are remembered for a few seconds, so that reading does not ask the database each time;
 * a token that was removed works for so long at most. Failures are remembered per address. */
#include "api/auth.h"

#include "engine/base/lock.h"
#include "engine/base/text.h"

#include <sodium.h>

enum {
    PRINCIPALS = 512,      /* by hash, each in one place: two that collide ask the store in turn */
    ADDRESSES = 1024,      /* whose failures are remembered; likewise */
    FAILURES_AT_ONCE = 20, /* failed sign-ins from one address before they are told to wait */
};
static const nsec principal_ttl = 3 * NSEC_PER_SEC;
static const nsec failure_refill = 3 * NSEC_PER_SEC; /* after which one more is let through */

struct remembered {
    unsigned char hash[SECRET_HASH];
    struct principal principal;
    nsec until; /* monotonic */
};
struct failures {
    char address[64];
    nsec debt_until; /* monotonic: each failure adds one refill to it */
};
struct auth {
    struct store *store;
    pthread_mutex_t lock;
    struct remembered remembered[PRINCIPALS]; /* lock, and all below */
    struct failures failures[ADDRESSES];
};

int auth_new(struct store *store, struct auth **ret, struct problem *why)
{
    struct auth *auth = calloc(1, sizeof *auth);
    if (!auth)
        return problem_memory(why);
    auth->store = store;
    pthread_mutex_init(&auth->lock, NULL);
    *ret = auth;
    return 0;
}

struct auth *auth_free(struct auth *auth)
{
    if (auth) {
        pthread_mutex_destroy(&auth->lock);
        free(auth);
    }
    return NULL;
}

static struct remembered *place_of(struct auth *auth, const unsigned char *hash)
{
    uint32_t n;
    memcpy(&n, hash, sizeof n);
    return &auth->remembered[n % PRINCIPALS];
}

void auth_forget(struct auth *auth, const unsigned char *hash)
{
    scoped_lock(&auth->lock);
    for (size_t i = 0; i < PRINCIPALS; i++)
        if (!hash || memcmp(auth->remembered[i].hash, hash, SECRET_HASH) == 0)
            auth->remembered[i].until = 0;
}

static bool recall(struct auth *auth, const unsigned char *hash, struct principal *ret)
{
    nsec now = clock_monotonic();
    scoped_lock(&auth->lock);
    const struct remembered *place = place_of(auth, hash);
    if (now >= place->until || sodium_memcmp(place->hash, hash, SECRET_HASH) != 0)
        return false;
    *ret = place->principal;
    return true;
}

static void remember(struct auth *auth, const unsigned char *hash,
                     const struct principal *principal)
{
    nsec until = clock_monotonic() + principal_ttl;
    scoped_lock(&auth->lock);
    struct remembered *place = place_of(auth, hash);
    memcpy(place->hash, hash, SECRET_HASH);
    place->principal = *principal;
    place->until = until;
}

static bool too_many_failures(struct auth *auth, const char *address)
{
    unsigned char hash[crypto_generichash_BYTES_MIN];
    uint32_t n;
    crypto_generichash(hash, sizeof hash, (const unsigned char *)address, strlen(address), NULL, 0);
    memcpy(&n, hash, sizeof n);
    nsec now = clock_monotonic();
    scoped_lock(&auth->lock);
    struct failures *place = &auth->failures[n % ADDRESSES];
    if (strcmp(place->address, address) != 0) {
        *place = (struct failures){ 0 };
        (void)!text_fit(place->address, sizeof place->address, "%s", address);
    }
    if (place->debt_until < now)
        place->debt_until = now;
    if (place->debt_until - now > FAILURES_AT_ONCE * failure_refill)
        return true;
    place->debt_until += failure_refill;
    return false;
}

int auth_failed(struct auth *auth, const struct request *in, const char *field, struct problem *why,
                const char *message)
{
    char address[64];
    in->client(in->wire, address, sizeof address);
    if (too_many_failures(auth, address))
        return problem_set(why, PROBLEM_TOO_MANY, "too many failed sign-ins from this address");
    problem_set(why, PROBLEM_UNAUTHORISED, "%s", message);
    (void)!text_fit(why->field, sizeof why->field, "%s", field);
    return -1;
}

typedef int find_fn(struct store *store, const unsigned char hash[SECRET_HASH],
                    struct principal *ret, struct problem *why);

static int find(struct auth *auth, struct request *in, find_fn *look, const char *secret,
                const char *message, struct problem *why)
{
    secret_hash(secret, in->secret);
    if (!recall(auth, in->secret, &in->principal)) {
        int found = look(auth->store, in->secret, &in->principal, why);
        if (found < 0)
            return -1;
        if (!found)
            return auth_failed(auth, in, "", why, message);
        remember(auth, in->secret, &in->principal);
    }
    if (in->principal.expires_at && in->principal.expires_at <= clock_wall())
        return auth_failed(auth, in, "", why, message);
    return 0;
}

static int identify(struct auth *auth, struct request *in, struct problem *why)
{
    const char *header = NULL, *cookies = NULL;
    char secret[SECRET_TEXT * 2];
    if (request_header(in, "Authorization", &header, why) ||
        request_header(in, "Cookie", &cookies, why))
        return -1;
    if (header) {
        if (strncasecmp(header, "Bearer ", 7) != 0)
            return problem_set(why, PROBLEM_UNAUTHORISED,
                               "Authorization must be Bearer and a token");
        return find(auth, in, store_token_find, header + 7 + strspn(header + 7, " "),
                    "this token is not known or has expired", why);
    }
    if (cookie_value(cookies, SESSION_COOKIE, secret, sizeof secret) == 0) {
        in->by_cookie = true;
        return find(auth, in, store_session_find, secret, "this session has ended; sign in again",
                    why);
    }
    return problem_set(why, PROBLEM_UNAUTHORISED,
                       "a token is needed: Authorization: Bearer plm_...");
}

int auth_check(struct auth *auth, struct request *in, struct problem *why)
{
    int least = in->route->role;
    if (least == ROLE_OPEN)
        return 0;
    if (identify(auth, in, why))
        return -1;
    if (in->principal.role < least)
        return problem_set(why, PROBLEM_FORBIDDEN, "this needs the role %s; %s has the role %s",
                           roles[least], in->principal.name, roles[in->principal.role]);
    bool writes = in->method != METHOD_GET && in->method != METHOD_HEAD;
    return writes && in->by_cookie ? auth_origin(in, ORIGIN_REQUIRED, why) : 0;
}

int auth_origin(const struct request *in, enum origin_rule rule, struct problem *why)
{
    const char *origin = NULL, *host = NULL;
    if (request_header(in, "Origin", &origin, why) || request_header(in, "Host", &host, why))
        return -1;
    if (!origin && rule == ORIGIN_IF_GIVEN)
        return 0;
    const char *authority = origin ? strstr(origin, "://") : NULL;
    if (!authority || !host || strcasecmp(authority + 3, host) != 0)
        return problem_set(why, PROBLEM_FORBIDDEN,
                           "a write with a session cookie must come from a page of this service "
                           "(Origin and Host differ)");
    return 0;
}

int auth_target(const struct principal *principal, const char *target, struct problem *why)
{
    size_t n = strlen(target);
    if (!principal->targets[0])
        return 0;
    for (const char *at = principal->targets; *at; at += strcspn(at, ",")) {
        at += strspn(at, ", ");
        if (n && strncmp(at, target, n) == 0 && (at[n] == '\0' || at[n] == ',' || at[n] == ' '))
            return 0;
    }
    if (!*target)
        return problem_set(why, PROBLEM_FORBIDDEN,
                           "%s is for some targets alone, and an import belongs to none",
                           principal->name);
    return problem_set(why, PROBLEM_FORBIDDEN, "%s may not use the target %s", principal->name,
                       target);
}
