/* The run directory: made exclusively, opened once, and emptied by generated names alone. What stands
 * in it and was not made by the run is left and listed. */
#pragma once
#include "engine/base/problem.h"
#include "engine/job.h"

#include <stdbool.h>
#include <stdint.h>

struct run;
/* What getdents64(2) writes, one after the other. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length; /* of this entry */
    unsigned char type;
    char name[];
};

struct workspace;

enum { NAME_DIGITS_MOST = 10, PADDING = 'x', WORKSPACE_NAME = 96, WORKSPACE_PLACE = 48 };

/* "plimsoll-JOB-RUN-NONCE" */
must_check int workspace_name(char name[WORKSPACE_NAME], job_id job, unsigned run,
                              const char *nonce, struct problem *why);

/* Makes the folder `name` (0700) below `where` and opens it; CONFLICT when it is there already. */
must_check int workspace_make(const char *where, const char *name, struct workspace **ret,
                              struct problem *why);
/* Opens one that a run left behind: 1; 0 when there is none; -1 when what has its name is no folder of
 * ours, or when there is none and `where` is not the folder that `place` names: then it may stand
 * elsewhere. place "": not known. */
must_check int workspace_find(const char *where, const char *name, const char *place,
                              struct workspace **ret, struct problem *why);
struct workspace *workspace_close(struct workspace *workspace);
int workspace_fd(const struct workspace *workspace);
const char *workspace_path(const struct workspace *workspace);

/* Which folder it was made in, whatever the path to it is now: "FILESYSTEM:INODE". */
must_check int workspace_place(const struct workspace *workspace, char place[WORKSPACE_PLACE],
                               struct problem *why);

/* Opens a folder below another one, never through a symbolic link or onto another filesystem. */
must_check int workspace_open_folder(int folder, const char *name, struct problem *why);

/* A kind of entry that a run makes: a prefix, a number of so many digits, below `below`, and then PADDING
 * up to `length`. */
struct made {
    char prefix;
    unsigned digits;
    uint64_t below;
    unsigned length;           /* of the name; 0: without padding */
    uint32_t group;            /* 0: any */
    uint64_t bytes_most;       /* of a file; a larger one is not ours */
    const struct made *inside; /* not NULL: it is a folder, with such entries */
    const struct made * or ;   /* another kind that may stand beside it */
};
bool name_is_made(const struct made *made, const char *name); /* not those in `or` */
/* Removes such entries that belong to our user and are not to be spared; everything else is told to
 * run_foreign(). Progress goes to run_removed(). Repeatable. */
must_check int workspace_sweep(struct run *run, int folder, const struct made *made,
                               struct problem *why);
/* Removes the folder itself: 0; 1 when something is still in it. */
must_check int workspace_remove(struct workspace *workspace, struct problem *why);
