/* How the lanes of create-scaling make files. */
#include "engine/workload/create_scaling.h"
#include "engine/workload/create_scaling_calls.h"
#include "engine/workload/create_scaling_data.h"

void folder_name(char name[FOLDER_NAME], unsigned lane)
{
    name[0] = 'd';
    for (int i = FOLDER_DIGITS; i > 0; i--, lane /= 10)
        name[i] = (char)('0' + lane % 10);
    name[FOLDER_DIGITS + 1] = 0;
}

int lane_folder(const struct site *site, unsigned lane, bool make, struct problem *why)
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
    int folder, flags, sync; /* folder: of this batch, borrowed */
    int own;                 /* the lane's folder */
    char name[NAME_ROOM];
    uint64_t bytes;
    size_t room; /* of data */
    char *data;
    uint64_t stamp; /* differs in every block ever written */
};

/* 0, or the errno of the call that failed; short writes go on. */
loop_of write_data(struct maker *maker, int fd, const struct calls *calls)
{
    for (uint64_t left = maker->bytes; left > 0;) {
        size_t n = left < maker->room ? (size_t)left : maker->room;
        stamp_blocks(maker->data, n, &maker->stamp);
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
                   uint64_t *ret_made, struct extent *extent, enum create_call call,
                   const struct calls *calls, struct problem *why)
{
    char *name = maker->name;
    uint64_t made = 0;
    int result = 0;
    file_name(name, PREFIX_MADE, first);
    lane_restart(lane);
    while (made < n) {
        int fd = call == CREATE_BY_MKNOD ? calls->mknod(maker->folder, name, S_IFREG | 0600)
                                         : calls->open(maker->folder, name, maker->flags, 0600);
        if (fd < 0) {
            if (errno == EEXIST)
                extent->stranger = first + made + 1;
            result = lane_refused(lane, errno, ATTEMPT_NAME, first + made, "create", name, why);
            break;
        }
        int error = call == CREATE_BY_MKNOD ? 0 : complete(maker, fd, calls);
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
    /* Nothing is executed while lanes work, so O_CLOEXEC would buy nothing for its price. */
    maker->flags = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW;
    if (with->sync == SYNC_OPEN)
        maker->flags |= O_SYNC;
    maker->sync = with->sync;
    maker->bytes = with->file_bytes;
    maker->room = site->buffer;
    maker->stamp = first_stamp(lane_index(lane));
    if (with->file_bytes && !(maker->data = malloc(site->buffer)))
        return problem_memory(why);
    if (maker->data)
        fill_random(maker->data, site->buffer, maker->stamp);
    file_name_begin(maker->name, with);
    maker->own = lane_folder(site, lane_index(lane), true, why);
    return maker->own < 0 ? -1 : 0;
}

static void maker_done(struct maker *maker)
{
    free(maker->data);
    close_cell(&maker->own);
}

loop_of create_loop(struct lane *lane, const void *arg, enum create_call call,
                    const struct calls *calls, struct problem *why)
{
    const struct site *site = arg;
    struct extent *extent = &site->extents[lane_index(lane)];
    bool private = site->with->layout == LAYOUT_PRIVATE;
    scoped(maker_done) struct maker maker = { .own = -1 };
    if (maker_init(&maker, lane, site, why))
        return -1;
    for (uint64_t claimed, n; (n = lane_claim(lane, &claimed)) > 0;) {
        uint64_t first = private ? extent->made : claimed, made;
        maker.folder = folder_of(site, maker.own, first);
        int result = make_batch(lane, &maker, first, n, &made, extent, call, calls, why);
        extent_note(extent, first, n, made);
        if (result)
            return -1;
        if (made < n)
            break;
    }
    return 0;
}

int create_lane(struct lane *lane, const void *arg, struct problem *why)
{
    return create_loop(lane, arg, CREATE_BY_OPEN, &system_calls, why);
}

int create_lane_null(struct lane *lane, const void *arg, struct problem *why)
{
    return create_loop(lane, arg, CREATE_BY_OPEN, &null_calls, why);
}

int mknod_lane(struct lane *lane, const void *arg, struct problem *why)
{
    return create_loop(lane, arg, CREATE_BY_MKNOD, &system_calls, why);
}

int mknod_lane_null(struct lane *lane, const void *arg, struct problem *why)
{
    return create_loop(lane, arg, CREATE_BY_MKNOD, &null_calls, why);
}
