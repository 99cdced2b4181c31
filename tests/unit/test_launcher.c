/* What the daemon keeps about a job, and how it lets go of it. */
#include "tests/unit/cmocka_first.h"

#include "engine/journal.h"
#include "engine/spec.h"
#include "service/launcher.h"
#include "tests/unit/folder.h"

#include <sys/stat.h>

static const struct launcher launcher = { .state = folder };

static bool is_there(const char *name)
{
    scoped_free char *path = in_folder(name);
    struct stat st;
    return lstat(path, &st) == 0;
}

static int make_job(void **state)
{
    if (make_folder(state))
        return -1;
    scoped_free char *jobs = in_folder("jobs"), *job = in_folder("jobs/7");
    return mkdir(jobs, 0750) || mkdir(job, 0750) ? -1 : 0;
}

static void removes_what_was_made_about_a_job(void **state)
{
    (void)state;
    struct problem why = { 0 };
    static const char *const made[] = { SPEC_FILE, SPEC_FILE ".new", JOURNAL_FILE, RUNNER_LOG };
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        char name[64];
        snprintf(name, sizeof name, "jobs/7/%s", made[i]);
        write_file(name, "x", 1);
    }
    if (launcher_forget(&launcher, 7, &why) < 0)
        fail_msg("%s", why.message);
    assert_false(is_there("jobs/7"));
    assert_true(is_there("jobs"));
    assert_int_equal(launcher_forget(&launcher, 7, &why), 0); /* again: as good */
}

static void removes_nothing_beside_a_stranger(void **state)
{
    (void)state;
    static const char *const kinds[] = { "file", "folder", "link" };
    write_file("jobs/7/" SPEC_FILE, "x", 1);
    write_file("precious", "x", 1);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct problem why = { 0 };
        /* A link and a folder by a name of ours are strangers, too. */
        scoped_free char *name = in_folder(i ? "jobs/7/" JOURNAL_FILE : "jobs/7/notes.txt");
        scoped_free char *precious = in_folder("precious");
        if (i == 0)
            write_file("jobs/7/notes.txt", "x", 1);
        else
            assert_int_equal(i == 1 ? mkdir(name, 0700) : symlink(precious, name), 0);
        print_message("%s\n", kinds[i]);
        assert_int_equal(launcher_forget(&launcher, 7, &why), -1);
        assert_int_equal(why.code, PROBLEM_CONFLICT);
        assert_non_null(strstr(why.message, strrchr(name, '/') + 1));
        assert_true(is_there("jobs/7/" SPEC_FILE));
        assert_true(is_there("precious"));
        assert_int_equal(remove(name), 0);
    }
}

static void follows_no_link_to_another_folder(void **state)
{
    (void)state;
    struct problem why = { 0 };
    scoped_free char *job = in_folder("jobs/7"), *moved = in_folder("elsewhere");
    write_file("jobs/7/" SPEC_FILE, "x", 1);
    assert_int_equal(rename(job, moved), 0);
    assert_int_equal(symlink(moved, job), 0);
    assert_int_equal(launcher_forget(&launcher, 7, &why), -1);
    assert_true(is_there("elsewhere/" SPEC_FILE));
    assert_true(is_there("jobs/7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(removes_what_was_made_about_a_job, make_job, remove_folder),
        cmocka_unit_test_setup_teardown(removes_nothing_beside_a_stranger, make_job, remove_folder),
        cmocka_unit_test_setup_teardown(follows_no_link_to_another_folder, make_job, remove_folder),
    };
    return cmocka_run_group_tests_name("launcher", tests, NULL, NULL);
}
