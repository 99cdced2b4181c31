#include "engine/limits.h"

#include <errno.h>
#include <linux/magic.h>
#include <math.h>
#include <sys/vfs.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum {
    NAME_USUAL = 16,
    UNIT_USUAL = 4096, /* what a server counts space in, which it does not tell */
};

/* What a new file takes beside its blocks: its directory entry, and its inode where those are not laid
 * out beforehand. Upper bounds, so that the floor holds. */
static uint64_t metadata_bytes(unsigned long type, uint64_t name)
{
    uint64_t longer = name > NAME_USUAL ? name - NAME_USUAL : 0;
    switch (type) {
    case EXT4_SUPER_MAGIC:
        return 64 + 2 * longer; /* directory blocks may be half full */
    case XFS_SUPER_MAGIC:
        return 512 + 64 + 64 + 2 * longer; /* inode, entry, their trees */
    case BTRFS_SUPER_MAGIC:
        return 2048 + 12 * longer; /* inode and three items, in two copies, leaves half full */
    case TMPFS_MAGIC:
        return 0;
    default:
        return 512 + 2 * longer;
    }
}

/* What the target counts its space in, which need not be the block size that it prefers for I/O. */
static uint64_t unit_of(const struct statfs *facts)
{
    return (uint64_t)(facts->f_frsize ? facts->f_frsize : facts->f_bsize);
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return unit ? (value + unit - 1) / unit * unit : value;
}

/* What the target has, what it counts space in, and of what type it is: 0, not known. */
static int ask_target(const struct limits *limits, struct room *ret, uint64_t *ret_unit,
                      unsigned long *ret_type, struct problem *why)
{
    struct statfs facts;
    *ret_unit = UNIT_USUAL;
    *ret_type = 0;
    if (limits->folder < 0)
        return limits->ask(limits->ask_arg, ret, why);
    if (fstatfs(limits->folder, &facts) != 0)
        return problem_errno(why, errno, "cannot ask the target for its space");
    *ret_unit = unit_of(&facts);
    *ret_type = (unsigned long)facts.f_type;
    *ret = (struct room){ .space_total = facts.f_blocks * *ret_unit,
                          .space_available = facts.f_bavail * *ret_unit,
                          .inodes_total = facts.f_files,
                          .inodes_available = facts.f_ffree };
    return 0;
}

int limits_init(struct limits *limits, struct cost cost, unsigned lanes, uint64_t batch,
                struct problem *why)
{
    struct room has;
    uint64_t unit;
    unsigned long type;
    pthread_mutex_init(&limits->lock, NULL);
    limits->watched =
        (limits->folder >= 0 || limits->ask) && limits->reserve > 0 && (cost.inodes || cost.bytes);
    if (!limits->watched)
        return 0;
    if (ask_target(limits, &has, &unit, &type, why))
        return -1;
    limits->space_floor = (uint64_t)ceil((double)has.space_total * limits->reserve);
    limits->inode_floor = (uint64_t)ceil((double)has.inodes_total * limits->reserve);
    limits->cost = (struct cost){
        .inodes = cost.inodes,
        .bytes = round_up(cost.bytes, unit) + (cost.inodes ? metadata_bytes(type, cost.name) : 0),
    };
    limits->in_flight = (lanes - 1) * batch;
    return 0;
}

void limits_done(struct limits *limits)
{
    pthread_mutex_destroy(&limits->lock);
}

static void say_floor(const struct limits *limits, enum limit_reason reason, uint64_t left,
                      uint64_t all, struct limit *ret)
{
    *ret = (struct limit){ .reached = true, .reason = reason };
    snprintf(ret->detail, sizeof ret->detail,
             "the reserve of %g %% of the target's %s was reached: %llu of %llu%s are left",
             limits->reserve * 100, reason == LIMIT_SPACE ? "space" : "inodes",
             (unsigned long long)left, (unsigned long long)all,
             reason == LIMIT_SPACE ? " bytes" : "");
}

/* How many operations fit between what is available and the floor. */
static uint64_t room(uint64_t available, uint64_t floor, uint64_t each)
{
    if (each == 0 || floor == 0)
        return UINT64_MAX / 4;
    return available > floor ? (available - floor) / each : 0;
}

static int look(struct limits *limits, uint64_t n, nsec now, struct limit *ret, struct problem *why)
{
    struct room has;
    uint64_t unit;
    unsigned long type;
    if (ask_target(limits, &has, &unit, &type, why))
        return -1;
    uint64_t space = room(has.space_available, limits->space_floor, limits->cost.bytes);
    uint64_t inodes = room(has.inodes_available, limits->inode_floor, limits->cost.inodes);
    uint64_t least = space < inodes ? space : inodes;
    uint64_t needed = limits->in_flight + n;
    if (least < needed) {
        if (inodes <= space)
            say_floor(limits, LIMIT_INODES, has.inodes_available, has.inodes_total, ret);
        else
            say_floor(limits, LIMIT_SPACE, has.space_available, has.space_total, ret);
        return 1;
    }
    uint64_t grant = (least - limits->in_flight) / 2; /* half: checks are spaced by what is left */
    if (grant < n)
        grant = n;
    if (grant > INT64_MAX / 2)
        grant = INT64_MAX / 2;
    atomic_store(&limits->look_at, now + NSEC_PER_SEC);
    atomic_store(&limits->credit, (int64_t)(grant - n));
    return 0;
}

static bool take_credit(struct limits *limits, uint64_t n, nsec now)
{
    if (now >= atomic_load_explicit(&limits->look_at, memory_order_relaxed))
        return false;
    return atomic_fetch_sub_explicit(&limits->credit, (int64_t)n, memory_order_relaxed) >=
           (int64_t)n;
}

int limits_admit(struct limits *limits, uint64_t n, nsec now, struct limit *ret,
                 struct problem *why)
{
    if (!limits->watched || take_credit(limits, n, now))
        return 0;
    pthread_mutex_lock(&limits->lock);
    int result = take_credit(limits, n, now) ? 0 : look(limits, n, now, ret, why);
    pthread_mutex_unlock(&limits->lock);
    return result;
}

/* ENOSPC of a target that is asked for its room: what its own filesystem is stays unknown. */
static void explain_no_space_far(struct limits *limits, struct limit *ret)
{
    struct room has;
    struct problem unheard = { 0 };
    pthread_mutex_lock(&limits->lock);
    int failed = limits->ask(limits->ask_arg, &has, &unheard);
    pthread_mutex_unlock(&limits->lock);
    ret->reason = LIMIT_SPACE;
    if (failed) {
        snprintf(ret->detail, sizeof ret->detail, "the server says that it has no space left");
    } else if (has.inodes_total && has.inodes_available == 0) {
        ret->reason = LIMIT_INODES;
        snprintf(ret->detail, sizeof ret->detail, "all %llu inodes of the target are in use",
                 (unsigned long long)has.inodes_total);
    } else {
        snprintf(ret->detail, sizeof ret->detail,
                 "the server has no space left for this; it tells %llu bytes available",
                 (unsigned long long)has.space_available);
    }
}

/* ENOSPC: which of the things that it may mean. */
static void explain_no_space(int folder, bool creates, struct limit *ret)
{
    struct statfs facts;
    ret->reason = LIMIT_SPACE;
    if (folder < 0 || fstatfs(folder, &facts) != 0) {
        snprintf(ret->detail, sizeof ret->detail, "the target says that it has no space left");
        return;
    }
    unsigned long long space = (unsigned long long)facts.f_bfree * unit_of(&facts);
    unsigned long long inodes = (unsigned long long)facts.f_ffree;
    unsigned long long ours = (unsigned long long)facts.f_bavail * unit_of(&facts);
    if (facts.f_files && inodes == 0) {
        ret->reason = LIMIT_INODES;
        snprintf(ret->detail, sizeof ret->detail, "all %llu inodes of the target are in use",
                 (unsigned long long)facts.f_files);
    } else if (creates && (unsigned long)facts.f_type == EXT4_SUPER_MAGIC && facts.f_bavail > 8) {
        ret->reason = LIMIT_DIRECTORY_INDEX;
        snprintf(ret->detail, sizeof ret->detail,
                 "the directory's index is full, while %llu bytes and %llu inodes are free", space,
                 inodes);
    } else if (geteuid() != 0 && ours < space) {
        snprintf(ret->detail, sizeof ret->detail,
                 "the target has no space left for this user; of %llu bytes that it tells free, "
                 "%llu are reserved for root",
                 space, space - ours);
    } else {
        snprintf(ret->detail, sizeof ret->detail,
                 "the target has no space left for this; it tells %llu bytes free", space);
    }
}

bool limits_explain(struct limits *limits, int error, bool creates, struct limit *ret)
{
    struct limit limit = { .reached = true, .error = error };
    switch (error) {
    case ENOSPC:
        if (limits->folder < 0 && limits->ask)
            explain_no_space_far(limits, &limit);
        else
            explain_no_space(limits->folder, creates, &limit);
        break;
    case EDQUOT:
        limit.reason = LIMIT_QUOTA;
        snprintf(limit.detail, sizeof limit.detail, "the quota of the user or project is used up");
        break;
    case EMLINK:
        limit.reason = LIMIT_LINKS;
        snprintf(limit.detail, sizeof limit.detail, "no more links are possible there");
        break;
    case ENAMETOOLONG:
        limit.reason = LIMIT_NAME;
        snprintf(limit.detail, sizeof limit.detail, "the target refuses a name of this length");
        break;
    default:
        return false;
    }
    *ret = limit;
    return true;
}
