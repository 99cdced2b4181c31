#include "engine/limits.h"

#include <errno.h>
#include <linux/magic.h>
#include <math.h>
#include <sys/vfs.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum { NAME_USUAL = 16 };

/* What a new file takes beside its blocks: its directory entry, and its inode where those are not laid
 * out beforehand. Upper bounds, so that the floor holds. */
static uint64_t metadata_bytes(const struct statfs *facts, uint64_t name)
{
    uint64_t longer = name > NAME_USUAL ? name - NAME_USUAL : 0;
    switch ((unsigned long)facts->f_type) {
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

int limits_init(struct limits *limits, int folder, double reserve, struct cost cost, unsigned lanes,
                uint64_t batch, struct problem *why)
{
    struct statfs facts;
    *limits = (struct limits){ .folder = folder, .reserve = reserve };
    pthread_mutex_init(&limits->lock, NULL);
    limits->watched = folder >= 0 && reserve > 0 && (cost.inodes || cost.bytes);
    if (!limits->watched)
        return 0;
    if (fstatfs(folder, &facts) != 0)
        return problem_errno(why, errno, "cannot ask the target for its space");
    limits->space_floor =
        (uint64_t)ceil((double)facts.f_blocks * (double)unit_of(&facts) * reserve);
    limits->inode_floor = (uint64_t)ceil((double)facts.f_files * reserve);
    limits->cost = (struct cost){
        .inodes = cost.inodes,
        .bytes = round_up(cost.bytes, unit_of(&facts)) +
                 (cost.inodes ? metadata_bytes(&facts, cost.name) : 0),
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
    struct statfs facts;
    if (fstatfs(limits->folder, &facts) != 0)
        return problem_errno(why, errno, "cannot ask the target for its space");
    uint64_t block = unit_of(&facts);
    uint64_t space = room(facts.f_bavail * block, limits->space_floor, limits->cost.bytes);
    uint64_t inodes = room(facts.f_ffree, limits->inode_floor, limits->cost.inodes);
    uint64_t least = space < inodes ? space : inodes;
    uint64_t needed = limits->in_flight + n;
    if (least < needed) {
        if (inodes <= space)
            say_floor(limits, LIMIT_INODES, facts.f_ffree, facts.f_files, ret);
        else
            say_floor(limits, LIMIT_SPACE, facts.f_bavail * block, facts.f_blocks * block, ret);
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

bool limits_explain(int folder, int error, bool creates, struct limit *ret)
{
    struct limit limit = { .reached = true, .error = error };
    switch (error) {
    case ENOSPC:
        explain_no_space(folder, creates, &limit);
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
