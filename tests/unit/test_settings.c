#include "service/cpus.h"
#include "service/settings.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "engine/base/text.h"

static char folder[64], path[128];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_settings.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/plimsoll.conf", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_settings(const char *text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void fills_in_what_is_not_said(void **state)
{
    (void)state;
    struct settings settings = { 0 };
    struct problem why = { 0 };
    write_settings("[target scratch]\nkind = directory\npath = /srv/scratch\n");
    assert_int_equal(settings_load(path, &settings, &why), 0);
    assert_string_equal(settings.state, "/var/lib/plimsoll");
    assert_int_equal(settings.listen.n, 1);
    assert_string_equal(settings.listen.at[0], "127.0.0.1:7117");
    assert_true(settings_embedded(&settings));
    assert_non_null(settings.host);
    assert_null(settings.cpus);
    assert_string_equal(strrchr(settings.runner, '/'), "/plimsoll-runner");
    assert_int_equal(settings.targets.n, 1);
    assert_string_equal(settings.targets.at[0].name, "scratch");
    settings_done(&settings);
}

static void takes_what_is_said(void **state)
{
    (void)state;
    struct settings settings = { 0 };
    struct problem why = { 0 };
    write_settings("[service]\n"
                   "state = /tmp/somewhere\n"
                   "listen = 127.0.0.1:0, [::1]:7118, unix:/run/plimsoll/http\n"
                   "database = host=/run/postgresql dbname=plimsoll\n"
                   "cpus = 0-1,3\n"
                   "host = north\n");
    assert_int_equal(settings_load(path, &settings, &why), 0);
    assert_int_equal(settings.listen.n, 3);
    assert_string_equal(settings.listen.at[2], "unix:/run/plimsoll/http");
    assert_false(settings_embedded(&settings));
    assert_string_equal(settings.host, "north");
    assert_string_equal(settings.runtime, "/tmp/somewhere/run");
    settings_done(&settings);
}

static const struct refused {
    const char *line, *field, *part;
} refused[] = {
    { "state = var/lib", "state", "absolute" },
    { "listen = 127.0.0.1", "listen", "neither ADDRESS:PORT" },
    { "listen = 127.0.0.1:70000", "listen", "neither ADDRESS:PORT" },
    { "listen = 127.0.0.1:http", "listen", "neither ADDRESS:PORT" },
    { "listen = :7117", "listen", "neither ADDRESS:PORT" },
    { "listen = unix:http", "listen", "absolute path" },
    { "certificate = /etc/c.pem", "key", "together" },
    { "key = /etc/k.pem", "certificate", "together" },
    { "database = plimsoll", "database", "neither embedded nor" },
    { "cpus = 1-0", "cpus", "not a list of CPUs" },
    { "cpus = 0,", "cpus", "not a list of CPUs" },
    { "runner = plimsoll-runner", "runner", "absolute" },
    { "colour = red", "plimsoll.conf:2", "colour" },
    { "listne = 127.0.0.1:0", "plimsoll.conf:2", "listen" },
};

static void refuses_wrong_values_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        char text[256];
        struct settings settings = { 0 };
        struct problem why = { 0 };
        snprintf(text, sizeof text, "[service]\n%s\n", refused[i].line);
        write_settings(text);
        if (settings_load(path, &settings, &why) == 0)
            fail_msg("accepted: %s", refused[i].line);
        if (!strstr(why.field, refused[i].field) || !strstr(why.message, refused[i].part))
            fail_msg("%s: \"%s\" \"%s\", expected \"%s\" \"%s\"", refused[i].line, why.field,
                     why.message, refused[i].field, refused[i].part);
        assert_null(settings.state);
    }
}

static void names_the_key_that_takes_a_restart(void **state)
{
    (void)state;
    struct settings before = { 0 }, after = { 0 };
    struct problem why = { 0 };
    write_settings("[service]\nstate = /tmp/a\n");
    assert_int_equal(settings_load(path, &before, &why), 0);
    assert_null(settings_restart(&before, &before));
    write_settings("[service]\nstate = /tmp/a\nlisten = 127.0.0.1:1\n");
    assert_int_equal(settings_load(path, &after, &why), 0);
    assert_string_equal(settings_restart(&before, &after), "listen");
    settings_done(&before);
    settings_done(&after);
}

static void reads_lists_of_cpus(void **state)
{
    (void)state;
    cpu_set_t set;
    struct problem why = { 0 };
    assert_int_equal(cpus_parse("0-1,4", &set, &why), 0);
    assert_int_equal(CPU_COUNT(&set), 3);
    assert_true(CPU_ISSET(0, &set) && CPU_ISSET(1, &set) && CPU_ISSET(4, &set));
    assert_int_equal(cpus_parse("1024", &set, &why), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_in_what_is_not_said),
        cmocka_unit_test(takes_what_is_said),
        cmocka_unit_test(refuses_wrong_values_by_name),
        cmocka_unit_test(names_the_key_that_takes_a_restart),
        cmocka_unit_test(reads_lists_of_cpus),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
