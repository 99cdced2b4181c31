/* What the service hands to a runner: names and parameters only, in jobs/ID/spec.json. */
#pragma once
#include "engine/base/field.h"
#include "engine/job.h"

#define SPEC_FILE "spec.json"

struct spec {
    uint64_t job;
    char *nonce; /* 8 to 32 hex digits, new for every job: part of the run directory's name, so that
                     * it can be nobody else's */
    char *workload;
    char *target;
    struct bound params;
    struct matrix matrix;
    uint64_t repeat, seed;
};

extern const struct field spec_fields[];

/* What the database holds; params and matrix are texts of JSON objects. */
struct spec_held {
    job_id job;
    const char *nonce, *workload, *target, *params, *matrix;
    uint64_t repeat, seed;
};
must_check int spec_of_job(const struct spec_held *held, struct spec *ret, struct problem *why);
must_check int spec_read(const char *path, struct spec *ret, struct problem *why);
/* From an open file; `path` names it in problems. */
must_check int spec_read_open(int fd, const char *path, struct spec *ret, struct problem *why);
/* Written beside, fsynced, renamed into place. */
must_check int spec_write(const char *path, const struct spec *spec, struct problem *why);
void spec_done(struct spec *spec);
