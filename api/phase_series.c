#include "api/phase_series.h"

static int add_groups(struct samples_cursor *cursor, const struct phase_total *phase,
                      struct series_kept *series, struct problem *why)
{
    const char *name;
    const struct sample *samples;
    unsigned run, leg;
    size_t n;
    int more;
    while ((more = samples_next(cursor, &name, &run, &leg, &samples, &n, why)) > 0)
        if (run == phase->run && series_kept_add(series, samples, n, why))
            return -1;
    return more;
}

int phase_series_read(struct api *api, job_id job, const struct phase_total *phase,
                      struct series_kept **ret, struct problem *why)
{
    scoped_series struct series_kept *series = NULL;
    struct samples_cursor *cursor = NULL;
    if (series_kept_new(phase, &series, why) ||
        samples_open_whole(api->app->store, job, phase->name, &cursor, why))
        return -1;
    int result = add_groups(cursor, phase, series, why);
    samples_close(cursor);
    if (result < 0)
        return -1;
    *ret = steal(&series);
    return 0;
}
