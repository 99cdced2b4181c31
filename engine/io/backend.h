/* How bytes reach a file. To add a backend: a file beside this that ends in its struct io_backend, a line in
 * registry.c, tests. "Backend", since engine/ already owns the word engine. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"
#include "engine/limits.h"
#include "engine/target.h"
#include "engine/workspace.h"

#include <stdbool.h>
#include <stdint.h>

struct io_session; /* a lane's own, never shared: a ring, a connection, or nothing but a folder */
struct io_file;

enum io_verb {
    IO_READ,
    IO_WRITE,
    IO_SYNC_DATA, /* what was written to the file is on stable storage: fdatasync, COMMIT */
    IO_SYNC_FULL, /* and all that the file's inode says: fsync */
};

/* The caller's memory, untouched by it between submit and reap. Whoever needs to know more of it makes this
 * the first member of a struct of its own. */
struct io_op {
    enum io_verb verb;
    struct io_file *file;
    char *buffer; /* within the session's buffers */
    uint64_t offset;
    uint32_t length;
    uint32_t moved;  /* the backend's: bytes so far, where the system did less than it was asked */
    int64_t result;  /* bytes: the length, or less where the file ends; or -errno */
    uint64_t issued; /* the caller's: when, in ticks */
};

/* What a session works on, and within which bounds. Borrowed, and to outlive the session. */
struct io_options {
    const struct target *target;
    int folder;        /* the run directory; -1: the target has no folder of this host */
    const char *name;  /* run_name(): of the run directory, where there is no `folder` */
    unsigned depth;    /* operations in flight at most */
    unsigned sessions; /* at once, this one among them, each with as many buffers */
    char *buffers; /* what the operations' buffers lie in, page-aligned; NULL: for files alone */
    size_t buffers_bytes; /* of all together */
    nsec patience;        /* a call to the outside that takes longer is a failure */
    /* Looked at during every wait, at least four times a second: true ends it, with CANCELLED. NULL: never. */
    bool (*stopped)(void *arg);
    void *arg;
};

enum io_open { IO_CREATE = 1, IO_DIRECT = 2 }; /* bits; CREATE: exclusively, mode 0600 */

struct io_backend {
    const char *name;    /* "posix", "uring", "nfs" */
    unsigned targets;    /* bits, 1 << enum target_kind */
    unsigned depth_most; /* operations in flight, of one session */
    bool direct;         /* knows IO_DIRECT */
    bool ends_at_close;  /* close() ends what is in flight, and its memory is the caller's again */
    bool cached;         /* what is read may come from this host's memory */

    /* Whether the target's settings allow it; the problem is of /params/backend. Asks nothing of this host nor of
     * the target: it is the service that calls it. NULL: always. */
    int (*check)(const struct target *target, struct problem *why);

    int (*open)(const struct io_options *options, struct io_session **ret, struct problem *why);
    struct io_session *(*close)(struct io_session *session); /* also with operations in flight */

    /* `name` is one component, within the run directory. */
    int (*file_open)(struct io_session *session, const char *name, unsigned flags,
                     struct io_file **ret, struct problem *why);
    /* 0, or the errno of a write that failed late. Frees the file in any case; NULL: 0. */
    int (*file_close)(struct io_session *session, struct io_file *file);

    /* A backend that waits for each operation has call() alone; the others submit() and reap(). What the
     * system cuts short or interrupts goes on by itself: an operation ends whole, at the file's end, or failed. */
    int64_t (*call)(struct io_session *session, struct io_op *op); /* the result */
    /* All n, which must not bring more than `depth` in flight. Both: -1 if the session is of no use any more. */
    int (*submit)(struct io_session *session, struct io_op **ops, size_t n, struct problem *why);
    /* Gives from `least` to `most` that ended, in the order in which they did; fewer when `until` (monotonic)
     * has come, or on a signal. */
    int (*reap)(struct io_session *session, struct io_op **done, size_t least, size_t most,
                nsec until, struct problem *why);

    /* Where the target has no folder of this host: what it has, as room_fn of engine/limits.h. NULL elsewhere. */
    int (*room)(struct io_session *session, struct room *ret, struct problem *why);
    /* Where the target has no folder of this host: the run directory, by `options->name`. NULL elsewhere:
     * there the program makes it, and engine/workspace.h empties it. */
    int (*folder_make)(const struct io_options *options, struct problem *why);
    /* As workspace_sweep() and then workspace_remove(); 0 also when there is none. Repeatable. */
    int (*folder_sweep)(struct run *run, const struct io_options *options, const struct made *made,
                        struct problem *why);
};

enum { BACKENDS_MOST = 8 };
/* NULL-terminated, as the choices of a field. */
extern const char *const io_backend_names[];
const struct io_backend *io_backend_at(int choice); /* of io_backend_names */
/* Every operation returns at once, which shows what the engine itself costs. Not among the choices. */
extern const struct io_backend io_null;
