#include "schema/recent.h"

void recent_of(struct recent *recent, unsigned run, unsigned leg)
{
    if (recent->run == run && recent->leg == leg)
        return;
    recent->run = run;
    recent->leg = leg;
    recent->n = 0;
    recent->ops = 0;
}

double recent_rate(struct recent *recent, nsec at, nsec elapsed, int64_t ops)
{
    size_t place = recent->n % RECENT;
    recent->at[place] = at;
    recent->ops_before[place] = recent->ops;
    recent->ops += (double)ops;
    recent->n++;
    size_t oldest = recent->n > RECENT ? recent->n - RECENT : 0;
    size_t i = recent->n - 1;
    while (i > oldest && recent->at[(i - 1) % RECENT] > at - elapsed)
        i--;
    double done = recent->ops - recent->ops_before[i % RECENT];
    /* A batch that took longer than what is remembered is measured over that. */
    nsec span = i == oldest && oldest > 0 ? at - recent->at[i % RECENT] : elapsed;
    return span > 0 ? done / seconds_of(span) : 0;
}
