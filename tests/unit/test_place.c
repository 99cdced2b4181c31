#include "engine/place.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/folder.h"

#include "engine/base/text.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* FOLDER/{plimsoll.conf,state/jobs/7/spec.json}, as the service and its administrator make them. */
#define JOB  "state/jobs/7"
#define SPEC JOB "/" SPEC_FILE

static const char good[] = "{\"job\":7,\"nonce\":\"0123abcd\",\"workload\":\"create-scaling\","
                           "\"target\":\"scratch\",\"params\":{}}";

static void at(const char *name, char path[PATH_MAX])
{
    scoped_free char *found = in_folder(name);
    assert_int_equal(text_fit(path, PATH_MAX, "%s", found), 0);
}

static void add_folder(const char *name, mode_t mode)
{
    char path[PATH_MAX];
    at(name, path);
    assert_int_equal(mkdir(path, mode), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void set_mode(const char *name, mode_t mode)
{
    char path[PATH_MAX];
    at(name, path);
    assert_int_equal(chmod(path, mode), 0);
}

static void link_to(const char *what, const char *name)
{
    char path[PATH_MAX];
    at(name, path);
    assert_int_equal(symlink(what, path), 0);
}

static void move(const char *from, const char *to)
{
    char a[PATH_MAX], b[PATH_MAX];
    at(from, a);
    at(to, b);
    assert_int_equal(rename(a, b), 0);
}

static void second_name(const char *from, const char *to)
{
    char a[PATH_MAX], b[PATH_MAX];
    at(from, a);
    at(to, b);
    assert_int_equal(link(a, b), 0);
}

static void give_away(const char *name)
{
    char path[PATH_MAX];
    at(name, path);
    assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
}

static int make_world(void **state)
{
    char path[PATH_MAX];
    scoped_free char *text = NULL;
    if (make_folder(state) != 0)
        return -1;
    at("state", path);
    text = text_new("[service]\nstate = %s\nlisten = 127.0.0.1:0\n[target scratch]\npath = /srv\n",
                    path);
    write_file("plimsoll.conf", text, strlen(text));
    set_mode("plimsoll.conf", 0644);
    add_folder("state", 0711);
    add_folder("state/jobs", 0750);
    add_folder(JOB, 0750);
    write_file(SPEC, good, strlen(good));
    set_mode(SPEC, 0640);
    return 0;
}

static int take(job_id job, struct problem *why)
{
    char settings[PATH_MAX];
    struct place place = { .folder = -1 };
    struct spec spec = { 0 };
    at("plimsoll.conf", settings);
    int taken = place_of_job(job, settings, &place, why);
    if (taken == 0)
        taken = place_spec(&place, &spec, why);
    spec_done(&spec);
    place_done(&place);
    return taken;
}

static void finds_a_job_by_its_number(void **state)
{
    (void)state;
    struct problem why = { 0 };
    if (take(7, &why) < 0)
        fail_msg("%s", why.message);
}

static void no_job(void)
{
    move(JOB, "state/jobs/8");
}
static void linked_folder(void)
{
    move(JOB, "state/jobs/other");
    link_to("other", JOB);
}
static void folder_elsewhere(void)
{
    move(JOB, "elsewhere");
    link_to("../../elsewhere", JOB);
}
static void linked_jobs(void)
{
    move("state/jobs", "jobs");
    link_to("../jobs", "state/jobs");
}
static void linked_spec(void)
{
    move(SPEC, JOB "/other.json");
    link_to("other.json", SPEC);
}
static void spec_of_two_names(void)
{
    second_name(SPEC, "second");
}
static void open_folder_for_all(void)
{
    set_mode(JOB, 0777);
}
static void open_spec_for_all(void)
{
    set_mode(SPEC, 0666);
}
static void open_state_for_all(void)
{
    set_mode("state", 0777);
}
static void foreign_folder(void)
{
    give_away(JOB);
}
static void foreign_spec(void)
{
    give_away(SPEC);
}
static void spec_of_another(void)
{
    move(JOB, "state/jobs/9");
}
static void open_settings_for_all(void)
{
    set_mode("plimsoll.conf", 0666);
}
static void foreign_settings(void)
{
    give_away("plimsoll.conf");
}
static void foreign_conf_d(void)
{
    add_folder("conf.d", 0755);
    give_away("conf.d");
}

static const struct row {
    const char *name;
    void (*change)(void);
    job_id job;
    const char *message; /* of which this is a part */
    bool root;           /* a rule for root only, or a change that only root can make */
} rows[] = {
    { "refuses_a_job_that_is_not_there", no_job, 7, "cannot open jobs/7", false },
    { "refuses_a_folder_that_is_a_link", linked_folder, 7, "symbolic link", false },
    { "refuses_a_folder_linked_out_of_the_state", folder_elsewhere, 7, "symbolic link", false },
    { "refuses_a_link_on_the_way", linked_jobs, 7, "symbolic link", false },
    { "refuses_a_spec_that_is_a_link", linked_spec, 7, "symbolic link", false },
    { "refuses_a_spec_of_two_names", spec_of_two_names, 7, "one name", false },
    { "refuses_a_folder_open_to_all", open_folder_for_all, 7, "others may write to jobs/7", false },
    { "refuses_a_spec_open_to_all", open_spec_for_all, 7, "others may write to spec.json", false },
    { "refuses_a_state_open_to_all", open_state_for_all, 7, "others may write to", false },
    { "refuses_the_spec_of_another_job", spec_of_another, 9, "the spec is of job 7", false },
    { "refuses_a_folder_of_another_user", foreign_folder, 7, "belongs to user 65534", true },
    { "refuses_a_spec_of_another_user", foreign_spec, 7, "belongs to user 65534", true },
    { "refuses_settings_open_to_all", open_settings_for_all, 7, "must be root's", true },
    { "refuses_settings_of_another_user", foreign_settings, 7, "must be root's", true },
    { "refuses_a_conf_d_of_another_user", foreign_conf_d, 7, "must be root's", true },
};

/* Each row in a world of its own. */
static void refuses(void **state)
{
    const struct row *row = *state;
    struct problem why = { 0 };
    void *made = NULL;
    if (row->root && geteuid() != 0)
        skip();
    assert_int_equal(make_world(&made), 0);
    row->change();
    int taken = take(row->job, &why);
    remove_folder(&made);
    assert_int_equal(taken, -1);
    if (!strstr(why.message, row->message))
        fail_msg("expected \"%s\" in \"%s\"", row->message, why.message);
}

int main(void)
{
    struct CMUnitTest tests[1 + COUNT_OF(rows)] = {
        cmocka_unit_test_setup_teardown(finds_a_job_by_its_number, make_world, remove_folder),
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        union {
            const struct row *row;
            void *state;
        } row = { .row = &rows[i] };
        tests[1 + i] = (struct CMUnitTest){ rows[i].name, refuses, NULL, NULL, row.state };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
