#include "api/samples_csv.h"

#include "engine/base/text.h"

#include <inttypes.h>

struct csv {
    struct api *api;
    struct samples_cursor *cursor;
    struct csv_query query;
    struct text lines; /* of the group that is being sent */
    size_t sent;       /* of them */
    bool ended;
};

static const char heading[] = "phase,run,leg,lane,load,at_ns,elapsed_ns,ops,bytes,errors,cpu_ns,"
                              "switches,p50_ns,p99_ns,max_ns\r\n";

static bool wanted(const struct csv_query *query, const struct sample *sample)
{
    double x = query->by_load ? (double)sample->load : seconds_of(sample->at);
    return !(x < query->from) && !(x > query->to); /* true where they are open */
}

static void add_lines(struct csv *csv, const char *phase, unsigned run, unsigned leg,
                      const struct sample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct sample *s = &samples[i];
        if (wanted(&csv->query, s))
            text_addf(&csv->lines,
                      "%s,%u,%u,%" PRIu32 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRIu64
                      ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRIu32 ",%" PRId64 ",%" PRId64
                      ",%" PRId64 "\r\n",
                      phase, run, leg, s->lane, s->load, s->at, s->elapsed, s->ops, s->bytes,
                      s->errors, s->cpu, s->switches, s->p50, s->p99, s->max);
    }
}

/* The next group with a line that is wanted, or the end. */
static int refill(struct csv *csv, struct problem *why)
{
    csv->lines.n = csv->sent = 0;
    while (csv->lines.n == 0 && !csv->ended) {
        const char *phase;
        const struct sample *samples;
        unsigned run, leg;
        size_t n;
        int more = samples_next(csv->cursor, &phase, &run, &leg, &samples, &n, why);
        if (more < 0)
            return -1;
        csv->ended = more == 0;
        if (more && (csv->query.run == 0 || csv->query.run == run))
            add_lines(csv, phase, run, leg, samples, n);
    }
    return csv->lines.failed ? problem_memory(why) : 0;
}

static int csv_read(void *arg, char *bytes, size_t size, size_t *ret, struct problem *why)
{
    struct csv *csv = arg;
    if (csv->sent == csv->lines.n && refill(csv, why))
        return -1;
    size_t left = csv->lines.n - csv->sent, n = left < size ? left : size;
    memcpy(bytes, csv->lines.at + csv->sent, n);
    csv->sent += n;
    *ret = n;
    return 0;
}

static void csv_done(void *arg)
{
    struct csv *csv = arg;
    csv->cursor = samples_close(csv->cursor);
    export_end(csv->api);
    text_done(&csv->lines);
    free(csv);
}

int samples_csv(struct api *api, const struct csv_query *query, struct reply *out,
                struct problem *why)
{
    if (export_begin(api, why))
        return -1;
    struct csv *csv = calloc(1, sizeof *csv);
    if (!csv || samples_open(api->app->store, query->job, query->phase, &csv->cursor, why)) {
        export_end(api);
        problem_memory(why); /* unless there is an earlier cause */
        free(csv);
        return -1;
    }
    csv->api = api;
    csv->query = *query;
    csv->query.phase = NULL; /* the cursor has it; the request ends before the stream */
    text_add(&csv->lines, heading, sizeof heading - 1);
    out->type = "text/csv; charset=utf-8; header=present";
    out->cache_control = "private, no-store";
    out->stream = (struct stream){ csv_read, csv_done, csv };
    return 0;
}
