/* Private to the files create_scaling*.c and their tests: the parameters, the generated names, and which
 * files exist, in memory that does not grow with their number. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"
#include "engine/lane.h"
#include "engine/workspace.h"

#include <stdint.h>

enum layout { LAYOUT_SHARED, LAYOUT_PRIVATE, LAYOUT_FANOUT };
enum create_call { CREATE_BY_OPEN, CREATE_BY_MKNOD };
enum order { ORDER_CREATED, ORDER_RANDOM };
enum cache { CACHE_WARM, CACHE_COLD };
enum sync_mode { SYNC_NONE, SYNC_FSYNC, SYNC_OPEN, SYNC_DIRECTORY };
enum operation { /* bits of `operations`, in the order in which they run */
                 OPERATION_CREATE = 1,
                 OPERATION_LIST = 2,
                 OPERATION_STAT = 4,
                 OPERATION_OPEN = 8,
                 OPERATION_RENAME = 16,
                 OPERATION_REMOVE = 32,
};

struct create_scaling {
    uint64_t files, batch, threads;
    int layout;           /* enum layout */
    uint64_t directories; /* fanout only */
    int create_call;      /* enum create_call */
    uint64_t name_length; /* bytes; less than NAME_LEAST counts as that */
    uint64_t file_bytes;
    int sync;            /* enum sync_mode */
    uint64_t operations; /* enum operation */
    int order;           /* enum order: of visits */
    uint64_t seed;       /* of the random one */
    int cache;           /* enum cache: before list and stat */
    nsec max_seconds;
    double stop_when_slower_than; /* 0: never */
    nsec patience;                /* with an NFS server */
    bool keep_files;
};

/* --- names: f0000000042, or f0000000042xxxx where they are to be longer; r0000000042 once renamed. In the
 * private layout below a lane's folder d0007, in the fanout layout below one of the directories. --- */

enum {
    FILE_DIGITS = 10,
    NAME_LEAST = FILE_DIGITS + 1,
    NAME_MOST = 255,
    NAME_ROOM = NAME_MOST + 1,
    FOLDER_DIGITS = 4,
    FOLDER_NAME = 8,
    DIRECTORIES_MOST = 1000, /* each is open throughout */
    PREFIX_MADE = 'f',
    PREFIX_RENAMED = 'r',
};

static inline size_t name_bytes(const struct create_scaling *with)
{
    return with->name_length > NAME_LEAST ? (size_t)with->name_length : NAME_LEAST;
}
/* The padding and the end, which no number touches. */
static inline void file_name_begin(char name[NAME_ROOM], const struct create_scaling *with)
{
    size_t n = name_bytes(with);
    memset(name, PADDING, n);
    name[n] = 0;
}
static inline void file_name(char name[NAME_ROOM], char prefix, uint64_t number)
{
    name[0] = prefix;
    for (int i = FILE_DIGITS; i > 0; i--, number /= 10)
        name[i] = (char)('0' + number % 10);
}
/* Counts up in place: formatting a name costs 2 to 3 % of a creation. */
static inline void file_name_next(char name[NAME_ROOM])
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
    uint64_t stranger_renamed;   /* the same of a new name */
};

/* Of n numbers from `first` on that it claimed, it made the first `made`. */
static inline void extent_note(struct extent *extent, uint64_t first, uint64_t n, uint64_t made)
{
    extent->made += made;
    extent->end = first + n;
    if (made < n) {
        extent->gap_first = first + made;
        extent->gap_end = first + n;
    }
}

/* Numbers first to first + n - 1 exist; `before` existing ones come before them. */
struct piece {
    uint64_t first, n, before;
};
struct manifest {
    size_t n;
    struct piece *pieces; /* in order */
    uint64_t files;
};
/* Of the layouts whose lanes claim from one pool, from what its lanes made. */
must_check int manifest_new(const struct extent *extents, size_t n, struct manifest *ret,
                            struct problem *why);
void manifest_done(struct manifest *manifest);
/* The piece that holds the existing file number `ordinal` (from 0), which must be less than files. */
const struct piece *manifest_find(const struct manifest *manifest, uint64_t ordinal);

/* --- the lanes' work --- */

/* What is done to each file that exists. */
enum visit {
    VISIT_STAT,
    VISIT_OPEN,
    VISIT_RENAME,
    VISIT_RENAME_PLAIN, /* where the target knows no RENAME_NOREPLACE */
    VISIT_REMOVE,
    VISIT_REMOVE_EITHER, /* after a rename that ended early: by the new name, or else by the old */
};

/* What the lanes of a phase are given. */
struct site {
    const struct create_scaling *with;
    int folder;   /* the run directory; -1: null target, or `nfs` */
    int *folders; /* of the fanout layout, open; NULL: other layouts */
    struct nfs_place
        *nfs; /* on an NFS server, where folders are numbers; NULL: in a folder of this host */
    struct extent *extents; /* of each lane; a lane writes its own */
    struct manifest exist;  /* not the private layout, after create */
    uint64_t *quota;        /* private layout, after create: files of each lane */
    uint64_t *listed;       /* of each lane */
    size_t buffer;          /* bytes of each lane's buffer for data or entries */
    enum visit visit;       /* of this phase */
    char prefix;            /* of the names that exist */
};

/* The folder that a lane works in, as a descriptor of its own. -1: cannot. Null target: a number. */
must_check int lane_folder(const struct site *site, unsigned lane, bool make, struct problem *why);
/* The folder of a file: one batch after the other goes into the next directory. */
static inline int folder_of(const struct site *site, int own, uint64_t number)
{
    if (!site->folders)
        return own;
    return site->folders[number / site->with->batch % site->with->directories];
}

lane_fn create_lane, create_lane_null, create_lane_nfs, mknod_lane, mknod_lane_null, list_lane,
    list_lane_nfs, visit_lane, visit_lane_null, visit_lane_nfs;
