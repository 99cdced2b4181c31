/* The address of a host by its name, by a deadline, which the system's resolver does not know. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"

#include <stdbool.h>

enum { HOST_ADDRESS = 64 }; /* in digits, with the scope of a local one */

/* What `host` (a name, or an address already) stands for first, in digits. `until`: monotonic. `stopped` is looked
 * at four times a second: true ends the wait with CANCELLED; NULL: never. */
must_check int resolve_host(const char *host, nsec until, bool (*stopped)(void *arg), void *arg,
                            char ret[HOST_ADDRESS], struct problem *why);
