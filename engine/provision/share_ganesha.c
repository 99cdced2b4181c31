/* Shares by nfs-ganesha, which takes and gives up exports over D-Bus while it runs. An export has a number of 16 bits
 * that is its own among all of the server: one that nobody has is chosen and told to the journal before it is used,
 * and nothing is removed but what has both the number and the path that the run gave it. */
#include "engine/provision/sharer.h"

#include "engine/base/text.h"
#include "engine/provision/ganesha.h"

#include <errno.h>
#include <sys/mman.h>

extern const struct sharer share_ganesha;

struct server {
    struct sharing_with with;
    struct ganesha *ganesha;
    int file; /* the export's description, which ganesha reads: it has no name, so that none is left */
    char file_path[64];  /* the same, for others */
    unsigned char *used; /* bits, by export id: somebody has it */
    bool looked;         /* nothing was shared since that was found out */
};

static struct server *close_server(struct server *server)
{
    if (!server)
        return NULL;
    ganesha_close(server->ganesha);
    close_cell(&server->file);
    free(server->used);
    free(server);
    return NULL;
}

static int probe(const struct target *target unused, struct problem *why)
{
    struct ganesha *ganesha = NULL;
    int there = ganesha_open(-1, &ganesha, why);
    ganesha_close(ganesha);
    return there < 0 ? -1 : there ? 0 : ganesha_absent(why);
}

/* --- numbers --- */

static bool is_used(const struct server *server, uint64_t id)
{
    return server->used[id / 8] & 1u << id % 8;
}
static void use(struct server *server, uint16_t id)
{
    server->used[id / 8] |= (unsigned char)(1u << id % 8);
}

static int look_who_is_there(struct server *server, struct problem *why)
{
    if (ganesha_ids(server->ganesha, server->used, why))
        return -1;
    server->looked = true;
    return 0;
}

static int claim(struct server *server, uint64_t end, struct problem *why)
{
    const struct target *target = server->with.target;
    struct ledger_shares *shares = server->with.shares;
    uint64_t id = target->share_id_first;
    if (shares->n >= end)
        return 0;
    if (look_who_is_there(server, why))
        return -1;
    for (uint64_t i = 0; i < shares->n; i++)
        use(server, shares->ids[i]); /* ours, also where they are not shared yet */
    while (shares->n < end) {
        while (id <= target->share_id_last && is_used(server, id))
            id++;
        if (id > target->share_id_last)
            return problem_set(
                why, PROBLEM_CONFLICT, "no export id from %llu to %llu is left for filesystem %llu",
                (unsigned long long)target->share_id_first,
                (unsigned long long)target->share_id_last, (unsigned long long)shares->n);
        if (ledger_share_add(shares, (uint16_t)id++, why))
            return -1;
    }
    return 0;
}

/* A clean-up finds that the server is gone: its exports were with it alone. */
static int open_server(const struct sharing_with *with, struct server **ret, struct problem *why)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return problem_memory(why);
    server->with = *with;
    server->file = -1;
    int there = -1;
    if (!(server->used = malloc(GANESHA_IDS / 8)))
        problem_memory(why);
    else if ((server->file = memfd_create("export", MFD_CLOEXEC)) < 0)
        problem_errno(why, errno, "cannot make a file in memory");
    else
        there = ganesha_open(with->stop, &server->ganesha, why);
    if (there > 0 && with->cleaning && look_who_is_there(server, why))
        there = -1;
    if (there <= 0) {
        close_server(server);
        return there < 0 ? -1 : with->cleaning ? 1 : ganesha_absent(why);
    }
    snprintf(server->file_path, sizeof server->file_path, "/proc/%d/fd/%d", getpid(), server->file);
    *ret = server;
    return 0;
}

/* --- exports --- */

static void describe_client(const struct sharing_with *with, struct text *text)
{
    const struct texts *clients = &with->target->share_clients,
                       *options = &with->target->share_options;
    bool access = false;
    text_addf(text, "CLIENT { Clients = ");
    for (size_t i = 0; i < clients->n; i++)
        text_addf(text, "%s%s", i ? ", " : "", clients->at[i]);
    text_addf(text, "; ");
    for (size_t i = 0; i < options->n; i++) {
        size_t n = strcspn(options->at[i], "=");
        access = access || (n == 11 && strncasecmp(options->at[i], "Access_Type", n) == 0);
        text_addf(text, "%.*s = %s; ", (int)n, options->at[i], options->at[i] + n + 1);
    }
    text_addf(text, "%s}", access ? "" : "Access_Type = RW; ");
}

/* Nobody but the clients may: whatever the server's own presets allow to others. */
static char *describe(const struct sharing_with *with, uint16_t id, uint64_t number,
                      const char *path)
{
    char name[FILESYSTEM_NAME];
    struct text text = { 0 };
    filesystem_name(name, with->shares->prefix, number);
    text_addf(&text,
              "EXPORT { Export_Id = %u; Path = \"%s\"; Pseudo = \"%s/%s/%s\"; Access_Type = None; "
              "FSAL { Name = VFS; } ",
              id, path, with->target->share_pseudo, with->name, name);
    describe_client(with, &text);
    text_addf(&text, " }\n");
    return text_take(&text);
}

static int write_description(struct server *server, const char *words, struct problem *why)
{
    size_t n = strlen(words);
    if (ftruncate(server->file, 0) != 0 || pwrite(server->file, words, n, 0) != (ssize_t)n)
        return problem_errno(why, errno, "cannot write an export's description");
    return 0;
}

static int share(struct server *server, uint64_t number, struct problem *why)
{
    const struct ledger_shares *shares = server->with.shares;
    char path[SHARE_ROOT];
    if (share_path(shares, number, path, why))
        return -1;
    scoped_free char *words = describe(&server->with, shares->ids[number], number, path);
    if (!words)
        return problem_memory(why);
    server->looked = false;
    if (write_description(server, words, why))
        return -1;
    return ganesha_add(server->ganesha, server->file_path, shares->ids[number], why);
}

/* Only what has both its number and its path. */
static int unshare_one(struct server *server, uint64_t number, struct problem *why)
{
    const struct ledger_shares *shares = server->with.shares;
    char path[SHARE_ROOT], there[SHARE_ROOT];
    if (number >= shares->n || (server->looked && !is_used(server, shares->ids[number])))
        return 0;
    if (share_path(shares, number, path, why))
        return -1;
    int found = ganesha_path(server->ganesha, shares->ids[number], there, sizeof there, why);
    if (found <= 0 || strcmp(there, path) != 0)
        return found < 0 ? -1 : 0;
    return ganesha_remove(server->ganesha, shares->ids[number], why);
}

const struct sharer share_ganesha = {
    .probe = probe,
    .open = open_server,
    .close = close_server,
    .claim = claim,
    .share = share,
    .unshare = unshare_one,
};
