/* The floor under a target: a share of its space and inodes is left alone, whatever a request asks.
 * And the limits that a target has itself, told by their true cause. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"
#include "engine/job.h"

#include <pthread.h>
#include <stdatomic.h>

/* What one operation takes. */
struct cost {
    uint64_t inodes, bytes;
    uint64_t name; /* bytes of the name that a new inode gets */
};

/* What a target has: bytes and inodes for unprivileged users. inodes_total 0: it does not count them. */
struct room {
    uint64_t space_total, space_available, inodes_total, inodes_available;
};
/* Who tells it where the target has no folder of this host: 0, or -1 and the problem. Lanes ask one at a time. */
typedef int room_fn(void *arg, struct room *ret, struct problem *why);

struct limits {
    int folder;   /* on the target, borrowed; -1: none */
    room_fn *ask; /* then: who tells what the target has; NULL: nobody, and there is no floor */
    void *ask_arg;
    bool watched; /* the phase takes something that has a floor */
    double reserve;
    uint64_t space_floor, inode_floor; /* bytes, inodes; 0: none, or not counted here */
    struct cost cost;
    uint64_t in_flight;      /* operations of the other lanes that the counts may not show yet */
    _Atomic int64_t credit;  /* operations that may start before the next look */
    _Atomic int64_t look_at; /* the time (monotonic) of the next look, whatever the credit */
    pthread_mutex_t lock;    /* one lane looks, or asks, at a time */
};

/* For a phase of `lanes` lanes whose batches are `batch` operations long; *limits has `folder`, or `ask` with
 * its argument, and `reserve`. limits_done() belongs after it even when it failed. */
must_check int limits_init(struct limits *limits, struct cost cost, unsigned lanes, uint64_t batch,
                           struct problem *why);
void limits_done(struct limits *limits);
/* Whether n operations may start: 0 yes; 1 no, *ret says why; -1 the target cannot be asked. Looks at
 * the target when half of the headroom last seen is used up, and once a second. */
must_check int limits_admit(struct limits *limits, uint64_t n, nsec now, struct limit *ret,
                            struct problem *why);
/* Whether this errno is a limit of the target; fills *ret but for `at`. `creates`: the call was to
 * make a new name in a directory. */
bool limits_explain(struct limits *limits, int error, bool creates, struct limit *ret);
