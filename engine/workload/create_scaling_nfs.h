/* create-scaling on an NFS server, by calls of version 3 of the protocol, without a mount. Private to the files
 * create_scaling*.c. What an operation is there, each call waiting for its answer:
 *
 *   create   CREATE (GUARDED: only if the name is not there), then WRITE of file_bytes, and COMMIT where sync is
 *            fsync; with sync open the WRITEs are FILE_SYNC
 *   list     READDIRPLUS, page by page
 *   stat     LOOKUP, whose answer has the attributes; GETATTR if it has not
 *   open     LOOKUP and ACCESS, as a client that has nothing cached
 *   rename   LOOKUP of the new name, which must not be there, and RENAME, which would replace it
 *   remove   REMOVE
 */
#pragma once
#include "engine/workload/create_scaling.h"

struct nfs_place;
struct nfs_lane; /* a connection, and where its lane works */

must_check int nfs_check(const struct create_scaling *with, struct problem *why);

/* Makes the run directory, the folders in it, and connects every lane, before any clock runs. */
must_check int nfs_place_open(struct run *run, const struct create_scaling *with,
                              struct nfs_place **ret, struct problem *why);
/* Before a phase: connections that have had nothing to do for long are made anew, for servers hang up on them. */
must_check int nfs_place_refresh(struct nfs_place *place, struct problem *why);
struct nfs_place *nfs_place_close(struct nfs_place *place);
room_fn nfs_place_room; /* of a struct nfs_place */
/* The run directory goes, with what is in it and `made`; foreign entries are left and listed. */
must_check int nfs_place_clean(struct run *run, const struct create_scaling *with,
                               const struct made *made, struct problem *why);

/* The folder that a lane works in, unless it is one of fanout's. */
static inline int nfs_folder_of(const struct site *site, unsigned lane)
{
    return site->with->layout == LAYOUT_PRIVATE ? (int)lane : 0;
}
/* That its connection is of no use any more has been told: of this operation. -1. */
static inline int nfs_lane_lost(uint64_t number, struct problem *why)
{
    if (why->code == PROBLEM_CANCELLED)
        return -1;
    return problem_during(why, "operation %llu: ", (unsigned long long)number);
}
/* A lane's, until the next phase. `why` is told of a connection that is of no use any more. */
struct nfs_lane *nfs_lane_of(struct nfs_place *place, unsigned lane, struct problem *why);
/* One operation in a folder: 0, or -1 and errno; errno 0: `why` is told. */
int nfs_lane_stat(struct nfs_lane *lane, int folder, const char *name);
int nfs_lane_open(struct nfs_lane *lane, int folder, const char *name);
int nfs_lane_rename(struct nfs_lane *lane, int folder, const char *from, const char *to);
int nfs_lane_remove(struct nfs_lane *lane, int folder, const char *name);
