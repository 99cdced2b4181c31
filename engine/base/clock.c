#include "engine/base/clock.h"

#include "engine/base/attr.h"

#include <ctype.h>
#include <sys/timex.h>

const char *const clock_syncs[] = { "unknown", "synchronised", "unsynchronised", NULL };

static nsec ask(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (nsec)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

nsec clock_monotonic(void)
{
    return ask(CLOCK_MONOTONIC);
}

nsec clock_wall(void)
{
    return ask(CLOCK_REALTIME);
}

nsec clock_thread_cpu(void)
{
    return ask(CLOCK_THREAD_CPUTIME_ID);
}

nsec clock_process_cpu(void)
{
    return ask(CLOCK_PROCESS_CPUTIME_ID);
}

nsec clock_since_boot(void)
{
    return ask(CLOCK_BOOTTIME);
}

enum clock_sync clock_sync(void)
{
    struct timex state = { .modes = 0 };
    int kept = adjtimex(&state);
    if (kept < 0)
        return CLOCK_SYNC_UNKNOWN;
    return kept == TIME_ERROR || state.status & STA_UNSYNC ? CLOCK_UNSYNCHRONISED
                                                           : CLOCK_SYNCHRONISED;
}

char *clock_format(nsec wall, char text[CLOCK_TEXT])
{
    time_t seconds = (time_t)(wall / NSEC_PER_SEC);
    nsec rest = wall % NSEC_PER_SEC;
    if (rest < 0) {
        rest += NSEC_PER_SEC;
        seconds--;
    }
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t n = strftime(text, CLOCK_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + n, CLOCK_TEXT - n, ".%06dZ", (int)(rest / NSEC_PER_USEC));
    return text;
}

/* Reads ".123" as nanoseconds and moves past it. */
static nsec fraction(const char **p)
{
    nsec value = 0, unit = NSEC_PER_SEC;
    if (**p != '.')
        return 0;
    for ((*p)++; isdigit((unsigned char)**p); (*p)++)
        if (unit > 1)
            value += (unit /= 10) * (**p - '0');
    return value;
}

/* "+01:30" as seconds, and moves past it; -1 if it is not an offset. */
static int zone(const char **p, long *ret_offset)
{
    const char *at = *p;
    int hours, minutes, used = 0;
    if (*at == 'Z' || *at == 'z') {
        *ret_offset = 0;
        *p = at + 1;
        return 0;
    }
    if ((*at != '+' && *at != '-') || !isdigit((unsigned char)at[1]) ||
        sscanf(at + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5 || hours > 23 ||
        minutes > 59)
        return -1;
    *ret_offset = (*at == '-' ? -1 : 1) * (hours * 3600L + minutes * 60L);
    *p = at + 6;
    return 0;
}

/* Seconds since 1970 of "2026-01-31T23:59:59", or -1. strptime takes "2026-1-31" and the 31st of
 * February too; what is written back shows it. */
static int date_and_time(const char *text, time_t *ret)
{
    enum { SHAPE = 19 };
    char again[SHAPE + 1];
    struct tm tm = { 0 }, back;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!rest || rest - text != SHAPE)
        return -1;
    time_t seconds = timegm(&tm);
    if (!gmtime_r(&seconds, &back) ||
        strftime(again, sizeof again, "%Y-%m-%dT%H:%M:%S", &back) != SHAPE ||
        strncmp(again, text, SHAPE) != 0)
        return -1;
    *ret = seconds;
    return 0;
}

int clock_parse(const char *text, nsec *ret)
{
    time_t seconds;
    long offset;
    if (date_and_time(text, &seconds) < 0)
        return -1;
    const char *p = text + strlen("2026-01-31T23:59:59");
    if (*p == '.' && !isdigit((unsigned char)p[1]))
        return -1;
    nsec rest = fraction(&p);
    if (zone(&p, &offset) < 0 || *p)
        return -1;
    seconds -= offset;
    /* What nanoseconds since 1970 can hold: the years 1678 to 2261. */
    if (seconds > INT64_MAX / NSEC_PER_SEC - 1 || seconds < INT64_MIN / NSEC_PER_SEC + 1)
        return -1;
    *ret = (nsec)seconds * NSEC_PER_SEC + rest;
    return 0;
}
