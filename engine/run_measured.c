/* A phase without lanes: what it measured is known already. */
#include "engine/histogram.h"
#include "engine/run_inside.h"

int run_measured(struct run *run, const char *name, const char *unit, uint64_t load, nsec took,
                 struct problem *why)
{
    const struct run_options *with = &run->with;
    const struct phase phase = {
        .name = name, .unit = unit, .lanes = 1, .total = 1, .batch = 1, .at_load = true
    };
    const struct sample sample = { .load = load,
                                   .at = clock_monotonic() - run->epoch,
                                   .elapsed = took,
                                   .ops = 1,
                                   .p50 = took,
                                   .p99 = took,
                                   .max = took };
    scoped_free struct histogram *latencies = calloc(1, sizeof *latencies);
    if (!latencies)
        return problem_memory(why);
    if (run_begin_phase(run, &phase, why))
        return -1;
    struct phase_total *total = &run->phases[run->phases_n++];
    histogram_note(latencies, took, 1);
    total->ops = total->first_ops = 1;
    total->first_start = sample.at - took;
    total->first_done = total->last_done = sample.at;
    total->latency = histogram_latency(latencies);
    total->finished = true;
    return journal_samples(with->journal, with->run, with->leg, name, &sample, 1, why) ||
                   journal_phase_end(with->journal, total, latencies, why)
               ? -1
               : 0;
}
