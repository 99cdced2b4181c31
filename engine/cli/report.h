/* What people see of a measurement by hand: progress, a table, one sentence; or JSON. */
#pragma once
#include "engine/cli/session.h"

struct spread;

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

/* ---- shared by the table and the JSON ---- */
/* Of its unit, per second; 0 of a phase that did not get so far. */
double report_rate(const struct phase_total *phase);
/* Of each phase of each point; the caller frees *ret. */
must_check int report_spreads(const struct outcome *outcome, struct spread **ret, size_t *ret_n,
                              struct problem *why);
