#include "engine/base/field_json.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/field_sample.h"

#include <math.h>

/* Two tables that a sibling chooses between. */
struct request {
    char *workload;
    struct bound params;
};

static const struct field *table_of(const char *selected, size_t *ret_size)
{
    bool all = strcmp(selected, "everything") == 0;
    if (!all && strcmp(selected, "part") != 0)
        return NULL;
    *ret_size = all ? sizeof(struct everything) : sizeof(struct part);
    return all ? everything_fields : part_fields;
}

static const char *name_of(size_t i)
{
    static const char *const names[] = { "everything", "part" };
    return i < COUNT_OF(names) ? names[i] : NULL;
}

static const struct variant by_workload = { "workload", table_of, name_of };

static const struct field request_fields[] = {
    FIELD_TEXT(struct request, workload, "The kind.", .required = true, .max = 64),
    FIELD_VARIANT(struct request, params, "Its parameters.", .variant = &by_workload),
    FIELD_END,
};

static json_t *load(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, JSON_DECODE_ANY, &error);
    if (!json)
        fail_msg("%s: %s", text, error.text);
    return json;
}

/* Binds, renders and compares. */
static void expect(const struct field *table, void *object, const char *input, const char *output)
{
    struct problem why = { 0 };
    scoped_json json_t *json = load(input), *wanted = load(output), *given = NULL;
    if (fields_bind(table, json, "", object, &why) < 0)
        fail_msg("%s: %s: %s", input, why.field, why.message);
    given = fields_render(table, object);
    scoped_free char *a = json_dumps(given, JSON_COMPACT), *b = json_dumps(wanted, JSON_COMPACT);
    assert_string_equal(a, b);
    fields_done(table, object);
}

#define PRESETS                                                                                  \
    "{\"keep\":true,\"files\":1000,\"offset\":0,\"file_bytes\":8192,\"max_seconds\":5400,"       \
    "\"reserve\":0.05,\"effect\":1.5,\"since\":null,\"note\":\"none\",\"tags\":[\"a\",\"b\"],"   \
    "\"labels\":{},\"layout\":\"private\",\"operations\":[\"create\",\"stat\"],\"threads\":[2]," \
    "\"part\":null,\"parts\":[],\"extra\":null}"

static void fills_presets_where_nothing_is_given(void **state)
{
    (void)state;
    struct everything e = { 0 };
    expect(everything_fields, &e, "{}", PRESETS);
    expect(everything_fields, &e,
           "{\"files\":null,\"note\":null,\"threads\":null,\"operations\":null,\"effect\":null,"
           "\"tags\":null,\"part\":null,\"layout\":null}",
           PRESETS);
}

static void binds_every_type_and_renders_it_again(void **state)
{
    (void)state;
    struct everything e = { 0 };
    const char *given =
        "{\"keep\":false,\"files\":7,\"offset\":-3,\"file_bytes\":200,\"max_seconds\":1.5,"
        "\"reserve\":0.25,\"effect\":-2.5,\"since\":\"2026-01-31T23:59:59.123456Z\","
        "\"note\":\"Größe\",\"tags\":[\"x\"],\"labels\":{\"kernel\":\"6.1\"},"
        "\"layout\":\"shared\",\"operations\":[\"list\"],\"threads\":[1,2,4],"
        "\"part\":{\"label\":\"p\",\"weight\":3},\"parts\":[{\"label\":\"a\",\"weight\":1},"
        "{\"label\":\"b\",\"weight\":2}],\"extra\":null}";
    expect(everything_fields, &e, given, given);
}

static void takes_numbers_and_texts_with_units(void **state)
{
    (void)state;
    static const struct {
        const char *input;
        uint64_t bytes;
        nsec duration;
        double share;
    } rows[] = {
        { "{\"file_bytes\":\"8KiB\",\"max_seconds\":\"1h30m\",\"reserve\":\"7%\"}", 8192,
          5400 * NSEC_PER_SEC, 0.07 },
        { "{\"file_bytes\":200,\"max_seconds\":0.25,\"reserve\":0.5}", 200, 250 * NSEC_PER_MSEC,
          0.5 },
        { "{\"file_bytes\":\"200MB\",\"max_seconds\":\"250ms\",\"reserve\":0}", 200000000,
          250 * NSEC_PER_MSEC, 0 },
        { "{\"file_bytes\":4.0,\"max_seconds\":90,\"reserve\":\"0.1\"}", 4, 90 * NSEC_PER_SEC,
          0.1 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct everything e = { 0 };
        struct problem why = { 0 };
        scoped_json json_t *json = load(rows[i].input);
        if (fields_bind(everything_fields, json, "", &e, &why) < 0)
            fail_msg("%s: %s", rows[i].input, why.message);
        assert_int_equal(e.file_bytes, rows[i].bytes);
        assert_int_equal(e.max_seconds, rows[i].duration);
        assert_float_equal(e.reserve, rows[i].share, 1e-12);
        fields_done(everything_fields, &e);
    }
}

#define FILES_ARE "files must be a whole number from 1 to 1000000000, not "

static const struct {
    const char *input, *field, *message;
} refused[] = {
    { "[]", "", "this must be an object" },
    { "null", "", "this must be an object" },
    { "{\"colour\":1}", "/colour", "there is no field colour" },
    { "{\"fils\":1}", "/fils", "there is no field fils; did you mean files?" },
    { "{\"a/b~c\":1}", "/a~1b~0c", "there is no field a/b~c" },
    { "{\"a\\u0001\":1}", "/a?", "there is no field a?" },
    { "{\"keep\":1}", "/keep", "keep must be true or false, not 1" },
    { "{\"keep\":\"yes\"}", "/keep", "keep must be true or false, not \"yes\"" },
    { "{\"files\":0}", "/files", FILES_ARE "0" },
    { "{\"files\":-5}", "/files", FILES_ARE "-5" },
    { "{\"files\":1.5}", "/files", FILES_ARE "1.5" },
    { "{\"files\":\"5\"}", "/files", FILES_ARE "\"5\"" },
    { "{\"files\":true}", "/files", FILES_ARE "true" },
    { "{\"files\":9007199254740993}", "/files", FILES_ARE "9007199254740993" },
    { "{\"files\":1e30}", "/files", FILES_ARE "1e30" },
    { "{\"file_bytes\":1.5}", "/file_bytes",
      "file_bytes must be a size from 0 B to 1 GiB, such as 8192 or 8KiB, not 1.5" },
    { "{\"file_bytes\":\"2GiB\"}", "/file_bytes",
      "file_bytes must be a size from 0 B to 1 GiB, such as 8192 or 8KiB, not 2GiB" },
    { "{\"max_seconds\":1e-10}", "/max_seconds",
      "max_seconds must be a duration from 0 s to 2 d, such as 90 or 1h30m, not 1e-10" },
    { "{\"max_seconds\":-1}", "/max_seconds",
      "max_seconds must be a duration from 0 s to 2 d, such as 90 or 1h30m, not -1" },
    { "{\"reserve\":1}", "/reserve",
      "reserve must be a share from 0 % to 50 %, such as 0.05 or 5%, not 1" },
    { "{\"since\":5}", "/since", "since must be a time such as 2026-01-31T23:59:59Z, not 5" },
    { "{\"note\":5}", "/note",
      "note must be text of 0 to 20 characters without control characters, not 5" },
    { "{\"note\":\"a\\u0007\"}", "/note",
      "note must be text of 0 to 20 characters without control characters, not a?" },
    { "{\"note\":\"../\\n\"}", "/note",
      "note must be text of 0 to 20 characters without control characters, not ../?" },
    { "{\"tags\":\"a,b\"}", "/tags", "tags must be a list of at most 64 texts, not \"a,b\"" },
    { "{\"tags\":[\"\"]}", "/tags", "tags must be a list of at most 64 texts, not [\"\"]" },
    { "{\"labels\":{\"a/b\":1}}", "/labels/a~1b",
      "labels must be text of 0 to 10 characters without control characters, not 1" },
    { "{\"labels\":{\"a\":\"12345678901\"}}", "/labels/a",
      "labels must be text of 0 to 10 characters without control characters, not "
      "\"12345678901\"" },
    { "{\"labels\":{\"\":\"x\"}}", "/labels/",
      "each name in labels must be 1 to 64 characters without control characters" },
    { "{\"layout\":\"flat\"}", "/layout", "layout must be one of shared, private, not flat" },
    { "{\"layout\":0}", "/layout", "layout must be one of shared, private, not 0" },
    { "{\"operations\":[]}", "/operations",
      "operations must be a list, each at most once, of create, list, stat, remove, not []" },
    { "{\"operations\":[\"list\",\"list\"]}", "/operations",
      "operations must be a list, each at most once, of create, list, stat, remove, not "
      "[\"list\",\"list\"]" },
    { "{\"threads\":[]}", "/threads",
      "threads must be a list of 1 to 32 whole numbers, each from 1 to 64, not []" },
    { "{\"threads\":[1,1.5]}", "/threads",
      "threads must be a list of 1 to 32 whole numbers, each from 1 to 64, not [1,1.5]" },
    { "{\"threads\":4}", "/threads",
      "threads must be a list of 1 to 32 whole numbers, each from 1 to 64, not 4" },
    { "{\"part\":{}}", "/part/label",
      "label must be given: text of 1 to 8 characters without control characters" },
    { "{\"part\":{\"label\":\"x\",\"wait\":1}}", "/part/wait", "there is no field wait" },
    { "{\"parts\":[{\"label\":\"a\"},{\"label\":\"b\",\"weight\":-1}]}", "/parts/1/weight",
      "weight must be a whole number of at least 0, not -1" },
    { "{\"parts\":[{\"label\":\"a\"},{\"label\":\"a\"},{\"label\":\"a\"},{\"label\":\"a\"}]}",
      "/parts",
      "parts must be a list of at most 3 objects, not "
      "[{\"label\":\"a\"},{\"label\":\"a\"},{\"label\":\"a\"},{\"label\":\"a\"}]" },
    { "{\"parts\":[null]}", "/parts/0", "this must be an object" },
    { "{\"extra\":1}", "/extra", "extra must be left out, not 1" },
};

static void refuses_bad_json_and_owns_nothing(void **state)
{
    (void)state;
    static const struct everything nothing;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct everything e = { 0 };
        struct problem why = { 0 };
        scoped_json json_t *json = load(refused[i].input);
        if (fields_bind(everything_fields, json, "", &e, &why) == 0)
            fail_msg("%s was taken", refused[i].input);
        assert_string_equal(why.message, refused[i].message);
        assert_string_equal(why.field, refused[i].field);
        assert_int_equal(why.code, PROBLEM_BAD_FIELD);
        assert_ptr_equal(e.note, nothing.note);
        assert_ptr_equal(e.tags.at, nothing.tags.at);
        assert_ptr_equal(e.labels.at, nothing.labels.at);
        assert_ptr_equal(e.part, nothing.part);
        assert_ptr_equal(e.parts.at, nothing.parts.at);
    }
}

static void keeps_the_first_problem(void **state)
{
    (void)state;
    struct everything e = { 0 };
    struct problem why = { 0 };
    scoped_json json_t *json = load("{\"files\":0,\"note\":5}");
    assert_int_equal(fields_bind(everything_fields, json, "/job", &e, &why), -1);
    assert_string_equal(why.field, "/job/files");
}

static void refuses_a_text_with_a_zero_byte(void **state)
{
    (void)state;
    struct everything e = { 0 };
    struct problem why = { 0 };
    scoped_json json_t *json = json_pack("{s:s%}", "note", "a\0b", (size_t)3);
    assert_int_equal(fields_bind(everything_fields, json, "", &e, &why), -1);
    assert_string_equal(why.field, "/note");
}

static void limits_the_number_of_entries(void **state)
{
    (void)state;
    scoped_json json_t *threads = json_array(), *tags = json_array(), *labels = json_object();
    for (int i = 0; i < 65; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        json_array_append_new(threads, json_integer(1));
        json_array_append_new(tags, json_string(name));
        json_object_set_new(labels, name, json_string("x"));
    }
    json_t *bodies[] = { json_pack("{s:O}", "threads", threads), json_pack("{s:O}", "tags", tags),
                         json_pack("{s:O}", "labels", labels) };
    static const char *const fields[] = { "/threads", "/tags", "/labels" };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        struct everything e = { 0 };
        struct problem why = { 0 };
        assert_int_equal(fields_bind(everything_fields, bodies[i], "", &e, &why), -1);
        assert_string_equal(why.field, fields[i]);
        json_decref(bodies[i]);
    }
}

static void binds_a_variant_by_its_sibling(void **state)
{
    (void)state;
    struct request r = { 0 };
    expect(request_fields, &r, "{\"workload\":\"part\",\"params\":{\"label\":\"x\"}}",
           "{\"workload\":\"part\",\"params\":{\"label\":\"x\",\"weight\":3}}");
    expect(request_fields, &r, "{\"params\":{\"weight\":1,\"label\":\"x\"},\"workload\":\"part\"}",
           "{\"workload\":\"part\",\"params\":{\"label\":\"x\",\"weight\":1}}");
    expect(request_fields, &r, "{\"workload\":\"everything\"}",
           "{\"workload\":\"everything\",\"params\":" PRESETS "}");
}

static void refuses_a_variant_with_the_right_pointer(void **state)
{
    (void)state;
    static const struct {
        const char *input, *field, *message;
    } rows[] = {
        { "{\"workload\":\"parts\",\"params\":{}}", "/workload",
          "workload must be one of everything, part, not parts" },
        { "{\"params\":{}}", "/workload",
          "workload must be given: text of 0 to 64 characters without control characters" },
        { "{\"workload\":null}", "/workload",
          "workload must be given: text of 0 to 64 characters without control characters" },
        { "{\"workload\":\"part\"}", "/params/label",
          "label must be given: text of 1 to 8 characters without control characters" },
        { "{\"workload\":\"part\",\"params\":[]}", "/params", "this must be an object" },
        { "{\"workload\":\"part\",\"params\":{\"label\":\"x\",\"files\":1}}", "/params/files",
          "there is no field files" },
        { "{\"workload\":\"everything\",\"params\":{\"files\":0}}", "/params/files",
          FILES_ARE "0" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct request r = { 0 };
        struct problem why = { 0 };
        scoped_json json_t *json = load(rows[i].input);
        assert_int_equal(fields_bind(request_fields, json, "", &r, &why), -1);
        assert_string_equal(why.message, rows[i].message);
        assert_string_equal(why.field, rows[i].field);
        assert_null(r.workload);
        assert_null(r.params.object);
    }
}

static void renders_what_has_no_number_as_null(void **state)
{
    (void)state;
    struct everything e = { .effect = NAN, .reserve = INFINITY, .layout = -1 };
    scoped_json json_t *json = fields_render(everything_fields, &e);
    assert_true(json_is_null(json_object_get(json, "effect")));
    assert_true(json_is_null(json_object_get(json, "reserve")));
    assert_true(json_is_null(json_object_get(json, "layout")));
    assert_true(json_is_null(json_object_get(json, "note")));
}

static void renders_json_as_it_is(void **state)
{
    (void)state;
    char extra[] = "{\"kernel\":[1,2]}";
    struct everything e = { .extra = extra };
    scoped_json json_t *json = fields_render(everything_fields, &e);
    scoped_free char *text = json_dumps(json_object_get(json, "extra"), JSON_COMPACT);
    assert_string_equal(text, extra);
}

/* The schema of one field, as compact text. */
static void expect_schema(const json_t *schema, const char *name, const char *wanted)
{
    const json_t *field = json_object_get(json_object_get(schema, "properties"), name);
    scoped_free char *text = json_dumps(field, JSON_COMPACT);
    scoped_json json_t *json = load(wanted);
    scoped_free char *compact = json_dumps(json, JSON_COMPACT);
    assert_non_null(text);
    assert_string_equal(text, compact);
}

static void describes_a_request(void **state)
{
    (void)state;
    static const struct {
        const char *name, *schema;
    } rows[] = {
        { "keep", "{\"description\":\"Whether.\",\"type\":\"boolean\",\"default\":true}" },
        { "files", "{\"description\":\"How many.\",\"type\":\"integer\",\"x-unit\":\"files\","
                   "\"minimum\":1,\"maximum\":1000000000,\"default\":1000}" },
        { "reserve",
          "{\"description\":\"How much is left.\",\"type\":[\"number\",\"string\"],"
          "\"pattern\":\"^[0-9]+([.][0-9]+)?( *%)?$\",\"x-unit\":\"share\",\"minimum\":0,"
          "\"maximum\":0.5,\"default\":0.05}" },
        { "since", "{\"description\":\"Since when.\",\"type\":\"string\","
                   "\"format\":\"date-time\"}" },
        { "note", "{\"description\":\"What for.\",\"type\":\"string\",\"maxLength\":20,"
                  "\"default\":\"none\"}" },
        { "labels", "{\"description\":\"Names with texts.\",\"type\":\"object\","
                    "\"additionalProperties\":{\"type\":\"string\",\"maxLength\":10},"
                    "\"maxProperties\":32}" },
        { "layout", "{\"description\":\"Where.\",\"type\":\"string\","
                    "\"enum\":[\"shared\",\"private\"],\"default\":\"private\"}" },
        { "operations",
          "{\"description\":\"What.\",\"type\":\"array\",\"items\":{\"type\":\"string\","
          "\"enum\":[\"create\",\"list\",\"stat\",\"remove\"]},\"minItems\":1,\"maxItems\":4,"
          "\"uniqueItems\":true,\"default\":[\"create\",\"stat\"]}" },
        { "threads", "{\"description\":\"With how many.\",\"type\":\"array\",\"items\":{"
                     "\"type\":\"integer\",\"minimum\":1,\"maximum\":64},\"minItems\":1,"
                     "\"maxItems\":32,\"default\":[2]}" },
        { "part",
          "{\"description\":\"A part.\",\"type\":\"object\",\"properties\":{\"label\":{"
          "\"description\":\"Its name.\",\"type\":\"string\",\"minLength\":1,\"maxLength\":8},"
          "\"weight\":{\"description\":\"Its weight.\",\"type\":\"integer\",\"minimum\":0,"
          "\"default\":3}},\"required\":[\"label\"],\"additionalProperties\":false}" },
    };
    scoped_json json_t *schema = fields_schema(everything_fields);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_schema(schema, rows[i].name, rows[i].schema);
    assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
    assert_null(json_object_get(json_object_get(schema, "properties"), "extra"));
}

static void describes_an_answer(void **state)
{
    (void)state;
    scoped_json json_t *schema = fields_schema_answer(everything_fields);
    expect_schema(schema, "files",
                  "{\"description\":\"How many.\",\"type\":\"integer\",\"x-unit\":\"files\"}");
    expect_schema(schema, "since",
                  "{\"description\":\"Since when.\",\"type\":[\"string\","
                  "\"null\"],\"format\":\"date-time\"}");
    expect_schema(schema, "extra", "{\"description\":\"More.\"}");
    assert_null(json_object_get(schema, "required"));
    assert_null(json_object_get(schema, "additionalProperties"));
}

static void describes_a_variant_as_one_of(void **state)
{
    (void)state;
    scoped_json json_t *schema = fields_schema(request_fields);
    const json_t *all = json_object_get(schema, "oneOf");
    assert_int_equal(json_array_size(all), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *properties = json_object_get(json_array_get(all, i), "properties");
        const json_t *selector = json_object_get(properties, "workload");
        assert_string_equal(json_string_value(json_object_get(selector, "const")), name_of(i));
        assert_non_null(json_object_get(json_object_get(properties, "params"), "properties"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_presets_where_nothing_is_given),
        cmocka_unit_test(binds_every_type_and_renders_it_again),
        cmocka_unit_test(takes_numbers_and_texts_with_units),
        cmocka_unit_test(refuses_bad_json_and_owns_nothing),
        cmocka_unit_test(keeps_the_first_problem),
        cmocka_unit_test(refuses_a_text_with_a_zero_byte),
        cmocka_unit_test(limits_the_number_of_entries),
        cmocka_unit_test(binds_a_variant_by_its_sibling),
        cmocka_unit_test(refuses_a_variant_with_the_right_pointer),
        cmocka_unit_test(renders_what_has_no_number_as_null),
        cmocka_unit_test(renders_json_as_it_is),
        cmocka_unit_test(describes_a_request),
        cmocka_unit_test(describes_an_answer),
        cmocka_unit_test(describes_a_variant_as_one_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
