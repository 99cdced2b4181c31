/* The settings of the daemon: [service] and the targets, from one file and its conf.d. */
#pragma once
#include "engine/base/field.h"
#include "engine/target.h"

#define SETTINGS_PATH "/etc/plimsoll/plimsoll.conf"

enum launcher_kind { LAUNCHER_AUTO, LAUNCHER_SPAWN, LAUNCHER_SYSTEMD };

struct settings {
    char *state;             /* absolute, on a local filesystem */
    struct texts listen;     /* "127.0.0.1:7117", "[::1]:0", "unix:/run/plimsoll/http" */
    char *certificate, *key; /* PEM; both or none */
    char *database;          /* "embedded" or a libpq connection string */
    char *cpus;              /* "0" or "0-1,4"; NULL: wherever the kernel likes */
    char *web;
    char *runner;
    int launcher;  /* enum launcher_kind */
    char *runtime; /* sockets: its path is short */
    char *host;
    uint64_t imports; /* bytes: the largest body of POST /imports */

    struct targets targets;
};

extern const struct field settings_fields[]; /* of [service] */

/* Reads, fills in what depends on this host, and checks what can be checked without touching
 * anything. The problem's field is "file:line" or the key. */
must_check int settings_load(const char *path, struct settings *ret, struct problem *why);
void settings_done(struct settings *settings);
bool settings_embedded(const struct settings *settings);
/* A key of [service] that differs and takes a restart to change; NULL: none. */
const char *settings_restart(const struct settings *old, const struct settings *new);
