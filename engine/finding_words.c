#include "engine/finding_words.h"

#include "engine/analysis/growth.h"
#include "engine/analysis/knee.h"
#include "engine/base/field_json.h"
#include "engine/finding_data.h"
#include "engine/words.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>

/* --- words for what a phase does --- */

static const struct verb {
    const char *phase, *doing;
} verbs[] = {
    { "create", "creating" },
    { "list", "listing" },
    { "stat", "looking up" },
    { "remove", "removing" },
    { "open", "opening" },
    { "rename", "renaming" },
    { "write", "writing" },
    { "read", "reading" },
    { "cycle", "bringing back" },
    { "destroy", "destroying" },
    { "rewrite", "rewriting" },
    { "reread", "reading again" },
    { "random-read", "reading at random" },
    { "random-write", "writing at random" },
    { "mixed", "reading and writing at random" },
    { "backward-read", "reading backwards" },
    { "stride-read", "reading by strides" },
};

static const char *doing(const struct phase_total *phase)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (strcmp(verbs[i].phase, phase->name) == 0)
            return verbs[i].doing;
    return NULL;
}

/* "Creating" at the beginning of a sentence, or "In phase x, doing". */
static char *opening(const struct phase_total *phase, char text[WORDS])
{
    const char *verb = doing(phase);
    snprintf(text, WORDS, verb ? "%s" : "In phase %s, doing", verb ? verb : phase->name);
    text[0] = (char)toupper((unsigned char)text[0]);
    return text;
}

/* "file" of "files". */
static char *one_of(const struct phase_total *phase, char text[WORDS])
{
    size_t n = strlen(phase->unit);
    snprintf(text, WORDS, "%.*s", (int)(n && phase->unit[n - 1] == 's' ? n - 1 : n), phase->unit);
    return text;
}

/* A sentence that does not fit would be a defect of ours: the figures in it are bounded. */
static void printf_like(2, 3) say(struct finding *finding, const char *fmt, ...)
{
    size_t used = strlen(finding->sentence);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(finding->sentence + used, sizeof finding->sentence - used, fmt, ap);
    va_end(ap);
}

/* A load whose unit has been said, unless it comes with its own. */
static char *words_edge(double load, const struct phase_total *phase, char text[WORDS])
{
    return phase_counts_bytes(phase) ? words_bytes(load, text) : words_count(load, text);
}

/* --- sentences --- */

/* From this share on, what was read came from memory all but for a rest. */
#define CACHE_WHOLE 0.5

/* A flush that costs less than 1 % is in the figures, not in the sentence. */
#define FLUSH_MATTERS 0.99

/* Where the load counts bytes. */
static void say_bytes_rate(struct finding *finding, const struct phase_total *phase)
{
    const struct rate_data *d = finding->data.object;
    char verb[WORDS], bytes[WORDS], rate[WORDS], ops[WORDS], each[WORDS], first[WORDS];
    say(finding, "%s %s ran at %s, %s operations of %s per second", opening(phase, verb),
        words_bytes((double)phase->bytes, bytes), words_rate(d->bytes_per_second, "bytes", rate),
        words_digits(d->ops_per_second, ops),
        words_bytes((double)phase->bytes / (double)phase->ops, each));
    if (phase->lanes > 1 && isfinite(phase_first_rate(phase)))
        say(finding, "; until the first lane had nothing left, at %s",
            words_rate(phase_first_rate(phase), "bytes", first));
    if (phase->sync > 0)
        say(finding, "; %s of it went into making data stable",
            words_seconds(seconds_of(phase->sync), each));
    say(finding, ".");
    if (phase->paced)
        say(finding,
            " The rate was bounded: latencies count from when an operation was due, so that "
            "waiting behind a slow one is in them.");
    if (d->with_flush < FLUSH_MATTERS * d->bytes_per_second)
        say(finding, " With the flush of %s after it: %s.",
            words_seconds(seconds_of(phase->flush), each),
            words_rate(d->with_flush, "bytes", rate));
}

void say_rate(struct finding *finding, const struct phase_total *phase)
{
    const struct rate_data *d = finding->data.object;
    char verb[WORDS], ops[WORDS], rate[WORDS], batch[WORDS], took[WORDS], low[WORDS], high[WORDS];
    if (phase_counts_bytes(phase)) {
        say_bytes_rate(finding, phase);
        return;
    }
    say(finding, "%s %s %s ran at %s per second; %s of them take %s", opening(phase, verb),
        words_count((double)phase->ops, ops), phase->unit, words_digits(d->ops_per_second, rate),
        words_count((double)d->batch, batch), words_seconds(d->seconds_per_batch, took));
    if (isfinite(d->low) && isfinite(d->high))
        say(finding, " (95 %%: %s to %s per second).", words_digits(d->low, low),
            words_digits(d->high, high));
    else
        say(finding, ".");
    if (d->with_flush < FLUSH_MATTERS * d->ops_per_second)
        say(finding, " With the flush of %s after it: %s per second.",
            words_seconds(seconds_of(phase->flush), took), words_digits(d->with_flush, rate));
}

void say_fit(struct finding *finding, const struct phase_total *phase)
{
    const struct fit_data *d = finding->data.object;
    char one[WORDS], slope[WORDS], secant[WORDS];
    say(finding,
        "A straight line through the cumulative time has %s per %s (R² %.4f); from the start to "
        "the "
        "end it is %s.",
        words_seconds(d->slope, slope), one_of(phase, one), d->r2,
        words_seconds(d->secant, secant));
}

void say_knee(struct finding *finding, const struct phase_total *phase, double usual)
{
    const struct knee_data *d = finding->data.object;
    const struct line_data *after = d->after;
    char verb[WORDS], batch[WORDS], level[WORDS], at[WORDS], low[WORDS], high[WORDS], more[WORDS],
        one[WORDS];
    if (phase->at_load)
        say(finding, "%s takes %s up to %s", opening(phase, verb), words_seconds(usual, level),
            words_load(d->at, phase->unit, at));
    else
        say(finding, "%s %s takes %s up to %s", opening(phase, verb),
            words_load(phase_batch_load(phase), phase->unit, batch), words_seconds(usual, level),
            words_load(d->at, phase->unit, at));
    switch (d->shape) {
    case KNEE_BEND:
        say(finding, " and grows by %s per further %s after that",
            words_seconds(after->slope, more), one_of(phase, one));
        break;
    case KNEE_JUMP:
        say(finding, " and %s more after that", words_percent(d->effect, more));
        break;
    default:
        say(finding,
            " and %s more from there to the end, which came too soon to tell how it goes on",
            words_percent(d->effect, more));
    }
    say(finding, " (95 %%: between %s and %s).", words_edge(d->low, phase, low),
        words_edge(d->high, phase, high));
}

void say_zones(struct finding *finding, const struct phase_total *phase)
{
    const struct zones_data *d = finding->data.object;
    const struct zone_data *zone = d->zones.at;
    char at[WORDS], level[WORDS], spread[WORDS];
    say(finding, "Batches scatter differently in %zu zones:", d->zones.n);
    for (size_t i = 0; i < d->zones.n; i++)
        say(finding, "%s up to %s %s ± %s", i ? "," : "", words_load(zone[i].to, phase->unit, at),
            words_seconds(zone[i].level, level), words_seconds(zone[i].spread, spread));
    say(finding, ".");
}

void say_warm_up(struct finding *finding, const struct phase_total *phase)
{
    const struct warm_up_data *d = finding->data.object;
    char until[WORDS];
    say(finding, "The first %s cost more than those that followed: the run was warming up.",
        words_load(d->until, phase->unit, until));
}

/* "does not grow", "grows linearly, by 1.66 times over the run". */
static void say_law(struct finding *finding, const struct growth_data *d)
{
    static const char *const laws[] = {
        [GROWTH_CONSTANT] = "does not grow measurably",
        [GROWTH_LOG] = "grows with the logarithm",
        [GROWTH_SQRT] = "grows with the square root",
        [GROWTH_LINEAR] = "grows linearly",
        [GROWTH_NLOGN] = "grows like n log n",
        [GROWTH_QUADRATIC] = "grows with the square",
        [GROWTH_CUBIC] = "grows with the cube",
        [GROWTH_UNCLASSIFIED] = "grows, by no law that fits",
    };
    char factor[WORDS];
    say(finding, "%s", laws[d->class]);
    if (d->class != GROWTH_CONSTANT && d->class != GROWTH_UNCLASSIFIED)
        say(finding, ", to %s times of what it was", words_digits(d->factor, factor));
}

void say_growth(struct finding *finding, const struct phase_total *phase)
{
    const struct growth_data *d = finding->data.object;
    char one[WORDS];
    if (phase->at_load)
        say(finding, "%s takes a time that ", opening(phase, one));
    else
        say(finding, "The time per %s ", one_of(phase, one));
    if (d->before) {
        say_law(finding, d->before);
        say(finding, " before the knee, and ");
        say_law(finding, d->after);
        say(finding, " beyond it");
    } else {
        say_law(finding, d);
        if (d->class != GROWTH_CONSTANT && d->class != GROWTH_UNCLASSIFIED)
            say(finding, " (exponent %.2f, 95 %%: %.2f to %.2f)", d->exponent, d->low, d->high);
    }
    say(finding, finding->low_confidence ? "; low confidence, from few points." : ".");
}

void say_limit(struct finding *finding, const struct phase_total *phase)
{
    const struct limit_data *d = finding->data.object;
    char verb[WORDS], at[WORDS];
    say(finding, "%s ended at %s: %s.", opening(phase, verb),
        words_load((double)d->at, phase->unit, at), phase->limit.detail);
}

void say_load(struct finding *finding, const struct phase_total *phase)
{
    const struct load_data *d = finding->data.object;
    char load[WORDS], busy[WORDS], waits[WORDS], disk[WORDS];
    const char *verb = doing(phase);
    say(finding, "While %s, the host had a load average of %s, its CPUs were busy %s of the time",
        verb ? verb : phase->name, words_digits(d->load1, load),
        words_percent(d->cpu_user + d->cpu_system, busy));
    if (d->cpu_iowait >= 0.01)
        say(finding, " and waited for I/O %s", words_percent(d->cpu_iowait, waits));
    if (isfinite(d->disk_busy))
        say(finding, ", and the device was busy %s", words_percent(d->disk_busy, disk));
    say(finding, ".");
}

void say_disturbed(struct finding *finding, const struct phase_total *phase)
{
    const struct disturbed_data *d = finding->data.object;
    char n[WORDS], of[WORDS], lost[WORDS], from[WORDS], to[WORDS], before[WORDS], after[WORDS];
    if (d->lost_seconds <= 0 || d->batches < 3) {
        say(finding,
            "The machine was busy: from %s on, programs took %s of all CPUs, and %s before; the "
            "batches "
            "that took longer there make no knee.",
            words_edge(d->from, phase, from), words_percent(d->others_after, after),
            words_percent(d->others_before, before));
        return;
    }
    say(finding,
        "The machine was busy: %s of %s batches, between %s and %s, waited %s for a CPU that "
        "other "
        "work had; they make no knee.",
        words_count((double)d->batches, n), words_count((double)d->of, of),
        words_edge(d->from, phase, from), words_load(d->to, phase->unit, to),
        words_seconds(d->lost_seconds, lost));
}

void say_cache(struct finding *finding, const struct phase_total *phase)
{
    const struct cache_data *d = finding->data.object;
    char resident[WORDS], bytes[WORDS];
    say(finding,
        "Phase %s: %s %s of the files were in this host's memory when it began, and %s were read.",
        phase->name,
        d->share >= CACHE_WHOLE ? "this measured memory:" : "in part, memory was measured:",
        words_bytes((double)d->resident_bytes, resident), words_bytes((double)d->bytes, bytes));
}

void say_shared_device(struct finding *finding)
{
    say(finding,
        "The state directory is on the device that was measured: the journal and the database "
        "wrote to it meanwhile.");
}

/* A figure whose unit has been said, unless it comes with its own. */
static char *words_point(double value, const char *unit, char text[WORDS])
{
    return strcmp(unit, "bytes") == 0 ? words_rate(value, unit, text) : words_digits(value, text);
}

/* The figures of a point: "10,300 files/s with threads 4". */
static void say_point(struct finding *finding, const struct point_data *point, const char *unit)
{
    char rate[WORDS], words[100];
    matrix_point_words(point->params, words, sizeof words);
    say(finding, "%s%s%s", words_rate(point->median, unit, rate), *words ? " with " : "", words);
}

static void say_repeats_of_one(struct finding *finding, const struct point_data *point,
                               const char *unit)
{
    char low[WORDS], high[WORDS], share[WORDS];
    say_point(finding, point, unit);
    if (point->runs < 2)
        say(finding, ", of one run: how much runs differ is not known.");
    else
        say(finding, ", the median of %llu runs, which lie between %s and %s: %s apart.",
            (unsigned long long)point->runs, words_point(point->low, unit, low),
            words_point(point->high, unit, high), words_percent(point->spread, share));
}

void say_repeats(struct finding *finding, const char *unit)
{
    const struct repeats_data *data = finding->data.object;
    const struct point_data *points = data->points.at, *slowest = points, *fastest = points;
    struct phase_total phase = { 0 };
    char text[WORDS], share[WORDS];
    double widest = NAN;
    memcpy(phase.name, finding->phase, sizeof phase.name);
    say(finding, "%s ran at ", opening(&phase, text));
    for (size_t i = 0; i < data->points.n; i++) {
        slowest = points[i].median < slowest->median ? &points[i] : slowest;
        fastest = points[i].median > fastest->median ? &points[i] : fastest;
        widest = fmax(widest, points[i].spread);
    }
    if (data->points.n == 1) {
        say_repeats_of_one(finding, points, unit);
        return;
    }
    say_point(finding, slowest, unit);
    say(finding, " and at ");
    say_point(finding, fastest, unit);
    say(finding, ", the slowest and the fastest of %zu points", data->points.n);
    if (isfinite(widest))
        say(finding, "; runs of one point lie up to %s apart.", words_percent(widest, share));
    else
        say(finding, " of one run each: how much runs differ is not known.");
}

void say_saturation(struct finding *finding, const struct phase_total *phase)
{
    const struct saturation_data *d = finding->data.object;
    char verb[WORDS], from[WORDS], to[WORDS], rate[WORDS], share[WORDS], at[WORDS];
    say(finding, "%s with %s to %s threads ", opening(phase, verb), words_count(d->from, from),
        words_count(d->to, to));
    if (d->model == SCALES_LINEAR)
        say(finding, "grows in step with them, by %s each",
            words_rate(d->gamma, phase->unit, rate));
    else if (d->alpha < 0)
        say(finding, "grows faster than they do, from %s for one",
            words_rate(d->gamma, phase->unit, rate));
    else
        say(finding, "loses %s of the work to waiting for turns", words_percent(d->alpha, share));
    if (isfinite(d->peak_at))
        say(finding, " and is fastest with %s of them%s, at %s; more make it slower",
            words_count(d->peak_at, at),
            d->peak_at > d->to ? ", by the law: so many were not tried" : "",
            words_rate(d->peak, phase->unit, rate));
    else if (isfinite(d->roof))
        say(finding, ": however many there are, it stays below %s",
            words_rate(d->roof, phase->unit, rate));
    say(finding, finding->low_confidence ? "; low confidence, from few numbers of threads." : ".");
}
