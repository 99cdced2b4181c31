/* check-vectors DIR: reads every NAME.json of a folder of vectors, analyses its input and checks each value
 * under "expect", printing it beside what was asked. A key that is not known here is a failure: a
 * vector must not pass because nobody looked. */
#include "engine/analysis/compare.h"
#include "engine/analysis/history.h"
#include "engine/analysis/phase.h"
#include "engine/analysis/scalability.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>

struct check {
    const char *folder, *vector;
    unsigned passed, failed;
};

/* --- expectations --- */

static void tell(struct check *c, bool good, const char *what, const char *got, const char *asked)
{
    printf("%s  %-5s %-34s %-24s asked %s\n", good ? "ok  " : "FAIL", c->vector, what, got, asked);
    if (good)
        c->passed++;
    else
        c->failed++;
}

static void tell_text(struct check *c, bool good, const char *what, const char *got, json_t *asked)
{
    char *text = json_dumps(asked, JSON_COMPACT | JSON_ENCODE_ANY);
    tell(c, good, what, got, text ? text : "?");
    free(text);
}

static void unknown(struct check *c, const char *what, const char *key)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", what, key);
    tell(c, false, name, "?", "a key that is not known here");
}

/* {value, rel|abs}, {min, max}, or a plain number. */
static bool near(double got, const json_t *asked)
{
    if (json_is_number(asked))
        return got == json_number_value(asked);
    const json_t *value = json_object_get(asked, "value");
    const json_t *low = json_object_get(asked, "min"), *high = json_object_get(asked, "max");
    double reach = json_number_value(json_object_get(asked, "abs"));
    if (!value && !low && !high)
        return false;
    if (json_object_get(asked, "rel"))
        reach = fabs(json_number_value(value)) * json_number_value(json_object_get(asked, "rel"));
    return (!value || fabs(got - json_number_value(value)) <= reach) &&
           (!low || got >= json_number_value(low)) && (!high || got <= json_number_value(high));
}

static void number(struct check *c, const char *what, double got, json_t *asked)
{
    char text[40];
    snprintf(text, sizeof text, "%.12g", got);
    tell_text(c, near(got, asked), what, text, asked);
}

static void boolean(struct check *c, const char *what, bool got, json_t *asked)
{
    tell_text(c, json_is_boolean(asked) && got == json_is_true(asked), what, got ? "true" : "false",
              asked);
}

static void one_of(struct check *c, const char *what, const char *got, json_t *asked)
{
    bool found = false;
    size_t i;
    json_t *each;
    json_array_foreach(asked, i, each) found |= strcmp(json_string_value(each), got) == 0;
    tell_text(c, found, what, got, asked);
}

/* --- series --- */

enum { SERIES_MOST = 4 };
struct series {
    char name[64];
    size_t n;
    double *load, *seconds;
};

static void series_add(struct series *s, double load, double seconds)
{
    s->load = realloc(s->load, (s->n + 1) * sizeof *s->load);
    s->seconds = realloc(s->seconds, (s->n + 1) * sizeof *s->seconds);
    if (!s->load || !s->seconds)
        abort();
    s->load[s->n] = load;
    s->seconds[s->n++] = seconds;
}

static void series_done(struct series *s)
{
    free(s->load);
    free(s->seconds);
    *s = (struct series){ 0 };
}

/* A file of `seconds`, `n,seconds` or `series,n,seconds`; only the lines of `name` in the last case. */
static bool series_read(struct check *c, const char *file, const char *name, double start,
                        double batch, struct series *ret)
{
    char path[512], line[256];
    snprintf(path, sizeof path, "%s/%s", c->folder, file);
    scoped_file FILE *f = fopen(path, "re");
    struct series s = { 0 };
    if (!f || !fgets(line, sizeof line, f)) {
        tell(c, false, file, "unreadable", "a file beside the vector");
        return false;
    }
    while (fgets(line, sizeof line, f)) {
        char *at = line, *comma;
        if (name) {
            comma = strchr(line, ',');
            if (!comma || (size_t)(comma - line) != strlen(name) ||
                strncmp(line, name, strlen(name)) != 0)
                continue;
            at = comma + 1;
        }
        comma = strchr(at, ',');
        double load = comma ? strtod(at, NULL) : start + batch * (double)(s.n + 1);
        series_add(&s, load, strtod(comma ? comma + 1 : at, NULL));
    }
    *ret = s;
    return true;
}

static struct batches batches_of(const struct series *s, double start)
{
    return (struct batches){ s->n, start, s->load, s->seconds };
}

/* --- kinds --- */

static void check_growth(struct check *c, const char *what, const struct growth *g, json_t *asked)
{
    const char *key;
    json_t *value;
    json_object_foreach(asked, key, value)
    {
        char name[96];
        snprintf(name, sizeof name, "%s.%s", what, key);
        if (strcmp(key, "class_in") == 0)
            one_of(c, name, growth_classes[g->class], value);
        else if (strcmp(key, "p") == 0)
            number(c, name, g->exponent, value);
        else if (strcmp(key, "factor") == 0)
            number(c, name, g->factor, value);
        else if (strcmp(key, "low_confidence") == 0)
            boolean(c, name, g->low_confidence, value);
        else if (strcmp(key, "plausible_at_least") == 0)
            tell_text(c, __builtin_popcount(g->plausible) >= (int)json_integer_value(value), name,
                      "(size of the set)", value);
        else if (strcmp(key, "x") != 0 && strcmp(key, "note") != 0)
            unknown(c, what, key);
    }
}

static void check_lines(struct check *c, const struct knee *k, json_t *asked)
{
    const char *key;
    json_t *value;
    json_object_foreach(asked, key, value)
    {
        if (strcmp(key, "pre_a") == 0)
            number(c, "knee.lines.pre_a", k->before.intercept, value);
        else if (strcmp(key, "pre_b") == 0)
            number(c, "knee.lines.pre_b", k->before.slope, value);
        else if (strcmp(key, "post_a") == 0)
            number(c, "knee.lines.post_a", k->after.intercept, value);
        else if (strcmp(key, "post_b") == 0)
            number(c, "knee.lines.post_b", k->after.slope, value);
        else
            unknown(c, "knee.lines", key);
    }
}

static void check_knee(struct check *c, const struct knee *k, json_t *asked)
{
    static const char *const shapes[] = { "none", "bend", "jump", "late" };
    const char *key;
    json_t *value;
    char interval[80];
    snprintf(interval, sizeof interval, "%.10g .. %.10g", k->low, k->high);
    json_object_foreach(asked, key, value)
    {
        double wanted = json_number_value(value);
        if (strcmp(key, "present") == 0)
            boolean(c, "knee.present", k->shape != KNEE_NONE, value);
        else if (strcmp(key, "kind_in") == 0)
            one_of(c, "knee.kind", shapes[k->shape], value);
        else if (strcmp(key, "n") == 0)
            number(c, "knee.n", k->at, value);
        else if (strcmp(key, "ci_contains") == 0)
            tell_text(c, k->low <= wanted && wanted <= k->high, "knee.ci", interval, value);
        else if (strcmp(key, "ci_max_width_rel") == 0)
            tell_text(c,
                      k->high - k->low <= wanted * json_number_value(json_object_get(
                                                       json_object_get(asked, "n"), "value")),
                      "knee.ci width", interval, value);
        else if (strcmp(key, "effect") == 0)
            number(c, "knee.effect", k->effect, value);
        else if (strcmp(key, "min_effect") == 0)
            tell_text(c, k->effect >= wanted, "knee.min_effect", "(at least)", value);
        else if (strcmp(key, "lines") == 0)
            check_lines(c, k, value);
        else if (strcmp(key, "why") != 0 && strcmp(key, "note") != 0)
            unknown(c, "knee", key);
    }
}

static bool boundary_near(const struct zones *z, json_t *asked, char *text, size_t size)
{
    bool within = json_is_array(asked), found = false;
    size_t used = 0;
    text[0] = 0;
    for (unsigned i = 0; i + 1 < z->n; i++) {
        double at = z->at[i].to;
        found |= within ? at >= json_number_value(json_array_get(asked, 0)) &&
                              at <= json_number_value(json_array_get(asked, 1))
                        : near(at, asked);
        int n = snprintf(text + used, size - used, "%.8g ", at);
        used += n > 0 && (size_t)n < size - used ? (size_t)n : 0;
    }
    return found;
}

static void check_zones(struct check *c, const struct zones *z, json_t *asked)
{
    const char *key;
    json_t *value, *each;
    size_t i;
    char text[128];
    json_object_foreach(asked, key, value)
    {
        if (strcmp(key, "count") == 0)
            number(c, "zones.count", z->n, value);
        else if (strcmp(key, "boundaries") == 0 || strcmp(key, "boundary_within") == 0)
            json_array_foreach(value, i, each)
            {
                bool found = boundary_near(z, each, text, sizeof text);
                tell_text(c, found, "zones.boundary", text, each);
            }
        else
            unknown(c, "zones", key);
    }
}

static void check_run(struct check *c, json_t *input, json_t *expect)
{
    struct series s = { 0 };
    struct phase_findings f;
    struct problem why = { 0 };
    double start = json_number_value(json_object_get(input, "n_start"));
    if (!series_read(c, json_string_value(json_object_get(input, "file")), NULL, start,
                     json_number_value(json_object_get(input, "batch")), &s))
        return;
    struct batches b = batches_of(&s, start);
    const char *key;
    json_t *value;
    if (phase_findings_of(&b, &f, &why) < 0)
        tell(c, false, "analysis", why.message, "findings");
    else
        json_object_foreach(expect, key, value)
        {
            const struct {
                const char *key;
                double got;
            } plain[] = {
                { "total_seconds", f.totals.seconds },   { "rate", f.totals.rate },
                { "secant", f.totals.secant },           { "ols_slope", f.totals.slope },
                { "ols_intercept", f.totals.intercept }, { "r2", f.totals.r2 },
            };
            size_t i = 0;
            while (i < COUNT_OF(plain) && strcmp(plain[i].key, key) != 0)
                i++;
            if (i < COUNT_OF(plain))
                number(c, key, plain[i].got, value);
            else if (strcmp(key, "knee") == 0)
                check_knee(c, &f.knee, value);
            else if (strcmp(key, "zones") == 0)
                check_zones(c, &f.zones, value);
            else if (strcmp(key, "growth") == 0)
                check_growth(c, key, &f.growth, value);
            else if (strcmp(key, "growth_pre") == 0)
                check_growth(c, key, &f.before, value);
            else if (strcmp(key, "growth_post") == 0)
                check_growth(c, key, &f.after, value);
            else if (strcmp(key, "warmup") == 0)
                boolean(c, key, f.knee.warm_up > 0, value);
            else
                unknown(c, "expect", key);
        }
    series_done(&s);
}

static const char *verdict_word(const struct comparison *q)
{
    switch (q->verdict) {
    case VERDICT_SLOWER:
        return q->small ? "slower-small" : "slower";
    case VERDICT_FASTER:
        return q->small ? "faster-small" : "faster";
    case VERDICT_SAME:
        return "equivalent";
    default:
        return "inconclusive";
    }
}

static void check_comparison(struct check *c, const struct comparison *q, json_t *asked)
{
    const char *key;
    json_t *value;
    char interval[80];
    snprintf(interval, sizeof interval, "%.6g .. %.6g", q->low, q->high);
    json_object_foreach(asked, key, value)
    {
        const struct {
            const char *key;
            double got;
        } plain[] = { { "ratio", q->ratio }, { "ratio_total", q->ratio_total },
                      { "tau", q->tau },     { "cross", q->cross },
                      { "lo", q->low },      { "hi", q->high } };
        size_t i = 0;
        double wanted = json_number_value(value);
        while (i < COUNT_OF(plain) && strcmp(plain[i].key, key) != 0)
            i++;
        if (i < COUNT_OF(plain))
            number(c, key, plain[i].got, value);
        else if (strcmp(key, "verdict_in") == 0)
            one_of(c, "verdict", verdict_word(q), value);
        else if (strcmp(key, "ci_contains") == 0)
            tell_text(c, q->low <= wanted && wanted <= q->high, "interval", interval, value);
        else if (strcmp(key, "p_max") == 0)
            tell_text(c, q->p <= wanted, "p", "(at most)", value);
        else if (strcmp(key, "confidence_max") == 0)
            tell_text(c, q->confidence <= wanted, "confidence", "(at most)", value);
        else if (strcmp(key, "a") != 0 && strcmp(key, "b") != 0 && strcmp(key, "note") != 0)
            unknown(c, "compare", key);
    }
}

static void check_compare(struct check *c, json_t *input, json_t *expect)
{
    struct series a = { 0 }, b = { 0 };
    struct comparison q;
    double start = json_number_value(json_object_get(input, "n_start"));
    double batch = json_number_value(json_object_get(input, "batch"));
    if (series_read(c, json_string_value(json_object_get(input, "a")), NULL, start, batch, &a) &&
        series_read(c, json_string_value(json_object_get(input, "b")), NULL, start, batch, &b)) {
        struct batches x = batches_of(&a, start), y = batches_of(&b, start);
        compare_within(&x, &y, &q);
        check_comparison(c, &q, expect);
    }
    series_done(&a);
    series_done(&b);
}

static void check_table(struct check *c, const char *file, const char *what, const char *name,
                        json_t *asked)
{
    struct series s = { 0 };
    struct phase_findings f;
    struct problem why = { 0 };
    char label[96];
    if (!series_read(c, file, name, 0, 0, &s))
        return;
    struct batches b = batches_of(&s, 0);
    snprintf(label, sizeof label, "%s.%s", what, name);
    if (phase_findings_of(&b, &f, &why) < 0) {
        tell(c, false, label, why.message, "findings");
    } else if (strcmp(what, "growth") == 0) {
        const char *x = json_string_value(json_object_get(asked, "x"));
        scoped_free double *scratch = calloc(s.n + 1, sizeof *scratch);
        if (x &&
            strcmp(x, "end") == 0) /* measured at that load, not for the batch that ends there */
            growth_of(s.load, s.seconds, s.n, scratch, &f.growth);
        check_growth(c, label, &f.growth, asked);
    } else if (strcmp(what, "knee") == 0) {
        check_knee(c, &f.knee, asked);
    } else {
        number(c, label, f.totals.rate, asked);
    }
    series_done(&s);
}

static void check_tables(struct check *c, json_t *input, json_t *expect)
{
    const char *file = json_string_value(json_object_get(input, "file")), *key, *name;
    json_t *value, *each;
    size_t i;
    json_object_foreach(expect, key, value)
    {
        bool table =
            strcmp(key, "growth") == 0 || strcmp(key, "knee") == 0 || strcmp(key, "rate") == 0;
        if (table)
            json_object_foreach(value, name, each) check_table(c, file, key, name, each);
        else if (strcmp(key, "compare") == 0)
            json_array_foreach(value, i, each)
            {
                struct series a = { 0 }, b = { 0 };
                struct comparison q;
                if (series_read(c, file, json_string_value(json_object_get(each, "a")), 0, 0, &a) &&
                    series_read(c, file, json_string_value(json_object_get(each, "b")), 0, 0, &b)) {
                    struct batches x = batches_of(&a, 0), y = batches_of(&b, 0);
                    compare_within(&x, &y, &q);
                    check_comparison(c, &q, each);
                }
                series_done(&a);
                series_done(&b);
            }
        else
            unknown(c, "expect", key);
    }
}

/* A rate of bytes over seconds; "read_229_over_226" is the rate of linux229_read over the one given. */
static void check_rates(struct check *c, json_t *input, json_t *expect)
{
    double bytes = json_number_value(json_object_get(input, "bytes"));
    json_t *seconds = json_object_get(input, "seconds"), *value, *each;
    const char *key, *name;
    json_object_foreach(expect, key, value)
    {
        if (strcmp(key, "rate") == 0) {
            json_object_foreach(value, name, each)
            {
                double load = bytes, took = json_number_value(json_object_get(seconds, name));
                struct totals t = totals_of(&(struct batches){ 1, 0, &load, &took });
                number(c, name, t.rate, each);
            }
        } else if (strcmp(key, "ratio") == 0) {
            json_object_foreach(value, name, each)
            {
                double took = json_number_value(json_object_get(seconds, "linux229_read"));
                double other = json_number_value(json_object_get(input, "read_rate_linux226"));
                if (strcmp(name, "read_229_over_226") == 0)
                    number(c, name, round(bytes / took) / other, each);
                else
                    unknown(c, "ratio", name);
            }
        } else if (strcmp(key, "confidence") != 0) {
            unknown(c, "expect", key);
        }
    }
}

static size_t numbers(const json_t *array, double *ret, size_t most)
{
    size_t n = json_array_size(array);
    for (size_t i = 0; i < n && i < most; i++)
        ret[i] = json_number_value(json_array_get(array, i));
    return n < most ? n : most;
}

static void check_usl(struct check *c, json_t *input, json_t *expect)
{
    const char *set, *key;
    json_t *value, *each;
    json_object_foreach(expect, set, value)
    {
        json_t *data = json_object_get(json_object_get(input, "sets"), set);
        double lanes[SCALABILITY_MOST], throughput[SCALABILITY_MOST];
        size_t n = numbers(json_object_get(data, "threads"), lanes, SCALABILITY_MOST);
        struct scalability s;
        numbers(json_object_get(data, "throughput"), throughput, SCALABILITY_MOST);
        scalability_of(lanes, throughput, n, &s);
        json_object_foreach(value, key, each)
        {
            const struct {
                const char *key;
                double got;
            } plain[] = { { "n_peak", s.peak_at },
                          { "roof", s.roof },
                          { "alpha", s.alpha },
                          { "beta", s.beta },
                          { "gamma", s.gamma } };
            size_t i = 0;
            while (i < COUNT_OF(plain) && strcmp(plain[i].key, key) != 0)
                i++;
            if (i < COUNT_OF(plain))
                number(c, key, plain[i].got, each);
            else if (strcmp(key, "model") == 0)
                tell_text(c, strcmp(json_string_value(each), scalability_models[s.model]) == 0, key,
                          scalability_models[s.model], each);
            else if (strcmp(key, "superlinear") == 0)
                boolean(c, key, s.superlinear, each);
            else
                unknown(c, set, key);
        }
    }
}

static void check_changes(struct check *c, const char *name, const struct change *found, size_t n,
                          json_t *asked)
{
    char text[64];
    snprintf(text, sizeof text, "%zu changes", n);
    tell_text(c, n == json_array_size(asked), name, text, asked);
    for (size_t i = 0; i < n && i < json_array_size(asked); i++) {
        json_t *each = json_array_get(asked, i);
        double at = json_number_value(json_object_get(each, "at"));
        double within = json_number_value(json_object_get(each, "within"));
        snprintf(text, sizeof text, "%zu", found[i].at);
        tell_text(c, fabs((double)found[i].at - at) <= within, "at", text, each);
        number(c, "effect", found[i].effect, json_object_get(each, "effect"));
    }
}

static void check_history(struct check *c, json_t *input, json_t *expect)
{
    const char *name, *key;
    json_t *value, *each;
    json_object_foreach(expect, name, value)
    {
        double values[HISTORY_MOST];
        struct change found[CHANGES_MOST];
        size_t n = numbers(json_object_get(input, name), values, HISTORY_MOST);
        n = history_changes(values, n, found);
        json_object_foreach(value, key, each)
        {
            if (strcmp(key, "changes") == 0)
                check_changes(c, name, found, n, each);
            else
                unknown(c, name, key);
        }
    }
}

static void check_repeats(struct check *c, json_t *input, json_t *expect)
{
    double a[RUNS_MOST], b[RUNS_MOST];
    size_t na = numbers(json_object_get(input, "a"), a, RUNS_MOST);
    size_t nb = numbers(json_object_get(input, "b"), b, RUNS_MOST);
    struct run_comparison r;
    compare_runs(a, na, b, nb, json_number_value(json_object_get(input, "confidence")), &r);
    const char *key;
    json_t *value;
    json_object_foreach(expect, key, value)
    {
        if (strcmp(key, "p") == 0)
            number(c, key, r.p, value);
        else if (strcmp(key, "ratio") == 0)
            number(c, key, r.ratio, value);
        else if (strcmp(key, "lo") == 0)
            number(c, key, r.low, value);
        else if (strcmp(key, "hi") == 0)
            number(c, key, r.high, value);
        else
            unknown(c, "expect", key);
    }
}

static void check_vector(struct check *c, const char *path)
{
    static const struct {
        const char *kind;
        void (*check)(struct check *c, json_t *input, json_t *expect);
    } kinds[] = { { "run", check_run },         { "tables", check_tables },
                  { "rates", check_rates },     { "usl", check_usl },
                  { "compare", check_compare }, { "history", check_history },
                  { "repeats", check_repeats } };
    json_error_t error;
    json_t *vector = json_load_file(path, 0, &error);
    const char *kind = json_string_value(json_object_get(vector, "kind"));
    size_t i = 0;
    while (kind && i < COUNT_OF(kinds) && strcmp(kinds[i].kind, kind) != 0)
        i++;
    unsigned before = c->passed + c->failed;
    if (!kind || i == COUNT_OF(kinds))
        tell(c, false, "kind", kind ? kind : error.text, "a kind that is known here");
    else
        kinds[i].check(c, json_object_get(vector, "input"), json_object_get(vector, "expect"));
    if (c->passed + c->failed == before)
        tell(c, false, "expect", "nothing", "something to check");
    json_decref(vector);
}

static int is_vector(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 5 && strcmp(entry->d_name + n - 5, ".json") == 0 &&
           strcmp(entry->d_name, "prototype.json") != 0;
}

int main(int argc, char **argv)
{
    struct dirent **names;
    if (argc != 2) {
        fprintf(stderr, "usage: check-vectors DIR\n");
        return 2;
    }
    int n = scandir(argv[1], &names, is_vector, alphasort);
    if (n <= 0) {
        fprintf(stderr, "check-vectors: there are no vectors (NAME.json) in %s\n", argv[1]);
        return 2;
    }
    struct check c = { .folder = argv[1] };
    for (int i = 0; i < n; i++) {
        char path[512], name[64];
        snprintf(path, sizeof path, "%s/%s", argv[1], names[i]->d_name);
        snprintf(name, sizeof name, "%.*s", (int)(strlen(names[i]->d_name) - 5), names[i]->d_name);
        c.vector = name;
        check_vector(&c, path);
        free(names[i]);
    }
    free(names);
    printf("%u passed, %u failed\n", c.passed, c.failed);
    return c.failed > 0;
}
