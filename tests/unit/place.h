/* A folder of its own for a test, with a journal, and the run that writes it. */
#pragma once
#include "engine/journal.h"
#include "engine/run.h"
#include "engine/workspace.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct place {
    char path[64], file[96];
    int folder;
    struct journal *journal;
    struct workspace *workspace;
    struct run *run;
};

#define must(call)                                    \
    do {                                              \
        struct problem unmet = { 0 };                 \
        if ((call) != 0)                              \
            fail_msg("%s: %s", #call, unmet.message); \
    } while (0)

static inline int place_setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    struct problem why = { 0 };
    if (!place)
        return -1;
    snprintf(place->path, sizeof place->path, "/tmp/plimsoll-test.XXXXXX");
    if (!mkdtemp(place->path))
        return -1;
    snprintf(place->file, sizeof place->file, "%s/%s", place->path, JOURNAL_FILE);
    place->folder = open(place->path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    *state = place;
    return journal_create(place->folder, JOURNAL_FILE, &place->journal, &why);
}

static inline int place_teardown(void **state)
{
    struct place *place = *state;
    run_free(place->run);
    workspace_close(place->workspace);
    journal_close(place->journal);
    close(place->folder);
    unlink(place->file);
    rmdir(place->path);
    free(place);
    return 0;
}

/* A run over the place's workspace, or over nothing when it has none. */
static inline struct run *place_run(struct place *place, int signals)
{
    const struct run_options options = {
        .journal = place->journal,
        .workspace = place->workspace,
        .null = !place->workspace,
        .name = "",
        .run = 1,
        .leg = 1,
        .signals = signals,
    };
    must(run_new(&options, &place->run, &unmet));
    return place->run;
}

/* What the journal says of one phase. */
struct series {
    size_t n;
    struct sample *samples;
    struct phase_total total; /* of its phase_end */
    struct limit limit;
    unsigned lines;
};

static inline void series_read(const struct place *place, const char *phase, struct series *ret)
{
    struct journal_reader *reader = NULL;
    const struct journal_record *record;
    struct problem why = { 0 };
    *ret = (struct series){ 0 };
    must(journal_reader_open(place->file, 0, &reader, &unmet));
    while (journal_next(reader, &record, &why) > 0) {
        if (strcmp(record->phase.name, phase) != 0)
            continue;
        if (record->kind == RECORD_PHASE_END)
            ret->total = record->phase;
        if (record->kind == RECORD_LIMIT)
            ret->limit = record->phase.limit;
        if (record->kind != RECORD_SAMPLES)
            continue;
        ret->samples = realloc(ret->samples, (ret->n + record->n) * sizeof *ret->samples);
        memcpy(ret->samples + ret->n, record->samples, record->n * sizeof *ret->samples);
        ret->n += record->n;
        ret->lines++;
    }
    assert_string_equal(why.message, "");
    journal_reader_close(reader);
}

static inline void series_done(struct series *series)
{
    free(series->samples);
}
#define scoped_series scoped(series_done)

/* What holds of every series: sums are the totals, load and time rise, lanes do not overlap themselves. */
static inline void series_holds(const struct series *series)
{
    uint64_t ops = 0, bytes = 0, errors = 0;
    nsec at = -1, ends[1024] = { 0 };
    for (size_t i = 0; i < series->n; i++) {
        const struct sample *s = &series->samples[i];
        ops += s->ops;
        bytes += s->bytes;
        errors += s->errors;
        if (s->load != ops || s->at < at || s->ops == 0 || s->lane >= series->total.lanes + 1024)
            fail_msg("sample %zu: load %llu after %llu operations, at %lld after %lld", i,
                     (unsigned long long)s->load, (unsigned long long)ops, (long long)s->at,
                     (long long)at);
        if (s->at - s->elapsed < ends[s->lane] || s->p50 > s->p99 || s->p99 > s->max ||
            s->max > s->elapsed)
            fail_msg("sample %zu of lane %u: started %lld, before %lld; %lld %lld %lld of %lld", i,
                     s->lane, (long long)(s->at - s->elapsed), (long long)ends[s->lane],
                     (long long)s->p50, (long long)s->p99, (long long)s->max,
                     (long long)s->elapsed);
        ends[s->lane] = at = s->at;
    }
    assert_true(ops == series->total.ops && bytes == series->total.bytes);
    assert_true(errors <= series->total.errors);
    assert_true(series->total.latency.count == ops);
    if (series->n) {
        assert_true(series->total.last_done == series->samples[series->n - 1].at);
        assert_true(series->total.first_done <= series->total.last_done);
    }
}

#define at_a_place(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)
