/* Everything plimsoll knows of PostgreSQL. No other header mentions SQL or libpq. */
#pragma once
#include "engine/baseline.h"
#include "engine/finding.h"
#include "engine/job.h"
#include "engine/journal.h"
#include "engine/sample.h"
#include "engine/spread.h"

struct store; /* a pool of connections; any thread may call, and waits for one with a deadline */

/* Connects when a connection is first needed: the server may come later, or again. */
must_check int store_open(const char *conninfo, unsigned connections, struct store **ret,
                          struct problem *why);
struct store *store_close(struct store *store);
/* Brings the schema up to date; refuses a schema newer than this program. */
must_check int store_migrate(struct store *store, struct problem *why);
must_check int store_ping(struct store *store, struct problem *why);

/* ---- jobs ---- */
struct job_run {
    unsigned run;
    uint64_t point;                 /* the same of runs that measure the same */
    char *params;                   /* JSON text: what that point sets */
    int state, cleanup;             /* enum run_state, cleanup_state */
    nsec started_at, finished_at;   /* wall; 0: not yet */
    double used_bytes, used_inodes; /* of the target's filesystem when it began; NAN: not known */
};
struct job {
    job_id id;
    char *workload, *target, *host, *nonce;
    int state, cleanup; /* enum job_state, cleanup_state */
    bool stuck;
    char *params, *labels; /* JSON text */
    char *note, *external_ref, *created_by;
    int64_t priority;
    nsec created_at, started_at, finished_at; /* wall; 0: not yet */
    int64_t revision;  /* rises with every change that a reader could see: ETag, wait */
    char *environment; /* JSON text; NULL before the run began */
    struct problem problem;
    uint64_t removed;      /* by clean-up */
    char *foreign_entries; /* JSON array of names that clean-up left */
    char *cleanup_reason;  /* why clean-up is blocked; NULL: nothing to tell */
    char *kept_workspace;  /* NULL: it keeps no files on its target */
    uint64_t kept_files, kept_bytes;
    bool deleting;   /* it goes as soon as its kept files are removed */
    char *findings;  /* JSON array; empty until it is analysed */
    int analysis;    /* version of the analysis that found them; 0: not analysed yet */
    bool pinned;     /* cannot be deleted */
    bool imported;   /* it ran elsewhere: target "", and a name */
    char *name;      /* what an imported one was measured on; "" */
    job_id confirms; /* the job whose result it was queued to confirm; 0: none */
    char *boot_id;
    pid_t pid;
    uint64_t pid_start;
    off_t journal_offset;
    nsec
        reboot_by; /* wall: when the machine that it restarts is to be up again; 0: it restarts none */
    char *matrix; /* JSON text */
    uint64_t repeat, seed;
    size_t runs_n;
    struct job_run *runs; /* in order */
    size_t phases_n;
    struct phase_total *phases; /* in order of run and start; what several legs did is added up */
    size_t parts_n;
    struct phase_total *parts; /* the same, each leg by itself */
    char *boots;               /* JSON array of what restarts of the machine came to */
};
void job_done(struct job *job);
/* The phases of one of its runs, borrowed. */
struct run_rates job_run_rates(const struct job *job, const struct job_run *run);

struct job_new {
    const char *workload, *target, *host, *nonce, *params, *labels, *note, *external_ref,
        *created_by;
    int64_t priority;
    const char *matrix; /* NULL: nothing is varied */
    const char *runs;   /* JSON list of {"point", "params"}, in their order; NULL: one */
    uint64_t repeat, seed;
};
/* key NULL: no idempotency. Key, token, body hash, answer and the new row go in one transaction. */
struct idempotency {
    const char *key;
    int64_t token;
    unsigned char body_hash[32];
};
/* `render` makes the answer's text from the new job, inside the transaction. Returns 0: added,
 * 1: an earlier call with this key and body answered *ret_answer; BAD_FIELD at "/Idempotency-Key"
 * for another body, CONFLICT while the first is in flight. */
typedef int job_render_fn(void *arg, const struct job *job, char **ret, struct problem *why);
must_check int store_job_add(struct store *store, const struct job_new *job,
                             const struct idempotency *key, job_render_fn *render, void *arg,
                             job_id *ret_id, char **ret_answer, struct problem *why);
must_check int store_job_get(struct store *store, job_id id, struct job *ret, struct problem *why);
/* Only the revision and the state: for ETag and wait. NOT_FOUND if there is none. */
must_check int store_job_revision(struct store *store, job_id id, int64_t *ret, int *ret_state,
                                  struct problem *why);

struct job_filter {
    uint64_t states;               /* bits of enum job_state; 0: any */
    const char *workload, *target; /* NULL: any; comma-separated: one of them */
    const char *labels; /* NULL: any; a JSON object of names with comma-separated values */
    nsec created_after, created_before; /* wall, the first included; 0: open */
    bool oldest_first;
    job_id before; /* cursor: ids below this (above it, oldest first); 0: from the start */
    uint64_t limit;
};
typedef int job_fn(void *arg, const struct job *job, struct problem *why);
must_check int store_job_list(struct store *store, const struct job_filter *filter, job_fn *each,
                              void *arg, struct problem *why);

/* The oldest queued job of highest priority on this host whose target is free (no running job there,
 * and no clean-up that is not done) and among `targets` (comma-separated). Returns 1 and the job, now
 * running; 0: none. */
must_check int store_job_claim(struct store *store, const char *host, const char *targets,
                               struct job *ret, struct problem *why);
/* A queued job is cancelled at once; a running one becomes cancelling; again: the same. CONFLICT for
 * one that ended otherwise. ret_state: what it is now. */
must_check int store_job_cancel(struct store *store, job_id id, int *ret_state,
                                struct problem *why);
/* Ends it where no journal can: outcome and problem. No effect on a final job. */
must_check int store_job_finish(struct store *store, job_id id, enum job_state outcome,
                                enum cleanup_state cleanup, const struct problem *problem,
                                struct problem *why);
/* CONFLICT: another job uses the target. */
must_check int store_job_cleanup(struct store *store, job_id id, enum cleanup_state state,
                                 struct problem *why);
/* The same, and why (NULL: nothing to tell). KEPT and DONE give up deleting it. */
must_check int store_job_cleanup_because(struct store *store, job_id id, enum cleanup_state state,
                                         const char *reason, struct problem *why);
struct job_change {
    const char *note, *labels, *external_ref; /* NULL: as it is; labels: a JSON object */
    const bool *pinned;                       /* NULL: as it is */
    int64_t revision;                         /* 0: any; otherwise only of this one, or STALE */
};
must_check int store_job_change(struct store *store, job_id id, const struct job_change *change,
                                struct problem *why);
/* A job that has ended and is cleaned up, with all that belongs to it; CONFLICT for another one and one
 * that is pinned. `first` is called before it is gone for good; if that fails nothing has happened. 1: it
 * keeps files on its target, and goes once the daemon has removed them. */
typedef int job_gone_fn(void *arg, job_id id, struct problem *why);
must_check int store_job_delete(struct store *store, job_id id, job_gone_fn *first, void *arg,
                                struct problem *why);

/* What a job's state changed to, named by the job's revision of that change. */
struct job_event {
    int64_t revision;
    nsec at;            /* wall */
    int state, cleanup; /* enum job_state, cleanup_state */
    bool stuck;
};
/* Those after a revision, in order, at most `room`. None for a job that does not exist. */
must_check int store_job_events(struct store *store, job_id id, int64_t after,
                                struct job_event *events, size_t room, size_t *ret_n,
                                struct problem *why);
must_check int store_job_stuck(struct store *store, job_id id, bool stuck, struct problem *why);
/* What kept files take on each target of this host. */
typedef int kept_fn(void *arg, const char *target, uint64_t jobs, uint64_t files, uint64_t bytes,
                    struct problem *why);
must_check int store_kept(struct store *store, const char *host, kept_fn *each, void *arg,
                          struct problem *why);
/* Every job of this host that is not final, or whose clean-up is pending, running or blocked, or that is to
 * be deleted. */
must_check int store_job_open(struct store *store, const char *host, job_fn *each, void *arg,
                              struct problem *why);

/* Wakes `wake` on every change of a job, from whichever daemon: a hint only (LISTEN). Starts a thread
 * of its own; survives a lost database. */
must_check int store_watch(struct store *store, void (*wake)(void *arg, job_id id), void *arg,
                           struct problem *why);

/* ---- ingest: one transaction per call of commit ---- */
struct ingest;
/* Where to go on: the offset and the last sequence number stored. */
must_check int ingest_open(struct store *store, job_id job, struct ingest **ret, off_t *ret_offset,
                           struct problem *why);
/* Takes one record in; one already stored is skipped, so reading a line twice stores it once. */
must_check int ingest_add(struct ingest *ingest, const struct journal_record *record,
                          struct problem *why);
/* Writes all that was added since, with the offset. On failure nothing was written and the caller
 * opens anew. */
must_check int ingest_commit(struct ingest *ingest, struct problem *why);
struct ingest *ingest_close(struct ingest *ingest);

/* ---- imports ---- */
struct import_new {
    const char *workload, *name, *host, *params, *labels, *note, *external_ref, *created_by,
        *environment;
    int state;                    /* how it ended */
    nsec started_at, finished_at; /* wall */
    const struct problem *problem;
};
/* Adds a job that has ended, with all that its journal holds, in one transaction: others see all of it or
 * nothing. `place` puts the journal where the job's files are, last before that; the rest is as in
 * store_job_add. `stop` is looked at between records, and ends it with CANCELLED. */
typedef int import_place_fn(void *arg, job_id id, struct problem *why);
must_check int store_import(struct store *store, const struct import_new *job,
                            const struct idempotency *key, struct journal_reader *journal,
                            import_place_fn *place, job_render_fn *render, void *arg,
                            const _Atomic bool *stop, job_id *ret_id, char **ret_answer,
                            struct problem *why);

/* ---- series ---- */
struct series_query {
    job_id job;
    unsigned run; /* 0: all */
    const char *phase;
    const char *x; /* "load", "at" */
    const char *y; /* "elapsed","cpu","switches","ops","bytes","errors","p50","p99","max","rate" */
    double from, to; /* of x; NAN: open */
    uint64_t points;
};
struct series {
    uint64_t count; /* samples in the range */
    bool thinned;
    size_t n;
    double *x, *min, *max, *mean; /* elapsed and at in seconds, p50/p99/max/cpu in ns as named */
};
must_check int store_series(struct store *store, const struct series_query *query,
                            struct series *ret, struct problem *why);
void series_done(struct series *series);
/* Every sample of a phase (NULL: of all) in order, in groups; for CSV. Holds one connection. */
struct samples_cursor;
must_check int samples_open(struct store *store, job_id job, const char *phase,
                            struct samples_cursor **ret, struct problem *why);
/* The same with the legs of a phase as one: their times go on from leg to leg, and all are told to be of leg 1. */
must_check int samples_open_whole(struct store *store, job_id job, const char *phase,
                                  struct samples_cursor **ret, struct problem *why);
/* 1: a group, valid until the next call; 0: the end. */
must_check int samples_next(struct samples_cursor *cursor, const char **ret_phase,
                            unsigned *ret_run, unsigned *ret_leg, const struct sample **ret,
                            size_t *ret_n, struct problem *why);
struct samples_cursor *samples_close(struct samples_cursor *cursor);
enum host_origin { HOST_CLIENT, HOST_SERVER }; /* this host; the target's server */
extern const char *const host_origins[];
struct host_query {
    job_id job;
    int of; /* enum host_origin */
    unsigned run,
        leg; /* 0: all, one after the other; their times count from each leg's beginning */
    uint64_t points;
};
/* At most `points` of them, thinned by means; the caller frees *ret. */
must_check int store_host(struct store *store, const struct host_query *query,
                          struct host_sample **ret, size_t *ret_n, struct problem *why);
/* The stretch of a job that is under way: 1; 0: it has not begun. */
struct leg {
    unsigned run, leg;
    nsec began_at; /* wall: from when its times count */
};
must_check int store_leg(struct store *store, job_id job, struct leg *ret, struct problem *why);
/* What a host did; its `at` counts from the leg's beginning. */
must_check int store_host_add(struct store *store, job_id job, const struct leg *leg,
                              enum host_origin of, const struct host_sample *sample,
                              struct problem *why);

/* ---- findings ---- */
/* Replaces what an earlier analysis found; CONFLICT before the job has ended. */
must_check int store_findings_put(struct store *store, job_id job, int version,
                                  const struct findings *findings, struct problem *why);
/* Has it analysed again; CONFLICT before it has ended. */
must_check int store_job_reanalyse(struct store *store, job_id id, struct problem *why);
/* *ret: the JSON text of a list; *ret_version 0: not analysed yet. */
must_check int store_findings(struct store *store, job_id job, char **ret, int *ret_version,
                              struct problem *why);
/* 1: the first job of this host after `after` that has ended and was not analysed, and whether its target
 * shares a device with the state directory; 0: none. */
must_check int store_job_unanalysed(struct store *store, const char *host, job_id after,
                                    job_id *ret, bool *ret_shared_device, struct problem *why);

/* ---- baselines: figures whose history is watched ---- */
struct baseline {
    int64_t id;
    char *name, *workload, *target, *host; /* target "": results that were handed in */
    char *labels;                          /* JSON object: only jobs that have all of these */
    char *phase, *created_by;
    struct baseline_rule rule;
    uint64_t runs; /* how many of the newest are looked at */
    bool confirm;  /* a single bad run is measured once more */
    nsec created_at;
    int64_t revision;
};
void baseline_done(struct baseline *baseline);
typedef int baseline_fn(void *arg, const struct baseline *baseline, struct problem *why);
/* CONFLICT: there is one of this name. id, created_at and revision are given by the store. */
must_check int store_baseline_add(struct store *store, const struct baseline *baseline,
                                  struct baseline *ret, struct problem *why);
must_check int store_baseline_get(struct store *store, int64_t id, struct baseline *ret,
                                  struct problem *why);
struct baseline_filter {
    const char *workload, *target; /* NULL: any; comma-separated: one of them */
    int64_t before;                /* cursor: ids below this; 0: from the start */
    uint64_t limit;
};
/* Newest first. */
must_check int store_baseline_list(struct store *store, const struct baseline_filter *filter,
                                   baseline_fn *each, void *arg, struct problem *why);
/* Its name, direction, minimum effect, runs and confirm, as they stand in *baseline; STALE when it has
 * another revision by now. */
must_check int store_baseline_change(struct store *store, const struct baseline *baseline,
                                     struct problem *why);
must_check int store_baseline_remove(struct store *store, int64_t id, struct problem *why);
/* Those to whose history this job belongs: none unless it has succeeded. */
must_check int store_baseline_match(struct store *store, job_id job, baseline_fn *each, void *arg,
                                    struct problem *why);
/* Its newest runs that have a value, oldest first: those with the parameters of that run (0: the first) of job
 * `like` (0: the newest of its jobs). The caller frees *ret. */
must_check int store_baseline_history(struct store *store, const struct baseline *baseline,
                                      job_id like, unsigned run, struct baseline_run **ret,
                                      size_t *ret_n, struct problem *why);
/* One run of a job once more, as a job of its own that is marked as its repeat: 1 and its id; 0: the job is
 * one itself, or has one already. */
must_check int store_job_confirm(struct store *store, job_id job, unsigned run,
                                 const char *created_by, const char *note, job_id *ret,
                                 struct problem *why);

/* ---- alerts ---- */
enum alert_state { ALERT_OPENED, ALERT_ACKNOWLEDGED, ALERT_RESOLVED };
extern const char *const alert_states[];

struct alert {
    int64_t id, baseline;
    char *fingerprint, *name, *target, *phase; /* name: the baseline's */
    int figure, state;
    job_id job; /* the first of the new level */
    unsigned run;
    char *sentence, *unit;
    double before, after, effect, p;
    uint64_t runs_before, runs_after;
    nsec opened_at, acknowledged_at, resolved_at; /* wall; 0: not yet */
    char *acknowledged_by, *resolved_by;          /* resolved_by "": by the history itself */
    char *resolution, *note;
    int64_t revision;
};
void alert_done(struct alert *alert);
typedef int alert_fn(void *arg, const struct alert *alert, struct problem *why);
/* 1: it was opened; 0: one of its fingerprint is open. */
must_check int store_alert_open(struct store *store, const struct alert *alert,
                                struct problem *why);
must_check int store_alert_get(struct store *store, int64_t id, struct alert *ret,
                               struct problem *why);
struct alert_filter {
    uint64_t states;  /* bits of enum alert_state; 0: any */
    int64_t baseline; /* 0: any */
    int64_t before;   /* cursor; 0: from the start */
    uint64_t limit;
};
/* Newest first. */
must_check int store_alert_list(struct store *store, const struct alert_filter *filter,
                                alert_fn *each, void *arg, struct problem *why);
/* Sentence and numbers as further runs have made them; those of a resolved alert stay. */
must_check int store_alert_refresh(struct store *store, const struct alert *alert,
                                   struct problem *why);
/* Of an opened one; again: the same; CONFLICT when it is resolved. note NULL: as it is. */
must_check int store_alert_acknowledge(struct store *store, int64_t id, const char *by,
                                       const char *note, struct problem *why);
/* Again: the same. by "": the history. */
must_check int store_alert_resolve(struct store *store, int64_t id, const char *by,
                                   const char *resolution, const char *note, struct problem *why);

/* ---- what happens, in the order of the commits ---- */
struct event {
    int64_t id;
    nsec at;
    char kind[16]; /* "state", "findings", "gone", "alert" */
    char *data;    /* JSON text */
};
typedef int event_fn(void *arg, const struct event *event, struct problem *why);
/* Those after an id, at most `most` of them. */
must_check int store_events(struct store *store, int64_t after, uint64_t most, event_fn *each,
                            void *arg, struct problem *why);
must_check int store_event_last(struct store *store, int64_t *ret, struct problem *why);

/* ---- tokens, sessions, one-time codes: only hashes are stored ---- */
enum role { ROLE_VIEWER, ROLE_OPERATOR, ROLE_ADMIN };
extern const char *const roles[];

struct principal {
    int64_t token; /* its id: of the bearer, or of whom the session was made for */
    int role;
    char name[64];
    char targets[512]; /* comma-separated; "": all */
    nsec expires_at;   /* wall; 0: never */
};
enum { SECRET_HASH = 32 };
must_check int store_token_add(struct store *store, const struct principal *principal,
                               const unsigned char hash[SECRET_HASH], int64_t *ret_id,
                               struct problem *why);
must_check int store_token_remove(struct store *store, const char *name, struct problem *why);
typedef int principal_fn(void *arg, const struct principal *principal, nsec last_used_at,
                         struct problem *why);
must_check int store_token_list(struct store *store, principal_fn *each, void *arg,
                                struct problem *why);
/* 1: found and not expired; 0: none. */
must_check int store_token_find(struct store *store, const unsigned char hash[SECRET_HASH],
                                struct principal *ret, struct problem *why);
/* A code works once and not after it expired; redeeming one gives its principal (1) or nothing (0). */
must_check int store_code_add(struct store *store, int64_t token,
                              const unsigned char hash[SECRET_HASH], nsec expires_at,
                              struct problem *why);
must_check int store_code_redeem(struct store *store, const unsigned char hash[SECRET_HASH],
                                 struct principal *ret, struct problem *why);
must_check int store_session_add(struct store *store, int64_t token,
                                 const unsigned char hash[SECRET_HASH], nsec expires_at,
                                 struct problem *why);
must_check int store_session_find(struct store *store, const unsigned char hash[SECRET_HASH],
                                  struct principal *ret, struct problem *why);
must_check int store_session_remove(struct store *store, const unsigned char hash[SECRET_HASH],
                                    struct problem *why);
