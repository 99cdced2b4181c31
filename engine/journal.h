/* The journal: append-only NDJSON, one file per job, the only channel for results. Each line has a
 * sequence number and, as its last member, the CRC-32 (zlib) of the bytes before `,"crc"`. */
#pragma once
#include "engine/histogram.h"
#include "engine/job.h"
#include "engine/sample.h"

#include <jansson.h>
#include <sys/types.h>

#define JOURNAL_FILE "journal.ndjson"
enum { JOURNAL_FORMAT = 1, FOREIGN_MOST = 100 };

#define JOURNAL_RECORDS(X)    \
    X(BEGIN, "begin")         \
    X(PHASE, "phase")         \
    X(SAMPLES, "samples")     \
    X(HOST, "host")           \
    X(LIMIT, "limit")         \
    X(MADE, "made")           \
    X(PHASE_END, "phase_end") \
    X(REBOOT, "reboot")       \
    X(BOOT, "boot")           \
    X(RUN_END, "run_end")     \
    X(END, "end")             \
    X(CLEANUP, "cleanup")     \
    X(UNKNOWN, "")

enum journal_record_kind {
#define X(code, name) RECORD_##code,
    JOURNAL_RECORDS(X)
#undef X
};

/* One line, read. Members that the kind does not have are zero. */
struct journal_record {
    enum journal_record_kind kind;
    uint64_t seq;
    off_t end; /* the offset after its line */
    unsigned run, leg;

    /* begin: {"format","engine","job","workload","target","run","leg","at","boot_id","pid",
     * "pid_start","workspace","place","params","runs","used","environment"} */
    job_id job;
    nsec wall;    /* at, of begin, run_end, end and cleanup */
    json_t *json; /* the whole record, borrowed until the next one is read; NULL for samples */
    pid_t pid;
    uint64_t pid_start; /* field 22 of /proc/PID/stat: pid and this name one process of one boot */
    char boot_id[40];

    /* phase, limit, phase_end and samples: `phase.name` says which; totals only in phase_end */
    struct phase_total phase;

    size_t n; /* samples or host samples */
    struct sample samples[SAMPLE_GROUP];
    struct host_sample host[8];

    enum job_state outcome; /* end */
    struct problem problem;

    /* reboot: after `wall` the machine is to be up again within that; "state", "batch", "clock" for the next
     * leg. boot: "load" and the seconds, "kernel", "daemon" and "all", with "brought_back", "clock_then" and
     * "clock_now". */
    nsec within;

    /* cleanup: running, done, blocked, kept; "removed","foreign":[names], "reason" (blocked),
     * "workspace","files","bytes" (kept) */
    enum cleanup_state cleanup;
    uint64_t removed;
};

/* --- writing: the runner. Not thread-safe: one recorder writes. --- */
struct journal;

/* Makes it (O_EXCL, 0640) in the folder and locks it (flock, exclusive) for life. */
must_check int journal_create(int folder, const char *name, struct journal **ret,
                              struct problem *why);
/* Lets that group read it. */
must_check int journal_share(struct journal *journal, gid_t readers, struct problem *why);
/* Opens an existing one of our own making whose writer died, locks it, cuts the torn tail and goes on after it: for
 * clean-up and for resuming. CONFLICT when its writer lives, FORBIDDEN when somebody else made it. */
must_check int journal_reopen(int folder, const char *name, struct journal **ret,
                              struct problem *why);
struct journal *journal_close(struct journal *journal);

/* What a leg starts with. The JSON is borrowed; params NULL is an empty object, environment NULL that of the
 * begin before. */
struct journal_begin {
    job_id job;
    unsigned run, leg;
    const char *workload, *target; /* target: "" by hand */
    const char *workspace;         /* the name of the run directory; "" without one */
    const char *place;             /* which folder that stands in; "" without one */
    const json_t *params, *environment;
    unsigned runs;                    /* that the job has; 0: not told */
    uint64_t point;                   /* told with runs: the same of those that measure the same */
    uint64_t used_bytes, used_inodes; /* of the target's filesystem; 0: not known */
};
must_check int journal_begin(struct journal *journal, const struct journal_begin *begin,
                             struct problem *why);
must_check int journal_phase(struct journal *journal, const struct phase_total *phase,
                             struct problem *why);
must_check int journal_samples(struct journal *journal, unsigned run, unsigned leg,
                               const char *phase, const struct sample *samples, size_t n,
                               struct problem *why);
must_check int journal_host(struct journal *journal, unsigned run, unsigned leg,
                            const struct host_sample *samples, size_t n, struct problem *why);
must_check int journal_limit(struct journal *journal, const struct phase_total *phase,
                             struct problem *why);
/* What was made from number `first` on, and up to which number more may be made from now on. */
struct ledger;
must_check int journal_made(struct journal *journal, unsigned run, unsigned leg,
                            const struct ledger *made, uint64_t first, struct problem *why);
/* Adds what one record says; the records of a run in their order. */
must_check int journal_read_made(const struct journal_record *record, struct ledger *made,
                                 struct problem *why);
/* The totals, and the histogram they were told from. */
must_check int journal_phase_end(struct journal *journal, const struct phase_total *phase,
                                 const struct histogram *histogram, struct problem *why);
/* A run is over, and another one follows. Its outcome is that it succeeded: any other ends the job. */
must_check int journal_run_end(struct journal *journal, unsigned run, unsigned leg,
                               const char *const *foreign, size_t foreign_n, struct problem *why);
/* The job is over, and the run, which was its last. `problem` is told when its code is set. `foreign` names entries that the run found and did not
 * make, so that a later clean-up leaves them too. */
must_check int journal_end(struct journal *journal, unsigned run, unsigned leg,
                           enum job_state outcome, const struct problem *problem,
                           const char *const *foreign, size_t foreign_n, struct problem *why);
must_check int journal_cleanup(struct journal *journal, unsigned run, unsigned leg,
                               enum cleanup_state state, uint64_t removed,
                               const char *const *foreign, size_t foreign_n, struct problem *why);
/* A clean-up that could not go on, and the reason. */
must_check int journal_cleanup_blocked(struct journal *journal, unsigned run, unsigned leg,
                                       uint64_t removed, const char *const *foreign,
                                       size_t foreign_n, const struct problem *reason,
                                       struct problem *why);
/* What a run leaves on the target because it was asked to. */
struct kept_files {
    const char *workspace; /* the name of the run directory */
    uint64_t files, bytes;
};
/* Before `end`, so that no crash lets a job succeed without it. */
must_check int journal_kept(struct journal *journal, unsigned run, unsigned leg,
                            const struct kept_files *kept, struct problem *why);
/* From now on problems name this path as `instead`: everybody who may see the job reads them. */
must_check int journal_hide(struct journal *journal, const char *path, const char *instead,
                            struct problem *why);
/* The last record of a leg: the machine is about to be restarted. */
struct reboot {
    const char *state; /* text, for the next leg */
    uint64_t batch;    /* after which one: it rises, so that none has the machine restarted twice */
    nsec within;       /* a machine that is not up again by then has failed the job */
};
must_check int journal_reboot(struct journal *journal, unsigned run, unsigned leg,
                              const struct reboot *reboot, struct problem *why);
/* What that came to, told in the next leg: by the wall clock, since no other one goes on. */
struct boot {
    uint64_t load; /* how many filesystems there were */
    nsec
        kernel; /* until the kernel was up; not above 0: a container, whose boot clock is the host's */
    nsec daemon;           /* until the daemon was, and had this leg started */
    nsec all;              /* until all was in place */
    uint64_t brought_back; /* of them, by the runner: at boot nothing did */
    enum clock_sync clock_then, clock_now;
};
must_check int journal_boot(struct journal *journal, unsigned run, unsigned leg,
                            const struct boot *boot, struct problem *why);
/* Any other record: appended with seq and crc; steals it. Flushed to the file, not fsynced. */
must_check int journal_append(struct journal *journal, json_t *record, struct problem *why);
must_check int journal_sync(struct journal *journal, struct problem *why); /* fsync */

/* --- reading: the ingester, imports, analyse --- */
struct journal_reader;

must_check int journal_reader_open(const char *path, off_t offset, struct journal_reader **ret,
                                   struct problem *why);
struct journal_reader *journal_reader_close(struct journal_reader *reader);
int journal_reader_fd(const struct journal_reader *reader);
/* 1: a record, valid until the next call; 0: no complete valid line beyond here (yet);
 * -1: unreadable. A broken line with valid ones after it is -1 and says where it stands. A kind
 * that this version does not know comes as RECORD_UNKNOWN: skip it. */
must_check int journal_next(struct journal_reader *reader, const struct journal_record **ret,
                            struct problem *why);

/* This boot's id, as `begin` has it; "" if it is not known. Returns text. */
const char *journal_boot_id(char text[40]);
/* Whether somebody holds the journal's lock: 1 a writer lives, 0 none, -1 why. */
must_check int journal_writer_lives(const char *path, struct problem *why);
