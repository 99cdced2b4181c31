/* What the routes of jobs take in. */
#pragma once
#include "api/reply.h"

enum { NOTE_MOST = 4000, REF_MOST = 200, LABEL_MOST = 200 }; /* characters */

struct job_body {
    char *workload, *target;
    struct bound params;
    struct map labels;
    char *note, *external_ref;
    int64_t priority;
    struct matrix matrix;
    uint64_t repeat, seed;
};
struct job_post_query {
    bool dry_run;
};
struct job_get_query {
    nsec wait;
};
struct job_patch {
    char *note, *external_ref;
    struct map labels;
    bool pinned;
};
struct jobs_get_query {
    uint64_t limit, state;
    char *cursor, *workload, *target;
    struct map label;
    nsec created_after, created_before;
    int sort;
};
extern const struct field job_body[], job_post_query[], job_patch[], job_get_query[],
    jobs_get_query[];

/* The answer about a job as text, for store_job_add and store_import: what a repeated request gets, too. */
must_check int job_render(void *arg, const struct job *job, char **ret, struct problem *why);
/* A member of that name, rendered by the table, as JSON text. */
must_check int job_member_text(const struct field *table, const void *object, const char *name,
                               char **ret, struct problem *why);
/* No more will change about it, short of a new version of this program. */
bool job_settled(int state, int cleanup);
/* The answer is about the job as it stands in *job, and may be kept for as long as that is good. */
void job_keep(struct reply *out, const struct job *job);
