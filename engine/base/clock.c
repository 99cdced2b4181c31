#include "engine/base/clock.h"

#include "engine/base/attr.h"

#include <ctype.h>

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

int clock_parse(const char *text, nsec *ret)
{
    struct tm tm = { 0 };
    const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!p)
        return -1;
    nsec rest = fraction(&p);
    long offset = 0;
    if (*p == '+' || *p == '-') {
        int hours, minutes, used = 0;
        if (sscanf(p + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5)
            return -1;
        offset = (*p == '-' ? -1 : 1) * (hours * 3600L + minutes * 60L);
        p += 6;
    } else if (*p == 'Z' || *p == 'z') {
        p++;
    } else {
        return -1;
    }
    if (*p)
        return -1;
    *ret = ((nsec)timegm(&tm) - offset) * NSEC_PER_SEC + rest;
    return 0;
}
