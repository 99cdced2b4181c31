#include "engine/slowdown.h"

#include "engine/analysis/numeric.h"
#include "engine/words.h"

int slowdown_check(double factor, struct problem *why)
{
    if (factor == 0 || factor > 1)
        return 0;
    return problem_field(why, "/params/stop_when_slower_than",
                         "stop_when_slower_than must be more than 1, or 0 for never, not %g",
                         factor);
}

void slowdown_init(struct slowdown *slowdown, double factor, unsigned lanes, uint64_t batch)
{
    *slowdown = (struct slowdown){ .factor = factor, .lanes = lanes, .batch = batch, .began = -1 };
}

/* Seconds per operation of the wall-time batch that this sample completes; -1: it goes on. */
static double gather(struct slowdown *slowdown, const struct sample *sample)
{
    if (slowdown->began < 0)
        slowdown->began = sample->at - sample->elapsed;
    slowdown->samples++;
    slowdown->ops += sample->ops;
    slowdown->busy += sample->elapsed;
    if (slowdown->samples < slowdown->lanes)
        return -1;
    /* What one lane does between its batches belongs to none of them. */
    nsec took = slowdown->lanes == 1 ? slowdown->busy : sample->at - slowdown->began;
    double each = slowdown->ops ? seconds_of(took) / (double)slowdown->ops : -1;
    slowdown->samples = 0;
    slowdown->ops = 0;
    slowdown->busy = 0;
    slowdown->began = sample->at;
    return each;
}

static void say(const struct slowdown *slowdown, double each, struct limit *ret)
{
    char usual[WORDS], last[WORDS];
    words_seconds(slowdown->usual * (double)slowdown->batch, usual);
    words_seconds(each * (double)slowdown->batch, last);
    *ret = (struct limit){ .reached = true, .reason = LIMIT_SLOWER };
    snprintf(ret->detail, sizeof ret->detail,
             "%d batches in a row took more than %g times the %s that the first %d took in the "
             "median: the last one took %s%s",
             SLOWDOWN_ROW, slowdown->factor, usual, SLOWDOWN_FIRST, last,
             slowdown->lanes > 1 ? ", all lanes together" : "");
}

bool slowdown_note(struct slowdown *slowdown, const struct sample *sample, struct limit *ret)
{
    double scratch[SLOWDOWN_FIRST];
    if (slowdown->factor == 0)
        return false;
    double each = gather(slowdown, sample);
    if (each < 0)
        return false;
    if (slowdown->first_n < SLOWDOWN_FIRST) {
        slowdown->first[slowdown->first_n++] = each;
        slowdown->usual = median_of(slowdown->first, slowdown->first_n, scratch);
        return false;
    }
    slowdown->row = each > slowdown->factor * slowdown->usual ? slowdown->row + 1 : 0;
    if (slowdown->row < SLOWDOWN_ROW)
        return false;
    say(slowdown, each, ret);
    return true;
}
