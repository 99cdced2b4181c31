/* The numbers of each kind of finding, as the interface names them. Private to engine/finding*.c. */
#pragma once
#include "engine/analysis/scalability.h"
#include "engine/finding.h"

struct line_data {
    double slope, intercept; /* seconds per batch, over load */
};
struct rate_data {
    double ops_per_second, bytes_per_second, seconds_per_batch, low, high, with_flush;
    uint64_t batch;
};
struct fit_data {
    double slope, intercept, r2, secant;
};
struct knee_data {
    int shape;
    double at, low, high, effect;
    void *before, *after; /* struct line_data */
};
struct zone_data {
    double from, to, level, spread;
};
struct zones_data {
    struct array zones;
};
struct warm_up_data {
    double until;
};
struct growth_data {
    int class;
    double exponent, low, high, factor;
    struct texts plausible;
    void *before, *after; /* struct growth_data, without these */
};
struct limit_data {
    uint64_t at;
    int reason;
    int64_t error;
};
struct load_data {
    double load1, cpu_user, cpu_system, cpu_iowait, cpu_steal, disk_busy;
};
struct disturbed_data {
    uint64_t batches, of;
    double from, to, lost_seconds;
    double others_before, others_after;
};
struct cache_data {
    uint64_t resident_bytes, bytes;
    double share;
};
struct point_data {
    char *params; /* JSON text, owned */
    uint64_t runs;
    double median, low, high, spread; /* operations per second; a share */
};
struct repeats_data {
    struct array points; /* struct point_data */
};

struct saturation_data {
    int model;
    double alpha, beta, gamma, peak_at, peak, roof, from, to;
};

extern const char *const knee_shapes[];
extern const struct field growth_fields[];

/* A new finding at the end of the list, its data zeroed; NULL without memory (why is set). The list owns
 * it. */
struct finding *finding_new(struct findings *findings, enum finding_kind kind,
                            const struct phase_total *phase, struct problem *why);
