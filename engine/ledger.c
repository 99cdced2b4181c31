#include "engine/ledger.h"

int ledger_add(struct ledger *made, const char *identity, struct problem *why)
{
    if ((made->n & (made->n - 1)) == 0) { /* room for the next power of two */
        uint64_t room = made->n ? 2 * made->n : 1;
        void *at = reallocarray(made->at, room, sizeof *made->at);
        if (!at)
            return problem_memory(why);
        made->at = at;
    }
    snprintf(made->at[made->n++], sizeof *made->at, "%s", identity);
    return 0;
}

int ledger_copy(const struct ledger *from, struct ledger *ret, struct problem *why)
{
    struct ledger made = *from;
    made.at = NULL;
    made.n = 0;
    for (uint64_t i = 0; i < from->n; i++)
        if (ledger_add(&made, from->at[i], why)) {
            ledger_done(&made);
            return -1;
        }
    *ret = made;
    return 0;
}

void ledger_done(struct ledger *made)
{
    free(made->at);
    *made = (struct ledger){ 0 };
}
