/* What a contract test stands on: a real store, the real server on loopback, tokens of every role,
 * and a daemon that only counts how often it was nudged. */
#pragma once
#include "api/app.h"
#include "tests/contract/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants those four first */
#include <cmocka.h>

struct world {
    struct store *store;
    struct app app;
    struct targets targets;
    struct server *server;
    struct place place;
    char folder[64], state[96], web[96], socket[96];
    char host[32], scratch[32], attic[32]; /* of this process: others may use the database too */
    char viewer[SECRET_TEXT], operator_[SECRET_TEXT], admin[SECRET_TEXT], limited[SECRET_TEXT];
    int64_t viewer_id, operator_id;
    nsec batch;         /* what a batch of a job takes in world_run */
    const char *kernel; /* and the kernel it runs on */
    _Atomic int nudges;
    _Atomic bool unready;
    _Atomic job_id forgotten; /* the last job whose files were to be removed */
    _Atomic bool keeps;       /* refuses to remove them */
};

/* Of cmocka's group: *state is the struct world. PLIMSOLL_TEST_DB names the database. */
int world_setup(void **state);
int world_teardown(void **state);
/* The same, but with settings of the test's own: what is not set is as in world_setup. */
int world_start(struct world *world, struct server_settings settings);

/* A token with this role; its secret in `secret`, its id. */
int64_t world_token(struct world *world, const char *name, int role, const char *targets,
                    nsec expires_at, char secret[SECRET_TEXT]);
/* A job through the store, in state queued. */
job_id world_job(struct world *world);
job_id world_job_of(struct world *world, const char *workload, const char *params);
/* Lets a job run, after ending all others of this host: begin, one phase with n samples in groups, host
 * samples; ended as `outcome` says, or still running with JOB_RUNNING. */
void world_run(struct world *world, job_id job, size_t n, enum job_state outcome);

/* A baseline of the phase create on the scratch target, and an open alert of it, through the store. */
int64_t world_baseline(struct world *world, const char *name);
int64_t world_alert(struct world *world, int64_t baseline, job_id job);

struct answer world_get(struct world *world, const char *token, const char *target);
struct answer world_post(struct world *world, const char *token, const char *target,
                         const char *body);
/* Fails with the whole answer when the status is another. */
void expect_status(const struct answer *answer, int status);
/* A problem with this status and code, naming this field ("": none), valid in every member. */
void expect_problem(const struct answer *answer, int status, const char *code, const char *field);
