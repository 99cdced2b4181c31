/* What stands at a target of kind nfs, asked of its server: within seconds, and never by a mount. */
#pragma once
#include "engine/target.h"

void nfs_probe(const struct target *target, struct target_facts *ret);
