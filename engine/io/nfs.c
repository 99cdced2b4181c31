/* Files of an NFS server, by libnfs: no mount, and so no cache of this host between. */
#include "engine/io/nfs.h"

#include "engine/io/nfs_folder.h"
#include "engine/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An operation in flight. */
struct slot {
    struct wire_transfer transfer; /* first */
    struct io_session *session;
    struct io_op *op; /* NULL: free */
    struct slot *next;
};

struct io_session {
    struct wire *wire;
    struct nfs_handle folder;
    struct slot *slots, *idle;
    struct io_op **ended; /* a ring of `depth` */
    unsigned depth, first, ended_n;
};

struct io_file {
    struct nfs_handle handle;
};

static int refused(int error, const char *doing, const char *name, struct problem *why)
{
    return error < 0 ? -1 : problem_errno(why, error, "cannot %s %s", doing, name);
}

static int check(const struct target *target, struct problem *why)
{
    struct nfs_address url;
    if (target && target->kind == TARGET_NFS)
        return nfs_address_parse(target->url, &url, why);
    return problem_field(why, "/params/backend",
                         "backend nfs works on targets of kind nfs; a folder on a mounted NFS "
                         "filesystem takes posix or uring");
}

/* --- sessions --- */

static struct io_session *close_session(struct io_session *session)
{
    if (!session)
        return NULL;
    wire_close(session->wire);
    free(session->slots);
    free(session->ended);
    free(session);
    return NULL;
}

static int make_slots(struct io_session *session, unsigned depth, struct problem *why)
{
    session->depth = depth;
    session->slots = calloc(depth, sizeof *session->slots);
    session->ended = calloc(depth, sizeof *session->ended);
    if (!session->slots || !session->ended)
        return problem_memory(why);
    for (unsigned i = 0; i < depth; i++) {
        session->slots[i].session = session;
        session->slots[i].next = session->idle;
        session->idle = &session->slots[i];
    }
    return 0;
}

static int open_session(const struct io_options *options, struct io_session **ret,
                        struct problem *why)
{
    struct wire_options wire = nfs_wire_options(options);
    struct io_session *session = calloc(1, sizeof *session);
    if (!session)
        return problem_memory(why);
    int error = make_slots(session, options->depth, why) || wire_open(&wire, &session->wire, why)
                    ? -1
                    : wire_look_up(session->wire, wire_root(session->wire), options->name,
                                   &session->folder, NULL, why);
    if (error) {
        close_session(session);
        return refused(error, "find the run directory", options->name, why);
    }
    *ret = session;
    return 0;
}

/* --- files --- */

static int open_file(struct io_session *session, const char *name, unsigned flags,
                     struct io_file **ret, struct problem *why)
{
    struct io_file *file = calloc(1, sizeof *file);
    if (!file)
        return problem_memory(why);
    int error = flags & IO_CREATE
                    ? wire_create(session->wire, &session->folder, name, &file->handle, why)
                    : wire_look_up(session->wire, &session->folder, name, &file->handle, NULL, why);
    if (error) {
        free(file);
        if (error == EEXIST)
            return problem_set(why, PROBLEM_CONFLICT, "%s is there already", name);
        return refused(error, flags & IO_CREATE ? "create" : "open", name, why);
    }
    *ret = file;
    return 0;
}

/* The server knows nothing of open files. */
static int close_file(struct io_session *session, struct io_file *file)
{
    (void)session;
    free(file);
    return 0;
}

/* --- operations --- */

static void ended(struct wire_transfer *transfer)
{
    struct slot *slot = (struct slot *)transfer;
    struct io_session *session = slot->session;
    struct io_op *op = slot->op;
    op->moved = transfer->moved;
    op->result = transfer->error ? -transfer->error : (int64_t)transfer->moved;
    slot->op = NULL;
    slot->next = session->idle;
    session->idle = slot;
    session->ended[(session->first + session->ended_n++) % session->depth] = op;
}

static int submit(struct io_session *session, struct io_op **ops, size_t n, struct problem *why)
{
    for (size_t i = 0; i < n; i++) {
        struct slot *slot = session->idle;
        struct io_op *op = ops[i];
        if (!slot)
            return problem_set(why, PROBLEM_INTERNAL, "more than %u operations at once",
                               session->depth);
        bool data = op->verb == IO_READ || op->verb == IO_WRITE;
        session->idle = slot->next;
        slot->op = op;
        slot->transfer = (struct wire_transfer){ .ended = ended,
                                                 .buffer = op->buffer,
                                                 .length = data ? op->length : 0,
                                                 .offset = op->offset,
                                                 .file = op->file->handle,
                                                 .write = op->verb == IO_WRITE };
        if (data ? wire_transfer(session->wire, &slot->transfer, why)
                 : wire_commit(session->wire, &slot->transfer, why))
            return -1;
    }
    return 0;
}

static size_t collect(struct io_session *session, struct io_op **done, size_t most)
{
    size_t n = 0;
    for (; n < most && session->ended_n > 0; session->ended_n--) {
        done[n++] = session->ended[session->first];
        session->first = (session->first + 1) % session->depth;
    }
    return n;
}

static int reap(struct io_session *session, struct io_op **done, size_t least, size_t most,
                nsec until, struct problem *why)
{
    size_t n = collect(session, done, most);
    do {
        if (wire_turn(session->wire, n < least ? until : 0, why))
            return -1;
        n += collect(session, done + n, most - n);
    } while (n < least && clock_monotonic() < until);
    return (int)n;
}

/* --- what stands there --- */

static int tell_room(struct io_session *session, struct room *ret, struct problem *why)
{
    int error = wire_room(session->wire, ret, why);
    return error > 0 ? problem_errno(why, error, "cannot ask the target for its space") : error;
}

#define PROBE_PATIENCE (5 * NSEC_PER_SEC)

void nfs_probe(const struct target *target, struct target_facts *ret)
{
    const struct wire_options with = { .url = target->url, .patience = PROBE_PATIENCE };
    struct target_facts facts = { .usable = true };
    struct room room;
    struct nfs_facts root;
    struct wire *wire = NULL;
    struct problem because = { 0 };
    int error = wire_open(&with, &wire, &because) ? -1 : wire_room(wire, &room, &because);
    if (error == 0)
        error = wire_look(wire, wire_root(wire), &root, &because);
    if (error) {
        wire_close(wire);
        facts.usable = false;
        snprintf(facts.reason, sizeof facts.reason, "%.*s", (int)sizeof facts.reason - 1,
                 error > 0 ? strerrordesc_np(error) : because.message);
        *ret = facts;
        return;
    }
    snprintf(facts.filesystem, sizeof facts.filesystem, "nfs3");
    snprintf(facts.source, sizeof facts.source, "%.*s", (int)sizeof facts.source - 1,
             wire_source(wire));
    snprintf(facts.mount_options, sizeof facts.mount_options, "%s", wire_words(wire));
    facts.space_total = room.space_total;
    facts.space_available = room.space_available;
    facts.inodes_total = room.inodes_total;
    facts.inodes_available = room.inodes_available;
    wire_close(wire);
    *ret = facts;
}

const struct io_backend io_nfs = {
    .name = "nfs",
    .targets = 1 << TARGET_NFS,
    .depth_most = 1024,
    .ends_at_close = true,
    .check = check,
    .open = open_session,
    .close = close_session,
    .file_open = open_file,
    .file_close = close_file,
    .submit = submit,
    .reap = reap,
    .room = tell_room,
    .folder_make = nfs_folder_make,
    .folder_sweep = nfs_folder_sweep,
};
