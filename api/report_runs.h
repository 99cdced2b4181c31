/* What a report says of a job with several runs. */
#pragma once
#include "api/document.h"
#include "schema/store.h"

#include <jansson.h>

/* Above that many runs, a report does not tell everything of each. */
enum { REPORT_RUNS_IN_FULL = 8 };

/* The runs of each point beside each other, and a row for each run; nothing of a job of one run. */
void say_runs(struct document *to, const struct job *job, const json_t *findings);
/* Whether it is to be told among so many runs. */
bool report_tells(const struct job *job, const json_t *finding);
