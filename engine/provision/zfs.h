/* What zfs.c, which makes datasets, and zfs_destroy.c, which knows them again and takes them away, have in common. */
#pragma once
#include "engine/provision/provisioner.h"

#include "engine/base/lock.h"

#define TOOL_DEADLINE (60 * NSEC_PER_SEC)
#define POOL_DEADLINE (600 * NSEC_PER_SEC) /* of the whole pool: with thousands to mount, minutes */
#define MARK \
    "plimsoll:run" /* a property, set as a dataset is made; what is made by others below inherits it */
enum {
    DATASET = 256,   /* the longest name that ZFS takes */
    AT_ONCE = 200,   /* datasets named in one call */
    ANSWER = 1024,   /* what a tool says of one dataset */
    LOOK_AHEAD = 10, /* a program is started for each look */
    OUTPUT = 8 << 20 /* 20,000 datasets of the longest names, two lines each */
};

/* What a dataset is known by. */
struct identity {
    char guid[IDENTITY];
    bool marked; /* it was made with our mark */
};

/* Identities that one call has told of the next few: each is used once, and soon. */
struct ahead {
    pthread_mutex_t lock;
    uint64_t first;                 /* lock, as all that follows */
    nsec at;                        /* when it was asked */
    struct identity of[LOOK_AHEAD]; /* of number first, ...; without a guid: not known */
};

struct pool {
    struct provision with;
    char parent[DATASET], pool[DATASET];
    char *output;
    struct ahead ahead;
};
extern const struct provisioner provision_zfs;

/* Runs a tool, its words in pool->output. */
must_check int zfs_tool(struct pool *pool, const char *const *argv, nsec deadline,
                        struct problem *why);
void zfs_child(const struct pool *pool, uint64_t number, char name[DATASET]);
void zfs_mark(const struct pool *pool, char mark[IDENTITY]);
/* A run that died while the pool was exported left it so, and so may a boot. 1: it had to be imported. */
must_check int zfs_bring_back(struct pool *pool, struct problem *why);

/* What a dataset is known by: 1; 0 when there is none; -1. Several may ask at once. */
must_check int zfs_look(struct pool *pool, const char *dataset, struct identity *ret,
                        struct problem *why);
/* As of struct provisioner. */
must_check int zfs_destroy(struct pool *pool, uint64_t number, struct problem *why);
must_check int zfs_clean(struct pool *pool, struct run *run, struct problem *why);
