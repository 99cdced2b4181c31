/* The daemon's own PostgreSQL, on real processes: as root it runs as the user plimsoll. */
#include "engine/base/spawn.h"
#include "engine/base/text.h"
#include "schema/store.h"
#include "service/embedded_postgres.h"
#include "service/postgres_cluster.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/stat.h>

#define SOON (30 * NSEC_PER_SEC)

static char state[64], runtime[96];

static int make_state(void **unneeded)
{
    (void)unneeded;
    snprintf(state, sizeof state, "/tmp/test_postgres.XXXXXX");
    if (!mkdtemp(state) || chmod(state, 0711) < 0)
        return -1;
    snprintf(runtime, sizeof runtime, "%s/run", state);
    return mkdir(runtime, 0711);
}

static int remove_state(void **unneeded)
{
    (void)unneeded;
    struct problem why = { 0 };
    const char *const argv[] = { "rm", "-rf", "--", state, NULL };
    return spawn_run(argv, SOON, NULL, 0, &why);
}

static struct embedded_postgres *start(void)
{
    struct embedded_postgres *postgres = NULL;
    struct problem why = { 0 };
    if (embedded_postgres_open(state, runtime, &postgres, &why) < 0 ||
        embedded_postgres_wait(postgres, SOON, &why) < 0)
        fail_msg("%s", why.message);
    return postgres;
}

static void assert_answers(struct embedded_postgres *postgres)
{
    struct store *store = NULL;
    struct problem why = { 0 };
    if (store_open(embedded_postgres_conninfo(postgres), 1, &store, &why) < 0 ||
        store_ping(store, &why) < 0)
        fail_msg("%s", why.message);
    store_close(store);
}

static bool is_alive(pid_t pid)
{
    struct process process;
    struct problem why = { 0 };
    if (process_open(pid, &process, &why) <= 0)
        return false;
    bool ended = process_ended(&process);
    process_leave(&process);
    return !ended;
}

static void is_made_started_and_stopped(void **unneeded)
{
    (void)unneeded;
    nsec began = clock_monotonic();
    struct embedded_postgres *postgres = start();
    print_message("nothing to ready: %.2f s\n", seconds_of(clock_monotonic() - began));
    assert_answers(postgres);
    pid_t pid = embedded_postgres_pid(postgres);
    assert_true(is_alive(pid));
    assert_null(embedded_postgres_close(postgres));
    assert_false(is_alive(pid));

    began = clock_monotonic();
    postgres = start();
    print_message("existing to ready: %.2f s\n", seconds_of(clock_monotonic() - began));
    embedded_postgres_close(postgres);
}

static void is_started_again_when_killed(void **unneeded)
{
    (void)unneeded;
    struct embedded_postgres *postgres = start();
    pid_t first = embedded_postgres_pid(postgres);
    struct problem why = { 0 };
    struct process process;
    assert_int_equal(process_open(first, &process, &why), 1);
    assert_int_equal(process_signal(&process, SIGKILL), 0);
    assert_true(process_wait(&process, SOON));
    process_leave(&process);
    /* "ready" of the old one may be seen until its end has been noticed. */
    nsec deadline = clock_monotonic() + SOON;
    while (embedded_postgres_pid(postgres) == first)
        assert_true(clock_monotonic() < deadline);
    if (embedded_postgres_wait(postgres, SOON, &why) < 0)
        fail_msg("%s", why.message);
    assert_int_not_equal(embedded_postgres_pid(postgres), first);
    assert_answers(postgres);
    embedded_postgres_close(postgres);
}

static void is_adopted_when_it_outlived_its_daemon(void **unneeded)
{
    (void)unneeded;
    struct postgres_cluster cluster;
    struct process left;
    struct problem why = { 0 };
    if (postgres_cluster_open(state, runtime, &cluster, &why) < 0 ||
        postgres_cluster_make(&cluster, &why) < 0 ||
        postgres_cluster_start(&cluster, &left, &why) < 0)
        fail_msg("%s", why.message);
    nsec deadline = clock_monotonic() + SOON;
    while (!postgres_cluster_ready(&cluster, left.pid))
        assert_true(clock_monotonic() < deadline);

    struct embedded_postgres *postgres = start();
    assert_int_equal(embedded_postgres_pid(postgres), left.pid);
    assert_answers(postgres);
    embedded_postgres_close(postgres);
    assert_true(process_ended(&left));
    char fate[PROCESS_FATE];
    process_close(&left, fate);
    assert_string_equal(fate, "ended with status 0");
}

static void passes_over_a_pid_that_is_anothers_now(void **unneeded)
{
    (void)unneeded;
    char path[128];
    embedded_postgres_close(start());
    snprintf(path, sizeof path, "%s/postgres/postmaster.pid", state);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fprintf(f, "%d\n%s/postgres\n1\n5432\n%s/postgres\n\n1 2\nready\n", (int)getpid(), state,
            runtime);
    fclose(f);
    struct embedded_postgres *postgres = start();
    assert_int_not_equal(embedded_postgres_pid(postgres), getpid());
    assert_answers(postgres);
    embedded_postgres_close(postgres);
}

static void refuses_a_cluster_of_another_major_version(void **unneeded)
{
    (void)unneeded;
    char path[128], kept[128];
    embedded_postgres_close(start());
    snprintf(path, sizeof path, "%s/postgres/PG_VERSION", state);
    snprintf(kept, sizeof kept, "%s/kept", state);
    assert_int_equal(rename(path, kept), 0);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs("9\n", f);
    fclose(f);
    struct embedded_postgres *postgres = NULL;
    struct problem why = { 0 };
    assert_int_equal(embedded_postgres_open(state, runtime, &postgres, &why), -1);
    if (!strstr(why.message, "was made by PostgreSQL 9"))
        fail_msg("%s", why.message);
    assert_int_equal(rename(kept, path), 0);
}

static void refuses_a_folder_that_its_user_cannot_enter(void **unneeded)
{
    (void)unneeded;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(state, 0700), 0);
    struct embedded_postgres *postgres = NULL;
    struct problem why = { 0 };
    int opened = embedded_postgres_open(state, runtime, &postgres, &why);
    assert_int_equal(chmod(state, 0711), 0);
    assert_int_equal(opened, -1);
    if (!strstr(why.message, "may not enter") || !strstr(why.message, state))
        fail_msg("%s", why.message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_made_started_and_stopped),
        cmocka_unit_test(is_started_again_when_killed),
        cmocka_unit_test(is_adopted_when_it_outlived_its_daemon),
        cmocka_unit_test(passes_over_a_pid_that_is_anothers_now),
        cmocka_unit_test(refuses_a_cluster_of_another_major_version),
        cmocka_unit_test(refuses_a_folder_that_its_user_cannot_enter),
    };
    return cmocka_run_group_tests(tests, make_state, remove_state);
}
