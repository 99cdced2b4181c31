/* What a run has made on its target and by what it is known again: told to the journal batch by batch, so that
 * a clean-up after a crash removes that and nothing that merely has its name. */
#pragma once
#include "engine/base/field.h"
#include "engine/base/problem.h"

#include <stdint.h>

enum { IDENTITY = 40 }; /* a uuid, a guid, DEVICE:INODE; and its end */

enum share_means { SHARE_NONE, SHARE_ZFS, SHARE_EXPORTFS, SHARE_GANESHA }; /* a target's share */
extern const char *const share_means[]; /* by enum share_means; NULL-terminated */

enum { SHARE_ROOT = 4096 + 64 };

/* What of it was shared over NFS, and how: enough to undo that whatever the settings are by then. */
struct ledger_shares {
    int means;             /* enum share_means */
    char root[SHARE_ROOT]; /* where the filesystems are: ROOT/PREFIXNUMBER, a path or a dataset */
    char prefix;
    struct texts clients; /* exportfs: to whom */
    uint64_t claimed;     /* numbers below this one may be shared */
    uint64_t n;           /* ganesha: numbers below this one have an export id */
    uint16_t *ids;
    uint64_t told; /* of n, to the journal */
};

struct ledger {
    uint64_t claimed; /* numbers below this one may have been made */
    uint64_t n;       /* numbers below this one are known */
    char (*at)[IDENTITY];
    uint64_t mark;  /* random, told before anything is made: what bears it is ours; 0: not drawn */
    uint32_t group; /* under which entries of a folder are made, by which they bear it; 0: none */
    char parent[IDENTITY]; /* of what they lie in; "": not known */
    char search[256];      /* where an exported pool is found again; "": where all are */
    struct ledger_shares shares;
};
/* Keeps that of the next share. */
must_check int ledger_share_add(struct ledger_shares *shares, uint16_t id, struct problem *why);
must_check int ledger_share_to(struct ledger_shares *shares, const char *client,
                               struct problem *why);
/* Keeps that of number n. */
must_check int ledger_add(struct ledger *made, const char *identity, struct problem *why);
must_check int ledger_copy(const struct ledger *from, struct ledger *ret, struct problem *why);
void ledger_done(struct ledger *made);
/* That of a number; "" when it is not known. */
static inline const char *ledger_identity(const struct ledger *made, uint64_t number)
{
    return number < made->n ? made->at[number] : "";
}
