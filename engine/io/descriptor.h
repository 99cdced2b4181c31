/* A file of the run directory as a descriptor, for the backends of this host's filesystems. */
#pragma once
#include "engine/base/problem.h"

/* flags: bits of enum io_open. CONFLICT when one is to be created and is there. */
must_check int descriptor_open(int folder, const char *name, unsigned flags, struct problem *why);
