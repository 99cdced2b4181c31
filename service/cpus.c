#include "service/cpus.h"

#include <errno.h>

static const char *number(const char *p, unsigned long *ret)
{
    if (*p < '0' || *p > '9')
        return NULL;
    char *end;
    *ret = strtoul(p, &end, 10);
    return *ret < CPU_SETSIZE ? end : NULL;
}

int cpus_parse(const char *text, cpu_set_t *ret, struct problem *why)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    const char *p = text;
    for (;;) {
        unsigned long from, to;
        if (!(p = number(p, &from)))
            break;
        to = from;
        if (*p == '-' && !(p = number(p + 1, &to)))
            break;
        if (to < from)
            break;
        for (; from <= to; from++)
            CPU_SET(from, &set);
        if (!*p) {
            *ret = set;
            return 0;
        }
        if (*p++ != ',')
            break;
    }
    return problem_field(why, "cpus", "\"%s\" is not a list of CPUs such as 0 or 0-1,4", text);
}

int cpus_take(const char *text, struct cpus *ret, struct problem *why)
{
    struct cpus cpus = { .set = text != NULL };
    if (!text) {
        *ret = cpus;
        return 0;
    }
    if (cpus_parse(text, &cpus.ours, why) < 0)
        return -1;
    if (sched_getaffinity(0, sizeof cpus.everything, &cpus.everything) < 0)
        return problem_errno(why, errno, "cannot tell the CPUs of this process");
    if (sched_setaffinity(0, sizeof cpus.ours, &cpus.ours) < 0)
        return problem_field(why, "cpus", "cannot move to CPUs %s: %s", text, strerror(errno));
    cpu_set_t shared;
    CPU_AND(&shared, &cpus.ours, &cpus.everything);
    CPU_XOR(&cpus.lanes, &shared, &cpus.everything);
    if (CPU_COUNT(&cpus.lanes) == 0)
        cpus.lanes = cpus.everything;
    *ret = cpus;
    return 0;
}

void cpus_lanes(const struct cpus *cpus)
{
    if (cpus->set)
        (void)sched_setaffinity(0, sizeof cpus->lanes, &cpus->lanes);
}

void cpus_ours(const struct cpus *cpus)
{
    if (cpus->set)
        (void)sched_setaffinity(0, sizeof cpus->ours, &cpus->ours);
}
