/* The pool and the watch, from many threads, while the server ends their connections. */
#include "tests/store/fixture.h"

enum { THREADS = 6, CONNECTIONS = 3, CALLS = 60 };

static void an_idle_connection_that_broke_is_opened_again(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        works(store_ping(fixture.store, why));
        end_connections();
    }
    works(store_ping(fixture.store, why));
}

static void *ping_many(void *arg)
{
    atomic_int *failures = arg;
    for (int i = 0; i < CALLS; i++) {
        struct problem why = { 0 };
        if (store_ping(fixture.store, &why) < 0)
            atomic_fetch_add(failures, 1);
    }
    return NULL;
}

static void more_threads_than_connections_wait_their_turn(void **state)
{
    (void)state;
    atomic_int failures = 0;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ping_many, &failures), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    assert_true(atoll(sql("SELECT count(*) - 1 FROM pg_stat_activity WHERE application_name = '%s'",
                          fixture.schema)) <= CONNECTIONS);
}

static void a_database_that_is_away_is_a_problem_in_its_own_words(void **state)
{
    (void)state;
    static const struct {
        const char *conninfo, *says;
    } cases[] = {
        { "host=/nonexistent dbname=x", "/nonexistent" },
        { "no such = option", "no" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct store *store = NULL;
        works(store_open(cases[i].conninfo, 1, &store, why));
        refuses(PROBLEM_STORE_FAILED, store_ping(store, why));
        assert_non_null(strstr(refused.message, cases[i].says));
        store_close(store);
    }
}

/* ---- watch ---- */

struct woken {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job_id last; /* lock */
    int all;     /* lock: how often "anything" was told */
};

static void wake(void *arg, job_id id)
{
    struct woken *woken = arg;
    pthread_mutex_lock(&woken->lock);
    if (id)
        woken->last = id;
    else
        woken->all++;
    pthread_cond_broadcast(&woken->changed);
    pthread_mutex_unlock(&woken->lock);
}

/* Until job `id` was told (0: until "anything" was told `all` times). */
static bool wait_woken(struct woken *woken, job_id id, int all)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 20;
    int r = 0;
    pthread_mutex_lock(&woken->lock);
    while (r == 0 && (id ? woken->last != id : woken->all < all))
        r = pthread_cond_timedwait(&woken->changed, &woken->lock, &deadline);
    pthread_mutex_unlock(&woken->lock);
    return r == 0;
}

static void the_watch_tells_changes_also_after_a_lost_connection(void **state)
{
    (void)state;
    struct woken woken = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };
    struct store *store = NULL;
    works(store_open(fixture.conninfo, 1, &store, why));
    works(store_watch(store, wake, &woken, why));
    assert_true(wait_woken(&woken, 0, 1));
    job_id id = add_job("watched", 0);
    assert_true(wait_woken(&woken, id, 0));

    end_connections();
    assert_true(wait_woken(&woken, 0, 2));
    int now;
    wake(&woken, -1); /* forget the last one */
    works(store_job_cancel(fixture.store, id, &now, why));
    assert_true(wait_woken(&woken, id, 0));
    refuses(PROBLEM_INTERNAL, store_watch(store, wake, &woken, why));
    store_close(store);
}

/* The wait for a free connection has a deadline. */
static void nothing_waits_for_ever_for_a_connection(void **state)
{
    (void)state;
    struct store *store = NULL;
    works(store_open(fixture.conninfo, 1, &store, why));
    struct samples_cursor *cursor = NULL;
    works(samples_open(store, 1, NULL, &cursor, why)); /* holds the only one */
    nsec before = clock_monotonic();
    refuses(PROBLEM_STORE_FAILED, store_ping(store, why));
    nsec waited = clock_monotonic() - before;
    assert_true(waited > 5 * NSEC_PER_SEC && waited < 20 * NSEC_PER_SEC);
    samples_close(cursor);
    works(store_ping(store, why));
    store_close(store);
}

static int open_all(void **state)
{
    (void)state;
    return fixture_open(CONNECTIONS);
}
static int close_all(void **state)
{
    (void)state;
    return fixture_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_connection_that_broke_is_opened_again),
        cmocka_unit_test(more_threads_than_connections_wait_their_turn),
        cmocka_unit_test(a_database_that_is_away_is_a_problem_in_its_own_words),
        cmocka_unit_test(the_watch_tells_changes_also_after_a_lost_connection),
        cmocka_unit_test(nothing_waits_for_ever_for_a_connection),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
