#include "engine/base/ini.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/folder.h"

#include <sys/stat.h>

struct service {
    char *state;
    uint64_t cpus;
    struct texts listen;
};
struct place {
    char *path;
    uint64_t size;
};

static const struct field service_fields[] = {
    FIELD_TEXT(struct service, state, "Where.", .preset_text = "/var/lib/x"),
    FIELD_COUNT(struct service, cpus, "How many.", .max = 64),
    FIELD_TEXTS(struct service, listen, "Addresses.", .preset_text = "127.0.0.1:7117"),
    FIELD_END,
};
static const struct field place_fields[] = {
    FIELD_TEXT(struct place, path, "Where.", .required = true),
    FIELD_BYTES(struct place, size, "How large.", .preset = 1),
    FIELD_END,
};

/* What was accepted, as one text a section. */
struct seen {
    struct text text;
    bool refuse_all;
};

static int accept_service(void *arg, const char *name, void *object, const char *where,
                          struct problem *why)
{
    (void)where;
    (void)why;
    struct seen *seen = arg;
    struct service *service = object;
    assert_null(name);
    text_addf(&seen->text, "service %s %d %zu:%s; ", service->state, (int)service->cpus,
              service->listen.n, service->listen.at[0]);
    fields_done(service_fields, service);
    return 0;
}

static int accept_place(void *arg, const char *name, void *object, const char *where,
                        struct problem *why)
{
    struct seen *seen = arg;
    struct place *place = object;
    if (seen->refuse_all)
        return problem_field(why, where, "%s: not here", where);
    text_addf(&seen->text, "place %s %s %d; ", name, place->path, (int)place->size);
    fields_done(place_fields, place);
    return 0;
}

static const struct ini_kind kinds[] = {
    { "service", service_fields, sizeof(struct service), false, accept_service },
    { "place", place_fields, sizeof(struct place), true, accept_place },
    { .name = "elsewhere" },
    { 0 },
};

static void put(const char *name, const char *content)
{
    write_file(name, content, strlen(content));
}

static void expect(const char *wanted)
{
    scoped_free char *path = in_folder("x.conf");
    struct seen seen = { 0 };
    struct problem why = { 0 };
    if (ini_read(path, kinds, &seen, &why) < 0)
        fail_msg("%s", why.message);
    scoped_free char *text = text_take(&seen.text);
    assert_string_equal(text, wanted);
}

static void reads_sections_keys_and_comments(void **state)
{
    (void)state;
    put("x.conf", "\xef\xbb\xbf; a comment\n"
                  "# another\n"
                  "[service]\r\n"
                  "  state = /srv ; where it is\n"
                  "\n"
                  "listen = unix:/run/x, 127.0.0.1:0\n"
                  "[ place scratch-1.a_b ] ; named\n"
                  "path=/tmp\n"
                  "    size = 8KiB\n"
                  "[elsewhere whatever !]\n"
                  "anything = goes\n"
                  "[place two]\n"
                  "path = /a = b");
    expect("service /srv 0 2:unix:/run/x; place scratch-1.a_b /tmp 8192; place two /a = b 1; ");
}

static void gives_presets_where_a_section_is_missing(void **state)
{
    (void)state;
    put("x.conf", "");
    expect("service /var/lib/x 0 1:127.0.0.1:7117; ");
}

static void lets_later_files_add_and_replace(void **state)
{
    (void)state;
    scoped_free char *conf = in_folder("conf.d");
    put("x.conf", "[place a]\nsize = 3\n[service]\ncpus = 1\nstate = /one\n");
    assert_int_equal(mkdir(conf, 0700), 0);
    put("conf.d/20-b.conf", "[service]\ncpus = 3\n[place b]\npath = /b\n");
    put("conf.d/10-a.conf", "[place a]\npath = /a\n[service]\ncpus = 2\n");
    put("conf.d/30-not.txt", "[nonsense]\n");
    put("conf.d/.hidden.conf", "[nonsense]\n");
    expect("place a /a 3; service /one 3 1:127.0.0.1:7117; place b /b 1; ");
}

static void prefers_the_folder_of_its_own_name(void **state)
{
    (void)state;
    scoped_free char *own = in_folder("x.conf.d"), *sibling = in_folder("conf.d");
    put("x.conf", "");
    assert_int_equal(mkdir(own, 0700), 0);
    assert_int_equal(mkdir(sibling, 0700), 0);
    put("x.conf.d/a.conf", "[service]\ncpus = 1\n");
    put("conf.d/a.conf", "[service]\ncpus = 2\n");
    expect("service /var/lib/x 1 1:127.0.0.1:7117; ");
}

/* `where` and `message` are for a file x.conf; the message stands behind "FILE:LINE: ". */
static const struct {
    const char *input;
    unsigned line;
    const char *message;
} refused[] = {
    { "[service]\nstate = /a\nstat = /b\n", 3, "there is no field stat; did you mean state?" },
    { "[service]\ncolour = red\n", 2, "there is no field colour" },
    { "[service]\ncpus = 1\n\ncpus = 2\n", 4, "cpus is given twice, first on line 2" },
    { "[service]\ncpus = 65\n", 2, "cpus must be a whole number from 0 to 64, not 65" },
    { "[service]\ncpus =\n", 2, "cpus must be a whole number from 0 to 64, not empty" },
    { "[servce]\n", 1, "there is no section [servce]; did you mean [service]?" },
    { "\n[colour]\n", 2, "there is no section [colour]" },
    { "[place]\npath = /a\n", 1, "[place] needs a name, as in [place NAME]" },
    { "[service x]\n", 1, "[service] takes no name" },
    { "[place A]\n", 1,
      "the name A may only have 1 to 64 of the characters a-z, 0-9, '-', '_' and '.'" },
    { "[place a/../b]\n", 1,
      "the name a/../b may only have 1 to 64 of the characters a-z, 0-9, '-', '_' and '.'" },
    { "[place a\xff]\n", 1,
      "the name a? may only have 1 to 64 of the characters a-z, 0-9, '-', '_' and '.'" },
    { "[place aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n", 1,
      "the name aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa may only have "
      "1 to 64 of the characters a-z, 0-9, '-', '_' and '.'" },
    { "[place a]\nsize = 1\n\n", 1,
      "path must be given: text of 0 to 1000 characters without control characters" },
    { "[place a]\npath = /a\n[place a]\nsize = 2\n", 3,
      "this section stands twice in this file, first on line 1" },
    { "cpus = 1\n", 1, "a [section] must come before the first key" },
    { "[service]\nnonsense\n", 2, "this is neither a [section], nor key = value, nor a comment" },
    { "[service\n", 1, "a ']' is missing" },
    { "[service] cpus = 1\n", 1, "there is more after the section's ']'" },
    { "[]\n", 1, "there is no section []" },
    { "[service]\nstate = a\tb\n", 2,
      "state must be text of 0 to 1000 characters without control characters, not a?b" },
    { "[service]\nstate = \xc3\n", 2,
      "state must be text of 0 to 1000 characters without control characters, not ?" },
};

static void names_file_and_line_of_what_it_refuses(void **state)
{
    (void)state;
    scoped_free char *path = in_folder("x.conf");
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct seen seen = { 0 };
        struct problem why = { 0 };
        put("x.conf", refused[i].input);
        scoped_free char *where = text_new("%s:%u", path, refused[i].line);
        scoped_free char *message = text_new("%s: %s", where, refused[i].message);
        if (ini_read(path, kinds, &seen, &why) == 0)
            fail_msg("%s was taken", refused[i].input);
        text_done(&seen.text);
        assert_string_equal(why.message, message);
        assert_string_equal(why.field, where);
        assert_int_equal(why.code, PROBLEM_BAD_FIELD);
    }
}

static void names_the_added_file_too(void **state)
{
    (void)state;
    scoped_free char *path = in_folder("x.conf"), *conf = in_folder("conf.d");
    scoped_free char *where = in_folder("conf.d/a.conf:2");
    struct seen seen = { 0 };
    struct problem why = { 0 };
    put("x.conf", "[service]\ncpus = 1\n");
    assert_int_equal(mkdir(conf, 0700), 0);
    put("conf.d/a.conf", "[service]\ncpus = x\n");
    assert_int_equal(ini_read(path, kinds, &seen, &why), -1);
    assert_string_equal(why.field, where);
}

static void keeps_what_the_caller_refuses(void **state)
{
    (void)state;
    scoped_free char *path = in_folder("x.conf"), *where = in_folder("x.conf:2");
    scoped_free char *message = text_new("%s: not here", where);
    struct seen seen = { .refuse_all = true };
    struct problem why = { 0 };
    put("x.conf", "\n[place a]\npath = /a\n");
    assert_int_equal(ini_read(path, kinds, &seen, &why), -1); /* and frees what it holds */
    text_done(&seen.text);
    assert_string_equal(why.message, message);
    assert_string_equal(why.field, where);
}

static void reads_long_lines_up_to_a_limit(void **state)
{
    (void)state;
    char line[5000];
    scoped_free char *path = in_folder("x.conf");
    struct seen seen = { 0 };
    struct problem why = { 0 };
    int n = snprintf(line, sizeof line, "[service]\nstate = %0900d\n", 0);
    write_file("x.conf", line, (size_t)n);
    assert_int_equal(ini_read(path, kinds, &seen, &why), 0);
    n = snprintf(line, sizeof line, "[service]\nstate = %04200d\n", 0);
    write_file("x.conf", line, (size_t)n);
    assert_int_equal(ini_read(path, kinds, &seen, &why), -1);
    assert_non_null(strstr(why.message, "the line is longer than 4093 bytes"));
    text_done(&seen.text);
}

static void refuses_a_zero_byte(void **state)
{
    (void)state;
    static const char content[] = "[service]\nstate = a\0b\n";
    scoped_free char *path = in_folder("x.conf");
    struct seen seen = { 0 };
    struct problem why = { 0 };
    write_file("x.conf", content, sizeof content - 1);
    assert_int_equal(ini_read(path, kinds, &seen, &why), -1);
    assert_non_null(strstr(why.message, "x.conf:2: the line holds a zero byte"));
}

static void says_which_file_cannot_be_read(void **state)
{
    (void)state;
    scoped_free char *path = in_folder("nothing.conf");
    struct seen seen = { 0 };
    struct problem why = { 0 };
    assert_int_equal(ini_read(path, kinds, &seen, &why), -1);
    assert_non_null(strstr(why.message, "nothing.conf: No such file or directory"));
    why = (struct problem){ 0 };
    assert_int_equal(ini_read(folder, kinds, &seen, &why), -1);
    assert_non_null(strstr(why.message, "Is a directory"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(reads_sections_keys_and_comments),
        IN_FOLDER(gives_presets_where_a_section_is_missing),
        IN_FOLDER(lets_later_files_add_and_replace),
        IN_FOLDER(prefers_the_folder_of_its_own_name),
        IN_FOLDER(names_file_and_line_of_what_it_refuses),
        IN_FOLDER(names_the_added_file_too),
        IN_FOLDER(keeps_what_the_caller_refuses),
        IN_FOLDER(reads_long_lines_up_to_a_limit),
        IN_FOLDER(refuses_a_zero_byte),
        IN_FOLDER(says_which_file_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
