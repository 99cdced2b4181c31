#pragma once
#include "api/reply.h"

/* The report as JSON, written while it is sent: its `import` has every sample, and is what POST /imports
 * takes. `head` (stolen) are the members before it. */
must_check int report_stream(struct api *api, const struct job *job, json_t *head,
                             struct reply *out, struct problem *why);
