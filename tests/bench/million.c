/* million [SAMPLES]: what the analysis of one phase takes: CPU time and memory, from the samples to the
 * sentences. Exits 1 above 2 s or 200 MB. */
#include "engine/finding.h"
#include "tests/bench/noise.h"

#include <sys/resource.h>

enum { BATCH = 100 };

static int add(struct series_kept *series, size_t n, struct problem *why)
{
    struct sample group[SAMPLE_GROUP];
    struct noise r = { .state = 1 };
    nsec at = 0;
    for (size_t i = 0; i < n;) {
        size_t k = 0;
        for (; k < SAMPLE_GROUP && i < n; k++, i++) {
            double cost = normal(&r) / 10 + (i < n * 9 / 10 ? 1 : 1 + (double)i / (double)n);
            nsec elapsed = (nsec)(4e6 * fmax(0.1, cost));
            at += elapsed;
            group[k] = (struct sample){ .load = BATCH * (i + 1),
                                        .at = at,
                                        .elapsed = elapsed,
                                        .ops = BATCH,
                                        .cpu = elapsed,
                                        .switches = i % 100 == 0 };
        }
        if (series_kept_add(series, group, k, why))
            return -1;
    }
    struct phase_total phase = *series_kept_phase(series);
    phase.ops = BATCH * n;
    phase.last_done = at;
    series_kept_total(series, &phase);
    return 0;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    const struct phase_total phase = {
        .name = "create", .unit = "files", .lanes = 1, .batch = BATCH
    };
    struct problem why = { 0 };
    struct series_kept *series = NULL;
    struct findings findings = { 0 };
    struct rusage before, after;
    if (series_kept_new(&phase, &series, &why) || add(series, n, &why)) {
        fprintf(stderr, "million: %s\n", why.message);
        return 2;
    }
    getrusage(RUSAGE_SELF, &before);
    if (findings_of_phase(series, &findings, &why)) {
        fprintf(stderr, "million: %s\n", why.message);
        return 2;
    }
    getrusage(RUSAGE_SELF, &after);
    for (size_t i = 0; i < findings.n; i++)
        printf("%s\n", findings.at[i].sentence);
    double cpu = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                 (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1e6 +
                 (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
                 (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec) / 1e6;
    double megabytes = (double)after.ru_maxrss * 1024 / 1e6;
    printf("%zu samples: %.2f s of CPU time, %.0f MB\n", n, cpu, megabytes);
    series_kept_free(series);
    findings_done(&findings);
    return cpu < 2 && megabytes < 200 ? 0 : 1;
}
