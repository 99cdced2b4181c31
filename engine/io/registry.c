#include "engine/io/backend.h"

extern const struct io_backend io_posix, io_uring, io_nfs;

static const struct io_backend *const all[] = { &io_posix, &io_uring, &io_nfs };

const char *const io_backend_names[] = { "posix", "uring", "nfs", NULL };

_Static_assert(COUNT_OF(io_backend_names) == COUNT_OF(all) + 1, "every backend has its name");

const struct io_backend *io_backend_at(int choice)
{
    return all[choice];
}
