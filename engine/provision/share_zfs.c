/* Shares by the property sharenfs of each dataset: OpenZFS then exports it by itself, again whenever the pool is
 * imported, and no more once the dataset is gone. */
#include "engine/provision/sharer.h"

#include "engine/base/spawn.h"
#include "engine/base/text.h"

#define TOOL_DEADLINE (60 * NSEC_PER_SEC)
extern const struct sharer share_zfs;

struct server {
    struct sharing_with with;
    char *property; /* sharenfs=... */
};

static struct server *close_server(struct server *server)
{
    if (!server)
        return NULL;
    free(server->property);
    free(server);
    return NULL;
}

/* zfs-fuse has the property, and does nothing with it. The daemon's own /dev may be without the module's device. */
static int probe(const struct target *target unused, struct problem *why)
{
    const char *const argv[] = { "exportfs", "-s", NULL };
    if (access("/dev/zfs", F_OK) != 0 && access("/sys/module/zfs", F_OK) != 0)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "sharenfs takes the kernel module of OpenZFS, which is not loaded: "
                           "there is no /dev/zfs");
    return spawn_run(argv, TOOL_DEADLINE, NULL, 0, why);
}

/* "rw=CLIENT:CLIENT,OPTION": networks have an @ in front there; ro among the options is for all clients. */
static int join_property(const struct target *target, char **ret, struct problem *why)
{
    const struct texts *options = &target->share_options, *clients = &target->share_clients;
    struct text text = { 0 };
    const char *access = "rw";
    for (size_t i = 0; i < options->n; i++)
        access = strcmp(options->at[i], "ro") == 0 ? "ro" : access;
    text_addf(&text, "sharenfs=%s=", access);
    for (size_t i = 0; i < clients->n; i++)
        text_addf(&text, "%s%s%s", i ? ":" : "",
                  strchr(clients->at[i], '/') && clients->at[i][0] != '@' ? "@" : "",
                  clients->at[i]);
    for (size_t i = 0; i < options->n; i++)
        if (strcmp(options->at[i], "ro") != 0 && strcmp(options->at[i], "rw") != 0)
            text_addf(&text, ",%s", options->at[i]);
    *ret = text_take(&text);
    return *ret ? 0 : problem_memory(why);
}

static int open_server(const struct sharing_with *with, struct server **ret, struct problem *why)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return problem_memory(why);
    server->with = *with;
    if (probe(with->target, why) || join_property(with->target, &server->property, why)) {
        close_server(server);
        return -1;
    }
    *ret = server;
    return 0;
}

static int set(struct server *server, uint64_t number, const char *property, struct problem *why)
{
    char dataset[SHARE_ROOT];
    const char *const argv[] = { "zfs", "set", property, dataset, NULL };
    if (share_path(server->with.shares, number, dataset, why))
        return -1;
    return spawn_run_until(server->with.stop, argv, TOOL_DEADLINE, NULL, 0, why);
}

static int share(struct server *server, uint64_t number, struct problem *why)
{
    return set(server, number, server->property, why);
}

static int unshare_one(struct server *server, uint64_t number, struct problem *why)
{
    return set(server, number, "sharenfs=off", why);
}

/* An import has shared it already; mounting it alone has not. */
static int again(struct server *server, uint64_t number, struct problem *why)
{
    char dataset[SHARE_ROOT];
    const char *const argv[] = { "zfs", "share", dataset, NULL };
    struct problem words = { 0 };
    if (share_path(server->with.shares, number, dataset, why))
        return -1;
    if (spawn_run_until(server->with.stop, argv, TOOL_DEADLINE, NULL, 0, &words) == 0 ||
        strstr(words.message, "already shared"))
        return 0;
    *why = words;
    return -1;
}

const struct sharer share_zfs = {
    .follows = true,
    .probe = probe,
    .open = open_server,
    .close = close_server,
    .share = share,
    .again = again,
    .unshare = unshare_one,
};
