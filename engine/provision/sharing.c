/* What every means of sharing has in common: which there are, what a target's settings may say of them, and what is
 * known of the shares of a run. */
#include "engine/provision/sharer.h"

#include "engine/base/text.h"

#include <ctype.h>

extern const struct sharer share_zfs, share_exportfs, share_ganesha;

static const struct sharer *const by_means[] = {
    [SHARE_ZFS] = &share_zfs,
    [SHARE_EXPORTFS] = &share_exportfs,
    [SHARE_GANESHA] = &share_ganesha,
};

struct sharing {
    const struct sharer *sharer;
    struct sharing_with with;
    struct server *server;
};

int share_path(const struct ledger_shares *shares, uint64_t number, char path[SHARE_ROOT],
               struct problem *why)
{
    char name[FILESYSTEM_NAME];
    filesystem_name(name, shares->prefix, number);
    if (text_fit(path, SHARE_ROOT, "%s/%s", shares->root, name) < 0)
        return problem_set(why, PROBLEM_UNSUPPORTED, "the path of %s is too long", name);
    return 0;
}

/* --- rules --- */

/* Every means puts these into a list or a file of its own, where nothing else may begin with them. */
static bool is_made_of(const char *text, const char *others)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr(others, *text))
            return false;
    return true;
}

static int check_clients(const struct target *target, struct problem *why)
{
    if (target->share_clients.n == 0)
        return problem_field(why, "share_clients",
                             "share_clients must name somebody to whom is shared");
    for (size_t i = 0; i < target->share_clients.n; i++) {
        const char *client = target->share_clients.at[i];
        if (client[0] == '-' || !is_made_of(client, ".:/@*?_-[]"))
            return problem_field(why, "share_clients",
                                 "share_clients must be addresses, networks or names, not %s",
                                 client);
    }
    return 0;
}

static int check_options(const struct target *target, struct problem *why)
{
    bool ganesha = target->share == SHARE_GANESHA;
    for (size_t i = 0; i < target->share_options.n; i++) {
        const char *option = target->share_options.at[i], *equals = strchr(option, '=');
        if (!isalpha((unsigned char)option[0]) || !is_made_of(option, "=_.:/@-") ||
            (ganesha && (!equals || !equals[1])))
            return problem_field(
                why, "share_options", "share_options must be as %s for share = %s, not %s",
                ganesha ? "Squash=No_Root_Squash, SecType=sys" : "rw, no_root_squash, fsid=7",
                share_means[target->share], option);
    }
    return 0;
}

static int check_place(const struct target *target, struct problem *why)
{
    if (target->share == SHARE_ZFS && target->kind != TARGET_ZFS)
        return problem_field(why, "share",
                             "share cannot be zfs for kind %s: sharenfs is a property of datasets",
                             target_kinds[target->kind]);
    if (target->kind == TARGET_NFS)
        return problem_field(why, "share",
                             "share does not go with kind nfs: its server shares what it holds");
    if (target->path && target->path[strcspn(target->path, " \t\"'\\#:,;{}")])
        return problem_field(why, "path",
                             "path must be without spaces, quotes and any of \\ # : , ; { } to be "
                             "shared, not %s",
                             target->path);
    return 0;
}

int sharing_check_target(const struct target *target, struct problem *why)
{
    if (target->share == SHARE_NONE)
        return 0;
    if (check_place(target, why) || check_clients(target, why) || check_options(target, why))
        return -1;
    if (target->share_id_last < target->share_id_first)
        return problem_field(why, "share_id_last",
                             "share_id_last must not be below share_id_first, which is %llu",
                             (unsigned long long)target->share_id_first);
    if (target->share_pseudo[0] != '/' || !is_made_of(target->share_pseudo, "/._-") ||
        strstr(target->share_pseudo, "/."))
        return problem_field(why, "share_pseudo",
                             "share_pseudo must be a plain absolute path, as /plimsoll, not %s",
                             target->share_pseudo);
    return 0;
}

/* By hand there is no administrator but whoever asks. */
static int means_of(const struct target *target)
{
    if (target->name[0])
        return target->share;
    return target->kind == TARGET_ZFS ? SHARE_ZFS : SHARE_EXPORTFS;
}

int sharing_check(const struct target *target, uint64_t filesystems, struct problem *why)
{
    int means = means_of(target);
    uint64_t ids = target->share_id_last - target->share_id_first + 1;
    if (means == SHARE_NONE)
        return problem_field(why, "/params/share",
                             "the target does not allow nfs: its setting share does not say by "
                             "what means (zfs, exportfs or ganesha)");
    if (means == SHARE_GANESHA && filesystems > ids)
        return problem_field(why, "/params/filesystems",
                             "filesystems must be at most %llu to be shared: the target has so "
                             "many export ids, from share_id_first to share_id_last",
                             (unsigned long long)ids);
    return 0;
}

int sharing_probe(const struct target *target, struct problem *why)
{
    return by_means[target->share]->probe(target, why);
}

/* --- the shares of a run --- */

static int open_server(struct sharing *sharing, struct problem *why)
{
    sharing->sharer = by_means[sharing->with.shares->means];
    return sharing->sharer->open(&sharing->with, &sharing->server, why);
}

static struct sharing_with sharing_of(const struct provision *with)
{
    return (struct sharing_with){ .target = with->target,
                                  .name = with->name,
                                  .shares = &with->made->shares,
                                  .stop = with->stop,
                                  .cleaning = with->cleaning };
}

int sharing_open(const struct provision *with, struct sharing **ret, struct problem *why)
{
    const struct texts *clients = &with->target->share_clients;
    struct ledger_shares *shares = &with->made->shares;
    struct sharing *sharing = calloc(1, sizeof *sharing);
    if (!sharing)
        return problem_memory(why);
    sharing->with = sharing_of(with);
    shares->means = means_of(with->target);
    for (size_t i = 0; i < clients->n && shares->clients.n < clients->n; i++)
        if (ledger_share_to(shares, clients->at[i], why)) {
            sharing_close(sharing);
            return -1;
        }
    if (open_server(sharing, why)) {
        sharing_close(sharing);
        return problem_during(why, "nothing can be shared: ");
    }
    *ret = sharing;
    return 0;
}

struct sharing *sharing_close(struct sharing *sharing)
{
    if (sharing && sharing->server)
        sharing->sharer->close(sharing->server);
    free(sharing);
    return NULL;
}

int sharing_begin(struct sharing *sharing, const struct provisioner *provisioner, struct pool *pool,
                  struct problem *why)
{
    struct ledger_shares *shares = sharing->with.shares;
    if (shares->root[0]) /* told by an earlier leg */
        return 0;
    if (shares->means != SHARE_ZFS)
        return provisioner->place(pool, shares->root, &shares->prefix, why);
    shares->prefix = 'f';
    return text_fit(shares->root, sizeof shares->root, "%s/%s", sharing->with.target->dataset,
                    sharing->with.name) < 0
               ? problem_set(why, PROBLEM_UNSUPPORTED, "the name of the dataset is too long")
               : 0;
}

int sharing_claim(struct sharing *sharing, uint64_t end, struct problem *why)
{
    struct ledger_shares *shares = sharing->with.shares;
    if (sharing->sharer->claim && sharing->sharer->claim(sharing->server, end, why))
        return -1;
    if (end > shares->claimed)
        shares->claimed = end;
    return 0;
}

int sharing_share(struct sharing *sharing, uint64_t number, struct problem *why)
{
    return sharing->sharer->share(sharing->server, number, why);
}

int sharing_unshare(struct sharing *sharing, uint64_t number, struct problem *why)
{
    return sharing->sharer->unshare(sharing->server, number, why);
}

static int each(struct sharing *sharing, uint64_t n,
                int (*operate)(struct server *server, uint64_t number, struct problem *why),
                const char *doing, struct problem *why)
{
    for (uint64_t i = 0; i < n; i++)
        if (operate(sharing->server, i, why))
            return problem_during(why, "%s filesystem %llu: ", doing, (unsigned long long)i);
    return 0;
}

int sharing_withdraw(struct sharing *sharing, uint64_t n, struct problem *why)
{
    if (sharing->sharer->follows)
        return 0;
    return each(sharing, n, sharing->sharer->unshare, "unsharing", why);
}

int sharing_restore(struct sharing *sharing, uint64_t n, struct problem *why)
{
    const struct sharer *sharer = sharing->sharer;
    return each(sharing, n, sharer->again ? sharer->again : sharer->share, "sharing again", why);
}

int sharing_clean(struct run *run, const struct provision *with, struct problem *why)
{
    const struct ledger_shares *shares = &with->made->shares;
    struct sharing sharing = { .with = sharing_of(with) };
    if (shares->claimed == 0 || shares->means == SHARE_NONE || by_means[shares->means]->follows)
        return 0;
    int opened = open_server(&sharing, why);
    int result = opened < 0 ? -1 : 0;
    for (uint64_t i = 0; i < shares->claimed && opened == 0 && result == 0; i++)
        result = sharing.sharer->unshare(sharing.server, i, why) || run_removed(run, 0, why);
    if (sharing.server)
        sharing.sharer->close(sharing.server);
    return result ? problem_during(why, "unsharing what the run shared: ") : 0;
}
