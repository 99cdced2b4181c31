/* The system's own calls, one after the other. */
#include "engine/direct.h"
#include "engine/io/backend.h"
#include "engine/io/descriptor.h"

struct io_session {
    int folder;
};

struct io_file {
    int fd;
};

static int posix_open(const struct io_options *options, struct io_session **ret,
                      struct problem *why)
{
    struct io_session *session = malloc(sizeof *session);
    if (!session)
        return problem_memory(why);
    session->folder = options->folder;
    *ret = session;
    return 0;
}

static struct io_session *posix_close(struct io_session *session)
{
    free(session);
    return NULL;
}

static int posix_file_open(struct io_session *session, const char *name, unsigned flags,
                           struct io_file **ret, struct problem *why)
{
    struct io_file *file = malloc(sizeof *file);
    if (!file)
        return problem_memory(why);
    file->fd = descriptor_open(session->folder, name, flags, why);
    if (file->fd < 0) {
        free(file);
        return -1;
    }
    *ret = file;
    return 0;
}

static int posix_file_close(struct io_session *session, struct io_file *file)
{
    (void)session;
    if (!file)
        return 0;
    int error = close(file->fd) != 0 ? errno : 0;
    free(file);
    return error;
}

static int64_t sync_file(const struct io_op *op)
{
    int result;
    do
        result =
            op->verb == IO_SYNC_DATA ? direct_fdatasync(op->file->fd) : direct_fsync(op->file->fd);
    while (result != 0 && errno == EINTR);
    return result ? -errno : 0;
}

/* What has not been moved yet. */
static inline ssize_t move(const struct io_op *op, uint32_t moved)
{
    char *at = op->buffer + moved;
    size_t left = op->length - moved;
    off_t offset = (off_t)(op->offset + moved);
    return op->verb == IO_READ ? direct_pread(op->file->fd, at, left, offset)
                               : direct_pwrite(op->file->fd, at, left, offset);
}

/* The call gave n, less than all. */
static int64_t go_on(struct io_op *op, ssize_t n)
{
    for (op->moved = 0;; n = move(op, op->moved)) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0 && op->verb == IO_WRITE)
            return -EIO;
        op->moved += (uint32_t)n;
        if (n == 0 || op->moved == op->length)
            return op->moved;
    }
}

static int64_t posix_call(struct io_session *session, struct io_op *op)
{
    (void)session;
    if (op->verb > IO_WRITE)
        return sync_file(op);
    ssize_t n = move(op, 0);
    return n == (ssize_t)op->length ? n : go_on(op, n);
}

const struct io_backend io_posix = {
    .name = "posix",
    .targets = 1 << TARGET_DIRECTORY | 1 << TARGET_BTRFS,
    .depth_most = 1,
    .direct = true,
    .cached = true,
    .open = posix_open,
    .close = posix_close,
    .file_open = posix_file_open,
    .file_close = posix_file_close,
    .call = posix_call,
};
