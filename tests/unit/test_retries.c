#include "service/retries.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/attr.h"

static void waits_twice_as_long_each_time_up_to_an_hour(void **state)
{
    (void)state;
    scoped(retries_done) struct retries retries = { 0 };
    nsec now = 1000, last = now, gap = RETRY_FIRST;
    for (int turn = 0; turn < 15; turn++) {
        retries_round(&retries);
        assert_false(retries_due(&retries, 7, now));
        if (turn)
            assert_false(retries_due(&retries, 7, last + gap - 1));
        now = last + gap;
        assert_true(retries_due(&retries, 7, now));
        last = now;
        gap = 2 * gap < RETRY_MOST ? 2 * gap : RETRY_MOST;
    }
    assert_true(gap == RETRY_MOST);
}

static void forgets_what_is_not_blocked_any_more(void **state)
{
    (void)state;
    scoped(retries_done) struct retries retries = { 0 };
    for (job_id id = 1; id <= 20; id++)
        assert_false(retries_due(&retries, id, 0));
    retries_round(&retries);
    assert_true(retries.n == 20);
    retries_keep(&retries, 3);  /* is being tried */
    retries_keep(&retries, 99); /* never asked for */
    assert_true(retries_due(&retries, 5, RETRY_FIRST));
    retries_round(&retries);
    assert_true(retries.n == 2);
    assert_true(retries_due(&retries, 3, RETRY_FIRST));
    assert_false(retries_due(&retries, 5, RETRY_FIRST)); /* its gap has grown */
    assert_false(retries_due(&retries, 1, RETRY_FIRST)); /* new: from the beginning */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_twice_as_long_each_time_up_to_an_hour),
        cmocka_unit_test(forgets_what_is_not_blocked_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
