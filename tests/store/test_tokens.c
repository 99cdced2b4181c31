/* Tokens, sessions and one-time codes. */
#include "tests/store/fixture.h"

static void hash_of(const char *secret, unsigned char hash[SECRET_HASH])
{
    memset(hash, 0, SECRET_HASH);
    memcpy(hash, secret, strlen(secret));
    hash[SECRET_HASH - 1] = 0xff; /* a hash is no text */
}

static int64_t add(const char *name, enum role role, const char *targets, nsec expires_at)
{
    struct principal principal = { .role = (int)role, .expires_at = expires_at };
    snprintf(principal.name, sizeof principal.name, "%s", name);
    snprintf(principal.targets, sizeof principal.targets, "%s", targets);
    unsigned char hash[SECRET_HASH];
    hash_of(name, hash);
    int64_t id = 0;
    works(store_token_add(fixture.store, &principal, hash, &id, why));
    return id;
}

typedef int find_fn(struct store *store, const unsigned char hash[SECRET_HASH],
                    struct principal *ret, struct problem *why);

static int found(find_fn *find, const char *secret, struct principal *ret)
{
    unsigned char hash[SECRET_HASH];
    hash_of(secret, hash);
    int r = -1;
    works(r = find(fixture.store, hash, ret, why));
    return r;
}

static nsec in_seconds(int seconds)
{
    return clock_wall() + seconds * NSEC_PER_SEC;
}

static void finds_a_token_by_its_hash_until_it_expires(void **state)
{
    (void)state;
    nsec later = in_seconds(3600);
    int64_t id = add("ci", ROLE_OPERATOR, "scratch,tank", later);
    add("expired", ROLE_ADMIN, "", in_seconds(-1));
    add("eternal", ROLE_VIEWER, "", 0);
    struct principal principal;
    assert_int_equal(found(store_token_find, "ci", &principal), 1);
    assert_int_equal(principal.token, id);
    assert_int_equal(principal.role, ROLE_OPERATOR);
    assert_string_equal(principal.name, "ci");
    assert_string_equal(principal.targets, "scratch,tank");
    assert_int_equal(principal.expires_at / 1000, later / 1000);
    assert_int_equal(found(store_token_find, "expired", &principal), 0);
    assert_int_equal(found(store_token_find, "nobody", &principal), 0);
    assert_int_equal(found(store_token_find, "eternal", &principal), 1);
    assert_int_equal(principal.expires_at, 0);
    assert_string_equal(sql("SELECT last_used_at IS NOT NULL FROM token WHERE name = 'ci'"), "t");
}

static void a_name_is_taken_once_and_free_after_removal(void **state)
{
    (void)state;
    add("twice", ROLE_VIEWER, "", 0);
    struct principal principal = { .role = ROLE_ADMIN, .name = "twice" };
    unsigned char hash[SECRET_HASH];
    hash_of("another secret", hash);
    int64_t id;
    refuses(PROBLEM_CONFLICT, store_token_add(fixture.store, &principal, hash, &id, why));
    assert_non_null(strstr(refused.message, "twice"));
    works(store_token_remove(fixture.store, "twice", why));
    refuses(PROBLEM_NOT_FOUND, store_token_remove(fixture.store, "twice", why));
    works(store_token_add(fixture.store, &principal, hash, &id, why));
}

static int count(void *arg, const struct principal *principal, nsec last_used_at,
                 struct problem *why)
{
    (void)principal;
    (void)last_used_at;
    (void)why;
    ++*(int *)arg;
    return 0;
}

static void lists_every_token(void **state)
{
    (void)state;
    int n = 0;
    works(store_token_list(fixture.store, count, &n, why));
    char expected[16];
    snprintf(expected, sizeof expected, "%d", n);
    assert_string_equal(sql("SELECT count(*) FROM token"), expected);
    assert_true(n >= 1);
}

static void a_code_works_once_and_in_time(void **state)
{
    (void)state;
    int64_t token = add("quickstart", ROLE_ADMIN, "", 0);
    unsigned char hash[SECRET_HASH];
    struct principal principal;
    hash_of("code", hash);
    works(store_code_add(fixture.store, token, hash, in_seconds(600), why));
    assert_int_equal(found(store_code_redeem, "code", &principal), 1);
    assert_string_equal(principal.name, "quickstart");
    assert_int_equal(found(store_code_redeem, "code", &principal), 0);
    hash_of("late", hash);
    works(store_code_add(fixture.store, token, hash, in_seconds(-1), why));
    assert_int_equal(found(store_code_redeem, "late", &principal), 0);
    hash_of("orphan", hash);
    refuses(PROBLEM_STORE_FAILED,
            store_code_add(fixture.store, 1000000, hash, in_seconds(600), why));
}

static void a_session_ends_by_time_by_sign_out_and_with_its_token(void **state)
{
    (void)state;
    int64_t token = add("browser", ROLE_OPERATOR, "scratch", 0);
    unsigned char hash[SECRET_HASH];
    struct principal principal;
    nsec later = in_seconds(600);
    hash_of("cookie", hash);
    works(store_session_add(fixture.store, token, hash, later, why));
    assert_int_equal(found(store_session_find, "cookie", &principal), 1);
    assert_string_equal(principal.name, "browser");
    assert_int_equal(principal.expires_at / 1000, later / 1000);
    works(store_session_remove(fixture.store, hash, why));
    assert_int_equal(found(store_session_find, "cookie", &principal), 0);
    works(store_session_remove(fixture.store, hash, why));

    hash_of("old", hash);
    works(store_session_add(fixture.store, token, hash, in_seconds(-1), why));
    assert_int_equal(found(store_session_find, "old", &principal), 0);

    hash_of("revoked", hash);
    works(store_session_add(fixture.store, token, hash, later, why));
    works(store_token_remove(fixture.store, "browser", why));
    assert_int_equal(found(store_session_find, "revoked", &principal), 0);
}

static int open_all(void **state)
{
    (void)state;
    return fixture_open(2);
}
static int close_all(void **state)
{
    (void)state;
    return fixture_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_token_by_its_hash_until_it_expires),
        cmocka_unit_test(a_name_is_taken_once_and_free_after_removal),
        cmocka_unit_test(lists_every_token),
        cmocka_unit_test(a_code_works_once_and_in_time),
        cmocka_unit_test(a_session_ends_by_time_by_sign_out_and_with_its_token),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
