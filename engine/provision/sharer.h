/* Shares what a provisioner has made by NFS. To add a means: a file beside this, a line in sharing.c and one
 * in engine/ledger.h, tests. What is shared is told to the journal before it is, so that a clean-up finds exactly that. */
#pragma once
#include "engine/provision/provisioner.h"

struct server; /* the NFS server, spoken to: each means has its own */

/* What all shares of a run have in common. */
struct sharing_with {
    const struct target *target;
    const char *name;             /* of the run */
    struct ledger_shares *shares; /* borrowed: what is known of them */
    int stop;                     /* as in struct provision */
    bool cleaning;
};

struct sharer {
    bool follows; /* it goes with its filesystem, and needs no undoing before that is taken away */

    /* Whether it could share there now: 0, or why not. Changes nothing; within seconds. */
    int (*probe)(const struct target *target, struct problem *why);
    /* 1 in a clean-up: nothing can be shared any more, and there is no server to speak to. */
    int (*open)(const struct sharing_with *with, struct server **ret, struct problem *why);
    struct server *(*close)(struct server *server);
    /* Chooses what those up to `end` are known by, before that is told. NULL: their paths say all. */
    int (*claim)(struct server *server, uint64_t end, struct problem *why);
    int (*share)(struct server *server, uint64_t number, struct problem *why);
    /* After its filesystem was brought back. NULL: it is shared as before. */
    int (*again)(struct server *server, uint64_t number, struct problem *why);
    /* It is not shared any more, or was not; what others share is left. */
    int (*unshare)(struct server *server, uint64_t number, struct problem *why);
};

/* Where filesystem `number` is mounted, which is what is shared; the dataset for zfs. */
must_check int share_path(const struct ledger_shares *shares, uint64_t number,
                          char path[SHARE_ROOT], struct problem *why);

/* --- for workloads --- */

struct sharing; /* the shares of one run */

/* Rules of the settings of a target, its fields named as there. */
must_check int sharing_check_target(const struct target *target, struct problem *why);
/* Whether the target allows and can number that many. */
must_check int sharing_check(const struct target *target, uint64_t filesystems,
                             struct problem *why);
/* Whether this means could share at the target now: 0, or the reason. May take seconds. */
must_check int sharing_probe(const struct target *target, struct problem *why);

/* Reaches the server, before the first change. */
must_check int sharing_open(const struct provision *with, struct sharing **ret,
                            struct problem *why);
struct sharing *sharing_close(struct sharing *sharing);
/* Once the parent is there. */
must_check int sharing_begin(struct sharing *sharing, const struct provisioner *provisioner,
                             struct pool *pool, struct problem *why);
/* Those below `end` may be shared from now on; to be followed by run_made_tell(). */
must_check int sharing_claim(struct sharing *sharing, uint64_t end, struct problem *why);
must_check int sharing_share(struct sharing *sharing, uint64_t number, struct problem *why);
must_check int sharing_unshare(struct sharing *sharing, uint64_t number, struct problem *why);
/* Around a cycle of the first n: the one before they are taken away, the other when they are back, also after
 * a restart of the machine. */
must_check int sharing_withdraw(struct sharing *sharing, uint64_t n, struct problem *why);
must_check int sharing_restore(struct sharing *sharing, uint64_t n, struct problem *why);
/* Clean-up: nothing that the run has shared is shared any more. */
must_check int sharing_clean(struct run *run, const struct provision *with, struct problem *why);

/* What a target can do beyond making filesystems; some of it is asked of servers: may take seconds. */
void capabilities_probe(const struct target *target, struct target_facts *facts);
