/* nulls [SERIES-A-FAMILY [SEED]]: how often a knee is found where there is none. Five families of constant
 * law and the smooth laws, over the lengths of interest; prints the rate of each family and length and
 * exits 1 when a family is above 1 %. */
#include "engine/analysis/phase.h"
#include "tests/bench/noise.h"

static const size_t lengths[] = { 12, 30, 100, 300, 1000, 3000, 17500 };
enum { LONGEST = 17500 };

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
