/* One job's journal on its way into the database. The journal is the truth: after any failure the
 * follower begins again where the database says. */
#pragma once
#include "engine/journal.h"
#include "schema/store.h"

#include <limits.h>

struct follow {
    struct store *store;
    job_id id;
    char path[PATH_MAX];
    struct journal_reader *reader; /* NULL: not open */
    struct ingest *ingest;
    nsec committed_at; /* monotonic */
    uint64_t pending;  /* records added since */
    bool urgent;       /* a commit that should not wait for its second */

    /* What the records told; filled in from the job's row before the first of them. */
    pid_t pid; /* 0: not known */
    uint64_t pid_start;
    char boot_id[40];
    bool began, ended; /* its begin has been read; its end */
    bool broken;       /* the journal cannot be read on */
};

enum followed {
    FOLLOWED_ALL,  /* at the journal's end, all committed */
    FOLLOWED_MORE, /* call again at once */
    FOLLOWED_DUE,  /* something waits for its commit: call again by *ret_due */
};

void follow_init(struct follow *follow, struct store *store, const struct job *job,
                 const char *journal);
void follow_done(struct follow *follow);
/* Takes in what is there, at most a bounded piece. *ret_committed: whether the job changed in the
 * database. -1: nothing is lost; `broken` tells whether trying again could help. */
must_check int follow_step(struct follow *follow, nsec *ret_due, bool *ret_committed,
                           struct problem *why);
/* Whether the journal has been made. */
bool follow_exists(const struct follow *follow);
