/* Who asks, and what they may do. Only hashes of secrets are looked up and remembered. */
#pragma once
#include "api/request.h"

struct auth;

#define SESSION_COOKIE "plimsoll_session"

must_check int auth_new(struct store *store, struct auth **ret, struct problem *why);
struct auth *auth_free(struct auth *auth);
/* Forgets every remembered principal, or the one of this hash. */
void auth_forget(struct auth *auth, const unsigned char *hash);

/* Settles in->principal from the bearer token or the session cookie and holds it against the
 * route's role. UNAUTHORISED, TOO_MANY after repeated failures, FORBIDDEN. Open routes: nothing. */
must_check int auth_check(struct auth *auth, struct request *in, struct problem *why);
/* Counts a failed sign-in from the request's address; UNAUTHORISED with this sentence at the field,
 * or TOO_MANY. Returns -1. Whoever has a valid secret is let in regardless. */
int auth_failed(struct auth *auth, const struct request *in, const char *field, struct problem *why,
                const char *message);
/* A write that a page of another origin could have sent: FORBIDDEN. `required`: Origin must be
 * there, because a cookie says who asks. */
enum origin_rule { ORIGIN_IF_GIVEN, ORIGIN_REQUIRED };
must_check int auth_origin(const struct request *in, enum origin_rule rule, struct problem *why);
/* Whether the principal may run and cancel on this target; FORBIDDEN. */
must_check int auth_target(const struct principal *principal, const char *target,
                           struct problem *why);
