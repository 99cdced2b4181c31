/* nulls [SERIES-A-FAMILY [SEED]]: how often a knee is found where there is none. Five families of constant
 * law and the smooth laws, over the lengths of interest; prints the rate of each family and length and
 * exits 1 when a family is above 1 %. */
#include "engine/analysis/phase.h"

#include <math.h>
#include <stdint.h>

static const size_t lengths[] = { 12, 30, 100, 300, 1000, 3000, 17500 };
enum { LONGEST = 17500 };

/* splitmix64 and Box-Muller: the same series on every machine. */
struct noise {
    uint64_t state;
    double last; /* of the autoregressive noise */
    double next_spike;
};

static double uniform(struct noise *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct noise *r)
{
    double u = uniform(r);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * uniform(r));
}

static double autoregressive(struct noise *r, size_t i, double phi)
{
    double fresh = normal(r);
    r->last = i == 0 ? fresh : phi * r->last + sqrt(1 - phi * phi) * fresh;
    return fmax(0.05, 1 + 0.2 * r->last);
}

/* Each gives the seconds of batch i of a run of n; x is how far the run is, 0 to 1. */
typedef double law(struct noise *r, size_t i, size_t n, double x);

#define LAW(name, expression)                                         \
    static double name(struct noise *r, size_t i, size_t n, double x) \
    {                                                                 \
        (void)r, (void)i, (void)n, (void)x;                           \
        return expression;                                            \
    }
LAW(gaussian, fmax(0.01, 1 + 0.1 * normal(r)))
LAW(lognormal_05, exp(0.5 * normal(r)))
LAW(lognormal_12, exp(1.2 * normal(r)))
LAW(pareto, pow(uniform(r), -1 / 1.5))
LAW(student_like, 1 + 0.05 * fabs(normal(r)) / sqrt(-log(uniform(r))))
LAW(ar_05, autoregressive(r, i, 0.5))
LAW(ar_09, autoregressive(r, i, 0.9))
LAW(spikes, (1 + 0.1 * normal(r)) * ((i + 17) % 50 < 2 ? 10 : 1))
LAW(linear, (1 + 2 * x) * (1 + 0.05 * normal(r)))
LAW(quadratic, (1 + 8 * x * x) * (1 + 0.05 * normal(r)))
LAW(logarithm, (1 + 0.5 * log1p(x * (double)n)) * (1 + 0.05 * normal(r)))
LAW(square_root, (1 + 3 * sqrt(x)) * (1 + 0.05 * normal(r)))
LAW(n_log_n, (1 + 2 * x * log1p(x * (double)n) / log((double)n)) * (1 + 0.05 * normal(r)))
LAW(mixed, (1 + x + 4 * x * x) * (1 + 0.05 * normal(r)))

static double jittered(struct noise *r, size_t i, size_t n, double x)
{
    (void)n, (void)x;
    double cost = 1 + 0.1 * normal(r);
    if (i == 0)
        r->next_spike = 37 * uniform(r);
    if ((double)i < r->next_spike)
        return cost;
    r->next_spike += 37 * (0.5 + uniform(r));
    return 10 * cost;
}

static const struct {
    const char *name;
    law *law;
} members[] = {
    { "normal", gaussian },
    { "lognormal-0.5", lognormal_05 },
    { "lognormal-1.2", lognormal_12 },
    { "pareto-1.5", pareto },
    { "student", student_like },
    { "ar-0.5", ar_05 },
    { "ar-0.9", ar_09 },
    { "journal", spikes },
    { "jittered", jittered },
    { "linear", linear },
    { "quadratic", quadratic },
    { "log", logarithm },
    { "sqrt", square_root },
    { "n-log-n", n_log_n },
    { "mixed", mixed },
};

static unsigned count(law *of, size_t n, unsigned series, uint64_t seed, double *load,
                      double *seconds)
{
    unsigned knees = 0;
    for (unsigned k = 0; k < series; k++) {
        struct noise r = { .state = seed + k * UINT64_C(0x632be59bd9b4e019) };
        for (size_t i = 0; i < n; i++) {
            load[i] = 100 * (double)(i + 1);
            seconds[i] = 4 * fmax(1e-3, of(&r, i, n, ((double)i + 0.5) / (double)n));
        }
        struct phase_findings found;
        struct problem why = { 0 };
        if (phase_findings_of(&(struct batches){ n, 0, load, seconds }, &found, &why) < 0)
            return series;
        knees += found.knee.shape != KNEE_NONE;
    }
    return knees;
}

int main(int argc, char **argv)
{
    static double load[LONGEST], seconds[LONGEST];
    unsigned each = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    unsigned series = each / COUNT_OF(lengths) ? each / (unsigned)COUNT_OF(lengths) : 1;
    bool good = true;
    printf("knees in %zu x %u series without one, by batches of the run\n%-15s", COUNT_OF(lengths),
           series, "");
    for (size_t l = 0; l < COUNT_OF(lengths); l++)
        printf("%8zu", lengths[l]);
    printf("%9s\n", "all");
    for (size_t m = 0; m < COUNT_OF(members); m++) {
        unsigned sum = 0;
        printf("%-15s", members[m].name);
        for (size_t l = 0; l < COUNT_OF(lengths); l++) {
            unsigned knees = count(members[m].law, lengths[l], series,
                                   seed * 1000003 + m * 7919 + l * 104729, load, seconds);
            printf("%7.2f%%", 100.0 * knees / series);
            fflush(stdout);
            sum += knees;
        }
        double rate = (double)sum / (series * (double)COUNT_OF(lengths));
        printf("%8.2f%%\n", 100 * rate);
        good &= rate <= 0.01;
    }
    return good ? 0 : 1;
}
