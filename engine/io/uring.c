/* io_uring: as many operations in flight as the session has room for, given to the kernel together with the wait
 * for the first of them to end. Buffers and file are registered, so that the kernel looks them up once. */
#include "engine/io/backend.h"
#include "engine/io/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>

struct io_session {
    struct io_uring ring;
    bool fixed_buffers;
    int folder;
};

struct io_file {
    int fd;
    bool in_memory;  /* tmpfs */
    bool registered; /* as the ring's file 0 */
};

/* The cheapest ways to be told of what ended come first; an older kernel refuses them. */
static int make_ring(struct io_session *session, unsigned depth)
{
    static const unsigned flags[] = {
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
        IORING_SETUP_COOP_TASKRUN,
        0,
    };
    int error = -EINVAL;
    for (size_t i = 0; i < COUNT_OF(flags) && error == -EINVAL; i++)
        error = io_uring_queue_init(depth, &session->ring, flags[i]);
    return error;
}

/* Of what a user may lock, the rings need their part, too, and all sessions draw on the same. */
static bool may_lock(const struct io_options *options)
{
    struct rlimit most;
    return geteuid() == 0 || (getrlimit(RLIMIT_MEMLOCK, &most) == 0 &&
                              options->buffers_bytes <= most.rlim_cur / 2 / options->sessions);
}

/* Buffers count as locked memory, of which a user may have little: without it all works, a little slower. */
static void register_buffers(struct io_session *session, const struct io_options *options)
{
    const struct iovec all = { options->buffers, options->buffers_bytes };
    session->fixed_buffers = io_uring_register_buffers(&session->ring, &all, 1) == 0;
}

static int refuse(int error, struct problem *why)
{
    if (error == ENOSYS || error == EPERM)
        return problem_field(why, "/params/backend",
                             "backend cannot be uring: this host does not allow io_uring (%s)",
                             strerrordesc_np(error));
    if (error == ENOMEM)
        return problem_field(why, "/params/backend",
                             "backend cannot be uring with so many operations in flight: their "
                             "rings need more memory than this user may lock (RLIMIT_MEMLOCK) or "
                             "than there is");
    return problem_errno(why, error, "cannot set up io_uring");
}

static int uring_open(const struct io_options *options, struct io_session **ret,
                      struct problem *why)
{
    struct io_session *session = calloc(1, sizeof *session);
    if (!session)
        return problem_memory(why);
    session->folder = options->folder;
    int error = make_ring(session, options->depth);
    if (error) {
        free(session);
        return refuse(-error, why);
    }
    if (options->buffers && may_lock(options))
        register_buffers(session, options);
    *ret = session;
    return 0;
}

static struct io_session *uring_close(struct io_session *session)
{
    if (!session)
        return NULL;
    io_uring_queue_exit(&session->ring);
    free(session);
    return NULL;
}

/* The kernel takes a file of tmpfs for one that may make it wait, and hands all its operations to threads of its
 * own. It never does: reads are then done at once where it is told so (O_NONBLOCK has no other meaning there);
 * writes go to a thread all the same, and need not be tried before. */
static bool never_waits(int fd)
{
    struct statfs facts;
    int flags = fcntl(fd, F_GETFL);
    if (fstatfs(fd, &facts) != 0 || facts.f_type != TMPFS_MAGIC || flags < 0)
        return false;
    return fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static int uring_file_open(struct io_session *session, const char *name, unsigned flags,
                           struct io_file **ret, struct problem *why)
{
    struct io_file *file = calloc(1, sizeof *file);
    if (!file)
        return problem_memory(why);
    file->fd = descriptor_open(session->folder, name, flags, why);
    if (file->fd < 0) {
        free(file);
        return -1;
    }
    file->in_memory = never_waits(file->fd);
    file->registered = io_uring_register_files(&session->ring, &file->fd, 1) == 0;
    *ret = file;
    return 0;
}

static int uring_file_close(struct io_session *session, struct io_file *file)
{
    if (!file)
        return 0;
    if (file->registered)
        io_uring_unregister_files(&session->ring);
    int error = close(file->fd) != 0 ? errno : 0;
    free(file);
    return error;
}

/* What of the operation has not been done yet. */
static void queue(struct io_session *session, struct io_op *op)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&session->ring);
    const struct io_file *file = op->file;
    int fd = file->registered ? 0 : file->fd;
    char *at = op->buffer + op->moved;
    unsigned left = op->length - op->moved;
    uint64_t offset = op->offset + op->moved;
    if (op->verb > IO_WRITE)
        io_uring_prep_fsync(sqe, fd, op->verb == IO_SYNC_DATA ? IORING_FSYNC_DATASYNC : 0);
    else if (op->verb == IO_READ && session->fixed_buffers)
        io_uring_prep_read_fixed(sqe, fd, at, left, offset, 0);
    else if (op->verb == IO_READ)
        io_uring_prep_read(sqe, fd, at, left, offset);
    else if (session->fixed_buffers)
        io_uring_prep_write_fixed(sqe, fd, at, left, offset, 0);
    else
        io_uring_prep_write(sqe, fd, at, left, offset);
    if (file->registered)
        sqe->flags |= IOSQE_FIXED_FILE;
    if (file->in_memory && op->verb == IO_WRITE)
        sqe->flags |= IOSQE_ASYNC;
    io_uring_sqe_set_data(sqe, op);
}

/* The kernel hears of them in reap(): one call for both. */
static int uring_submit(struct io_session *session, struct io_op **ops, size_t n,
                        struct problem *why)
{
    if (io_uring_sq_space_left(&session->ring) < n)
        return problem_set(why, PROBLEM_INTERNAL, "more operations than the ring has room for");
    for (size_t i = 0; i < n; i++) {
        ops[i]->moved = 0;
        queue(session, ops[i]);
    }
    return 0;
}

/* Whether that was all of it; if not, the rest is queued. */
static bool ended(struct io_session *session, struct io_op *op, int result)
{
    if (result == -EINTR || result == -EAGAIN) {
        queue(session, op);
        return false;
    }
    if (result < 0 || op->verb > IO_WRITE) {
        op->result = result;
        return true;
    }
    op->moved += (uint32_t)result;
    op->result = result == 0 && op->verb == IO_WRITE ? -EIO : (int64_t)op->moved;
    if (result == 0 || op->moved == op->length)
        return true;
    queue(session, op);
    return false;
}

static size_t collect(struct io_session *session, struct io_op **done, size_t most)
{
    struct io_uring_cqe *cqe;
    unsigned head, seen = 0;
    size_t n = 0;
    io_uring_for_each_cqe(&session->ring, head, cqe)
    {
        if (n == most)
            break;
        struct io_op *op = io_uring_cqe_get_data(cqe);
        seen++;
        if (ended(session, op, cqe->res))
            done[n++] = op;
    }
    io_uring_cq_advance(&session->ring, seen);
    return n;
}

static int uring_reap(struct io_session *session, struct io_op **done, size_t least, size_t most,
                      nsec until, struct problem *why)
{
    size_t n = collect(session, done, most);
    while (n < least || io_uring_sq_ready(&session->ring)) {
        struct io_uring_cqe *cqe;
        nsec left = until - clock_monotonic();
        if (left < 0)
            left = 0;
        struct __kernel_timespec wait = { left / NSEC_PER_SEC, left % NSEC_PER_SEC };
        int result = io_uring_submit_and_wait_timeout(
            &session->ring, &cqe, n < least ? (unsigned)(least - n) : 0, &wait, NULL);
        n += collect(session, done + n, most - n);
        if (result == -ETIME || result == -EINTR)
            return (int)n;
        if (result < 0 && result != -EAGAIN && result != -EBUSY)
            return problem_errno(why, -result, "io_uring failed");
    }
    return (int)n;
}

const struct io_backend io_uring = {
    .name = "uring",
    .targets = 1 << TARGET_DIRECTORY | 1 << TARGET_BTRFS,
    .depth_most = 1024,
    .direct = true,
    .cached = true,
    .open = uring_open,
    .close = uring_close,
    .file_open = uring_file_open,
    .file_close = uring_file_close,
    .submit = uring_submit,
    .reap = uring_reap,
};
