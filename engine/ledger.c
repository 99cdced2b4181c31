#include "engine/ledger.h"

const char *const share_means[] = { "none", "zfs", "exportfs", "ganesha", NULL };

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

int ledger_share_add(struct ledger_shares *shares, uint16_t id, struct problem *why)
{
    if ((shares->n & (shares->n - 1)) == 0) {
        uint64_t room = shares->n ? 2 * shares->n : 1;
        uint16_t *ids = reallocarray(shares->ids, room, sizeof *ids);
        if (!ids)
            return problem_memory(why);
        shares->ids = ids;
    }
    shares->ids[shares->n++] = id;
    return 0;
}

int ledger_share_to(struct ledger_shares *shares, const char *client, struct problem *why)
{
    struct texts *clients = &shares->clients;
    char **at = reallocarray(clients->at, clients->n + 1, sizeof *at);
    if (!at)
        return problem_memory(why);
    clients->at = at;
    at[clients->n] = strdup(client);
    return at[clients->n] ? (clients->n++, 0) : problem_memory(why);
}

static int copy_shares(const struct ledger_shares *from, struct ledger_shares *shares,
                       struct problem *why)
{
    for (size_t i = 0; i < from->clients.n; i++)
        if (ledger_share_to(shares, from->clients.at[i], why))
            return -1;
    for (uint64_t i = 0; i < from->n; i++)
        if (ledger_share_add(shares, from->ids[i], why))
            return -1;
    return 0;
}

int ledger_copy(const struct ledger *from, struct ledger *ret, struct problem *why)
{
    struct ledger made = *from;
    made.at = NULL;
    made.n = 0;
    made.shares.clients = (struct texts){ 0 };
    made.shares.ids = NULL;
    made.shares.n = 0;
    if (copy_shares(&from->shares, &made.shares, why)) {
        ledger_done(&made);
        return -1;
    }
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
    free(made->shares.ids);
    texts_done(&made->shares.clients);
    *made = (struct ledger){ 0 };
}
