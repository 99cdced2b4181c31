/* The loops of create-scaling. Each is written once over a table of calls and compiled twice: with the
 * system's calls, and with calls that return at once, which shows what the engine itself costs. */
#include "engine/workload/create_scaling.h"

#include "engine/direct.h"
#include "engine/workspace.h"

struct calls {
    int (*open)(int folder, const char *name, int flags, mode_t mode);
    ssize_t (*write)(int fd, const void *bytes, size_t n);
    int (*fsync)(int fd);
    int (*close)(int fd);
    int (*stat)(int folder, const char *name, struct stat *ret, int flags);
    int (*unlink)(int folder, const char *name, int flags);
};

static const struct calls system_calls = { direct_open,  direct_write, direct_fsync,
                                           direct_close, direct_stat,  direct_unlink };

static inline int null_open(int folder, const char *name, int flags, mode_t mode)
{
    (void)folder, (void)name, (void)flags, (void)mode;
    return 0;
}
static inline ssize_t null_write(int fd, const void *bytes, size_t n)
{
    (void)fd, (void)bytes;
    return (ssize_t)n;
}
static inline int null_fd(int fd)
{
    (void)fd;
    return 0;
}
static inline int null_stat(int folder, const char *name, struct stat *ret, int flags)
{
    (void)folder, (void)name, (void)ret, (void)flags;
    return 0;
}
static inline int null_unlink(int folder, const char *name, int flags)
{
    (void)folder, (void)name, (void)flags;
    return 0;
}
static const struct calls null_calls = { null_open, null_write, null_fd,
                                         null_fd,   null_stat,  null_unlink };

#define loop_of static inline __attribute__((always_inline)) int

void folder_name(char name[FOLDER_NAME], unsigned lane)
{
    name[0] = 'd';
    for (int i = FOLDER_DIGITS; i > 0; i--, lane /= 10)
        name[i] = (char)('0' + lane % 10);
    name[FOLDER_DIGITS + 1] = 0;
}

/* The folder that a lane works in, as a descriptor of its own. -1: cannot. Null target: a number. */
static int lane_folder(const struct site *site, unsigned lane, bool make, struct problem *why)
{
    char name[FOLDER_NAME] = ".";
    if (site->folder < 0)
        return open("/", O_PATH | O_CLOEXEC);
    if (site->with->layout == LAYOUT_PRIVATE)
        folder_name(name, lane);
    if (site->with->layout == LAYOUT_PRIVATE && make && mkdirat(site->folder, name, 0700) != 0)
        return problem_errno(why, errno, "cannot make the folder %s", name);
    return workspace_open_folder(site->folder, name, why);
}

/* --- create --- */

/* One lane's means to make a file. */
struct maker {
    int folder, flags, sync;
    uint64_t bytes;
    size_t room; /* of data */
    char *data;
    uint64_t stamp; /* differs in every block ever written */
};

enum { BLOCK = 4096 };

/* Incompressible: xorshift64*, seeded by the lane. */
static void fill_random(char *data, size_t n, uint64_t seed)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i + sizeof x <= n; i += sizeof x) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        uint64_t word = x * UINT64_C(0x2545f4914f6cdd1d);
        memcpy(data + i, &word, sizeof word);
    }
}

/* Makes every block of the data one that has not been written before. */
static void stamp_blocks(struct maker *maker, size_t n)
{
    for (size_t i = 0; i + sizeof maker->stamp <= n; i += BLOCK) {
        memcpy(maker->data + i, &maker->stamp, sizeof maker->stamp);
        maker->stamp += UINT64_C(0x9e3779b97f4a7c15);
    }
}

/* 0, or the errno of the call that failed; short writes go on. */
loop_of write_data(struct maker *maker, int fd, const struct calls *calls)
{
    for (uint64_t left = maker->bytes; left > 0;) {
        size_t n = left < maker->room ? (size_t)left : maker->room;
        stamp_blocks(maker, n);
        for (size_t done = 0; done < n;) {
            ssize_t wrote = calls->write(fd, maker->data + done, n - done);
            if (wrote < 0 && errno == EINTR)
                continue;
            if (wrote <= 0)
                return wrote < 0 ? errno : EIO;
            done += (size_t)wrote;
        }
        left -= n;
    }
    return 0;
}

/* Writes, syncs and closes; 0 or an errno. */
loop_of complete(struct maker *maker, int fd, const struct calls *calls)
{
    int error = maker->bytes ? write_data(maker, fd, calls) : 0;
    if (!error && (maker->sync == SYNC_FSYNC || maker->sync == SYNC_DIRECTORY) &&
        calls->fsync(fd) != 0)
        error = errno;
    if (calls->close(fd) != 0 && !error)
        error = errno;
    if (!error && maker->sync == SYNC_DIRECTORY && calls->fsync(maker->folder) != 0)
        error = errno;
    return error;
}

/* A file that could not be completed does not count as made, so it must not stay. */
static int give_up(struct lane *lane, const struct maker *maker, uint64_t number, const char *name,
                   int error, struct problem *why)
{
    if (unlinkat(maker->folder, name, 0) != 0)
        return problem_errno(why, errno, "cannot remove the incomplete %s", name);
    return lane_refused(lane, error, ATTEMPT_OTHER, number, "write", name, why);
}

/* Makes n files from `first` on; *ret_made tells how many. -1: a failure. */
loop_of make_batch(struct lane *lane, struct maker *maker, uint64_t first, uint64_t n,
                   uint64_t *ret_made, struct extent *extent, const struct calls *calls,
                   struct problem *why)
{
    char name[FILE_NAME];
    uint64_t made = 0;
    int result = 0;
    file_name(name, first);
    lane_restart(lane);
    while (made < n) {
        int fd = calls->open(maker->folder, name, maker->flags, 0600);
        if (fd < 0) {
            if (errno == EEXIST)
                extent->stranger = first + made + 1;
            result = lane_refused(lane, errno, ATTEMPT_NAME, first + made, "create", name, why);
            break;
        }
        int error = complete(maker, fd, calls);
        if (error) {
            result = give_up(lane, maker, first + made, name, error, why);
            break;
        }
        made++;
        file_name_next(name);
        if (!lane_note(lane, maker->bytes))
            break;
    }
    *ret_made = made;
    return result;
}

static int maker_init(struct maker *maker, struct lane *lane, const struct site *site,
                      struct problem *why)
{
    const struct create_scaling *with = site->with;
    maker->flags = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
    if (with->sync == SYNC_OPEN)
        maker->flags |= O_SYNC;
    maker->sync = with->sync;
    maker->bytes = with->file_bytes;
    maker->room = site->buffer;
    maker->stamp = ((uint64_t)lane_index(lane) << 48) ^ (uint64_t)clock_wall();
    if (with->file_bytes && !(maker->data = malloc(site->buffer)))
        return problem_memory(why);
    if (maker->data)
        fill_random(maker->data, site->buffer, maker->stamp);
    maker->folder = lane_folder(site, lane_index(lane), true, why);
    return maker->folder < 0 ? -1 : 0;
}

static void maker_done(struct maker *maker)
{
    free(maker->data);
    close_cell(&maker->folder);
}

loop_of create_loop(struct lane *lane, const void *arg, const struct calls *calls,
                    struct problem *why)
{
    const struct site *site = arg;
    struct extent *extent = &site->extents[lane_index(lane)];
    bool private = site->with->layout == LAYOUT_PRIVATE;
    scoped(maker_done) struct maker maker = { .folder = -1 };
    if (maker_init(&maker, lane, site, why))
        return -1;
    for (uint64_t claimed, n; (n = lane_claim(lane, &claimed)) > 0;) {
        uint64_t first = private ? extent->made : claimed, made;
        int result = make_batch(lane, &maker, first, n, &made, extent, calls, why);
        extent->made += made;
        extent->end = first + n;
        if (made < n) {
            extent->gap_first = first + made;
            extent->gap_end = first + n;
        }
        if (result)
            return -1;
        if (made < n)
            break;
    }
    return 0;
}

int create_lane(struct lane *lane, const void *arg, struct problem *why)
{
    return create_loop(lane, arg, &system_calls, why);
}

int create_lane_null(struct lane *lane, const void *arg, struct problem *why)
{
    return create_loop(lane, arg, &null_calls, why);
}

/* --- stat and remove: over what exists --- */

typedef int one_fn(int folder, const char *name, const struct calls *calls);

/* The numbers of one batch lie in one piece, but for batches across a gap. */
loop_of visit_loop(struct lane *lane, const void *arg, one_fn *one, const char *doing,
                   const struct calls *calls, struct problem *why)
{
    const struct site *site = arg;
    const struct extent *own = &site->extents[lane_index(lane)];
    const struct piece whole = { .first = 0, .n = own->made };
    bool private = site->with->layout == LAYOUT_PRIVATE;
    scoped_fd int folder = lane_folder(site, lane_index(lane), false, why);
    if (folder < 0)
        return -1;
    for (uint64_t ordinal, n; (n = lane_claim(lane, &ordinal)) > 0;) {
        while (n > 0) {
            const struct piece *piece = private ? &whole : manifest_find(&site->exist, ordinal);
            uint64_t skipped = ordinal - piece->before, here = piece->n - skipped;
            char name[FILE_NAME];
            if (here > n)
                here = n;
            file_name(name, piece->first + skipped);
            lane_restart(lane);
            for (uint64_t i = 0; i < here; i++) {
                if (one(folder, name, calls) != 0)
                    return lane_refused(lane, errno, ATTEMPT_OTHER, ordinal + i, doing, name, why);
                file_name_next(name);
                if (!lane_note(lane, 0))
                    return 0;
            }
            ordinal += here;
            n -= here;
        }
    }
    return 0;
}

static inline __attribute__((always_inline)) int stat_one(int folder, const char *name,
                                                          const struct calls *calls)
{
    struct stat facts;
    return calls->stat(folder, name, &facts, AT_SYMLINK_NOFOLLOW);
}

static inline __attribute__((always_inline)) int remove_one(int folder, const char *name,
                                                            const struct calls *calls)
{
    return calls->unlink(folder, name, 0);
}

int stat_lane(struct lane *lane, const void *arg, struct problem *why)
{
    return visit_loop(lane, arg, stat_one, "stat", &system_calls, why);
}

int stat_lane_null(struct lane *lane, const void *arg, struct problem *why)
{
    return visit_loop(lane, arg, stat_one, "stat", &null_calls, why);
}

int remove_lane(struct lane *lane, const void *arg, struct problem *why)
{
    return visit_loop(lane, arg, remove_one, "remove", &system_calls, why);
}

int remove_lane_null(struct lane *lane, const void *arg, struct problem *why)
{
    return visit_loop(lane, arg, remove_one, "remove", &null_calls, why);
}

/* --- list --- */

struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* How many of the entries have the form of ours; strangers are clean-up's matter. */
static uint64_t count_files(const char *buffer, long bytes)
{
    uint64_t n = 0;
    for (long at = 0; at < bytes;) {
        const struct entry *entry = (const void *)(buffer + at);
        n += entry->length >= offsetof(struct entry, name) + FILE_NAME && entry->name[0] == 'f' &&
             entry->name[FILE_DIGITS + 1] == 0;
        at += entry->length;
    }
    return n;
}

/* Whole calls until a batch is full or the listing ends. 1: more; 0: the end; -1: a failure. */
static int list_batch(struct lane *lane, const struct site *site, int folder, char *buffer,
                      struct problem *why)
{
    uint64_t *listed = &site->listed[lane_index(lane)], before = *listed;
    while (*listed - before < site->with->batch) {
        long got = direct_list(folder, buffer, site->buffer);
        if (got < 0)
            return lane_refused(lane, errno, ATTEMPT_OTHER, *listed, "list", "the run directory",
                                why);
        uint64_t n = count_files(buffer, got);
        *listed += n;
        if (!lane_note_many(lane, n, 0) || got == 0)
            return 0;
    }
    return 1;
}

int list_lane(struct lane *lane, const void *arg, struct problem *why)
{
    const struct site *site = arg;
    int more = 1;
    scoped_fd int folder = lane_folder(site, lane_index(lane), false, why);
    scoped_free char *buffer = malloc(site->buffer);
    if (folder < 0 || !buffer)
        return folder < 0 ? -1 : problem_memory(why);
    while (more > 0 && lane_begin(lane))
        more = list_batch(lane, site, folder, buffer, why);
    return more < 0 ? -1 : 0;
}
