/* Empties the caches of the kernel, so that what comes next is read from the device. */
#pragma once
#include "engine/base/problem.h"

#include <stdint.h>

/* Everything that is clean, once, without a look at what stays. Needs root. */
must_check int cold_drop(struct problem *why);
/* For a folder whose filesystem has been flushed, with `files` entries that have just been in use. Looks whether
 * they have gone: -1 when they have not, and for a filesystem that lives in memory. Needs root. */
must_check int cold_drop_caches(int folder, uint64_t files, struct problem *why);
