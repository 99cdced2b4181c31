/* What filesystem-scaling carries over a restart of the machine, and what that is measured by. */
#pragma once
#include "engine/run.h"

/* What earlier legs did. */
struct legs {
    uint64_t created, mounted, shared;
    nsec create_ns, mount_ns, share_ns; /* the phases' time, for their deadline */
};
enum { LEGS_TEXT = 192 };
must_check int legs_write(const struct legs *legs, char text[LEGS_TEXT], struct problem *why);
must_check int legs_read(const char *text, struct legs *ret, struct problem *why);

/* All is in place again, now: a phase for what was measured of it, each with one value at that load, and the
 * record `boot`. A clock that was set back meanwhile measured nothing. */
must_check int legs_tell(struct run *run, uint64_t load, uint64_t brought_back,
                         struct problem *why);
