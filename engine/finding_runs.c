/* What is to be said of a job's runs together: how far those of one point lie apart. */
#include "engine/finding_data.h"
#include "engine/finding_words.h"

#include <math.h>

static int set_point(struct point_data *point, const struct spread *spread, struct problem *why)
{
    *point = (struct point_data){ .params = strdup(spread->params ? spread->params : "{}"),
                                  .runs = spread->n,
                                  .median = spread->median,
                                  .low = spread->low,
                                  .high = spread->high,
                                  .spread = spread_share(spread) };
    return point->params ? 0 : problem_memory(why);
}

/* Of the phase that `first` is about; all its points. */
static int add_phase(const struct spread *spreads, size_t n, const struct spread *first,
                     struct findings *findings, struct problem *why)
{
    struct finding *finding = finding_new(findings, FINDING_REPEATS, NULL, why);
    if (!finding)
        return -1;
    struct array *points = &((struct repeats_data *)finding->data.object)->points;
    snprintf(finding->phase, sizeof finding->phase, "%s", first->phase);
    points->at = calloc(n, sizeof(struct point_data));
    if (!points->at)
        return problem_memory(why);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(spreads[i].phase, first->phase) != 0)
            continue;
        struct point_data *point = (struct point_data *)points->at + points->n++;
        if (set_point(point, &spreads[i], why))
            return -1;
        finding->low_confidence = finding->low_confidence || point->runs < 3;
    }
    say_repeats(finding, first->unit);
    return 0;
}

static bool is_first(const struct spread *spreads, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(spreads[k].phase, spreads[i].phase) == 0)
            return false;
    return true;
}

int findings_of_runs(const struct run_rates *runs, size_t n, struct findings *findings,
                     struct problem *why)
{
    scoped_free struct spread *spreads = NULL;
    size_t spreads_n = 0;
    if (n < 2)
        return 0;
    if (spreads_of(runs, n, &spreads, &spreads_n, why))
        return -1;
    for (size_t i = 0; i < spreads_n; i++)
        if (is_first(spreads, i) && add_phase(spreads, spreads_n, &spreads[i], findings, why))
            return -1;
    return 0;
}
