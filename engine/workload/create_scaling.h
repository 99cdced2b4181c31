/* The parameters of create-scaling. Private to the files create_scaling*.c and their tests. */
#pragma once
#include "engine/base/clock.h"

#include <stdint.h>

enum layout { LAYOUT_SHARED, LAYOUT_PRIVATE };
enum sync_mode { SYNC_NONE, SYNC_FSYNC, SYNC_OPEN, SYNC_DIRECTORY };
enum operation { /* bits of `operations`, in the order in which they run */
                 OPERATION_CREATE = 1,
                 OPERATION_LIST = 2,
                 OPERATION_STAT = 4,
                 OPERATION_REMOVE = 8,
};

struct create_scaling {
    uint64_t files, batch, threads;
    int layout; /* enum layout */
    uint64_t file_bytes;
    int sync;            /* enum sync_mode */
    uint64_t operations; /* enum operation */
    nsec max_seconds;
};
