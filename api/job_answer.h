/* A job as readers see it. */
#pragma once
#include "api/reply.h"

extern const struct field job_answer[];
struct findings_query {
    uint64_t run;
};
extern const struct field findings_answer[], findings_query[]; /* findings.c */
extern const struct field jobs_answer[];                       /* {"items": [...], "next_cursor"} */

/* A new object; NULL with why. */
json_t *job_json(const struct job *job, struct problem *why);
/* Its progress alone; null unless a phase runs. NULL with why. */
json_t *job_progress_json(const struct job *job, struct problem *why);
