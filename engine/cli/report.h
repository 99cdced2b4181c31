/* What people see of a measurement by hand: progress, a table, one sentence; or JSON. */
#pragma once
#include "engine/cli/session.h"

/* Where the progress line stands. `{ 0 }` is a start. */
struct progress {
    bool tty;
    nsec shown; /* monotonic */
};
void progress_show(void *arg, const struct phase_total *phase);
void progress_done(struct progress *progress);

void report_table(const struct plan *plan, const struct outcome *outcome);
must_check int report_json(const struct plan *plan, const struct outcome *outcome,
                           struct problem *why);
/* The kinds and their parameters. */
void report_workloads(void);
must_check int report_workloads_json(struct problem *why);
