/* How much of a file is in this host's memory, and how to have it not there. */
#pragma once
#include "engine/base/problem.h"
#include "engine/target.h"

#include <stdint.h>

/* By mincore(2). The kernel tells it to whoever owns the file or may write to it. */
must_check int resident_bytes(int file, uint64_t *ret, struct problem *why);
/* Empties the memory of a file that has no unwritten data, by the first of the ways (enum cold_way) that does it,
 * and looks: *ret_way is that one's name. -1, UNSUPPORTED, with the reason when none did. */
must_check int resident_evict(int file, uint64_t ways, const char **ret_way, struct problem *why);
