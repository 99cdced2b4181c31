/* What a measurement stood on: the `environment` of the journal's `begin` record. */
#pragma once
#include "engine/base/problem.h"

#include <jansson.h>

struct target;

/* Reads the machine and the filesystem of an open folder. `state` is the state directory, to tell
 * whether it shares the target's device; NULL by hand. A fact that the machine does not tell is
 * null, never guessed. Takes some milliseconds, and the target may hang it: call it before the
 * clock starts. NULL: no memory. */
must_check json_t *environment_read(int target, const char *state);
/* Puts in how the target shares by NFS what a run makes, if it does. */
void environment_of_share(json_t *environment, const struct target *target);
/* Puts in what stands at a target that has no folder of this host; asks it, within seconds. */
void environment_of_target(json_t *environment, const struct target *target);
