/* What the HTTP surface needs from the daemon that it lives in; filled in by service/main.c. */
#pragma once
#include "engine/base/field.h"
#include "engine/target.h"
#include "schema/store.h"

struct app {
    struct store *store;
    const char *host;  /* whose targets these are; the `host` of new jobs */
    const char *state; /* the state directory: jobs/ID/journal.ndjson */
    const char *web;   /* the folder of static files */
    void *service;     /* passed to the functions below */

    /* The targets as last read, held until released (SIGHUP swaps them). */
    const struct targets *(*targets_hold)(void *service);
    void (*targets_release)(void *service, const struct targets *targets);
    /* What the prober last learnt of it, never older than it says; false: not yet known. */
    bool (*target_facts)(void *service, const char *name, struct target_facts *ret);
    /* A job was queued or a cancel asked for: look now. */
    void (*nudge)(void *service);
    /* Removes the files that the daemon keeps about a job, if any; CONFLICT, and nothing is removed, when
     * there are others beside them. */
    int (*forget)(void *service, job_id id, struct problem *why);
    /* 0 when jobs can be taken; otherwise why not. */
    int (*ready)(void *service, struct problem *why);
};

struct server_settings {
    struct texts listen;     /* "127.0.0.1:7117", "[::1]:7117", "unix:/run/plimsoll/http" */
    char *certificate, *key; /* PEM files; NULL: no TLS */
    uint64_t body_bytes;     /* cap of a request's body; 1 MiB */
    uint64_t upload_bytes;   /* the same of one that is kept in a file; 1 GiB */
    uint64_t connections;    /* at most, in all */
    nsec idle;               /* a connection that says nothing is closed after this */
    uint64_t threads;
};

struct server;
must_check int server_start(struct app *app, const struct server_settings *settings,
                            struct server **ret, struct problem *why);
/* A job changed: wakes those who wait for it. Any thread. */
void server_wake(struct server *server, job_id job);
/* Reads certificate and key again (SIGHUP), for connections from now on. 1: they have changed; 0: they
 * have not; on failure those in use stay. One thread at a time. */
must_check int server_reload(struct server *server, const struct server_settings *settings,
                             struct problem *why);
/* Forget cached principals (SIGHUP). */
void server_forget(struct server *server);
/* Stops listening, lets answers finish until the deadline, then closes. Returns NULL. */
struct server *server_stop(struct server *server, nsec deadline_in);
/* The port that listen[i] really got (":0" in tests); 0 for a unix socket. */
unsigned server_port(const struct server *server, size_t i);

/* Secrets, for `plimsolld token add` and the quickstart: "plm_" and 32 random bytes in base64url. */
enum { SECRET_TEXT = 64 };
void secret_new(const char *prefix, char text[SECRET_TEXT]);
void secret_hash(const char *text, unsigned char hash[SECRET_HASH]);
