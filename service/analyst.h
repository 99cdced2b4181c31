/* Says what the numbers of a job mean, once it has ended: reads its series, writes its findings, and looks at
 * the baselines whose history it belongs to. A thread of its own and of low priority, since other jobs may be measured meanwhile. */
#pragma once
#include "service/baselines.h"

struct analyst;

struct analyst_settings {
    struct store *store;
    struct prober *prober;
    const char *host;
    void (*changed)(void *arg, job_id id); /* its findings are there */
    void *arg;
};
must_check int analyst_start(const struct analyst_settings *settings, struct analyst **ret,
                             struct problem *why);
/* A job may have ended: look soon. */
void analyst_nudge(struct analyst *analyst);
struct analyst *analyst_stop(struct analyst *analyst);
