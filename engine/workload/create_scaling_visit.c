/* How the lanes of create-scaling go over the files that exist: in the order in which they were made, or in a
 * random one. One loop for each order, compiled for each kind of visit. */
#include "engine/workload/create_scaling.h"
#include "engine/workload/create_scaling_calls.h"
#include "engine/workload/create_scaling_nfs.h"
#include "engine/workload/permutation.h"

struct visitor {
    const struct site *site;
    int own; /* the lane's folder */
    struct nfs_lane *nfs;
    char to[NAME_ROOM]; /* a second name, of which only the number is yet to come */
};

/* --- one visit; 0, or -1 and errno; errno 0: the problem is told --- */

typedef int one_fn(int folder, const char *name, struct visitor *visitor,
                   const struct calls *calls);

#define one_of static inline __attribute__((always_inline)) int

one_of one_stat(int folder, const char *name, struct visitor *visitor, const struct calls *calls)
{
    struct stat facts;
    (void)visitor;
    return calls->stat(folder, name, &facts, AT_SYMLINK_NOFOLLOW);
}

one_of one_open(int folder, const char *name, struct visitor *visitor, const struct calls *calls)
{
    (void)visitor;
    int fd = calls->open(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    return fd < 0 ? -1 : calls->close(fd);
}

one_of one_rename(int folder, const char *name, struct visitor *visitor, const struct calls *calls)
{
    memcpy(visitor->to + 1, name + 1, FILE_DIGITS);
    return calls->rename(folder, name, visitor->to, RENAME_NOREPLACE);
}

one_of one_rename_plain(int folder, const char *name, struct visitor *visitor,
                        const struct calls *calls)
{
    memcpy(visitor->to + 1, name + 1, FILE_DIGITS);
    return calls->rename(folder, name, visitor->to, 0);
}

one_of one_remove(int folder, const char *name, struct visitor *visitor, const struct calls *calls)
{
    (void)visitor;
    return calls->unlink(folder, name, 0);
}

one_of one_remove_either(int folder, const char *name, struct visitor *visitor,
                         const struct calls *calls)
{
    if (calls->unlink(folder, name, 0) == 0)
        return 0;
    if (errno != ENOENT)
        return -1;
    memcpy(visitor->to + 1, name + 1, FILE_DIGITS);
    return calls->unlink(folder, visitor->to, 0);
}

one_of one_nfs_stat(int folder, const char *name, struct visitor *visitor,
                    const struct calls *calls)
{
    (void)calls;
    return nfs_lane_stat(visitor->nfs, folder, name);
}

one_of one_nfs_open(int folder, const char *name, struct visitor *visitor,
                    const struct calls *calls)
{
    (void)calls;
    return nfs_lane_open(visitor->nfs, folder, name);
}

one_of one_nfs_rename(int folder, const char *name, struct visitor *visitor,
                      const struct calls *calls)
{
    (void)calls;
    memcpy(visitor->to + 1, name + 1, FILE_DIGITS);
    return nfs_lane_rename(visitor->nfs, folder, name, visitor->to);
}

one_of one_nfs_remove(int folder, const char *name, struct visitor *visitor,
                      const struct calls *calls)
{
    (void)calls;
    return nfs_lane_remove(visitor->nfs, folder, name);
}

one_of one_nfs_remove_either(int folder, const char *name, struct visitor *visitor,
                             const struct calls *calls)
{
    (void)calls;
    if (nfs_lane_remove(visitor->nfs, folder, name) == 0)
        return 0;
    if (errno != ENOENT)
        return -1;
    memcpy(visitor->to + 1, name + 1, FILE_DIGITS);
    return nfs_lane_remove(visitor->nfs, folder, visitor->to);
}

/* --- where --- */

/* Existing file number `ordinal` and those after it: as many as have numbers in a row in one folder. */
struct stretch {
    uint64_t number, n;
};

static struct stretch stretch_from(const struct site *site, uint64_t ordinal, uint64_t most)
{
    struct stretch here = { ordinal, most };
    if (site->with->layout == LAYOUT_PRIVATE)
        return here;
    const struct piece *piece = manifest_find(&site->exist, ordinal);
    uint64_t skipped = ordinal - piece->before, batch = site->with->batch;
    here.number = piece->first + skipped;
    if (here.n > piece->n - skipped)
        here.n = piece->n - skipped;
    if (site->folders && here.n > batch - here.number % batch)
        here.n = batch - here.number % batch;
    return here;
}

/* --- the loops --- */

static int refused(struct lane *lane, const struct site *site, uint64_t number, const char *doing,
                   const char *name, struct problem *why)
{
    int error = errno;
    if (error == 0)
        return nfs_lane_lost(number, why);
    bool renames = site->visit == VISIT_RENAME || site->visit == VISIT_RENAME_PLAIN;
    if (error == EEXIST && renames)
        site->extents[lane_index(lane)].stranger_renamed = number + 1;
    return lane_refused(lane, error, renames ? ATTEMPT_NAME : ATTEMPT_OTHER, number, doing, name,
                        why);
}

loop_of visit_in_order(struct lane *lane, struct visitor *visitor, one_fn *one, const char *doing,
                       const struct calls *calls, struct problem *why)
{
    const struct site *site = visitor->site;
    char name[NAME_ROOM];
    file_name_begin(name, site->with);
    for (uint64_t ordinal, n; (n = lane_claim(lane, &ordinal)) > 0;) {
        while (n > 0) {
            const struct stretch here = stretch_from(site, ordinal, n);
            int folder = folder_of(site, visitor->own, here.number);
            file_name(name, site->prefix, here.number);
            lane_restart(lane);
            for (uint64_t i = 0; i < here.n; i++) {
                if (one(folder, name, visitor, calls) != 0)
                    return refused(lane, site, here.number + i, doing, name, why);
                file_name_next(name);
                if (!lane_note(lane, 0))
                    return 0;
            }
            ordinal += here.n;
            n -= here.n;
        }
    }
    return 0;
}

/* Names are worked out before the clock runs, as many at a time as have room here. */
struct names {
    struct permutation permutation;
    uint64_t number[TICKS];
    int folder[TICKS];
    char name[TICKS][NAME_ROOM];
};

static void prepare(const struct site *site, int own, struct names *names, uint64_t ordinal,
                    uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = permutation_of(&names->permutation, ordinal + i);
        names->number[i] = stretch_from(site, at, 1).number;
        names->folder[i] = folder_of(site, own, names->number[i]);
        file_name(names->name[i], site->prefix, names->number[i]);
    }
}

static struct names *names_new(const struct site *site, unsigned lane, struct problem *why)
{
    const struct create_scaling *with = site->with;
    bool private = with->layout == LAYOUT_PRIVATE;
    struct names *names = malloc(sizeof *names);
    if (!names) {
        problem_memory(why);
        return NULL;
    }
    for (unsigned i = 0; i < TICKS; i++)
        file_name_begin(names->name[i], with);
    permutation_init(&names->permutation, private ? site->extents[lane].made : site->exist.files,
                     private ? with->seed + ((uint64_t)lane << 48) : with->seed);
    return names;
}

loop_of visit_at_random(struct lane *lane, struct visitor *visitor, one_fn *one, const char *doing,
                        const struct calls *calls, struct problem *why)
{
    const struct site *site = visitor->site;
    scoped_free struct names *names = names_new(site, lane_index(lane), why);
    if (!names)
        return -1;
    for (uint64_t ordinal, n; (n = lane_claim(lane, &ordinal)) > 0;)
        for (uint64_t done = 0, here; done < n; done += here) {
            here = n - done < TICKS ? n - done : TICKS;
            prepare(site, visitor->own, names, ordinal + done, here);
            if (done == 0)
                lane_prepared(lane);
            else
                lane_restart(lane);
            for (uint64_t i = 0; i < here; i++) {
                if (one(names->folder[i], names->name[i], visitor, calls) != 0)
                    return refused(lane, site, names->number[i], doing, names->name[i], why);
                if (!lane_note(lane, 0))
                    return 0;
            }
        }
    return 0;
}

typedef int loop_fn(struct lane *lane, struct visitor *visitor, struct problem *why);

#define LOOP(name, order, one, doing, calls)                                         \
    static int name(struct lane *lane, struct visitor *visitor, struct problem *why) \
    {                                                                                \
        return order(lane, visitor, one, doing, calls, why);                         \
    }
#define LOOPS(what, doing)                                                     \
    LOOP(what##_in_order, visit_in_order, one_##what, doing, &system_calls)    \
    LOOP(what##_in_order_null, visit_in_order, one_##what, doing, &null_calls) \
    LOOP(what##_at_random, visit_at_random, one_##what, doing, &system_calls)  \
    LOOP(what##_at_random_null, visit_at_random, one_##what, doing, &null_calls)
#define LOOPS_NFS(what, doing)                                             \
    LOOP(what##_in_order_nfs, visit_in_order, one_nfs_##what, doing, NULL) \
    LOOP(what##_at_random_nfs, visit_at_random, one_nfs_##what, doing, NULL)
#define LOOPS_OF(what, nfs)                                                                     \
    {                                                                                           \
        { what##_in_order, what##_at_random }, { what##_in_order_null, what##_at_random_null }, \
        {                                                                                       \
            nfs##_in_order_nfs, nfs##_at_random_nfs                                             \
        }                                                                                       \
    }

LOOPS(stat, "stat")
LOOPS(open, "open")
LOOPS(rename, "rename")
LOOPS(rename_plain, "rename")
LOOPS(remove, "remove")
LOOPS(remove_either, "remove")
LOOPS_NFS(stat, "stat")
LOOPS_NFS(open, "open")
LOOPS_NFS(rename, "rename")
LOOPS_NFS(remove, "remove")
LOOPS_NFS(remove_either, "remove")

enum calls_kind { CALLS_SYSTEM, CALLS_NULL, CALLS_NFS, CALLS_COUNT };

static loop_fn *const loops[][CALLS_COUNT][2] = {
    [VISIT_STAT] = LOOPS_OF(stat, stat),
    [VISIT_OPEN] = LOOPS_OF(open, open),
    [VISIT_RENAME] = LOOPS_OF(rename, rename),
    [VISIT_RENAME_PLAIN] = LOOPS_OF(rename_plain, rename),
    [VISIT_REMOVE] = LOOPS_OF(remove, remove),
    [VISIT_REMOVE_EITHER] = LOOPS_OF(remove_either, remove_either),
};

static int visit_from(struct lane *lane, struct visitor *visitor, enum calls_kind calls,
                      struct problem *why)
{
    const struct site *site = visitor->site;
    file_name_begin(visitor->to, site->with);
    visitor->to[0] = site->visit == VISIT_REMOVE_EITHER ? PREFIX_MADE : PREFIX_RENAMED;
    return loops[site->visit][calls][site->with->order](lane, visitor, why);
}

static int visit(struct lane *lane, const struct site *site, enum calls_kind calls,
                 struct problem *why)
{
    scoped_fd int own = lane_folder(site, lane_index(lane), false, why);
    struct visitor visitor = { .site = site, .own = own };
    return own < 0 ? -1 : visit_from(lane, &visitor, calls, why);
}

int visit_lane_nfs(struct lane *lane, const void *arg, struct problem *why)
{
    const struct site *site = arg;
    struct visitor visitor = { .site = site,
                               .own = nfs_folder_of(site, lane_index(lane)),
                               .nfs = nfs_lane_of(site->nfs, lane_index(lane), why) };
    return visit_from(lane, &visitor, CALLS_NFS, why);
}

int visit_lane(struct lane *lane, const void *arg, struct problem *why)
{
    return visit(lane, arg, CALLS_SYSTEM, why);
}

int visit_lane_null(struct lane *lane, const void *arg, struct problem *why)
{
    return visit(lane, arg, CALLS_NULL, why);
}
