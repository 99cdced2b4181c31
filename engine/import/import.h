/* Somebody's results on their way to becoming a journal: what they are, and the samples of each phase.
 * Samples wait in a file, so that any number of them takes the memory of one group a phase. */
#pragma once
#include "engine/base/field.h"
#include "engine/job.h"
#include "engine/journal.h"

enum {
    IMPORT_PHASES_MOST = 256,
    IMPORT_NAME_MOST = 64,
    IMPORT_NOTE_MOST = 4000,
    IMPORT_REF_MOST = 200,
    IMPORT_LABEL_MOST = 200,
    IMPORT_JSON_MOST = 1 << 20, /* bytes of an environment, or of any other small member */
};
#define IMPORT_LOAD_MOST    9007199254740992.0 /* 2^53: whole numbers are exact up to here */
#define IMPORT_SECONDS_MOST 1e9                /* of one batch: thirty years */

/* What it says of itself; by the table, but for params and environment. */
struct import_head {
    char *workload, *name, *note, *external_ref;
    struct map labels;
    char *params, *environment; /* JSON objects as text; NULL: {} */
};
extern const struct field import_head_fields[];
/* What may stand in a phase of JSON beside its samples, and the columns of those; for the description. */
extern const struct field import_phase_fields[];
extern const char *const import_columns[];
/* What any workload is called here: letters, digits, '.', '_' and '-'. */
bool import_workload_named(const char *workload);
/* What the load of a workload counts: "files"; "operations" for one that is not known. */
const char *import_unit(const char *workload);

struct import_block;
struct import_phase {
    struct phase_total total; /* import_sample adds to it */
    size_t n;                 /* samples */
    uint64_t load;            /* of the last one */
    size_t group_n, blocks_n, blocks_room;
    struct sample *group;        /* SAMPLE_GROUP of them */
    struct import_block *blocks; /* where the earlier ones are in the file */
};

struct import {
    struct import_head head;
    size_t n;
    struct import_phase *phase[IMPORT_PHASES_MOST]; /* in order of their first sample */
    size_t runs_n;
    struct import_run
        *runs; /* what sets a run apart from the others; those that are not here: nothing */
    size_t host_n;
    struct import_host *host; /* what the machine did meanwhile, with run and leg */
    int folder;               /* where the file is made; borrowed */
    int spool;                /* -1: none yet */
    off_t spool_end;
};
struct import_run {
    unsigned run;
    uint64_t point; /* the same of those that measure the same */
    char *params;   /* JSON object as text */
};
struct import_host {
    unsigned run, leg;
    struct host_sample sample;
};

/* `folder`: where samples wait, in a file without a name. */
void import_init(struct import *import, int folder);
void import_done(struct import *import);
/* A file without a name in a folder, for reading and writing. */
must_check int import_scratch(int folder, int *ret, struct problem *why);

/* The phase of that name, run and leg; a new one with that unit if there is none. NULL: too many. */
struct import_phase *import_phase(struct import *import, const char *name, unsigned run,
                                  unsigned leg, const char *unit, struct problem *why);
/* Takes it in, after those that came before. */
must_check int import_sample(struct import *import, struct import_phase *phase,
                             const struct sample *sample, struct problem *why);

/* Calls `each` with the samples of a phase, in groups, in order. */
typedef int import_group_fn(void *arg, const struct sample *samples, size_t n, struct problem *why);
must_check int import_each(const struct import *import, const struct import_phase *phase,
                           import_group_fn *each, void *arg, struct problem *why);
/* Writes it as the journal of a job that succeeded. */
must_check int import_write(const struct import *import, struct journal *journal,
                            struct problem *why);

/* CSV: the first line names the columns. Without `y`, as this program writes it: `elapsed_ns`, or `seconds`,
 * of a batch; `load` or `n`, or batches of `batch` from `start` on; `phase`, `run`, `leg`, `ops`, `bytes`,
 * `errors`, `at_ns`, `lane`, `cpu_ns`, `switches`, `p50_ns`, `p99_ns`, `max_ns` where they are there. */
struct import_csv {
    const char *x;        /* the column of the load; NULL: lines are batches of `batch` */
    struct texts y;       /* "PHASE:COLUMN": seconds of a batch; empty cells are gaps */
    struct texts at_load; /* phases of which each value was measured at that load */
    double batch, start;
    const char *unit; /* NULL: the name of column x */
};
must_check int import_csv(FILE *file, const struct import_csv *how, struct import *to,
                          struct problem *why);
/* A phase as import_json reads it, without its samples. NULL: no memory. */
json_t *import_phase_json(const struct phase_total *total);
/* JSON: import_head's members and phases; see the API. Also a report in JSON, which has it as `import`. */
must_check int import_json(FILE *file, struct import *to, struct problem *why);

/* A journal as a runner wrote it, whole and to its end; nothing of it is changed. */
struct import_journal {
    char *workload, *target, *params, *environment; /* as they stand in its first record */
    nsec began, ended;                              /* wall */
    enum job_state outcome;
    struct problem problem; /* why it failed */
};
void import_journal_done(struct import_journal *journal);
must_check int import_journal(const char *path, struct import_journal *ret, struct problem *why);
