/* Where a job's spec and journal are. Named by its spec's path, they are the caller's own affair. Found by
 * its number, which is how root runs the jobs of a service that has no privileges, nothing that the service
 * can write is trusted: no link is followed below the state folder, everything belongs to its owner, and
 * what the spec may name is decided by settings that only root can write. */
#pragma once
#include "engine/spec.h"
#include "engine/target.h"

struct place {
    int folder;             /* jobs/ID, open; -1: none */
    char *state;            /* the state folder */
    char *spec;             /* the spec's name in the folder */
    job_id job;             /* 0: named by its spec */
    gid_t readers;          /* the service's group, of a job found by its number */
    struct targets targets; /* of the same settings */
};

must_check int place_of_spec(const char *spec, const char *settings, struct place *ret,
                             struct problem *why);
must_check int place_of_job(job_id job, const char *settings, struct place *ret,
                            struct problem *why);
void place_done(struct place *place);
must_check int place_spec(const struct place *place, struct spec *ret, struct problem *why);
