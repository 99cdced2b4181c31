/* A private PostgreSQL cluster on disk: its binaries, its files, and the start of its server. The
 * process is embedded_postgres.c's. */
#pragma once
#include "engine/base/problem.h"
#include "service/process.h"

#include <limits.h>

#define POSTGRES_USER "plimsoll" /* who it runs as under root; also its only database role */

struct postgres_cluster {
    char bin[PATH_MAX]; /* "/usr/lib/postgresql/15/bin" */
    unsigned major;     /* 15 */
    char state[PATH_MAX];
    char data[PATH_MAX]; /* STATE/postgres */
    char log[PATH_MAX];  /* STATE/postgres.log */
    char socket[96];     /* folder of the socket, ours alone: a socket's path has 107 bytes */
    bool other_user;     /* root: it runs as POSTGRES_USER */
    uid_t uid;
    gid_t gid;
};

/* Finds the binaries (those that made the cluster, else the newest) and the user, and makes the
 * socket's folder. */
must_check int postgres_cluster_open(const char *state, const char *runtime,
                                     struct postgres_cluster *ret, struct problem *why);
/* initdb, unless the cluster is there. */
must_check int postgres_cluster_make(const struct postgres_cluster *cluster, struct problem *why);
must_check int postgres_cluster_start(const struct postgres_cluster *cluster, struct process *ret,
                                      struct problem *why);
/* A server of this cluster that outlived its daemon: 1 and it; 2 and it when it listens on another
 * socket than ours; 0: none. */
must_check int postgres_cluster_running(const struct postgres_cluster *cluster, struct process *ret,
                                        struct problem *why);
/* Whether this process takes connections, on our socket. */
bool postgres_cluster_ready(const struct postgres_cluster *cluster, pid_t pid);
/* For libpq, of the cluster whose socket is in that runtime folder; NULL when there is no memory. */
must_check char *postgres_cluster_conninfo(const char *runtime);
