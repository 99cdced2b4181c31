/* A job and bare calls by turns, in one process and the same threads: what the engine costs, told from blocks of
 * some milliseconds that follow one another, so that whatever else the machine does falls on both.
 *
 * The job is a whole one, with all that belongs to it: lanes, samples, recorder, journal, a look at the host each
 * second. When its lanes have done a block they hold on before the next one, and do as much to a twin of the run
 * directory with bare calls; in the order ours bare, bare ours, ours bare..., so that both grow alike. The engine is
 * the one that is shipped: some of its doors are caught by the linker (--wrap) on their way in. For each pair of
 * blocks a line is printed:
 *
 *     PHASE OURS_CPU_NS_PER_OP BARE_CPU_NS_PER_OP OURS_OPS_PER_SECOND BARE_OPS_PER_SECOND
 *
 * CPU is that of the lanes (CLOCK_THREAD_CPUTIME_ID); to ours is added, spread evenly over the phase's operations,
 * what is spent beside the blocks from when the lanes go, as in the runner's own figure: by the lanes until their
 * first batch, and by the recorder's thread (on samples all of it, and of what it does by the clock the share of time
 * that ours had). The bare calls are those of the C library, with one lane as in a program without threads; --direct
 * has them inlined. */
#pragma once
#include "engine/crew.h"
#include "engine/workload/workload.h"

#include <stdatomic.h>

enum {
    LANES_MOST = 16,
    BLOCKS_MOST = 4096,
};

/* What all lanes together spent on one block. */
struct block {
    uint64_t ops;
    nsec cpu, wall;
};

struct seat {
    bool begun;
    unsigned blocks;   /* of ours, ended */
    uint64_t ops;      /* the lane's, when the present block began */
    nsec cpu;          /* likewise */
    uint64_t last_ops; /* of its block that ended last */
};

struct alternation {
    /* the program's to fill */
    const char *workload;
    void *with;           /* the workload's parameters */
    const char *block_is; /* for the usage */
    uint64_t block;       /* what --block says */
    /* The arguments are read. */
    int (*check)(struct alternation *a, struct problem *why);
    void (*twin_make)(struct alternation *a, const char *where);
    void (*twin_remove)(struct alternation *a);
    /* A phase begins: whether it is judged. */
    bool (*judges)(struct alternation *a, const struct phase *phase);
    /* A lane's share of bare block n: the operations done. 0 when the twin has no more, in all lanes alike. */
    uint64_t (*bare)(struct alternation *a, unsigned lane, unsigned n);

    bool bare_first, direct; /* what the arguments say */
    struct seat seats[LANES_MOST];

    /* of this phase */
    bool judged, alone; /* alone: one lane */
    clockid_t recorder;
    _Atomic nsec recorder_start; /* its CPU time when the first lane went; 0: not yet */
    nsec recorder_cpu;           /* since then */
    nsec drain_cpu;              /* of this, what it spent on samples */
    _Atomic nsec startup;        /* CPU of the lanes before their first batch */
    struct block blocks[2][BLOCKS_MOST];

    _Alignas(64) _Atomic uint64_t taken; /* the program's; 0 when a block begins */

    pthread_mutex_t lock;
    pthread_cond_t turned;
    unsigned lanes, waiting; /* lock: that still work; those of them that wait for the others */
    uint64_t turns;          /* lock */
    bool running;            /* lock: a block is being measured */
    nsec started;            /* lock */
    struct block now;        /* lock */
};

/* What the caught functions have no argument for. */
extern struct alternation *alternation;

/* A lane holds its next batch and has not begun it. */
bool alternation_begun(const struct lane *lane);
void alternation_begin(struct lane *lane);
/* The same, and its block is over: bare blocks may follow, and then the next one begins. */
void alternation_turn(struct lane *lane);
/* It has no more to do: it has ended a block, or is within one that is not to count, or before its first. */
void alternation_end(struct lane *lane);
void alternation_leave(struct lane *lane);

/* DIR [--block N] [--first bare] [--direct] [name=value ...]; --first bare makes the twin before the run directory,
 * which some filesystems place by. The exit code. */
int alternation_main(struct alternation *a, int argc, char **argv);

/* The folder `name` of `where`, which is made if need be. */
int alternation_folder(const char *where, const char *name);
