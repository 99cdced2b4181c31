/* A run directory on an NFS server: made, found, and emptied by generated names alone. */
#pragma once
#include "engine/io/backend.h"
#include "engine/io/nfs_wire.h"

struct wire_options nfs_wire_options(const struct io_options *options);
/* See struct io_backend. */
must_check int nfs_folder_make(const struct io_options *options, struct problem *why);
must_check int nfs_folder_sweep(struct run *run, const struct io_options *options,
                                const struct made *made, struct problem *why);
