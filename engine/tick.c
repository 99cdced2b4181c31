#include "engine/tick.h"

#include "engine/base/attr.h"

enum { CALIBRATION = 20 }; /* ms: an error of 100 ns at its ends is 5 in a million */

#if defined(__x86_64__)
static bool has_word(const char *path, const char *line_start, const char *word)
{
    scoped_file FILE *file = fopen(path, "re");
    char line[8192];
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, line_start, strlen(line_start)) == 0)
            return strstr(line, word) != NULL;
    return false;
}

static bool trusted(void)
{
    return has_word("/sys/devices/system/clocksource/clocksource0/current_clocksource", "",
                    "tsc") &&
           has_word("/proc/cpuinfo", "flags", " constant_tsc") &&
           has_word("/proc/cpuinfo", "flags", " nonstop_tsc");
}

/* The two clocks at one instant: the tightest of some tries. */
static void both(uint64_t *ret_ticks, nsec *ret_now)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        nsec now = clock_monotonic();
        uint64_t after = __builtin_ia32_rdtsc();
        if (after - before < best) {
            best = after - before;
            *ret_ticks = before + (after - before) / 2;
            *ret_now = now;
        }
    }
}

struct tick_scale tick_calibrate(void)
{
    if (!trusted())
        return (struct tick_scale){ .tsc = false };
    uint64_t ticks[2] = { 0, 0 };
    nsec now[2] = { 0, 0 };
    both(&ticks[0], &now[0]);
    nanosleep(&(struct timespec){ .tv_nsec = CALIBRATION * NSEC_PER_MSEC }, NULL);
    both(&ticks[1], &now[1]);
    double per_tick = (double)(now[1] - now[0]) / (double)(ticks[1] - ticks[0]);
    if (ticks[1] <= ticks[0] || per_tick < 0.01 || per_tick > 100)
        return (struct tick_scale){ .tsc = false };
    return (struct tick_scale){ .tsc = true, .mult = (uint64_t)(per_tick * 4294967296.0) };
}
#else
struct tick_scale tick_calibrate(void)
{
    return (struct tick_scale){ .tsc = false };
}
#endif
