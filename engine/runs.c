#include "engine/runs.h"

#include "engine/base/mix.h"
#include "engine/base/text.h"

static void params_free(const struct workload *workload, void *params)
{
    if (params)
        fields_done(workload->params, params);
    free(params);
}

void runs_done(struct runs *runs)
{
    matrix_done(&runs->matrix);
    free(runs->point);
    *runs = (struct runs){ 0 };
}

uint64_t runs_point(const struct runs *runs, unsigned run)
{
    return runs->point[run - 1];
}

int runs_params(const struct runs *runs, uint64_t point, void **ret, struct problem *why)
{
    const struct workload *workload = runs->workload;
    void *params = calloc(1, workload->params_size);
    int result = params ? 0 : problem_memory(why);
    for (const struct field *f = workload->params; result == 0 && f->type != FT_END; f++)
        result = field_copy(f, runs->params, params, why);
    if (result || matrix_apply(&runs->matrix, point, params, why)) {
        params_free(workload, params);
        return -1;
    }
    *ret = params;
    return 0;
}

const char *runs_words(const struct runs *runs, uint64_t point, char *text, size_t size)
{
    scoped(text_done) struct text words = { 0 };
    for (size_t i = 0; i < runs->matrix.n; i++) {
        const struct axis *axis = &runs->matrix.at[i];
        char value[200];
        if (field_format(axis->field, axis->at[matrix_place(&runs->matrix, point, i)], value,
                         sizeof value))
            snprintf(value, sizeof value, "...");
        text_addf(&words, "%s%s %s", i ? ", " : "", axis->field->name, value);
    }
    return text_shown(words.at ? words.at : "", text, size);
}

/* --- which points --- */

static int add_ladder(struct runs *runs, struct problem *why)
{
    const struct workload *workload = runs->workload;
    scoped(matrix_done) struct matrix ladder = { .table = workload->params,
                                                 .object_size = workload->params_size };
    if (!workload->ladder)
        return 0;
    if (workload->ladder(runs->params, &ladder, why))
        return -1;
    for (size_t i = 0; i < ladder.n; i++) {
        struct axis *axis = &ladder.at[i];
        char where[96];
        if (text_fit(where, sizeof where, "/matrix/%s", axis->field->name))
            where[0] = 0;
        if (matrix_axis(&runs->matrix, axis->field->name))
            return problem_field(why, where, "%s is varied by the ladder of the parameters already",
                                 axis->field->name);
        for (size_t k = 0; k < axis->n; k++)
            if (matrix_take(&runs->matrix, axis->field, steal(&axis->at[k]), where, why))
                return -1;
    }
    return 0;
}

/* Whichever of the point's values is at fault is named, where the request gave it. */
static int blame(const struct runs *runs, const struct sweep_asked *asked, uint64_t point,
                 struct problem *why)
{
    static const char params[] = "/params/";
    char words[160];
    for (size_t i = 0; asked->matrix && i < asked->matrix->n; i++)
        if (text_starts(why->field, params) &&
            strcmp(why->field + sizeof params - 1, asked->matrix->at[i].field->name) == 0 &&
            text_fit(why->field, sizeof why->field, "/matrix/%s/%zu",
                     asked->matrix->at[i].field->name, matrix_place(&runs->matrix, point, i)))
            return problem_set(why, PROBLEM_INTERNAL, "the name of a parameter is too long");
    if (runs->matrix.n)
        problem_during(why, "with %s: ", runs_words(runs, point, words, sizeof words));
    return -1;
}

static int check_point(const struct runs *runs, const struct sweep_asked *asked, uint64_t point,
                       struct problem *why)
{
    void *params = NULL;
    if (!runs->workload->check)
        return 0;
    if (runs_params(runs, point, &params, why))
        return -1;
    int result = runs->workload->check(params, asked->target, why);
    if (result == 0 && runs->workload->keeps && runs->workload->keeps(params) &&
        runs->points * asked->repeat > 1)
        result = problem_field(why, "/params/keep_files",
                               "keep_files goes with one run: what it leaves would be part of what "
                               "the next one finds");
    params_free(runs->workload, params);
    return result ? blame(runs, asked, point, why) : 0;
}

/* --- in which order --- */

/* Fisher and Yates's shuffle. */
static void shuffle(uint16_t *at, uint64_t n, uint64_t seed)
{
    for (uint64_t i = n; i > 1; i--) {
        uint64_t k = mix64_of(seed, i) % i; /* n is small: no visible bias */
        uint16_t held = at[i - 1];
        at[i - 1] = at[k];
        at[k] = held;
    }
}

static int order(struct runs *runs, const struct sweep_asked *asked, struct problem *why)
{
    uint64_t points = runs->points;
    runs->n = (unsigned)(points * asked->repeat);
    runs->point = calloc(runs->n, sizeof *runs->point);
    if (!runs->point)
        return problem_memory(why);
    for (uint64_t round = 0; round < asked->repeat; round++) {
        uint16_t *at = runs->point + round * points;
        for (uint64_t i = 0; i < points; i++)
            at[i] = (uint16_t)i;
        shuffle(at, points, mix64_of(asked->seed, round));
    }
    return 0;
}

static int count(struct runs *runs, const struct sweep_asked *asked, struct problem *why)
{
    runs->points = matrix_points(&runs->matrix);
    if (asked->repeat < 1 || asked->repeat > REPEAT_MOST)
        return problem_field(why, "/repeat", "repeat must be a whole number from 1 to %d",
                             REPEAT_MOST);
    if (runs->points > JOB_RUNS_MOST || runs->points * asked->repeat > JOB_RUNS_MOST)
        return problem_field(why, runs->points > JOB_RUNS_MOST ? "/matrix" : "/repeat",
                             "a job can have at most %d runs; these are %llu points, %llu times",
                             JOB_RUNS_MOST, (unsigned long long)runs->points,
                             (unsigned long long)asked->repeat);
    return 0;
}

int runs_init(const struct sweep_asked *asked, struct runs *ret, struct problem *why)
{
    scoped(runs_done) struct runs runs = { .workload = asked->workload, .params = asked->params };
    const struct matrix none = { .table = asked->workload->params,
                                 .object_size = asked->workload->params_size };
    const struct matrix *given = asked->matrix && asked->matrix->n ? asked->matrix : &none;
    if (matrix_copy(given, &runs.matrix, why) || add_ladder(&runs, why) || count(&runs, asked, why))
        return -1;
    for (uint64_t i = 0; i < runs.points; i++)
        if (check_point(&runs, asked, i, why))
            return -1;
    if (order(&runs, asked, why))
        return -1;
    *ret = runs;
    runs = (struct runs){ 0 };
    return 0;
}
