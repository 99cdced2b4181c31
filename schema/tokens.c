/* Tokens, and what stands for one in a browser: sessions and one-time codes. */
#include "schema/database.h"

const char *const roles[] = { "viewer", "operator", "admin", NULL };

/* Columns: id, name, role, targets, expires_at. */
static void principal_read(const PGresult *result, int row, struct principal *ret)
{
    *ret = (struct principal){ .token = cell_int(result, row, 0),
                               .role = name_index(roles, cell_text(result, row, 2)),
                               .expires_at = cell_time(result, row, 4) };
    snprintf(ret->name, sizeof ret->name, "%s", cell_text(result, row, 1));
    snprintf(ret->targets, sizeof ret->targets, "%s", cell_text(result, row, 3));
}

int store_token_add(struct store *store, const struct principal *principal,
                    const unsigned char hash[SECRET_HASH], int64_t *ret_id, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_text(&params, principal->name);
    param_text(&params, roles[principal->role]);
    param_text(&params, principal->targets);
    param_bytes(&params, hash, SECRET_HASH);
    param_time(&params, principal->expires_at);
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    struct problem refused = { 0 };
    if (query_run(connection, QUERY_TOKEN_ADD, &params, &result, &refused) < 0) {
        if (refused_as_duplicate(connection))
            return problem_set(why, PROBLEM_CONFLICT, "there is already a token named %s",
                               principal->name);
        return problem_pass(why, &refused);
    }
    *ret_id = cell_int(result, 0, 0);
    return 0;
}

int store_token_remove(struct store *store, const char *name, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    struct params params = { 0 };
    param_text(&params, name);
    uint64_t removed;
    if (store_borrow(store, &connection, why) < 0 ||
        query_do(connection, QUERY_TOKEN_REMOVE, &params, &removed, why) < 0)
        return -1;
    if (removed == 0)
        return problem_set(why, PROBLEM_NOT_FOUND, "there is no token named %s", name);
    return 0;
}

int store_token_list(struct store *store, principal_fn *each, void *arg, struct problem *why)
{
    scoped_result PGresult *result = NULL;
    {
        scoped_connection struct connection *connection = NULL;
        if (store_borrow(store, &connection, why) < 0 ||
            query_run(connection, QUERY_TOKEN_LIST, NULL, &result, why) < 0)
            return -1;
    }
    for (int row = 0; row < PQntuples(result); row++) {
        struct principal principal;
        principal_read(result, row, &principal);
        if (each(arg, &principal, cell_time(result, row, 5), why) < 0)
            return -1;
    }
    return 0;
}

/* Who stands behind the hash: 1 and the principal, or 0. */
static int find(struct store *store, enum query query, const unsigned char hash[SECRET_HASH],
                struct principal *ret, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    scoped_result PGresult *result = NULL;
    struct params params = { 0 };
    param_bytes(&params, hash, SECRET_HASH);
    if (store_borrow(store, &connection, why) < 0 ||
        query_run(connection, query, &params, &result, why) < 0)
        return -1;
    if (PQntuples(result) == 0)
        return 0;
    principal_read(result, 0, ret);
    return 1;
}

int store_token_find(struct store *store, const unsigned char hash[SECRET_HASH],
                     struct principal *ret, struct problem *why)
{
    return find(store, QUERY_TOKEN_FIND, hash, ret, why);
}

int store_code_redeem(struct store *store, const unsigned char hash[SECRET_HASH],
                      struct principal *ret, struct problem *why)
{
    return find(store, QUERY_CODE_REDEEM, hash, ret, why);
}

int store_session_find(struct store *store, const unsigned char hash[SECRET_HASH],
                       struct principal *ret, struct problem *why)
{
    return find(store, QUERY_SESSION_FIND, hash, ret, why);
}

static int add(struct store *store, enum query query, int64_t token,
               const unsigned char hash[SECRET_HASH], nsec expires_at, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    struct params params = { 0 };
    param_int(&params, token);
    param_bytes(&params, hash, SECRET_HASH);
    param_time(&params, expires_at);
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    return query_do(connection, query, &params, NULL, why);
}

int store_code_add(struct store *store, int64_t token, const unsigned char hash[SECRET_HASH],
                   nsec expires_at, struct problem *why)
{
    return add(store, QUERY_CODE_ADD, token, hash, expires_at, why);
}

int store_session_add(struct store *store, int64_t token, const unsigned char hash[SECRET_HASH],
                      nsec expires_at, struct problem *why)
{
    return add(store, QUERY_SESSION_ADD, token, hash, expires_at, why);
}

int store_session_remove(struct store *store, const unsigned char hash[SECRET_HASH],
                         struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    struct params params = { 0 };
    param_bytes(&params, hash, SECRET_HASH);
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    return query_do(connection, QUERY_SESSION_REMOVE, &params, NULL, why);
}
