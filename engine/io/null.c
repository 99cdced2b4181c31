/* Nowhere: every operation is done at once. */
#include "engine/io/backend.h"

struct io_session {
    char nothing;
};

struct io_file {
    char nothing;
};

static int null_open(const struct io_options *options, struct io_session **ret, struct problem *why)
{
    (void)options;
    struct io_session *session = calloc(1, sizeof *session);
    return session ? (*ret = session, 0) : problem_memory(why);
}

static struct io_session *null_close(struct io_session *session)
{
    free(session);
    return NULL;
}

static int null_file_open(struct io_session *session, const char *name, unsigned flags,
                          struct io_file **ret, struct problem *why)
{
    (void)session, (void)name, (void)flags;
    struct io_file *file = calloc(1, sizeof *file);
    return file ? (*ret = file, 0) : problem_memory(why);
}

static int null_file_close(struct io_session *session, struct io_file *file)
{
    (void)session;
    free(file);
    return 0;
}

static int64_t null_call(struct io_session *session, struct io_op *op)
{
    (void)session;
    return op->verb <= IO_WRITE ? op->length : 0;
}

const struct io_backend io_null = {
    .name = "null",
    .targets = ~0u,
    .depth_most = 1,
    .direct = true,
    .open = null_open,
    .close = null_close,
    .file_open = null_file_open,
    .file_close = null_file_close,
    .call = null_call,
};
