/* Private to the files create_scaling*.c and their tests: the parameters, the generated names, and which
 * files exist, in memory that does not grow with their number. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"
#include "engine/lane.h"

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

/* --- names: f0000000042; in the private layout below a lane's folder d0007 --- */

enum { FILE_DIGITS = 10, FILE_NAME = FILE_DIGITS + 2, FOLDER_DIGITS = 4, FOLDER_NAME = 8 };

static inline void file_name(char name[FILE_NAME], uint64_t number)
{
    name[0] = 'f';
    for (int i = FILE_DIGITS; i > 0; i--, number /= 10)
        name[i] = (char)('0' + number % 10);
    name[FILE_DIGITS + 1] = 0;
}
/* Counts up in place: formatting a name costs 2 to 3 % of a creation. */
static inline void file_name_next(char name[FILE_NAME])
{
    char *digit = name + FILE_DIGITS;
    while (*digit == '9')
        *digit-- = '0';
    ++*digit;
}
void folder_name(char name[FOLDER_NAME], unsigned lane);

/* --- what exists --- */

/* What one lane made. Its last batch may have ended early and leaves a gap; all before it are whole. */
struct extent {
    uint64_t end;                /* one more than the last number it claimed */
    uint64_t gap_first, gap_end; /* numbers that it claimed and did not make */
    uint64_t made;               /* how many exist; in its own folder: 0 to made - 1 */
    uint64_t stranger;           /* a number + 1 whose name was there already; 0: none */
};

/* Numbers first to first + n - 1 exist; `before` existing ones come before them. */
struct piece {
    uint64_t first, n, before;
};
struct manifest {
    size_t n;
    struct piece *pieces; /* in order */
    uint64_t files;
};
/* Of the shared layout, from what its lanes made. */
must_check int manifest_new(const struct extent *extents, size_t n, struct manifest *ret,
                            struct problem *why);
void manifest_done(struct manifest *manifest);
/* The piece that holds the existing file number `ordinal` (from 0), which must be less than files. */
const struct piece *manifest_find(const struct manifest *manifest, uint64_t ordinal);

/* --- the lanes' work --- */

/* What the lanes of a phase are given. */
struct site {
    const struct create_scaling *with;
    int folder;             /* the run directory; -1: null target */
    struct extent *extents; /* of each lane; a lane writes its own */
    struct manifest exist;  /* shared layout, after create */
    uint64_t *quota;        /* private layout, after create: files of each lane */
    uint64_t *listed;       /* of each lane */
    size_t buffer;          /* bytes of each lane's buffer for data or entries */
};

lane_fn create_lane, create_lane_null, list_lane, stat_lane, stat_lane_null, remove_lane,
    remove_lane_null;
