/* Every query is one statement that the server accepts, with the columns that C expects. */
#include "tests/store/fixture.h"

#include <dirent.h>

/* The files as they are in the tree, so that what is tested is what people paste into psql. */
static const char *const FOLDER = PLIMSOLL_SOURCE_DIR "/schema/queries";

static char *text_of(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    scoped_file FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 65536);
    size_t n = fread(text, 1, 65535, file);
    assert_true(n > 0 && n < 65535);
    return text;
}

/* Calls `check` with every .sql file. */
static void each_query(void (*check)(const char *name, const char *text))
{
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 4, ".sql") != 0)
            continue;
        scoped_free char *text = text_of(entry->d_name);
        check(entry->d_name, text);
        n++;
    }
    closedir(folder);
    assert_true(n > 30);
}

static void prepares(const char *name, const char *text)
{
    PGresult *result = PQprepare(fixture.pg, name, text, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", name, PQresultErrorMessage(result));
    PQclear(result);
}

static void the_server_prepares_every_query(void **state)
{
    (void)state;
    each_query(prepares);
}

static void has_a_head(const char *name, const char *text)
{
    if (strncmp(text, "-- ", 3) != 0)
        fail_msg("%s does not say who calls it and why", name);
}

static void every_query_says_who_calls_it(void **state)
{
    (void)state;
    each_query(has_a_head);
}

static void the_plan_avoids(const char *statement, const char *what)
{
    PGresult *result = PQexec(fixture.pg, statement);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", statement, PQresultErrorMessage(result));
    for (int row = 0; row < PQntuples(result); row++)
        if (strstr(PQgetvalue(result, row, 0), what))
            fail_msg("%s: %s", statement, PQgetvalue(result, row, 0));
    PQclear(result);
}

static void hot_queries_read_by_index(void **state)
{
    (void)state;
    each_query(prepares);
    sql("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan");
    static const char *const hot[] = {
        "job_get.sql(1)",
        "job_revision.sql(1)",
        "job_phases.sql('{1}')",
        "job_claim.sql('here', 'a,b')",
        "token_find.sql('\\x00')",
        "session_find.sql('\\x00')",
        "series_chunks.sql(1, 0, 'create', 'load', 'elapsed', null, null)",
        "series_arrays.sql(1, 'create', '{1}', 'load', 'elapsed')",
        "samples_page.sql(1, 1, 1, 'create', 0)",
        "ingest_small.sql(1)",
    };
    for (size_t i = 0; i < COUNT_OF(hot); i++) {
        char statement[256];
        const char *arguments = strchr(hot[i], '(');
        snprintf(statement, sizeof statement, "EXPLAIN EXECUTE \"%.*s\"%s",
                 (int)(arguments - hot[i]), hot[i], arguments);
        the_plan_avoids(statement, "Seq Scan");
    }
    sql("RESET enable_seqscan; RESET plan_cache_mode");
}

static void tables_and_columns_that_need_it_are_explained(void **state)
{
    (void)state;
    assert_string_equal(sql("SELECT coalesce(string_agg(relname, ', '), '') FROM pg_class c "
                            "WHERE relnamespace = '%s'::regnamespace AND relkind IN ('r', 'v') "
                            "AND obj_description(oid, 'pg_class') IS NULL",
                            fixture.schema),
                        "");
}

static int open_all(void **state)
{
    (void)state;
    return fixture_open(1);
}
static int close_all(void **state)
{
    (void)state;
    return fixture_close();
}
static int fresh_session(void **state)
{
    (void)state;
    sql("DEALLOCATE ALL");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_server_prepares_every_query, fresh_session),
        cmocka_unit_test(every_query_says_who_calls_it),
        cmocka_unit_test_setup(hot_queries_read_by_index, fresh_session),
        cmocka_unit_test(tables_and_columns_that_need_it_are_explained),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
