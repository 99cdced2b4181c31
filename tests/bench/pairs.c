/* pairs [PAIRS [SEED]]: how often two runs of one law are called slower or faster, and how often a run that is
 * 12 % slower is called slower. Runs of 1,000 batches; prints the rate of each family and exits 1 when one
 * of the first kind is above 1 %, or the second (normal noise, CV 10 %) below 95 %. */
#include "engine/analysis/compare.h"
#include "tests/bench/noise.h"

#include <stdlib.h>

enum { BATCHES = 1000 };

struct run {
    double load[BATCHES], seconds[BATCHES];
};

static void fill(struct run *run, law *of, uint64_t seed, double factor)
{
    struct noise r = { .state = seed };
    for (size_t i = 0; i < BATCHES; i++) {
        run->load[i] = 100 * (double)(i + 1);
        run->seconds[i] =
            4 * factor * fmax(1e-3, of(&r, i, BATCHES, ((double)i + 0.5) / (double)BATCHES));
    }
}

struct tally {
    unsigned slower, faster, same;
};

static struct tally compare(law *of, unsigned pairs, uint64_t seed, double factor)
{
    static struct run a, b;
    struct tally tally = { 0 };
    for (unsigned k = 0; k < pairs; k++) {
        struct comparison c;
        fill(&a, of, seed + 2 * k * UINT64_C(0x632be59bd9b4e019), 1);
        fill(&b, of, seed + (2 * k + 1) * UINT64_C(0x632be59bd9b4e019), factor);
        compare_within(&(struct batches){ .n = BATCHES, .load = a.load, .seconds = a.seconds },
                       &(struct batches){ .n = BATCHES, .load = b.load, .seconds = b.seconds }, &c);
        tally.slower += c.verdict == VERDICT_SLOWER;
        tally.faster += c.verdict == VERDICT_FASTER;
        tally.same += c.verdict == VERDICT_SAME;
    }
    return tally;
}

int main(int argc, char **argv)
{
    unsigned pairs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 500;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    bool good = true;
    printf("%u pairs of runs of one law, %d batches each\n%-15s%9s%9s%9s%12s\n", pairs, BATCHES, "",
           "slower", "faster", "same", "cannot tell");
    for (size_t m = 0; m < COUNT_OF(members); m++) {
        struct tally t = compare(members[m].law, pairs, seed * 1000003 + m * 7919, 1);
        printf("%-15s%8.2f%%%8.2f%%%8.2f%%%11.2f%%\n", members[m].name, 100.0 * t.slower / pairs,
               100.0 * t.faster / pairs, 100.0 * t.same / pairs,
               100.0 * (pairs - t.slower - t.faster - t.same) / pairs);
        good &= t.slower + t.faster <= pairs / 100;
    }
    struct tally t = compare(members[0].law, pairs, seed * 1000003 + 31, 1.12);
    printf("12 %% slower: %.2f%% slower\n", 100.0 * t.slower / pairs);
    return good && t.slower >= 0.95 * pairs ? 0 : 1;
}
