/* From the samples of one phase to what can be said of them. Lanes overlap, so with several of them
 * batches are first gathered into stretches of wall time; batches that the machine slowed down are
 * told and make no knee. */
#include "engine/analysis/phase.h"
#include "engine/finding_data.h"
#include "engine/finding_words.h"

#include <math.h>

struct series_kept {
    struct phase_total phase;
    size_t n, room;
    size_t whole, short_of;            /* samples that did what the load rose by, and less */
    double *load, *at, *elapsed, *cpu; /* seconds */
    double *ops;
    const struct host_sample *host; /* borrowed: what the machine did meanwhile */
    size_t host_n;
    uint32_t *switches;
};

int series_kept_new(const struct phase_total *phase, struct series_kept **ret, struct problem *why)
{
    struct series_kept *series = calloc(1, sizeof *series);
    if (!series)
        return problem_memory(why);
    series->phase = *phase;
    *ret = series;
    return 0;
}

struct series_kept *series_kept_free(struct series_kept *series)
{
    if (!series)
        return NULL;
    free(series->load);
    free(series->at);
    free(series->elapsed);
    free(series->cpu);
    free(series->ops);
    free(series->switches);
    free(series);
    return NULL;
}

static bool grow(double **column, size_t room)
{
    double *grown = reallocarray(*column, room, sizeof *grown);
    if (grown)
        *column = grown;
    return grown != NULL;
}

static int make_room(struct series_kept *s, size_t n, struct problem *why)
{
    if (s->n + n <= s->room)
        return 0;
    size_t room = s->room ? s->room + s->room / 2 : 4 * SAMPLE_GROUP;
    if (room < s->n + n)
        room = s->n + n;
    uint32_t *switches = reallocarray(s->switches, room, sizeof *switches);
    if (switches)
        s->switches = switches;
    if (!switches || !grow(&s->load, room) || !grow(&s->at, room) || !grow(&s->elapsed, room) ||
        !grow(&s->cpu, room) || !grow(&s->ops, room))
        return problem_memory(why);
    s->room = room;
    return 0;
}

int series_kept_add(struct series_kept *s, const struct sample *samples, size_t n,
                    struct problem *why)
{
    if (make_room(s, n, why))
        return -1;
    for (size_t i = 0; i < n; i++, s->n++) {
        double rise = (double)samples[i].load - (s->n ? s->load[s->n - 1] : 0);
        s->whole += (double)samples[i].ops >= rise;
        s->short_of += (double)samples[i].ops < rise;
        s->ops[s->n] = (double)samples[i].ops;
        s->load[s->n] = (double)samples[i].load;
        s->at[s->n] = seconds_of(samples[i].at);
        s->elapsed[s->n] = seconds_of(samples[i].elapsed);
        s->cpu[s->n] = seconds_of(samples[i].cpu);
        s->switches[s->n] = samples[i].switches;
    }
    return 0;
}

void series_kept_total(struct series_kept *s, const struct phase_total *phase)
{
    s->phase = *phase;
}

void series_kept_host(struct series_kept *s, const struct host_sample *samples, size_t n)
{
    s->host = samples;
    s->host_n = n;
}

const struct phase_total *series_kept_phase(const struct series_kept *s)
{
    return &s->phase;
}

/* Where operations are what the load counts, a batch that did fewer than the load rose by stands after a
 * gap: what came before it was not measured. */
static bool has_gaps(const struct series_kept *s)
{
    return s->phase.lanes <= 1 && !s->phase.at_load && s->short_of > 0 && s->whole > s->short_of;
}

size_t series_kept_n(const struct series_kept *s)
{
    return s->n + (has_gaps(s) ? s->short_of : 0);
}

/* --- disturbed batches --- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of v[i] - w[i]; w NULL: of v. NAN without memory. */
static double median_of_difference(const double *v, const double *w, size_t n)
{
    scoped_free double *d = reallocarray(NULL, n, sizeof *d);
    if (!d)
        return NAN;
    for (size_t i = 0; i < n; i++)
        d[i] = v[i] - (w ? w[i] : 0);
    qsort(d, n, sizeof *d, by_size);
    return n % 2 ? d[n / 2] : (d[n / 2 - 1] + d[n / 2]) / 2;
}

/* How long each batch may have waited in the queue for a CPU: what it took beyond its CPU time and the usual
 * wait, as far as its involuntary switches explain that; the rest was waiting for something else. */
#define SWITCH_MOST 0.05 /* seconds in the queue for one switch: a dozen others take their turn */
static void find_queued(const struct series_kept *s, double *ret_queued)
{
    double waits = median_of_difference(s->elapsed, s->cpu, s->n);
    for (size_t i = 0; i < s->n; i++) {
        double wait = s->elapsed[i] - s->cpu[i] - waits, most = SWITCH_MOST * s->switches[i];
        ret_queued[i] = fmax(0, fmin(wait, most));
    }
}

/* Where the kernel told how long the lanes waited for a CPU, second by second, the batches that ended in a second
 * waited no longer than that all together. The figure of a second may come with the next one: a batch is
 * counted a moment after its end. */
static void bound_queued(const struct series_kept *s, double *queued)
{
    double before = NAN, after;
    for (size_t i = 0, k = 0; k < s->host_n && i < s->n; k++, before = after) {
        const struct host_sample *now = &s->host[k], *next = k + 1 < s->host_n ? now + 1 : NULL;
        double sum = 0, told = now->job_cpu_wait;
        size_t from = i;
        after = seconds_of(now->at);
        told *= isnan(before) ? 1 : after - before;
        if (next && isfinite(next->job_cpu_wait))
            told += next->job_cpu_wait * (seconds_of(next->at) - after);
        while (i < s->n && s->at[i] <= after)
            sum += queued[i++];
        for (size_t j = from; j < i && sum > told; j++)
            queued[j] *= told / sum;
    }
}

/* A batch is disturbed when it was put off the CPU against its will, took half again the usual, and at
 * least half of what it took beyond that was time in the queue for a CPU. ret_lost has, for such a batch,
 * those seconds, and 0 for the others. */
static size_t find_disturbed(const struct series_kept *s, double *ret_queued, double *ret_lost)
{
    find_queued(s, ret_queued);
    bound_queued(s, ret_queued);
    double usual = median_of_difference(s->elapsed, NULL, s->n);
    size_t disturbed = 0;
    for (size_t i = 0; i < s->n; i++) {
        double beyond = s->elapsed[i] - usual;
        bool is = s->switches[i] > 0 && beyond > 0.5 * usual && ret_queued[i] >= 0.5 * beyond;
        ret_lost[i] = is ? ret_queued[i] : 0;
        disturbed += is;
    }
    return disturbed;
}

/* What the machine did before a load and from there on, while the lanes worked. */
struct sides {
    double lost[2];         /* share of the lanes' time that they waited for a CPU */
    double cpu[2], took[2]; /* seconds of a batch, without those */
    double user[2];         /* share of all CPUs that programs took; NAN: not known */
    double from;            /* the load */
};

/* A sample of the host is the mean of what passed since the one before: a second, or less at the end of a run. */
static double host_span(const struct host_sample *samples, size_t i)
{
    nsec span = i > 0 ? samples[i].at - samples[i - 1].at : NSEC_PER_SEC;
    return span > 0 && span < NSEC_PER_SEC ? seconds_of(span) : 1;
}

static double host_user(const struct series_kept *s, double from, double until)
{
    double sum = 0, whole = 0;
    for (size_t i = 0; i < s->host_n; i++) {
        double at = seconds_of(s->host[i].at), span = host_span(s->host, i);
        if (at - span >= from && at <= until && isfinite(s->host[i].cpu_user)) {
            sum += s->host[i].cpu_user * span;
            whole += span;
        }
    }
    return whole > 0 ? sum / whole : NAN;
}

static struct sides sides_of(const struct series_kept *s, const double *queued, double load)
{
    struct sides sides = { .from = load };
    double n[2] = { 0 }, at = NAN, waits = median_of_difference(s->elapsed, s->cpu, s->n);
    for (size_t i = 0; i < s->n; i++) {
        int side = s->load[i] > load;
        if (side && isnan(at))
            at = s->at[i] - s->elapsed[i];
        /* Also of batches that are not marked: many small waits make a level. */
        double wait = s->elapsed[i] - s->cpu[i] - waits;
        sides.lost[side] += queued[i] >= wait / 2 ? queued[i] : 0;
        sides.cpu[side] += s->cpu[i];
        sides.took[side] += s->elapsed[i];
        n[side]++;
    }
    for (int side = 0; side < 2; side++) {
        double took = sides.took[side];
        sides.took[side] = (took - sides.lost[side]) / n[side];
        sides.lost[side] /= took;
        sides.cpu[side] /= n[side];
    }
    double end = seconds_of(s->phase.last_done);
    sides.user[0] = host_user(s, seconds_of(s->phase.first_start) - 0.5, at);
    sides.user[1] = host_user(s, at, end + 1);
    return sides;
}

/* Whether what looks like a knee is other work, which made the lanes wait for a CPU from there on; or it
 * slowed their own CPU down (a hyperthread shared, a cache, a clock), which shows as CPU time of theirs, while
 * the lanes had to queue or programs took more of the CPUs. */
#define WAITS_MOST  0.1
#define OTHERS_MOST 0.1 /* of all CPUs: one of eight, taken by somebody else */
static bool others_made_it(const struct sides *sides)
{
    double more = sides->took[1] - sides->took[0], own = sides->cpu[1] - sides->cpu[0];
    bool queued = sides->lost[1] >= WAITS_MOST;
    if (queued && sides->lost[1] >= 2 * sides->lost[0])
        return true;
    return more > 0 && own >= more / 2 &&
           (queued || sides->user[1] - sides->user[0] >= OTHERS_MOST);
}

/* sides NULL: there was no knee that other work made. */
static int tell_disturbed(const struct series_kept *s, const double *lost, size_t disturbed,
                          const struct sides *sides, struct findings *findings, struct problem *why)
{
    bool few = disturbed * 100 < s->n || disturbed < 3; /* what every machine does now and then */
    if (few && !sides)
        return 0;
    struct finding *finding = finding_new(findings, FINDING_DISTURBED, &s->phase, why);
    if (!finding)
        return -1;
    struct disturbed_data *data = finding->data.object;
    *data = (struct disturbed_data){ .batches = disturbed,
                                     .of = s->n,
                                     .from = NAN,
                                     .others_before = sides ? sides->user[0] : NAN,
                                     .others_after = sides ? sides->user[1] : NAN };
    for (size_t i = 0; i < s->n; i++) {
        if (lost[i] <= 0)
            continue;
        data->from = isnan(data->from) ? s->load[i] : data->from;
        data->to = s->load[i];
        data->lost_seconds += lost[i];
    }
    if (few) {
        data->from = sides->from;
        data->to = s->load[s->n - 1];
    }
    say_disturbed(finding, &s->phase);
    return 0;
}

/* --- batches of wall time --- */

enum gaps { GAPS_UNKNOWN, GAPS_LIKE_NEXT };

/* The stretch of load before batch i that nobody measured, if any: as long as nobody knows, or as what
 * follows. Returns how many batches were added. */
static size_t gap(const struct series_kept *s, size_t i, enum gaps gaps, double *load,
                  double *seconds)
{
    double before = i ? s->load[i - 1] : 0, from = s->load[i] - s->ops[i];
    if (from <= before || s->ops[i] <= 0)
        return 0;
    *load = from;
    *seconds = gaps == GAPS_UNKNOWN ? NAN : s->elapsed[i] * (from - before) / s->ops[i];
    return 1;
}

/* One lane: its batches. Several: stretches of as many batches as there are lanes, by the wall. Returns
 * how many; lost: seconds to leave out of each batch, NULL: none. */
static size_t stretch(const struct series_kept *s, const double *lost, enum gaps gaps, double *load,
                      double *seconds)
{
    size_t lanes = s->phase.lanes ? s->phase.lanes : 1, n = 0;
    double last = seconds_of(s->phase.first_start);
    bool gapped = has_gaps(s);
    for (size_t i = lanes - 1; i < s->n; i += lanes, n++) {
        double missing = 0, wall = lanes == 1 ? s->elapsed[i] : s->at[i] - last;
        for (size_t k = i + 1 - lanes; lost && k <= i; k++)
            missing += lost[k] / (double)lanes;
        if (gapped)
            n += gap(s, i, gaps, &load[n], &seconds[n]);
        load[n] = s->load[i];
        seconds[n] = fmax(0, wall - missing);
        last = s->at[i];
    }
    return n;
}

size_t series_kept_batches(const struct series_kept *s, double *load, double *seconds)
{
    return stretch(s, NULL, GAPS_LIKE_NEXT, load, seconds);
}

/* --- findings --- */

static int tell_rate(const struct series_kept *s, const struct totals *totals,
                     struct findings *findings, struct problem *why)
{
    const struct phase_total *phase = &s->phase;
    double seconds = phase_seconds(phase);
    if (seconds <= 0 || phase->ops == 0 || phase->at_load)
        return 0; /* what was measured at a load has no rate */
    struct finding *rate = finding_new(findings, FINDING_RATE, phase, why);
    if (!rate)
        return -1;
    double per_second = (double)phase->ops / seconds;
    /* The interval is of the batches; it is told about the wall-clock rate in proportion. */
    double scale = totals->rate > 0 ? per_second / totals->rate : NAN;
    *(struct rate_data *)rate->data.object = (struct rate_data){
        .ops_per_second = per_second,
        .bytes_per_second = phase->bytes ? (double)phase->bytes / seconds : NAN,
        .seconds_per_batch = (double)phase->batch / per_second,
        .batch = phase->batch,
        .low = totals->rate_low * scale,
        .high = totals->rate_high * scale,
        .with_flush = phase_rate_with_flush(phase),
    };
    say_rate(rate, phase);
    if (s->n < 3)
        return 0;
    struct finding *fit = finding_new(findings, FINDING_FIT, phase, why);
    if (!fit)
        return -1;
    *(struct fit_data *)fit->data.object =
        (struct fit_data){ totals->slope, totals->intercept, totals->r2, totals->secant };
    say_fit(fit, phase);
    return 0;
}

/* c = a + b x at the middle of a batch, as seconds of the batch that ends at n. */
static struct line_data *line_of(struct line line, const struct phase_total *phase)
{
    double batch = phase_batch_load(phase);
    struct line_data *data = malloc(sizeof *data);
    if (data && phase->at_load)
        *data = (struct line_data){ .slope = line.slope, .intercept = line.intercept };
    else if (data)
        *data =
            (struct line_data){ .slope = batch * line.slope,
                                .intercept = batch * (line.intercept - line.slope * batch / 2) };
    return data;
}

/* Seconds of a batch up to that load, on average. */
static double mean_up_to(const struct batches *b, double load, const struct phase_total *phase)
{
    double seconds = 0, n = 0, before = b->start;
    for (size_t i = 0; i < b->n && b->load[i] <= load; before = b->load[i++])
        if (isfinite(b->seconds[i])) {
            seconds += b->seconds[i];
            n += phase->at_load ? 1 : (b->load[i] - before) / phase_batch_load(phase);
        }
    return seconds / n;
}

static int tell_knee(const struct series_kept *s, const struct batches *batches,
                     const struct phase_findings *found, struct findings *findings,
                     struct problem *why)
{
    const struct knee *knee = &found->knee;
    if (knee->warm_up > 0) {
        struct finding *warm_up = finding_new(findings, FINDING_WARM_UP, &s->phase, why);
        if (!warm_up)
            return -1;
        *(struct warm_up_data *)warm_up->data.object = (struct warm_up_data){ knee->warm_up };
        say_warm_up(warm_up, &s->phase);
    }
    if (knee->shape == KNEE_NONE)
        return 0;
    struct finding *finding = finding_new(findings, FINDING_KNEE, &s->phase, why);
    if (!finding)
        return -1;
    struct knee_data *data = finding->data.object;
    *data = (struct knee_data){ .shape = (int)knee->shape,
                                .at = knee->at,
                                .low = knee->low,
                                .high = knee->high,
                                .effect = knee->effect,
                                .before = line_of(knee->before, &s->phase),
                                .after = line_of(knee->after, &s->phase) };
    if (!data->before || !data->after)
        return problem_memory(why);
    say_knee(finding, &s->phase, mean_up_to(batches, knee->at, &s->phase));
    return 0;
}

static int tell_zones(const struct series_kept *s, const struct zones *zones,
                      struct findings *findings, struct problem *why)
{
    double batch = s->phase.at_load ? 1 : phase_batch_load(&s->phase);
    if (zones->n < 2)
        return 0;
    struct finding *finding = finding_new(findings, FINDING_ZONES, &s->phase, why);
    struct zone_data *at = calloc(zones->n, sizeof *at);
    if (!finding || !at) {
        free(at);
        return problem_memory(why);
    }
    for (unsigned i = 0; i < zones->n; i++)
        at[i] = (struct zone_data){ zones->at[i].from, zones->at[i].to, batch * zones->at[i].level,
                                    batch * zones->at[i].spread };
    ((struct zones_data *)finding->data.object)->zones = (struct array){ zones->n, at };
    say_zones(finding, &s->phase);
    return 0;
}

static struct growth_data growth_of_part(const struct growth *growth)
{
    return (struct growth_data){ .class = (int)growth->class,
                                 .exponent = growth->exponent,
                                 .low = growth->low,
                                 .high = growth->high,
                                 .factor = growth->factor };
}

static struct growth_data *growth_part(const struct growth *growth)
{
    struct growth_data *data = calloc(1, sizeof *data);
    if (data)
        *data = growth_of_part(growth);
    return data;
}

static int plausible(const struct growth *growth, struct texts *ret, struct problem *why)
{
    ret->at = calloc(GROWTH_LAWS, sizeof *ret->at);
    if (!ret->at)
        return problem_memory(why);
    for (unsigned c = 0; c < GROWTH_LAWS; c++)
        if (growth->plausible & 1u << c && !(ret->at[ret->n++] = strdup(growth_classes[c])))
            return problem_memory(why);
    return 0;
}

static int tell_growth(const struct series_kept *s, const struct phase_findings *found,
                       struct findings *findings, struct problem *why)
{
    bool knee = found->knee.shape != KNEE_NONE;
    const struct growth *whole = knee ? &found->before : &found->growth;
    if (!whole->known || (knee && !found->after.known))
        return 0;
    struct finding *finding = finding_new(findings, FINDING_GROWTH, &s->phase, why);
    if (!finding)
        return -1;
    struct growth_data *data = finding->data.object;
    finding->low_confidence = whole->low_confidence || (knee && found->after.low_confidence);
    if (!knee) {
        *data = growth_of_part(whole);
        if (plausible(whole, &data->plausible, why))
            return -1;
    } else {
        /* One law for both sides would say nothing: the parts have theirs. */
        *data = (struct growth_data){ .class = GROWTH_UNCLASSIFIED,
                                      .exponent = NAN,
                                      .low = NAN,
                                      .high = NAN,
                                      .factor = NAN,
                                      .before = growth_part(&found->before),
                                      .after = growth_part(&found->after) };
        if (!data->before || !data->after)
            return problem_memory(why);
    }
    say_growth(finding, &s->phase);
    return 0;
}

static int tell_limit(const struct series_kept *s, struct findings *findings, struct problem *why)
{
    const struct limit *limit = &s->phase.limit;
    if (!limit->reached)
        return 0;
    struct finding *finding = finding_new(findings, FINDING_LIMIT, &s->phase, why);
    if (!finding)
        return -1;
    *(struct limit_data *)finding->data.object =
        (struct limit_data){ limit->at, limit->reason, limit->error };
    say_limit(finding, &s->phase);
    return 0;
}

/* A little is always there: what reads ahead, or what was just made. */
#define CACHE_LEAST 0.05

static int tell_cache(const struct series_kept *s, struct findings *findings, struct problem *why)
{
    const struct phase_total *phase = &s->phase;
    double share = phase->bytes ? (double)phase->resident / (double)phase->bytes : 0;
    if (share < CACHE_LEAST)
        return 0;
    struct finding *finding = finding_new(findings, FINDING_CACHE, phase, why);
    if (!finding)
        return -1;
    *(struct cache_data *)finding->data.object =
        (struct cache_data){ phase->resident, phase->bytes, fmin(share, 1) };
    say_cache(finding, phase);
    return 0;
}

int findings_of_phase(const struct series_kept *s, struct findings *findings, struct problem *why)
{
    size_t n = series_kept_n(s);
    scoped_free double *room = calloc(4 * n + 1, sizeof *room);
    if (!room)
        return problem_memory(why);
    double *lost = room, *load = room + n, *seconds = room + 2 * n, *queued = room + 3 * n;
    size_t disturbed = s->n ? find_disturbed(s, queued, lost) : 0;
    struct batches batches = { series_kept_batches(s, load, seconds), 0, load, seconds,
                               s->phase.at_load };
    struct totals totals = totals_of(&batches); /* of what was, whoever was to blame */
    struct phase_findings found;
    batches.n = stretch(s, lost, GAPS_UNKNOWN, load, seconds);
    if (phase_findings_of(&batches, &found, why))
        return -1;
    struct sides sides = { 0 };
    bool others = found.knee.shape != KNEE_NONE &&
                  (sides = sides_of(s, queued, found.knee.at), others_made_it(&sides));
    if (others)
        found.knee.shape = KNEE_NONE;
    if (tell_rate(s, &totals, findings, why) || tell_knee(s, &batches, &found, findings, why) ||
        tell_zones(s, &found.zones, findings, why) || tell_growth(s, &found, findings, why) ||
        tell_limit(s, findings, why) || tell_cache(s, findings, why))
        return -1;
    return tell_disturbed(s, lost, disturbed, others ? &sides : NULL, findings, why);
}

/* --- the host beside it --- */

int findings_of_host(const struct phase_total *phase, const struct host_sample *samples, size_t n,
                     struct findings *findings, struct problem *why)
{
    struct load_data mean = { 0 };
    double whole = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct host_sample *s = &samples[i];
        if (s->at < phase->first_start || s->at > phase->last_done + NSEC_PER_SEC)
            continue;
        double span = host_span(samples, i);
        mean.load1 += s->load1 * span;
        mean.cpu_user += s->cpu_user * span;
        mean.cpu_system += s->cpu_system * span;
        mean.cpu_iowait += s->cpu_iowait * span;
        mean.cpu_steal += s->cpu_steal * span;
        mean.disk_busy += s->disk_busy * span;
        whole += span;
        count++;
    }
    if (count < 3)
        return 0;
    struct finding *finding = finding_new(findings, FINDING_LOAD, phase, why);
    if (!finding)
        return -1;
    *(struct load_data *)finding->data.object =
        (struct load_data){ mean.load1 / whole,      mean.cpu_user / whole,
                            mean.cpu_system / whole, mean.cpu_iowait / whole,
                            mean.cpu_steal / whole,  mean.disk_busy / whole };
    say_load(finding, phase);
    return 0;
}

int findings_of_shared_device(struct findings *findings, struct problem *why)
{
    struct finding *finding = finding_new(findings, FINDING_SHARED_DEVICE, NULL, why);
    if (!finding)
        return -1;
    say_shared_device(finding);
    return 0;
}
