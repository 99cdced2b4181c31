#include "engine/base/field.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/field_sample.h"

#include <math.h>

static const struct field *field(const char *name)
{
    const struct field *f = field_named(everything_fields, name);
    if (!f)
        fail_msg("there is no field %s", name);
    return f;
}

static void fills_presets(void **state)
{
    (void)state;
    struct everything e = { 0 };
    struct problem why = { 0 };
    assert_int_equal(fields_preset(everything_fields, &e, &why), 0);
    assert_true(e.keep);
    assert_int_equal(e.files, 1000);
    assert_int_equal(e.offset, 0);
    assert_int_equal(e.file_bytes, 8192);
    assert_int_equal(e.max_seconds, 5400 * NSEC_PER_SEC);
    assert_float_equal(e.reserve, 0.05, 1e-12);
    assert_float_equal(e.effect, 1.5, 1e-12);
    assert_string_equal(e.note, "none");
    assert_int_equal(e.tags.n, 2);
    assert_string_equal(e.tags.at[1], "b");
    assert_int_equal(e.layout, 1);
    assert_int_equal(e.operations, 1 | 4);
    assert_int_equal(e.threads.n, 1);
    assert_int_equal(e.threads.at[0], 2);
    assert_null(e.part);
    fields_done(everything_fields, &e);
    assert_null(e.note);
    assert_null(e.tags.at);
}

/* What is read, and how it is written again. */
static const struct {
    const char *name, *input, *written;
} accepted[] = {
    { "keep", "no", "no" },
    { "keep", "true", "yes" },
    { "keep", "0", "no" },
    { "keep", "on", "yes" },
    { "files", "1", "1" },
    { "files", "1750000", "1750000" },
    { "files", "1000000000", "1000000000" },
    { "offset", "-10", "-10" },
    { "offset", "7", "7" },
    { "file_bytes", "0", "0 B" },
    { "file_bytes", "8192", "8 KiB" },
    { "file_bytes", "8KiB", "8 KiB" },
    { "file_bytes", "8 KiB", "8 KiB" },
    { "file_bytes", "200MiB", "200 MiB" },
    { "file_bytes", "200MB", "200 MB" },
    { "file_bytes", "1.5KiB", "1536 B" },
    { "file_bytes", "0.5GiB", "512 MiB" },
    { "file_bytes", "12B", "12 B" },
    { "file_bytes", "1GiB", "1 GiB" },
    { "max_seconds", "90", "1 min 30 s" },
    { "max_seconds", "1h30m", "1 h 30 min" },
    { "max_seconds", "1 h 30 min", "1 h 30 min" },
    { "max_seconds", "250ms", "250 ms" },
    { "max_seconds", "1.5", "1 s 500 ms" },
    { "max_seconds", "2d", "2 d" },
    { "max_seconds", "1us", "1 us" },
    { "max_seconds", "0.000000001", "1 ns" },
    { "max_seconds", "0", "0 s" },
    { "reserve", "5%", "5 %" },
    { "reserve", "0.05", "5 %" },
    { "reserve", "12.5 %", "12.5 %" },
    { "reserve", "0", "0 %" },
    { "effect", "-2.5e3", "-2500" },
    { "since", "2026-01-31T23:59:59Z", "2026-01-31T23:59:59.000000Z" },
    { "since", "2026-01-31T23:59:59+01:00", "2026-01-31T22:59:59.000000Z" },
    { "note", "Größe ≤ 5", "Größe ≤ 5" },
    { "note", "", "" },
    { "note", "ääääääääääääääääääää", "ääääääääääääääääääää" }, /* 20 characters, 40 bytes */
    { "tags", "x,y , z", "x, y, z" },
    { "tags", "", "" },
    { "labels", "kernel=6.1, fs = ext4", "kernel=6.1, fs=ext4" },
    { "layout", "shared", "shared" },
    { "operations", "remove,create", "create, remove" },
    { "threads", "1,2,4,8", "1, 2, 4, 8" },
    { "threads", "64", "64" },
};

static void reads_what_it_writes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(accepted); i++) {
        struct everything e = { 0 };
        struct problem why = { 0 };
        const struct field *f = field(accepted[i].name);
        char text[200];
        if (fields_preset(everything_fields, &e, &why) < 0 ||
            field_parse(f, accepted[i].input, "here", &e, &why) < 0)
            fail_msg("%s = %s: %s", f->name, accepted[i].input, why.message);
        assert_int_equal(field_format(f, &e, text, sizeof text), 0);
        assert_string_equal(text, accepted[i].written);
        if (field_parse(f, text, "here", &e, &why) < 0)
            fail_msg("%s = %s, as it was written: %s", f->name, text, why.message);
        assert_int_equal(field_format(f, &e, text, sizeof text), 0);
        assert_string_equal(text, accepted[i].written);
        fields_done(everything_fields, &e);
    }
}

#define FILES_ARE   "files must be a whole number from 1 to 1000000000, not "
#define BYTES_ARE   "file_bytes must be a size from 0 B to 1 GiB, such as 8192 or 8KiB, not "
#define SECONDS_ARE "max_seconds must be a duration from 0 s to 2 d, such as 90 or 1h30m, not "
#define SHARE_IS    "reserve must be a share from 0 % to 50 %, such as 0.05 or 5%, not "
#define THREADS_ARE "threads must be a list of 1 to 32 whole numbers, each from 1 to 64, not "
#define OPERATIONS_ARE \
    "operations must be a list, each at most once, of create, list, stat, remove, not "
#define NOTE_IS "note must be text of 0 to 20 characters without control characters, not "

static const struct {
    const char *name, *input, *message;
} refused[] = {
    { "keep", "maybe", "keep must be true or false, not maybe" },
    { "files", "0", FILES_ARE "0" },
    { "files", "-1", FILES_ARE "-1" },
    { "files", "1000000001", FILES_ARE "1000000001" },
    { "files", "1_750_000", FILES_ARE "1_750_000" },
    { "files", "2k", FILES_ARE "2k" },
    { "files", "1.5", FILES_ARE "1.5" },
    { "files", "0x10", FILES_ARE "0x10" },
    { "files", " 1", FILES_ARE " 1" },
    { "files", "1 ", FILES_ARE "1 " },
    { "files", "", FILES_ARE "empty" },
    { "files", "99999999999999999999999999", FILES_ARE "99999999999999999999999999" },
    { "offset", "11", "offset must be a whole number from -10 to 10, not 11" },
    { "file_bytes", "-1", BYTES_ARE "-1" },
    { "file_bytes", "8kib", BYTES_ARE "8kib" },
    { "file_bytes", "8K", BYTES_ARE "8K" },
    { "file_bytes", "8KiBx", BYTES_ARE "8KiBx" },
    { "file_bytes", "0.3KiB", BYTES_ARE "0.3KiB" }, /* a fraction of a byte */
    { "file_bytes", "0.5", BYTES_ARE "0.5" },
    { "file_bytes", "1.", BYTES_ARE "1." },
    { "file_bytes", ".5KiB", BYTES_ARE ".5KiB" },
    { "file_bytes", "16384PiB", BYTES_ARE "16384PiB" }, /* 2^64 */
    { "file_bytes", "16385PiB", BYTES_ARE "16385PiB" }, /* 2^64 + 2^50, which would wrap */
    { "file_bytes", "1.000000001GiB", BYTES_ARE "1.000000001GiB" },
    { "file_bytes", "KiB", BYTES_ARE "KiB" },
    { "max_seconds", "3d", SECONDS_ARE "3d" },
    { "max_seconds", "-1", SECONDS_ARE "-1" },
    { "max_seconds", "30m1h", SECONDS_ARE "30m1h" },
    { "max_seconds", "1h1h", SECONDS_ARE "1h1h" },
    { "max_seconds", "1h30", SECONDS_ARE "1h30" },
    { "max_seconds", "1 fortnight", SECONDS_ARE "1 fortnight" },
    { "max_seconds", "0.5ns", SECONDS_ARE "0.5ns" },
    { "max_seconds", "999999999999d", SECONDS_ARE "999999999999d" },
    { "reserve", "51%", SHARE_IS "51%" },
    { "reserve", "-5%", SHARE_IS "-5%" },
    { "reserve", "5 per cent", SHARE_IS "5 per cent" },
    { "effect", "nan", "effect must be a number, not nan" },
    { "effect", "1e999", "effect must be a number, not 1e999" },
    { "effect", "1,5", "effect must be a number, not 1,5" },
    { "since", "yesterday", "since must be a time such as 2026-01-31T23:59:59Z, not yesterday" },
    { "note", "a\nb", NOTE_IS "a?b" },
    { "note", "\xff", NOTE_IS "?" },
    { "note", "123456789012345678901", NOTE_IS "123456789012345678901" },
    { "tags", "a,,b", "tags must be a list of at most 64 texts, not a,,b" },
    { "labels", "kernel", "labels must be at most 32 names with texts, not kernel" },
    { "labels", "a=1,a=2", "labels must be at most 32 names with texts, not a=1,a=2" },
    { "labels", "a=12345678901", "labels must be at most 32 names with texts, not a=12345678901" },
    { "layout", "Shared", "layout must be one of shared, private, not Shared" },
    { "layout", "", "layout must be one of shared, private, not empty" },
    { "operations", "", OPERATIONS_ARE "empty" },
    { "operations", "create,create", OPERATIONS_ARE "create,create" },
    { "operations", "create,", OPERATIONS_ARE "create," },
    { "operations", "read", OPERATIONS_ARE "read" },
    { "threads", "", THREADS_ARE "empty" },
    { "threads", "0", THREADS_ARE "0" },
    { "threads", "1,65", THREADS_ARE "1,65" },
    { "threads", "1;2", THREADS_ARE "1;2" },
    { "part", "x", "part must be an object, not x" },
};

static void refuses_bad_text_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct everything e = { 0 };
        struct problem why = { 0 };
        const struct field *f = field(refused[i].name);
        char before[200] = "", after[200] = "";
        assert_int_equal(fields_preset(everything_fields, &e, &why), 0);
        field_format(f, &e, before, sizeof before);
        if (field_parse(f, refused[i].input, "here:7", &e, &why) == 0)
            fail_msg("%s = %s was taken", f->name, refused[i].input);
        assert_string_equal(why.message, refused[i].message);
        assert_string_equal(why.field, "here:7");
        assert_int_equal(why.code, PROBLEM_BAD_FIELD);
        field_format(f, &e, after, sizeof after);
        assert_string_equal(after, before);
        fields_done(everything_fields, &e);
    }
}

static void replaces_an_earlier_value(void **state)
{
    (void)state;
    struct everything e = { 0 };
    struct problem why = { 0 };
    assert_int_equal(field_parse(field("tags"), "a,b,c", "", &e, &why), 0);
    assert_int_equal(field_parse(field("tags"), "d", "", &e, &why), 0);
    assert_int_equal(e.tags.n, 1);
    assert_int_equal(field_parse(field("operations"), "create", "", &e, &why), 0);
    assert_int_equal(field_parse(field("operations"), "list", "", &e, &why), 0);
    assert_int_equal(e.operations, 2);
    fields_done(everything_fields, &e);
}

static void suggests_a_close_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
    } rows[] = {
        { "fils", "there is no field fils; did you mean files?" },
        { "Files", "there is no field Files; did you mean files?" },
        { "file_byte", "there is no field file_byte; did you mean file_bytes?" },
        { "nte", "there is no field nte; did you mean note?" },
        { "fiels", "there is no field fiels; did you mean files?" },
        { "pile", "there is no field pile" },
        { "colour", "there is no field colour" },
        { "x", "there is no field x" },
        { "", "there is no field " },
        { "a\x01\xff", "there is no field a??" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct problem why = { 0 };
        assert_int_equal(field_unknown(everything_fields, rows[i].name, "/x", &why), -1);
        assert_string_equal(why.message, rows[i].message);
        assert_string_equal(why.field, "/x");
    }
}

static void says_when_a_format_does_not_fit(void **state)
{
    (void)state;
    struct everything e = { .files = 1000 };
    char text[4];
    assert_int_equal(field_format(field("files"), &e, text, sizeof text), -1);
    assert_string_equal(text, "");
    assert_int_equal(field_format(field("part"), &e, text, sizeof text), -1);
}

static void formats_nothing_as_nothing(void **state)
{
    (void)state;
    struct everything e = { .effect = NAN };
    static const char *const names[] = { "effect", "since", "note", "tags", "labels", "threads" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char text[20] = "x";
        assert_int_equal(field_format(field(names[i]), &e, text, sizeof text), 0);
        assert_string_equal(text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_presets),
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(refuses_bad_text_and_changes_nothing),
        cmocka_unit_test(replaces_an_earlier_value),
        cmocka_unit_test(suggests_a_close_name),
        cmocka_unit_test(says_when_a_format_does_not_fit),
        cmocka_unit_test(formats_nothing_as_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
