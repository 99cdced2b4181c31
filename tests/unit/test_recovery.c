#include "engine/journal.h"
#include "service/process.h"
#include "service/recovery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/attr.h"

static const struct {
    const char *story;
    struct remains remains;
    enum next_step next;
} cases[] = {
    { "claimed, and the daemon died before it started a runner", { .starts = 0 }, NEXT_START },
    { "the first runner left no journal", { .starts = 1 }, NEXT_START },
    { "the second did neither", { .starts = 2 }, NEXT_INTERRUPTED },
    { "cancelled before its runner came to a journal", { .cancelling = true }, NEXT_CANCELLED },
    { "the machine is about to be restarted", { .journal = true, .rebooting = true }, NEXT_WAIT },
    { "it was restarted", { .journal = true, .rebooting = true, .rebooted = true }, NEXT_RESUME },
    { "the runner that was to go on died before it began",
      { .journal = true, .rebooting = true, .rebooted = true, .resumes = 1 },
      NEXT_RESUME },
    { "and the second one, too",
      { .journal = true, .rebooting = true, .rebooted = true, .resumes = 2 },
      NEXT_INTERRUPTED },
    { "it has not been restarted for too long",
      { .journal = true, .rebooting = true, .overdue = true },
      NEXT_OVERDUE },
    { "it came back too late",
      { .journal = true, .rebooting = true, .rebooted = true, .overdue = true },
      NEXT_OVERDUE },
    { "cancelled while the machine was restarted",
      { .journal = true, .cancelling = true, .rebooted = true },
      NEXT_CANCELLED },
    { "restarted by somebody else while it measured",
      { .journal = true, .rebooted = true },
      NEXT_INTERRUPTED },
    { "killed while it measured", { .journal = true, .starts = 1 }, NEXT_INTERRUPTED },
    { "found dead after a restart", { .journal = true }, NEXT_INTERRUPTED },
    { "killed because it was cancelled", { .journal = true, .cancelling = true }, NEXT_CANCELLED },
    { "ended, but killed while it cleaned",
      { .journal = true, .ended = true, .cleanup = CLEANUP_RUNNING },
      NEXT_CLEAN },
    { "failed, and nothing has been cleaned yet",
      { .journal = true, .ended = true, .cleanup = CLEANUP_PENDING },
      NEXT_CLEAN },
    { "its clean-up died twice",
      { .journal = true, .ended = true, .cleanup = CLEANUP_RUNNING, .cleans = 2 },
      NEXT_CLEAN },
    { "its clean-up died three times",
      { .journal = true, .ended = true, .cleanup = CLEANUP_RUNNING, .cleans = 3 },
      NEXT_BLOCKED },
    { "all done", { .journal = true, .ended = true, .cleanup = CLEANUP_DONE }, NEXT_CLOSE },
    { "something foreign is in the way",
      { .journal = true, .ended = true, .cleanup = CLEANUP_BLOCKED },
      NEXT_CLOSE },
    { "refused before it made anything", { .journal = true, .ended = true }, NEXT_CLOSE },
};

static void knows_what_follows_from_what_is_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        enum next_step next = recovery_next(&cases[i].remains);
        if (next != cases[i].next)
            fail_msg("%s: step %d, expected %d", cases[i].story, (int)next, (int)cases[i].next);
    }
}

/* As systemd tells it, without hyphens; what /proc shows within a sandbox may be the boot of a container's host. */
static void a_boot_is_the_one_that_the_unit_tells(void **state)
{
    (void)state;
    char kernel[40];
    unsetenv(BOOT_VARIABLE);
    assert_true(process_this_boot(journal_boot_id(kernel)));
    assert_false(process_this_boot("01234567-89ab-4cde-8f01-23456789abc6"));
    assert_false(process_this_boot(""));
    assert_false(process_this_boot(NULL));
    setenv(BOOT_VARIABLE, "0123456789ab4cde8f0123456789abc6", 1);
    assert_true(process_this_boot("01234567-89ab-4cde-8f01-23456789abc6"));
    assert_false(process_this_boot("01234567-89ab-4cde-8f01-23456789abc7"));
    assert_false(process_this_boot("01234567-89ab-4cde-8f01-23456789abc"));
    assert_false(process_this_boot(kernel));
    setenv(BOOT_VARIABLE, "", 1);
    assert_true(process_this_boot(kernel));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_what_follows_from_what_is_left),
        cmocka_unit_test(a_boot_is_the_one_that_the_unit_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
