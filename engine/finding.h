/* Named conclusions: numbers by a table, and one sentence in plain words. A finding that the data do not
 * support is not there. */
#pragma once
#include "engine/base/field.h"
#include "engine/job.h"
#include "engine/sample.h"
#include "engine/spread.h"

#define FINDING_KINDS(X)              \
    X(RATE, "rate")                   \
    X(FIT, "fit")                     \
    X(KNEE, "knee")                   \
    X(ZONES, "zones")                 \
    X(WARM_UP, "warm-up")             \
    X(GROWTH, "growth")               \
    X(LIMIT, "limit")                 \
    X(LOAD, "load")                   \
    X(DISTURBED, "disturbed")         \
    X(REPEATS, "repeats")             \
    X(SATURATION, "saturation")       \
    X(SHARED_DEVICE, "shared-device") \
    X(CACHE, "cache")

enum finding_kind {
#define X(code, name) FINDING_##code,
    FINDING_KINDS(X)
#undef X
};
extern const char *const finding_kinds[]; /* NULL-terminated */

struct finding {
    enum finding_kind kind;
    unsigned run;        /* 0: of the whole job */
    char phase[32];      /* "": of the whole job */
    bool low_confidence; /* fewer points than it takes to be sure */
    char sentence[400];
    struct bound data; /* owned */
};
struct findings {
    size_t n, room;
    struct finding *at;
};
void findings_done(struct findings *findings);
/* The table of a kind's data, for the description of the interface. */
const struct field *finding_table(enum finding_kind kind);

/* What analysis keeps of the samples of one phase of one run, in order of `at`: 56 bytes a batch. */
struct series_kept;
must_check int series_kept_new(const struct phase_total *phase, struct series_kept **ret,
                               struct problem *why);
struct series_kept *series_kept_free(struct series_kept *series);
must_check int series_kept_add(struct series_kept *series, const struct sample *samples, size_t n,
                               struct problem *why);

/* The phase's totals, once they are known. */
void series_kept_total(struct series_kept *series, const struct phase_total *phase);
const struct phase_total *series_kept_phase(const struct series_kept *series);
/* Batches of wall time, one for each sample of a single lane, and one for each stretch of load that was not
 * measured, which is taken to cost what follows: load and seconds have room for series_kept_n() each.
 * Returns how many. */
size_t series_kept_n(const struct series_kept *series);
size_t series_kept_batches(const struct series_kept *series, double *load, double *seconds);

/* What the machine did meanwhile, in the same leg: borrowed until the findings are made. */
void series_kept_host(struct series_kept *series, const struct host_sample *samples, size_t n);
/* All that can be said of a phase, added to *findings. The same series gives the same findings. */
must_check int findings_of_phase(const struct series_kept *series, struct findings *findings,
                                 struct problem *why);
/* What the host did meanwhile; NULL-safe for a phase without host samples. */
must_check int findings_of_host(const struct phase_total *phase, const struct host_sample *samples,
                                size_t n, struct findings *findings, struct problem *why);
/* What the runs of each point came to, a finding for each phase; nothing for fewer than two runs. */
must_check int findings_of_runs(const struct run_rates *runs, size_t n, struct findings *findings,
                                struct problem *why);
/* How the rate grows with the lanes, over runs that differ in these alone; from four numbers of lanes on. */
must_check int findings_of_lanes(const struct run_rates *runs, size_t n, struct findings *findings,
                                 struct problem *why);
/* The state directory and the target share a device. */
must_check int findings_of_shared_device(struct findings *findings, struct problem *why);
