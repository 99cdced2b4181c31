#include "engine/runs.h"
#include "tests/unit/cmocka_first.h"

#include "engine/base/field_json.h"
#include "engine/workload/create_scaling.h"

struct body {
    char *workload;
    struct bound params;
    struct matrix matrix;
};
static const struct field body_fields[] = {
    FIELD_TEXT(struct body, workload, "Which.", .required = true),
    FIELD_VARIANT(struct body, params, "Its parameters.", .variant = &workload_params),
    FIELD_MATRIX(struct body, matrix, "What is varied.", .variant = &workload_params),
    FIELD_END,
};

static void body_done(struct body *body)
{
    fields_done(body_fields, body);
}

/* The members beside the workload, in JSON. */
static int bind(const char *members, struct body *ret, struct problem *why)
{
    json_error_t error;
    char text[600];
    snprintf(text, sizeof text, "{\"workload\":\"create-scaling\"%s}", members);
    scoped_json json_t *json = json_loads(text, 0, &error);
    if (!json)
        fail_msg("%s: %s", text, error.text);
    return fields_bind(body_fields, json, "", ret, why);
}

static int init(const struct body *body, uint64_t repeat, uint64_t seed, struct runs *ret,
                struct problem *why)
{
    const struct sweep_asked asked = { .workload = workload_find(body->workload),
                                       .params = body->params.object,
                                       .matrix = &body->matrix,
                                       .repeat = repeat,
                                       .seed = seed };
    return runs_init(&asked, ret, why);
}

static void params_free(void *params)
{
    fields_done(workload_find("create-scaling")->params, params);
    free(params);
}

static void a_matrix_comes_back_as_it_was_given(void **state)
{
    (void)state;
    static const char given[] =
        "{\"threads\":[1,2,4],\"sync\":[\"none\",\"fsync\"],\"file_bytes\":[\"8KiB\",0],"
        "\"operations\":[[\"create\"],[\"create\",\"list\"]]}";
    static const char back[] =
        "{\"threads\":[1,2,4],\"sync\":[\"none\",\"fsync\"],\"file_bytes\":[8192,0],"
        "\"operations\":[[\"create\"],[\"create\",\"list\"]]}";
    scoped(body_done) struct body body = { 0 };
    struct problem why = { 0 };
    char members[500];
    snprintf(members, sizeof members, ",\"matrix\":%s", given);
    assert_int_equal(bind(members, &body, &why), 0);
    scoped_json json_t *json = fields_render(body_fields, &body);
    scoped_free char *text = json_dumps(json_object_get(json, "matrix"), JSON_COMPACT);
    assert_string_equal(text, back);
    assert_int_equal(matrix_points(&body.matrix), 24);
}

static void refuses_a_wrong_matrix(void **state)
{
    (void)state;
    static const struct {
        const char *members, *field, *message;
    } rows[] = {
        { ",\"matrix\":[]", "/matrix", "matrix must be an object" },
        { ",\"matrix\":{\"thread\":[1]}", "/matrix/thread", "did you mean threads?" },
        { ",\"matrix\":{\"threads\":2}", "/matrix/threads", "a list of 1 to" },
        { ",\"matrix\":{\"threads\":[]}", "/matrix/threads", "a list of 1 to" },
        { ",\"matrix\":{\"threads\":[1,2,0]}", "/matrix/threads/2", "from 1 to 1024, not 0" },
        { ",\"matrix\":{\"threads\":[1,\"2\"]}", "/matrix/threads/1", "not \"2\"" },
        { ",\"matrix\":{\"threads\":[1,null]}", "/matrix/threads/1", "not null" },
        { ",\"matrix\":{\"threads\":[1,2,1]}", "/matrix/threads/2", "this value already" },
        { ",\"matrix\":{\"file_bytes\":[\"8KiB\",8192]}", "/matrix/file_bytes/1",
          "this value already" },
        { ",\"matrix\":{\"sync\":[\"often\"]}", "/matrix/sync/0", "one of" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct body body = { 0 };
        struct problem why = { 0 };
        assert_int_equal(bind(rows[i].members, &body, &why), -1);
        assert_string_equal(why.field, rows[i].field);
        if (!strstr(why.message, rows[i].message))
            fail_msg("%s: %s", rows[i].members, why.message);
    }
}

static void refuses_a_point_that_cannot_be_measured(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        uint64_t repeat;
        const char *field, *message;
    } rows[] = {
        { ",\"params\":{\"files\":2},\"matrix\":{\"threads\":[1,2,4]}", 1, "/matrix/threads/2",
          "with threads 4: threads must not be more than files" },
        { ",\"params\":{\"threads\":2},\"matrix\":{\"files\":[1,8]}", 1, "/params/threads",
          "with files 1: threads must not be more than files" },
        { ",\"params\":{\"keep_files\":true,\"operations\":[\"create\"]}", 2, "/params/keep_files",
          "keep_files goes with one run" },
        { "", 0, "/repeat", "from 1 to 100" },
        { "", 101, "/repeat", "from 1 to 100" },
        { ",\"matrix\":{\"threads\":[1,2,3,4,5,6,7,8,9,10,11]}", 100, "/repeat",
          "at most 1000 runs; these are 11 points, 100 times" },
        { ",\"matrix\":{\"threads\":[1,2,3,4,5,6,7,8,9,10,11],\"batch\":[1,2,3,4,5,6,7,8,9,10],"
          "\"seed\":[1,2,3,4,5,6,7,8,9,10]}",
          1, "/matrix", "these are 1100 points" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        scoped(body_done) struct body body = { 0 };
        struct runs runs = { 0 };
        struct problem why = { 0 };
        assert_int_equal(bind(rows[i].members, &body, &why), 0);
        assert_int_equal(init(&body, rows[i].repeat, 1, &runs, &why), -1);
        assert_string_equal(why.field, rows[i].field);
        if (!strstr(why.message, rows[i].message))
            fail_msg("%s: %s", rows[i].members, why.message);
        assert_null(runs.point);
    }
}

static void every_round_has_every_point_once(void **state)
{
    (void)state;
    scoped(body_done) struct body body = { 0 };
    struct problem why = { 0 };
    unsigned orders = 0;
    assert_int_equal(
        bind(",\"matrix\":{\"threads\":[1,2,4],\"sync\":[\"none\",\"fsync\"]}", &body, &why), 0);
    for (uint64_t seed = 1; seed <= 80; seed++) {
        scoped(runs_done) struct runs runs = { 0 }, again = { 0 };
        assert_int_equal(init(&body, 3, seed, &runs, &why), 0);
        assert_int_equal(init(&body, 3, seed, &again, &why), 0);
        assert_int_equal(runs.n, 18);
        assert_memory_equal(runs.point, again.point, runs.n * sizeof *runs.point);
        for (unsigned round = 0; round < 3; round++) {
            unsigned seen = 0;
            for (unsigned i = 1; i <= 6; i++)
                seen |= 1u << runs_point(&runs, round * 6 + i);
            assert_int_equal(seen, 0x3f);
        }
        orders |= 1u << runs_point(&runs, 1);
        if (memcmp(runs.point, runs.point + 6, 6 * sizeof *runs.point) != 0)
            orders |= 1u << 6;
    }
    assert_int_equal(orders, 0x7f); /* each comes first some time, and rounds differ */
}

static void a_point_has_its_own_parameters(void **state)
{
    (void)state;
    scoped(body_done) struct body body = { 0 };
    struct problem why = { 0 };
    scoped(runs_done) struct runs runs = { 0 };
    assert_int_equal(bind(",\"params\":{\"files\":500,\"threads\":9},"
                          "\"matrix\":{\"threads\":[1,4],\"sync\":[\"none\",\"fsync\",\"open\"]}",
                          &body, &why),
                     0);
    assert_int_equal(init(&body, 1, 7, &runs, &why), 0);
    for (uint64_t point = 0; point < 6; point++) {
        struct create_scaling *params = NULL;
        void *made = NULL;
        char words[80], expected[80];
        static const char *const syncs[] = { "none", "fsync", "open" };
        assert_int_equal(runs_params(&runs, point, &made, &why), 0);
        params = made;
        assert_int_equal(params->files, 500);
        assert_int_equal(params->threads, point < 3 ? 1 : 4);
        assert_int_equal(params->sync, (int)(point % 3));
        snprintf(expected, sizeof expected, "threads %d, sync %s", point < 3 ? 1 : 4,
                 syncs[point % 3]);
        assert_string_equal(runs_words(&runs, point, words, sizeof words), expected);
        params_free(made);
    }
}

static void without_a_matrix_there_is_one_point(void **state)
{
    (void)state;
    scoped(body_done) struct body body = { 0 };
    struct problem why = { 0 };
    scoped(runs_done) struct runs runs = { 0 };
    char words[8];
    assert_int_equal(bind("", &body, &why), 0);
    assert_int_equal(init(&body, 4, 7, &runs, &why), 0);
    assert_int_equal(runs.n, 4);
    assert_int_equal(runs.points, 1);
    assert_string_equal(runs_words(&runs, 0, words, sizeof words), "");
}

/* --- a ladder --- */

static int doubling(const void *params, struct matrix *ladder, struct problem *why)
{
    const struct create_scaling *with = params;
    char text[24];
    for (uint64_t threads = 1; threads <= with->threads; threads *= 2) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)threads);
        if (matrix_add(ladder, "threads", text, "/params/threads", why))
            return -1;
    }
    return 0;
}

static void a_ladder_adds_its_axes(void **state)
{
    (void)state;
    scoped(body_done) struct body body = { 0 };
    struct problem why = { 0 };
    struct workload climbing = *workload_find("create-scaling");
    climbing.ladder = doubling;
    assert_int_equal(
        bind(",\"params\":{\"threads\":8},\"matrix\":{\"batch\":[10,20]}", &body, &why), 0);
    const struct sweep_asked asked = {
        .workload = &climbing, .params = body.params.object, .matrix = &body.matrix, .repeat = 1
    };
    scoped(runs_done) struct runs runs = { 0 };
    assert_int_equal(runs_init(&asked, &runs, &why), 0);
    assert_int_equal(runs.n, 8);
    scoped_json json_t *point = matrix_point_json(&runs.matrix, 7);
    assert_int_equal(json_integer_value(json_object_get(point, "batch")), 20);
    assert_int_equal(json_integer_value(json_object_get(point, "threads")), 8);

    scoped(body_done) struct body both = { 0 };
    struct runs none = { 0 };
    assert_int_equal(bind(",\"matrix\":{\"threads\":[1,2]}", &both, &why), 0);
    const struct sweep_asked twice = {
        .workload = &climbing, .params = both.params.object, .matrix = &both.matrix, .repeat = 1
    };
    assert_int_equal(runs_init(&twice, &none, &why), -1);
    assert_string_equal(why.field, "/matrix/threads");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_comes_back_as_it_was_given),
        cmocka_unit_test(refuses_a_wrong_matrix),
        cmocka_unit_test(refuses_a_point_that_cannot_be_measured),
        cmocka_unit_test(every_round_has_every_point_once),
        cmocka_unit_test(a_point_has_its_own_parameters),
        cmocka_unit_test(without_a_matrix_there_is_one_point),
        cmocka_unit_test(a_ladder_adds_its_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
