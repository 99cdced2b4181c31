#include "api/ticks.h"

#include "engine/base/attr.h"
#include "engine/words.h"

#include <math.h>
#include <stdbool.h>

struct scale {
    double least, per; /* from `least` on, figures are divided by `per` */
    const char *name;
};
static const struct scale times[] = {
    { 1, 1, " s" }, { 1e-3, 1e-3, " ms" }, { 1e-6, 1e-6, " µs" }, { 0, 1e-9, " ns" }
};
static const struct scale sizes[] = { { 1099511627776.0, 1099511627776.0, " TiB" },
                                      { 1073741824, 1073741824, " GiB" },
                                      { 1048576, 1048576, " MiB" },
                                      { 1024, 1024, " KiB" },
                                      { 0, 1, " B" } };
static const struct scale counts[] = {
    { 1e9, 1e9, " G" }, { 1e6, 1e6, " M" }, { 1e4, 1e3, " k" }, { 0, 1, "" }
};

static const struct scale *scale_of(const struct scale *scales, double most)
{
    while (most < scales->least * 0.9999999)
        scales++;
    return scales;
}

/* The least of 1, 2, 5, 10, 20, ... that leaves at most `most` ticks. */
static double step_of(double low, double high, size_t most)
{
    static const double round[] = { 1, 2, 5, 10 };
    double least = (high - low) / (double)most, power = pow(10, floor(log10(least)));
    for (size_t i = 0; i < COUNT_OF(round); i++) {
        double step = round[i] * power;
        if (floor(high / step + 1e-9) - ceil(low / step - 1e-9) + 1 <= (double)most + 1e-9)
            return step;
    }
    return 20 * power;
}

void ticks_of(double low, double high, size_t most, const char *unit, struct ticks *ret)
{
    bool nanoseconds = strcmp(unit, "ns") == 0, seconds = nanoseconds || strcmp(unit, "s") == 0;
    double base = nanoseconds ? 1e-9 : 1;
    *ret = (struct ticks){ 0 };
    if (!isfinite(low) || !isfinite(high) || high <= low)
        return;
    most = most < 2 ? 2 : most > TICKS_MOST ? TICKS_MOST : most;
    double size = fmax(fabs(low), fabs(high)) * base;
    const struct scale *scale = scale_of(seconds                          ? times
                                         : strncmp(unit, "bytes", 5) == 0 ? sizes
                                                                          : counts,
                                         size);
    double by = scale->per / base; /* an axis in units of `by` has round ticks */
    double step = step_of(low / by, high / by, most);
    int digits = (int)fmax(0, -floor(log10(step) + 1e-9));
    for (double k = ceil(low / by / step - 1e-9);
         k * step <= high / by + 1e-9 * step && ret->n < most; k++) {
        ret->at[ret->n] = k * step * by;
        char number[WORDS];
        if (digits)
            snprintf(number, sizeof number, "%.*f", digits, k * step);
        else
            words_count(k * step, number);
        snprintf(ret->label[ret->n], TICK_TEXT, "%.20s%s", k == 0 ? "0" : number,
                 k == 0 ? "" : scale->name);
        ret->n++;
    }
}
