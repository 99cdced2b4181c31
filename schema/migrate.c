/* Migrations only move forward: one file, one transaction, one at a time across all daemons. */
#include "schema/database.h"

static int schema_version(struct connection *connection, int64_t *ret, struct problem *why)
{
    scoped_result PGresult *exists = NULL, *version = NULL;
    if (query_run(connection, QUERY_SCHEMA_EXISTS, NULL, &exists, why) < 0)
        return -1;
    if (!cell_bool(exists, 0, 0)) {
        *ret = 0;
        return 0;
    }
    if (query_run(connection, QUERY_SCHEMA_VERSION, NULL, &version, why) < 0)
        return -1;
    *ret = cell_int(version, 0, 0);
    return 0;
}

/* Returns 1: one was applied; 0: the schema is up to date. */
static int migrate_once(struct connection *connection, struct problem *why)
{
    int64_t version;
    if (transaction_begin(connection, why) < 0 ||
        query_do(connection, QUERY_SCHEMA_LOCK, NULL, NULL, why) < 0 ||
        schema_version(connection, &version, why) < 0)
        return -1;
    if (version > MIGRATIONS)
        return problem_set(why, PROBLEM_CONFLICT,
                           "the database has schema %lld, and this program knows only up to %d: "
                           "a newer plimsoll is needed",
                           (long long)version, MIGRATIONS);
    if (version == MIGRATIONS)
        return transaction_commit(connection, why);
    const struct embedded *migration = &migrations[version];
    struct params params = { 0 };
    param_int(&params, version + 1);
    param_text(&params, migration->name);
    if (script_run(connection, migration->text, why) < 0 ||
        query_do(connection, QUERY_SCHEMA_VERSION_ADD, &params, NULL, why) < 0 ||
        transaction_commit(connection, why) < 0)
        return problem_during(why, "migration %s: ", migration->name);
    return 1;
}

int store_migrate(struct store *store, struct problem *why)
{
    scoped_connection struct connection *connection = NULL;
    if (store_borrow(store, &connection, why) < 0)
        return -1;
    connection->answer_most = MIGRATION_MOST;
    int r;
    while ((r = migrate_once(connection, why)) > 0)
        ;
    return r;
}
