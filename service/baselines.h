/* After a job has been analysed: whether the histories that it belongs to have changed. Opens, refreshes and
 * resolves alerts, and queues the repeat of a run that may have been chance. The same again does nothing. */
#pragma once
#include "schema/store.h"
#include "service/prober.h"

struct baselines_settings {
    struct store *store;
    struct prober *prober; /* knows whether a target may still be used */
};
must_check int baselines_look(const struct baselines_settings *settings, const struct job *job,
                              struct problem *why);
