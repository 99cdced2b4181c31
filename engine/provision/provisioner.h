/* Makes and unmakes the filesystems that filesystem-scaling counts. To add one: a file beside this, a line in
 * registry.c, tests. Each filesystem has a number; its names follow from it. */
#pragma once
#include "engine/base/field.h"
#include "engine/job.h"
#include "engine/ledger.h"
#include "engine/run.h"
#include "engine/target.h"

#include <sys/stat.h>

struct pool; /* what the filesystems of one run lie in, opened: each provisioner has its own */

enum cycle { CYCLE_NONE, CYCLE_REMOUNT, CYCLE_IMPORT, CYCLE_REBOOT };
enum mkfs_kind { MKFS_EXT4, MKFS_XFS };

/* What a request says that a provisioner needs to know. */
struct provision {
    const struct target *target;
    const char *name; /* of the run: the parent's name */
    int folder;       /* the run directory; -1: the target has none here */
    const char *path; /* the same */
    enum cycle cycle;
    bool mounted;  /* each is to have a mount point */
    bool cleaning; /* opened for a clean-up, which may find nothing */
    bool resumed;  /* opened after a restart of the machine: boot() comes next */
    enum mkfs_kind filesystem;
    uint64_t image_bytes;
    const struct texts *properties; /* name=value */
    struct ledger *made;            /* borrowed: what is known of what was made */
    int stop;                       /* readable: tools are to come to an end soon; -1: never */
};

struct provisioner {
    const char *name;
    unsigned cycles;      /* bits, 1 << enum cycle: beside none */
    bool mounts;          /* mounting is an operation of its own when `mounted` */
    bool by_path;         /* also without mounts: its tools know no descriptors */
    unsigned demolishers; /* how many at once make clean-up faster; they share the pool. 0: one */

    /* Tools, privilege: refuses before the first change. */
    int (*open)(const struct provision *with, struct pool **ret, struct problem *why);
    struct pool *(*close)(struct pool *pool);
    /* NULL: the run directory is the parent. Fills made->parent. */
    int (*make_parent)(struct pool *pool, struct problem *why);
    /* 0; an errno of the target; -1 with a tool's words. */
    int (*create)(struct pool *pool, uint64_t number, struct problem *why);
    int (*mount)(struct pool *pool, uint64_t number, struct problem *why);
    /* Where they are mounted, as ROOT/PREFIXNUMBER, once the parent is there. */
    int (*place)(struct pool *pool, char root[SHARE_ROOT], char *prefix, struct problem *why);
    /* By what number first, first + 1, ... up to end are known again, into `made`. NULL: by name and owner. */
    int (*identify)(struct pool *pool, uint64_t end, struct problem *why);
    /* How many there are, as the system lists them. */
    int (*list)(struct pool *pool, uint64_t *ret, struct problem *why);
    /* Takes the first n away and brings them back. */
    int (*cycle)(struct pool *pool, uint64_t n, struct problem *why);
    /* The machine was restarted: brings back those of the first n that do not come back by themselves, and counts
     * them. NULL: they lie in a filesystem that does. */
    int (*boot)(struct pool *pool, uint64_t n, uint64_t *ret_brought_back, struct problem *why);
    /* 0: it is gone; 1: what has its name is not ours and stays; -1. */
    int (*destroy)(struct pool *pool, uint64_t number, struct problem *why);
    /* Clean-up: all that is still there, and the parent if it is not the run directory. */
    int (*clean)(struct pool *pool, struct run *run, struct problem *why);
};

/* Whether root may work there by path: every folder that leads to it is root's alone. FORBIDDEN names one that is not. */
must_check int provision_trusts(const char *path, struct problem *why);

/* Of a kind of target; "directory" for directories. NULL: none is for that kind. */
const struct provisioner *provisioner_of(const struct target *target);

enum { FILESYSTEM_NAME = 24, FILESYSTEM_DIGITS = 10 }; /* room for any number */
static inline void filesystem_name(char name[FILESYSTEM_NAME], char prefix, uint64_t number)
{
    snprintf(name, FILESYSTEM_NAME, "%c%010llu", prefix, (unsigned long long)number);
}

/* Whether a tool's words tell a limit of the target; fills *ret but for `at`, with those words. */
bool provision_limit(const struct problem *words, struct limit *ret);

/* Which are to go: those at[0..n), or with NULL all below n. */
struct numbers {
    const uint64_t *at;
    uint64_t n;
};
/* Removes, number by number, what `destroy` takes for ours; tells progress, and what is not ours. */
must_check int provision_destroy_all(const struct provisioner *with, struct pool *pool,
                                     const struct numbers *numbers, char prefix, struct run *run,
                                     struct problem *why);
/* struct provisioner's place() of those whose filesystems are mounted in the run directory. */
must_check int provision_place(const struct provision *with, char of_names, char root[SHARE_ROOT],
                               char *prefix, struct problem *why);
/* How many entries of the folder have the name of a number below `below`. */
must_check int provision_count(int folder, char prefix, uint64_t below, uint64_t *ret,
                               struct problem *why);

/* --- marks: what tells the run's own from what has its name, from the moment it is made; mark.c --- */

/* Draws the mark and tells it to the journal; `folder` as in struct provision. Before anything is made, and
 * while no lane works: what lanes start from now on is known to be of this run. */
must_check int provision_begin(struct run *run, int folder, struct problem *why);
/* What this thread makes in folders bears the mark from now on. */
void provision_enter(const struct ledger *made);
/* Whether an entry of a folder is of our user and, where entries can bear it, bears the mark. */
bool provision_owns(const struct ledger *made, const struct stat *st);
/* What a runner that died while it drew the mark has left. */
void provision_unprobe(int folder, const struct ledger *made);
/* Waits until no tool is at work that the run has started. For a clean-up, before it looks at anything. */
must_check int provision_outlived(const char *run, struct problem *why);
