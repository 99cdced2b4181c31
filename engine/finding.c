#include "engine/finding.h"

#include "engine/analysis/growth.h"
#include "engine/finding_data.h"

#define X(code, name) name,
const char *const finding_kinds[] = { FINDING_KINDS(X) NULL };
#undef X
const char *const knee_shapes[] = { "none", "bend", "jump", "late", NULL };

static const struct field line_fields[] = {
    FIELD_NUMBER(struct line_data, slope, "Seconds per batch that each further unit of load adds."),
    FIELD_NUMBER(struct line_data, intercept, "Seconds per batch at no load."),
    FIELD_END,
};
static const struct field rate_fields[] = {
    FIELD_NUMBER(struct rate_data, ops_per_second,
                 "Operations over last end minus first start, in wall time."),
    FIELD_NUMBER(struct rate_data, bytes_per_second, "The same for bytes; null without data."),
    FIELD_NUMBER(struct rate_data, seconds_per_batch, "Wall time of one batch, on average."),
    FIELD_COUNT(struct rate_data, batch, "Operations in a batch."),
    FIELD_NUMBER(struct rate_data, low, "95 % interval of ops_per_second; null: too few batches."),
    FIELD_NUMBER(struct rate_data, high, "Its upper end; null: too few batches, or none."),
    FIELD_NUMBER(struct rate_data, with_flush,
                 "ops_per_second with the flush after the phase; null where none was timed."),
    FIELD_END,
};
static const struct field fit_fields[] = {
    FIELD_NUMBER(struct fit_data, slope, "Of cumulative seconds over load, least squares."),
    FIELD_NUMBER(struct fit_data, intercept, "Seconds."),
    FIELD_NUMBER(struct fit_data, r2, "Near 1 for almost any run; it proves nothing by itself."),
    FIELD_NUMBER(struct fit_data, secant, "Seconds per unit, from the start to the end."),
    FIELD_END,
};
static const struct field knee_fields[] = {
    FIELD_CHOICE(struct knee_data, shape, "A step, a change of slope, or too near the end to tell.",
                 .choices = knee_shapes),
    FIELD_NUMBER(struct knee_data, at, "The load at the knee."),
    FIELD_NUMBER(struct knee_data, low, "95 % interval of it."),
    FIELD_NUMBER(struct knee_data, high, "Its upper end."),
    FIELD_NUMBER(struct knee_data, effect, "How much more a batch costs beyond it, as a share."),
    FIELD_OBJECT(struct knee_data, before, "Seconds per batch before it.", .of = line_fields,
                 .of_size = sizeof(struct line_data)),
    FIELD_OBJECT(struct knee_data, after, "Seconds per batch after it.", .of = line_fields,
                 .of_size = sizeof(struct line_data)),
    FIELD_END,
};
static const struct field zone_fields[] = {
    FIELD_NUMBER(struct zone_data, from, "Load at its beginning."),
    FIELD_NUMBER(struct zone_data, to, "Load at its end."),
    FIELD_NUMBER(struct zone_data, level, "Median seconds per batch."),
    FIELD_NUMBER(struct zone_data, spread, "Standard deviation of them, robust."),
    FIELD_END,
};
static const struct field zones_fields[] = {
    FIELD_ARRAY(struct zones_data, zones, "In order of load.", .of = zone_fields,
                .of_size = sizeof(struct zone_data)),
    FIELD_END,
};
static const struct field warm_up_fields[] = {
    FIELD_NUMBER(struct warm_up_data, until, "The load until which batches cost more."),
    FIELD_END,
};
#define GROWTH_COMMON(T)                                                                     \
    FIELD_CHOICE(T, class, "The law of the time per operation.", .choices = growth_classes), \
        FIELD_NUMBER(T, exponent, "p of a + b n^p; 0 when constant."),                       \
        FIELD_NUMBER(T, low, "95 % interval of the exponent."),                              \
        FIELD_NUMBER(T, high, "Its upper end."),                                             \
        FIELD_NUMBER(T, factor, "Fitted time per operation at the end over that at the start.")
static const struct field growth_part_fields[] = {
    GROWTH_COMMON(struct growth_data),
    FIELD_END,
};
const struct field growth_fields[] = {
    GROWTH_COMMON(struct growth_data),
    FIELD_TEXTS(struct growth_data, plausible, "The laws that the data do not rule out."),
    FIELD_OBJECT(struct growth_data, before, "Before the knee; null without one.",
                 .of = growth_part_fields, .of_size = sizeof(struct growth_data)),
    FIELD_OBJECT(struct growth_data, after, "After it, over the load beyond it.",
                 .of = growth_part_fields, .of_size = sizeof(struct growth_data)),
    FIELD_END,
};
static const struct field limit_fields[] = {
    FIELD_COUNT(struct limit_data, at, "The load at which the phase ended."),
    FIELD_CHOICE(struct limit_data, reason, "What was exhausted.", .choices = limit_reasons),
    { .name = "errno",
      .type = FT_SIGNED,
      .offset = offsetof(struct limit_data, error),
      .doc = "What the target answered; 0: a floor or deadline was reached first." },
    FIELD_END,
};
static const struct field load_fields[] = {
    FIELD_NUMBER(struct load_data, load1, "Mean load average over one minute."),
    FIELD_NUMBER(struct load_data, cpu_user, "Mean share of all CPUs, 0 to 1."),
    FIELD_NUMBER(struct load_data, cpu_system, "The same, in the kernel."),
    FIELD_NUMBER(struct load_data, cpu_iowait, "The same, waiting for I/O."),
    FIELD_NUMBER(struct load_data, cpu_steal, "The same, taken by the hypervisor."),
    FIELD_NUMBER(struct load_data, disk_busy, "Mean share of time that the device was busy."),
    FIELD_END,
};
static const struct field disturbed_fields[] = {
    FIELD_COUNT(struct disturbed_data, batches, "Batches that lost CPU time to other work."),
    FIELD_COUNT(struct disturbed_data, of, "Batches in all."),
    FIELD_NUMBER(struct disturbed_data, from, "Load at the first of them."),
    FIELD_NUMBER(struct disturbed_data, to, "Load at the last of them."),
    FIELD_NUMBER(struct disturbed_data, lost_seconds, "Time that they waited for a CPU, in all."),
    FIELD_NUMBER(
        struct disturbed_data, others_before,
        "Share of all CPUs that programs took before other work began; null: it did not begin "
        "where a knee would be, or the host did not tell."),
    FIELD_NUMBER(struct disturbed_data, others_after, "The same from there on."),
    FIELD_END,
};
static const struct field point_fields[] = {
    FIELD_JSON(struct point_data, params, "What the point of the matrix sets."),
    FIELD_COUNT(struct point_data, runs, "Runs of it that came to the phase's end."),
    FIELD_NUMBER(struct point_data, median, "Of their operations per second."),
    FIELD_NUMBER(struct point_data, low, "The lowest of them."),
    FIELD_NUMBER(struct point_data, high, "The highest of them."),
    FIELD_NUMBER(struct point_data, spread, "(high - low) / median; null of one run."),
    FIELD_END,
};
static const struct field repeats_fields[] = {
    FIELD_ARRAY(struct repeats_data, points, "One for each point that was measured.",
                .of = point_fields, .of_size = sizeof(struct point_data)),
    FIELD_END,
};
static const struct field cache_fields[] = {
    FIELD_COUNT(struct cache_data, resident_bytes,
                "What of the files was in this host's memory before.", .unit = "bytes"),
    FIELD_COUNT(struct cache_data, bytes, "What was read.", .unit = "bytes"),
    FIELD_NUMBER(struct cache_data, share, "The one over the other, at most 1."),
    FIELD_END,
};
static const struct field saturation_fields[] = {
    FIELD_CHOICE(struct saturation_data, model, "The simplest law that fits.",
                 .choices = scalability_models),
    FIELD_NUMBER(struct saturation_data, gamma, "Rate of one lane, per second, by the law."),
    FIELD_NUMBER(struct saturation_data, alpha, "Contention: the share that waits its turn."),
    FIELD_NUMBER(struct saturation_data, beta, "Coherence: what each pair of lanes costs."),
    FIELD_NUMBER(struct saturation_data, peak_at, "Lanes at the highest rate; null: no peak."),
    FIELD_NUMBER(struct saturation_data, peak, "The rate there, per second."),
    FIELD_NUMBER(struct saturation_data, roof,
                 "What contention alone would leave, per second; null: no roof."),
    FIELD_NUMBER(struct saturation_data, from, "The least lanes that were tried."),
    FIELD_NUMBER(struct saturation_data, to, "The most."),
    FIELD_END,
};
static const struct field no_fields[] = { FIELD_END };

static const struct shape {
    const struct field *table;
    size_t size;
} shapes[] = {
    [FINDING_RATE] = { rate_fields, sizeof(struct rate_data) },
    [FINDING_FIT] = { fit_fields, sizeof(struct fit_data) },
    [FINDING_KNEE] = { knee_fields, sizeof(struct knee_data) },
    [FINDING_ZONES] = { zones_fields, sizeof(struct zones_data) },
    [FINDING_WARM_UP] = { warm_up_fields, sizeof(struct warm_up_data) },
    [FINDING_GROWTH] = { growth_fields, sizeof(struct growth_data) },
    [FINDING_LIMIT] = { limit_fields, sizeof(struct limit_data) },
    [FINDING_LOAD] = { load_fields, sizeof(struct load_data) },
    [FINDING_DISTURBED] = { disturbed_fields, sizeof(struct disturbed_data) },
    [FINDING_REPEATS] = { repeats_fields, sizeof(struct repeats_data) },
    [FINDING_SATURATION] = { saturation_fields, sizeof(struct saturation_data) },
    [FINDING_CACHE] = { cache_fields, sizeof(struct cache_data) },
    [FINDING_SHARED_DEVICE] = { no_fields, 1 },
};

const struct field *finding_table(enum finding_kind kind)
{
    return shapes[kind].table;
}

void findings_done(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        if (findings->at[i].data.object)
            fields_done(findings->at[i].data.table, findings->at[i].data.object);
        free(findings->at[i].data.object);
    }
    free(findings->at);
    *findings = (struct findings){ 0 };
}

struct finding *finding_new(struct findings *findings, enum finding_kind kind,
                            const struct phase_total *phase, struct problem *why)
{
    void *data = calloc(1, shapes[kind].size);
    if (data && findings->n == findings->room) {
        size_t room = findings->room ? 2 * findings->room : 16;
        struct finding *at = reallocarray(findings->at, room, sizeof *at);
        if (!at) {
            free(data);
            data = NULL;
        } else {
            findings->at = at;
            findings->room = room;
        }
    }
    if (!data) {
        problem_memory(why);
        return NULL;
    }
    struct finding *finding = &findings->at[findings->n++];
    *finding = (struct finding){ .kind = kind,
                                 .run = phase ? phase->run : 0,
                                 .data = { .table = shapes[kind].table, .object = data } };
    if (phase)
        memcpy(finding->phase, phase->name, sizeof finding->phase);
    return finding;
}
