/* Shares by exportfs(8), which tells the kernel's server. A share is known by its path, which is below the run
 * directory, and by whom it is for: what others export, be it of the same folder, has another one. */
#include "engine/provision/sharer.h"

#include "engine/base/spawn.h"
#include "engine/base/text.h"

#include <errno.h>

#define TOOL_DEADLINE (60 * NSEC_PER_SEC)
#define PROBE_WITHIN  (5 * NSEC_PER_SEC)
#define THREADS       "/proc/fs/nfsd/threads"
extern const struct sharer share_exportfs;

struct server {
    struct sharing_with with;
    char *options;
};

static struct server *close_server(struct server *server)
{
    if (!server)
        return NULL;
    free(server->options);
    free(server);
    return NULL;
}

/* Also where the server's list is written, but nobody serves it. */
static int probe(const struct target *target unused, struct problem *why)
{
    const char *const argv[] = { "exportfs", "-s", NULL };
    char count[16] = "";
    scoped_file FILE *threads = fopen(THREADS, "re");
    if (spawn_run(argv, PROBE_WITHIN, NULL, 0, why))
        return -1;
    if (!threads)
        return problem_errno(why, errno, "the kernel's NFS server does not run: " THREADS);
    if (!fgets(count, sizeof count, threads) || strtoul(count, NULL, 10) == 0)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "the kernel's NFS server does not run: it has no thread");
    return 0;
}

static int join_options(const struct texts *options, char **ret, struct problem *why)
{
    struct text text = { 0 };
    for (size_t i = 0; i < options->n; i++)
        text_addf(&text, "%s%s", i ? "," : "", options->at[i]);
    if (options->n == 0)
        text_addf(&text, "rw,no_subtree_check");
    *ret = text_take(&text);
    return *ret ? 0 : problem_memory(why);
}

static int open_server(const struct sharing_with *with, struct server **ret, struct problem *why)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return problem_memory(why);
    server->with = *with;
    if (geteuid() != 0)
        problem_set(why, PROBLEM_UNSUPPORTED, "exportfs takes root, and the runner is not");
    else if ((with->cleaning || probe(with->target, why) == 0) &&
             join_options(&with->target->share_options, &server->options, why) == 0) {
        *ret = server;
        return 0;
    }
    close_server(server);
    return -1;
}

/* "client:path" of each client, behind the n arguments that are there. */
static int run_with(struct server *server, const char **argv, size_t n, uint64_t number,
                    struct problem *why)
{
    const struct texts *clients = &server->with.shares->clients;
    char path[SHARE_ROOT];
    scoped(texts_done) struct texts shares = { 0 };
    if (share_path(server->with.shares, number, path, why))
        return -1;
    shares.at = calloc(clients->n, sizeof *shares.at);
    if (!shares.at)
        return problem_memory(why);
    for (; shares.n < clients->n; shares.n++) {
        shares.at[shares.n] = text_new("%s:%s", clients->at[shares.n], path);
        if (!shares.at[shares.n])
            return problem_memory(why);
        argv[n + shares.n] = shares.at[shares.n];
    }
    argv[n + shares.n] = NULL;
    return spawn_run_until(server->with.stop, argv, TOOL_DEADLINE, NULL, 0, why);
}

static int share(struct server *server, uint64_t number, struct problem *why)
{
    const char *argv[TEXTS_MOST + 5] = { "exportfs", "-i", "-o", server->options };
    return run_with(server, argv, 4, number, why);
}

static int unshare_one(struct server *server, uint64_t number, struct problem *why)
{
    const char *argv[TEXTS_MOST + 3] = { "exportfs", "-u" };
    struct problem words = { 0 };
    if (run_with(server, argv, 2, number, &words) == 0 || strstr(words.message, "Could not find"))
        return 0;
    *why = words;
    return -1;
}

const struct sharer share_exportfs = {
    .probe = probe,
    .open = open_server,
    .close = close_server,
    .share = share,
    .unshare = unshare_one,
};
