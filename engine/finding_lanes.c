/* How the rate grows with the lanes, from runs that differ in nothing else: the points of a ladder. */
#include "engine/finding_data.h"
#include "engine/finding_words.h"

#include <math.h>

enum { PARAMS_TEXT = 2048 };

/* Params as JSON text without the number of threads, so that what is left is the same for one ladder. */
static bool without_lanes(const char *params, char text[PARAMS_TEXT])
{
    static const char member[] = "\"threads\"";
    const char *at = params ? strstr(params, member) : NULL;
    size_t n = strlen(params ? params : "{}");
    if (n >= PARAMS_TEXT)
        return false;
    if (!at) {
        memcpy(text, params ? params : "{}", n + 1);
        return true;
    }
    const char *end = at + sizeof member - 1;
    end += strspn(end, ": ");
    end += strspn(end, "0123456789");
    if (*end == ',')
        end += 1 + strspn(end + 1, " ");
    else
        while (at > params && (at[-1] == ' ' || at[-1] == ','))
            at--;
    size_t before = (size_t)(at - params);
    memcpy(text, params, before);
    memcpy(text + before, end, strlen(end) + 1);
    return true;
}

static bool is_whole(const struct phase_total *phase)
{
    return phase->finished && phase_seconds(phase) > 0 &&
           (phase_load(phase) >= phase->total || phase->limit.reached);
}

struct ladder {
    char params[PARAMS_TEXT];
    const struct phase_total *phase; /* the first of them */
    size_t n;
    double lanes[SCALABILITY_MOST], rate[SCALABILITY_MOST];
};

/* All runs of the ladder that the first run's phase belongs to. False: it was begun by an earlier run. */
static bool gather(const struct run_rates *runs, size_t n, size_t first, size_t place,
                   struct ladder *ladder)
{
    char params[PARAMS_TEXT];
    const char *name = runs[first].phases[place].name;
    ladder->n = 0;
    ladder->phase = &runs[first].phases[place];
    if (!without_lanes(runs[first].params, ladder->params))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!without_lanes(runs[i].params, params) || strcmp(params, ladder->params) != 0)
            continue;
        for (size_t k = 0; k < runs[i].phases_n && ladder->n < SCALABILITY_MOST; k++) {
            const struct phase_total *phase = &runs[i].phases[k];
            if (strcmp(phase->name, name) != 0 || !is_whole(phase))
                continue;
            if (i < first || (i == first && k < place))
                return false;
            ladder->lanes[ladder->n] = (double)phase->lanes;
            ladder->rate[ladder->n++] = (double)phase_load(phase) / phase_seconds(phase);
        }
    }
    return true;
}

static int tell(const struct ladder *ladder, struct findings *findings, struct problem *why)
{
    struct scalability law;
    scalability_of(ladder->lanes, ladder->rate, ladder->n, &law);
    if (!law.known)
        return 0;
    struct finding *finding = finding_new(findings, FINDING_SATURATION, NULL, why);
    if (!finding)
        return -1;
    memcpy(finding->phase, ladder->phase->name, sizeof finding->phase);
    finding->low_confidence = law.low_confidence;
    struct saturation_data *data = finding->data.object;
    *data = (struct saturation_data){ .model = (int)law.model,
                                      .gamma = law.gamma,
                                      .alpha = law.alpha,
                                      .beta = law.beta,
                                      .peak_at = law.peak_at,
                                      .peak = law.peak,
                                      .roof = law.roof,
                                      .from = INFINITY };
    for (size_t i = 0; i < ladder->n; i++) {
        data->from = fmin(data->from, ladder->lanes[i]);
        data->to = fmax(data->to, ladder->lanes[i]);
    }
    say_saturation(finding, ladder->phase);
    return 0;
}

int findings_of_lanes(const struct run_rates *runs, size_t n, struct findings *findings,
                      struct problem *why)
{
    scoped_free struct ladder *ladder = n < 4 ? NULL : malloc(sizeof *ladder);
    if (n < 4)
        return 0;
    if (!ladder)
        return problem_memory(why);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < runs[i].phases_n; k++)
            if (is_whole(&runs[i].phases[k]) && gather(runs, n, i, k, ladder) &&
                tell(ladder, findings, why))
                return -1;
    return 0;
}
