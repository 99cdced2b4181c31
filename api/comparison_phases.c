#include "api/comparison_phases.h"

#include "api/phase_series.h"
#include "engine/base/field_json.h"

#include <math.h>

enum { ENTRIES_MOST = 256, NAME_TEXT = 32, RUNS_ENOUGH = 4 };

/* A phase of one run of one job. */
struct entry {
    const struct job *job;
    const struct phase_total *phase;
    double rate; /* NAN: not known */
};
struct entries {
    size_t n;
    struct entry at[ENTRIES_MOST];
    struct side side;
    size_t rates_n;
    double rates[ENTRIES_MOST]; /* those that are known, in the order of the runs */
};

static const char *point_of(const struct job *job, unsigned run)
{
    for (size_t i = 0; i < job->runs_n; i++)
        if (job->runs[i].run == run && job->runs[i].params)
            return job->runs[i].params;
    return "{}";
}

/* The runs of a side that did this phase: with the parameters of that run, or (like false) with any. */
static void gather(const struct jobs_side *side, const struct entry *wanted, bool like,
                   struct entries *ret)
{
    const char *point = point_of(wanted->job, wanted->phase->run);
    double sorted[ENTRIES_MOST];
    ret->n = ret->rates_n = 0;
    for (size_t i = 0; i < side->n; i++)
        for (size_t k = 0; k < side->at[i]->phases_n && ret->n < ENTRIES_MOST; k++) {
            const struct job *job = side->at[i];
            const struct phase_total *phase = &job->phases[k];
            if (strcmp(phase->name, wanted->phase->name) != 0 ||
                (like && strcmp(point_of(job, phase->run), point) != 0))
                continue;
            const struct entry entry = { job, phase, phase_rate(phase) };
            ret->at[ret->n++] = entry;
            if (isfinite(entry.rate))
                ret->rates[ret->rates_n++] = entry.rate;
        }
    memcpy(sorted, ret->rates, ret->rates_n * sizeof *sorted);
    ret->side = side_of(sorted, ret->rates_n);
}

/* The run that stands for its side: whose rate is nearest to the median. */
static const struct entry *typical(const struct entries *entries)
{
    const struct entry *found = &entries->at[0];
    for (size_t i = 1; i < entries->n; i++)
        if (!(fabs(found->rate - entries->side.median) <=
              fabs(entries->at[i].rate - entries->side.median)))
            found = &entries->at[i];
    return found;
}

static char *name_of(const struct jobs_side *side, const char *letter, const char *word,
                     char text[NAME_TEXT])
{
    if (side->n == 1)
        snprintf(text, NAME_TEXT, "%s %lld", word, (long long)side->at[0]->id);
    else
        snprintf(text, NAME_TEXT, "%s", letter);
    return text;
}

static json_t *phase_json(const struct jobs_side *a, const struct jobs_side *b,
                          const struct phase_total *phase, const struct comparison *comparison,
                          const struct side both[2])
{
    char sentence[COMPARISON_SENTENCE], name_a[NAME_TEXT], name_b[NAME_TEXT];
    struct side_view views[2];
    say_comparison(phase, name_of(a, "A", "job", name_a), name_of(b, "B", "Job", name_b),
                   comparison, both, sentence);
    const struct comparison_view view = comparison_view(phase, comparison, sentence, both, views);
    return fields_render(comparison_fields, &view);
}

/* What is said of a phase of A, all others beside it: its series is read once. */
struct phase_work {
    struct api *api;
    const struct jobs_side *sides;
    struct entries a, b;
    struct series_kept *series_a;
};

static void work_free(struct phase_work **work)
{
    if (*work)
        series_kept_free((*work)->series_a);
    free(*work);
}

static int compare_typical(struct phase_work *work, struct comparison *ret, struct problem *why)
{
    const struct entry *a = typical(&work->a), *b = typical(&work->b);
    scoped_series struct series_kept *series_b = NULL;
    if ((!work->series_a &&
         phase_series_read(work->api, a->job->id, a->phase, &work->series_a, why)) ||
        phase_series_read(work->api, b->job->id, b->phase, &series_b, why) ||
        comparison_of(work->series_a, series_b, ret, why))
        return -1;
    comparison_doubt(ret, &work->a.side, &work->b.side);
    return 0;
}

static void parts_done(struct parts *parts)
{
    for (size_t i = 0; i < PARTS_MOST; i++)
        series_kept_free(parts->at[i]);
}

/* Which of them a run has; none is read. */
static bool has_part(const struct entry *entry, const char *name, const struct phase_total **ret)
{
    for (size_t i = 0; i < entry->job->phases_n; i++) {
        const struct phase_total *phase = &entry->job->phases[i];
        if (phase->run == entry->phase->run && strcmp(phase->name, name) == 0) {
            *ret = phase;
            return true;
        }
    }
    return false;
}

static int read_parts(struct api *api, const struct entry *entry, struct parts *ret,
                      struct problem *why)
{
    const struct phase_total *phase;
    for (size_t i = 0; comparison_parts[i]; i++)
        if (has_part(entry, comparison_parts[i], &phase) &&
            phase_series_read(api, entry->job->id, phase, &ret->at[i], why))
            return -1;
    return 0;
}

static bool parts_of_entries_differ(const struct entry *a, const struct entry *b)
{
    const struct phase_total *phase;
    for (size_t i = 0; comparison_parts[i]; i++)
        if (has_part(a, comparison_parts[i], &phase) != has_part(b, comparison_parts[i], &phase))
            return strcmp(a->phase->name, comparison_parts[0]) == 0;
    return false;
}

/* Behind what is said of creating alone, where one side also mounts or shares: of all of it together, by the runs
 * that stand for their sides. */
static int compare_parts(struct phase_work *work, size_t k, bool like, json_t *list,
                         struct problem *why)
{
    const struct entry *a = typical(&work->a), *b = typical(&work->b);
    scoped(parts_done) struct parts x = { 0 }, y = { 0 };
    struct comparison comparison;
    struct phase_total phase;
    if (!parts_of_entries_differ(a, b))
        return 0;
    if (read_parts(work->api, a, &x, why) || read_parts(work->api, b, &y, why) ||
        comparison_of_parts(&x, &y, &comparison, &phase, why))
        return -1;
    if (!like) {
        comparison.verdict = VERDICT_CANNOT_TELL;
        comparison.small = false;
    }
    const struct side one[2] = { { .n = 1, .median = NAN, .low = NAN, .high = NAN },
                                 { .n = 1, .median = NAN, .low = NAN, .high = NAN } };
    json_t *json = phase_json(&work->sides[0], &work->sides[k], &phase, &comparison, one);
    return json_array_append_new(list, json) ? problem_memory(why) : 0;
}

static int compare_with(struct phase_work *work, size_t k, bool like, json_t *list,
                        struct problem *why)
{
    struct comparison comparison;
    struct entries *a = &work->a, *b = &work->b;
    if (a->side.n >= RUNS_ENOUGH && b->side.n >= RUNS_ENOUGH)
        compare_costs_of_runs(a->rates, a->rates_n, b->rates, b->rates_n, &comparison);
    else if (compare_typical(work, &comparison, why))
        return -1;
    if (!like) {
        comparison.verdict = VERDICT_CANNOT_TELL;
        comparison.small = false;
    }
    const struct side both[2] = { a->side, b->side };
    json_t *json =
        phase_json(&work->sides[0], &work->sides[k], typical(a)->phase, &comparison, both);
    if (json_array_append_new(list, json))
        return problem_memory(why);
    return compare_parts(work, k, like, list, why);
}

/* Nothing unless that run is the first of A that did it. */
static int compare_phase(struct api *api, const struct jobs_side *sides, size_t n,
                         const struct entry *first, const bool like[], json_t *const lists[],
                         struct problem *why)
{
    scoped(work_free) struct phase_work *work = calloc(1, sizeof *work);
    if (!work)
        return problem_memory(why);
    work->api = api;
    work->sides = sides;
    gather(&sides[0], first, true, &work->a);
    if (work->a.at[0].phase != first->phase)
        return 0;
    for (size_t k = 1; k < n; k++) {
        gather(&sides[k], first, like[k], &work->b);
        if (work->b.n && compare_with(work, k, like[k], lists[k], why))
            return -1;
    }
    return 0;
}

int compare_sides(struct api *api, const struct jobs_side *sides, size_t n, const bool like[],
                  json_t *const lists[], struct problem *why)
{
    for (size_t j = 0; j < sides[0].n; j++)
        for (size_t i = 0; i < sides[0].at[j]->phases_n; i++) {
            const struct job *job = sides[0].at[j];
            const struct entry first = { .job = job, .phase = &job->phases[i] };
            if (compare_phase(api, sides, n, &first, like, lists, why))
                return -1;
        }
    return 0;
}
