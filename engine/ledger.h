/* What a run has made on its target and by what it is known again: told to the journal batch by batch, so that
 * a clean-up after a crash removes that and nothing that merely has its name. */
#pragma once
#include "engine/base/problem.h"

#include <stdint.h>

enum { IDENTITY = 40 }; /* a uuid, a guid, DEVICE:INODE; and its end */

struct ledger {
    uint64_t claimed; /* numbers below this one may have been made */
    uint64_t n;       /* numbers below this one are known */
    char (*at)[IDENTITY];
    uint64_t mark;  /* random, told before anything is made: what bears it is ours; 0: not drawn */
    uint32_t group; /* under which entries of a folder are made, by which they bear it; 0: none */
    char parent[IDENTITY]; /* of what they lie in; "": not known */
    char search[256];      /* where an exported pool is found again; "": where all are */
};
/* Keeps that of number n. */
must_check int ledger_add(struct ledger *made, const char *identity, struct problem *why);
must_check int ledger_copy(const struct ledger *from, struct ledger *ret, struct problem *why);
void ledger_done(struct ledger *made);
/* That of a number; "" when it is not known. */
static inline const char *ledger_identity(const struct ledger *made, uint64_t number)
{
    return number < made->n ? made->at[number] : "";
}
