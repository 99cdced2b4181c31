/* Kept answers: found, fresh for a while, dropped when there are too many. */
#include "api/cache.h"
#include "tests/unit/cmocka_first.h"

static int freed;

static void wire_free(void *wire)
{
    (void)wire;
    freed++;
}

static struct cache *cache_of(void)
{
    struct problem why = { 0 };
    struct cache *cache = NULL;
    assert_int_equal(cache_new(wire_free, &cache, &why), 0);
    return cache;
}

static void keep(struct cache *cache, const char *key, job_id job, size_t n, nsec for_how_long)
{
    struct reply *reply = reply_new();
    char *body = calloc(1, n);
    assert_non_null(reply);
    assert_non_null(body);
    reply_bytes(reply, "text/plain", body, n);
    reply->keep = for_how_long;
    reply->job = job;
    kept_drop(cache_add(cache, key, reply, cache_stamp(cache)));
    reply_drop(reply);
}

/* 0: not there, 1: there, 2: and fresh. */
static int look(struct cache *cache, const char *key)
{
    bool fresh = false;
    struct kept *kept = cache_find(cache, key, &fresh);
    bool found = kept != NULL;
    kept_drop(kept);
    return found ? 1 + fresh : 0;
}

static void finds_what_it_keeps(void **state)
{
    (void)state;
    struct cache *cache = cache_of();
    keep(cache, "/a", 1, 10, NSEC_PER_SEC * 1000);
    keep(cache, "/b", 2, 10, 1);
    assert_int_equal(look(cache, "/a"), 2);
    assert_int_equal(look(cache, "/b"), 1); /* a nanosecond is over */
    assert_int_equal(look(cache, "/c"), 0);
    cache_free(cache);
}

static void a_change_makes_that_jobs_answers_stale(void **state)
{
    (void)state;
    struct cache *cache = cache_of();
    bool fresh;
    keep(cache, "/1", 1, 10, NSEC_PER_SEC * 1000);
    keep(cache, "/2", 2, 10, NSEC_PER_SEC * 1000);
    uint64_t before = cache_stamp(cache);
    cache_stale(cache, 1);
    assert_int_equal(look(cache, "/1"), 1);
    assert_int_equal(look(cache, "/2"), 2);
    struct kept *kept = cache_find(cache, "/1", &fresh);
    cache_refresh(cache, kept, before); /* the change came while the store was asked */
    assert_int_equal(look(cache, "/1"), 1);
    cache_refresh(cache, kept, cache_stamp(cache));
    assert_int_equal(look(cache, "/1"), 2);
    kept_drop(kept);
    cache_free(cache);
}

static void an_answer_made_before_a_change_is_not_fresh(void **state)
{
    (void)state;
    struct cache *cache = cache_of();
    struct reply *reply = reply_new();
    assert_non_null(reply);
    reply->keep = NSEC_PER_SEC * 1000;
    reply->job = 1;
    uint64_t stamp = cache_stamp(cache);
    cache_stale(cache, 1);
    kept_drop(cache_add(cache, "/1", reply, stamp));
    reply_drop(reply);
    assert_int_equal(look(cache, "/1"), 1);
    cache_free(cache);
}

static void drops_what_was_not_used_for_longest(void **state)
{
    (void)state;
    struct cache *cache = cache_of();
    char key[32];
    keep(cache, "/used", 1, 10, NSEC_PER_SEC * 1000);
    keep(cache, "/unused", 1, 10, NSEC_PER_SEC * 1000);
    for (int i = 0; i < 40; i++) { /* a megabyte each: more than it holds */
        snprintf(key, sizeof key, "/%d", i);
        keep(cache, key, 2, 1 << 20, NSEC_PER_SEC * 1000);
        assert_int_equal(look(cache, "/used"), 2);
    }
    assert_int_equal(look(cache, "/unused"), 0);
    assert_int_equal(look(cache, "/0"), 0);
    assert_int_equal(look(cache, "/39"), 2);
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "/small/%d", i);
        keep(cache, key, 2, 1, NSEC_PER_SEC * 1000);
    }
    assert_int_equal(look(cache, "/39"), 0);
    assert_int_equal(look(cache, "/small/4999"), 2);
    cache_free(cache);
}

static void what_is_in_use_outlives_its_place(void **state)
{
    (void)state;
    struct cache *cache = cache_of();
    bool fresh;
    int mark;
    freed = 0;
    keep(cache, "/a", 1, 10, NSEC_PER_SEC);
    struct kept *kept = cache_find(cache, "/a", &fresh);
    atomic_store(&kept->wire, &mark);
    keep(cache, "/a", 1, 10, NSEC_PER_SEC); /* takes its place */
    assert_int_equal(freed, 0);
    assert_int_equal(kept->reply->n, 10);
    kept_drop(kept);
    assert_int_equal(freed, 1);
    cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_it_keeps),
        cmocka_unit_test(a_change_makes_that_jobs_answers_stale),
        cmocka_unit_test(an_answer_made_before_a_change_is_not_fresh),
        cmocka_unit_test(drops_what_was_not_used_for_longest),
        cmocka_unit_test(what_is_in_use_outlives_its_place),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
