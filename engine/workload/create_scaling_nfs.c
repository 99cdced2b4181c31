#include "engine/workload/create_scaling_nfs.h"

#include "engine/io/nfs_folder.h"
#include "engine/workload/create_scaling_data.h"

#include <errno.h>

struct nfs_lane {
    struct wire_transfer transfer; /* first; it outlives a connection that dies under it */
    bool ended;
    struct wire *wire;
    const struct nfs_place *place;
    struct problem *why;
};

struct nfs_place {
    struct io_options options;
    struct wire *wire; /* asks what the target has; one lane at a time */
    unsigned lanes_n;
    struct nfs_lane *lanes;
    size_t folders_n;
    struct nfs_handle *folders; /* the run directory; or those of the lanes, or of fanout */
};

int nfs_check(const struct create_scaling *with, struct problem *why)
{
    if (with->cache == CACHE_COLD)
        return problem_field(why, "/params/cache",
                             "cache must be warm on an NFS server: no cache of this host stands "
                             "between, and the server's own is not emptied from here");
    if (with->create_call == CREATE_BY_MKNOD)
        return problem_field(why, "/params/create_call",
                             "create_call must be open on an NFS server, where it is CREATE: the "
                             "protocol makes no regular file by MKNOD");
    if (with->sync == SYNC_DIRECTORY)
        return problem_field(why, "/params/sync",
                             "sync must be none, fsync or open on an NFS server, which puts a name "
                             "on stable storage before it answers CREATE");
    return 0;
}

/* --- the run directory and the connections --- */

static bool is_stopped(void *run)
{
    return run_is_cancelled(run);
}

static struct io_options options_of(struct run *run, const struct create_scaling *with)
{
    return (struct io_options){ .target = run_target(run),
                                .folder = -1,
                                .name = run_name(run),
                                .patience = with->patience,
                                .stopped = is_stopped,
                                .arg = run };
}

static int refused(int error, const char *doing, const char *name, struct problem *why)
{
    return error < 0 ? -1 : problem_errno(why, error, "cannot %s the folder %s", doing, name);
}

static int make_folders(struct nfs_place *place, const struct nfs_handle *own, struct problem *why)
{
    char name[FOLDER_NAME];
    for (size_t i = 0; i < place->folders_n; i++) {
        folder_name(name, (unsigned)i);
        int error = wire_make_folder(place->wire, own, name, why);
        if (error)
            return refused(error, "make", name, why);
        error = wire_look_up(place->wire, own, name, &place->folders[i], NULL, why);
        if (error)
            return refused(error, "find", name, why);
    }
    return 0;
}

/* The folders that files go to, in the run directory or itself. */
static int open_folders(struct nfs_place *place, const struct create_scaling *with,
                        struct problem *why)
{
    struct nfs_handle own;
    int error =
        wire_look_up(place->wire, wire_root(place->wire), place->options.name, &own, NULL, why);
    if (error)
        return refused(error, "find", place->options.name, why);
    bool one = with->layout == LAYOUT_SHARED;
    size_t n = one ? 1 : with->layout == LAYOUT_PRIVATE ? with->threads : with->directories;
    place->folders = calloc(n, sizeof *place->folders);
    if (!place->folders)
        return problem_memory(why);
    place->folders_n = n;
    if (!one)
        return make_folders(place, &own, why);
    place->folders[0] = own;
    return 0;
}

static int connect_lanes(struct nfs_place *place, const struct create_scaling *with,
                         struct problem *why)
{
    const struct wire_options wire = nfs_wire_options(&place->options);
    place->lanes = calloc(with->threads, sizeof *place->lanes);
    if (!place->lanes)
        return problem_memory(why);
    for (; place->lanes_n < with->threads; place->lanes_n++) {
        struct nfs_lane *lane = &place->lanes[place->lanes_n];
        lane->place = place;
        if (wire_open(&wire, &lane->wire, why))
            return problem_during(why, "connection %u of %llu: ", place->lanes_n + 1,
                                  (unsigned long long)with->threads);
    }
    return 0;
}

static void place_cell(struct nfs_place **place)
{
    *place = nfs_place_close(*place);
}

int nfs_place_open(struct run *run, const struct create_scaling *with, struct nfs_place **ret,
                   struct problem *why)
{
    scoped(place_cell) struct nfs_place *place = calloc(1, sizeof *place);
    if (!place)
        return problem_memory(why);
    place->options = options_of(run, with);
    const struct wire_options wire = nfs_wire_options(&place->options);
    if (nfs_folder_make(&place->options, why) || wire_open(&wire, &place->wire, why) ||
        open_folders(place, with, why) || connect_lanes(place, with, why))
        return -1;
    *ret = steal(&place);
    return 0;
}

#define SILENT_LONG (60 * NSEC_PER_SEC) /* Linux servers hang up after six minutes */

static int refresh(struct wire **wire, const struct wire_options *with, struct problem *why)
{
    struct wire *anew = NULL;
    if (wire_silence(*wire) < SILENT_LONG)
        return 0;
    if (wire_open(with, &anew, why))
        return -1;
    wire_close(*wire);
    *wire = anew;
    return 0;
}

int nfs_place_refresh(struct nfs_place *place, struct problem *why)
{
    const struct wire_options wire = nfs_wire_options(&place->options);
    if (refresh(&place->wire, &wire, why))
        return -1;
    for (unsigned i = 0; i < place->lanes_n; i++)
        if (refresh(&place->lanes[i].wire, &wire, why))
            return -1;
    return 0;
}

struct nfs_place *nfs_place_close(struct nfs_place *place)
{
    if (!place)
        return NULL;
    for (unsigned i = 0; i < place->lanes_n; i++)
        wire_close(place->lanes[i].wire);
    wire_close(place->wire);
    free(place->lanes);
    free(place->folders);
    free(place);
    return NULL;
}

int nfs_place_room(void *arg, struct room *ret, struct problem *why)
{
    struct nfs_place *place = arg;
    int error = wire_room(place->wire, ret, why);
    return error > 0 ? problem_errno(why, error, "cannot ask the target for its space") : error;
}

int nfs_place_clean(struct run *run, const struct create_scaling *with, const struct made *made,
                    struct problem *why)
{
    const struct io_options options = options_of(run, with);
    return nfs_folder_sweep(run, &options, made, why);
}

struct nfs_lane *nfs_lane_of(struct nfs_place *place, unsigned lane, struct problem *why)
{
    place->lanes[lane].why = why;
    return &place->lanes[lane];
}

/* --- one operation --- */

/* What a wire_*() gave, as the loops want it. */
static int came_to(int error)
{
    if (error == 0)
        return 0;
    errno = error > 0 ? error : 0;
    return -1;
}

static const struct nfs_handle *folder_at(const struct nfs_lane *lane, int folder)
{
    return &lane->place->folders[folder];
}

int nfs_lane_stat(struct nfs_lane *lane, int folder, const char *name)
{
    struct nfs_handle file;
    struct nfs_facts facts;
    int error = wire_look_up(lane->wire, folder_at(lane, folder), name, &file, &facts, lane->why);
    if (error == 0 && !facts.known)
        error = wire_look(lane->wire, &file, &facts, lane->why);
    return came_to(error);
}

int nfs_lane_open(struct nfs_lane *lane, int folder, const char *name)
{
    struct nfs_handle file;
    int error = wire_look_up(lane->wire, folder_at(lane, folder), name, &file, NULL, lane->why);
    if (error == 0)
        error = wire_access(lane->wire, &file, lane->why);
    return came_to(error);
}

int nfs_lane_rename(struct nfs_lane *lane, int folder, const char *from, const char *to)
{
    const struct nfs_handle *in = folder_at(lane, folder);
    int error = wire_look_up(lane->wire, in, to, NULL, NULL, lane->why);
    if (error == 0)
        error = EEXIST;
    if (error == ENOENT)
        error = wire_rename(lane->wire, in, from, to, lane->why);
    return came_to(error);
}

int nfs_lane_remove(struct nfs_lane *lane, int folder, const char *name)
{
    return came_to(wire_remove(lane->wire, folder_at(lane, folder), name, lane->why));
}

/* --- create --- */

/* One lane's means to make a file. */
struct writer {
    struct nfs_lane *nfs;
    const struct create_scaling *with;
    char name[NAME_ROOM];
    size_t room; /* of data */
    char *data;
    uint64_t stamp;
};

static void note_ended(struct wire_transfer *transfer)
{
    ((struct nfs_lane *)transfer)->ended = true;
}

static int wait_for_transfer(struct nfs_lane *lane, int sent)
{
    if (sent)
        return -1;
    while (!lane->ended)
        if (wire_turn(lane->wire, INT64_MAX, lane->why))
            return -1;
    return lane->transfer.error;
}

static void prepare_transfer(struct nfs_lane *lane, const struct nfs_handle *file)
{
    lane->ended = false;
    lane->transfer = (struct wire_transfer){ .ended = note_ended, .file = *file };
}

/* The rest of what makes it a file: 0, an errno, or -1. */
static int fill(struct writer *writer, const struct nfs_handle *file)
{
    const struct create_scaling *with = writer->with;
    struct nfs_lane *lane = writer->nfs;
    int error = 0;
    for (uint64_t done = 0, n; done < with->file_bytes && !error; done += n) {
        n = with->file_bytes - done < writer->room ? with->file_bytes - done : writer->room;
        stamp_blocks(writer->data, n, &writer->stamp);
        prepare_transfer(lane, file);
        lane->transfer.write = true;
        lane->transfer.stable = with->sync == SYNC_OPEN;
        lane->transfer.buffer = writer->data;
        lane->transfer.length = (uint32_t)n;
        lane->transfer.offset = done;
        error = wait_for_transfer(lane, wire_transfer(lane->wire, &lane->transfer, lane->why));
    }
    if (error || with->sync != SYNC_FSYNC)
        return error;
    prepare_transfer(lane, file);
    return wait_for_transfer(lane, wire_commit(lane->wire, &lane->transfer, lane->why));
}

/* A file that could not be completed does not count as made, so it must not stay. */
static int give_up(struct lane *lane, struct writer *writer, int folder, uint64_t number, int error,
                   struct problem *why)
{
    if (error < 0)
        return nfs_lane_lost(number, why);
    int gone = wire_remove(writer->nfs->wire, folder_at(writer->nfs, folder), writer->name, why);
    if (gone)
        return gone < 0 ? -1
                        : problem_errno(why, gone, "cannot remove the incomplete %s", writer->name);
    return lane_refused(lane, error, ATTEMPT_OTHER, number, "write", writer->name, why);
}

/* Makes n files from `first` on; *ret_made tells how many. -1: a failure. */
static int make_batch(struct lane *lane, struct writer *writer, int folder, uint64_t first,
                      uint64_t n, uint64_t *ret_made, struct extent *extent, struct problem *why)
{
    const struct create_scaling *with = writer->with;
    bool more = with->file_bytes > 0 || with->sync == SYNC_FSYNC;
    struct nfs_handle file;
    file_name(writer->name, PREFIX_MADE, first);
    lane_restart(lane);
    while (*ret_made < n) {
        uint64_t number = first + *ret_made;
        int error = wire_create(writer->nfs->wire, folder_at(writer->nfs, folder), writer->name,
                                more ? &file : NULL, why);
        if (error < 0)
            return nfs_lane_lost(number, why);
        if (error == EEXIST)
            extent->stranger = number + 1;
        if (error)
            return lane_refused(lane, error, ATTEMPT_NAME, number, "create", writer->name, why);
        error = more ? fill(writer, &file) : 0;
        if (error)
            return give_up(lane, writer, folder, number, error, why);
        ++*ret_made;
        file_name_next(writer->name);
        if (!lane_note(lane, with->file_bytes))
            return 0;
    }
    return 0;
}

static void writer_done(struct writer *writer)
{
    free(writer->data);
}

int create_lane_nfs(struct lane *lane, const void *arg, struct problem *why)
{
    const struct site *site = arg;
    const struct create_scaling *with = site->with;
    struct extent *extent = &site->extents[lane_index(lane)];
    scoped(writer_done) struct writer writer = {
        .nfs = nfs_lane_of(site->nfs, lane_index(lane), why),
        .with = with,
        .room = site->buffer,
        .stamp = first_stamp(lane_index(lane)),
    };
    if (with->file_bytes && !(writer.data = malloc(site->buffer)))
        return problem_memory(why);
    if (writer.data)
        fill_random(writer.data, site->buffer, writer.stamp);
    file_name_begin(writer.name, with);
    for (uint64_t claimed, n; (n = lane_claim(lane, &claimed)) > 0;) {
        uint64_t first = with->layout == LAYOUT_PRIVATE ? extent->made : claimed, made = 0;
        int folder = folder_of(site, nfs_folder_of(site, lane_index(lane)), first);
        int result = make_batch(lane, &writer, folder, first, n, &made, extent, why);
        extent_note(extent, first, n, made);
        if (result)
            return -1;
        if (made < n)
            break;
    }
    return 0;
}

/* --- list --- */

struct count {
    size_t length; /* of our names */
    uint64_t files;
};

static int count_file(void *arg, const char *name, const struct nfs_facts *facts)
{
    struct count *count = arg;
    (void)facts;
    count->files += name[0] == PREFIX_MADE && strlen(name) == count->length;
    return 0;
}

/* Whole pages until a batch is full or the listing ends. */
static int list_batch(struct lane *lane, const struct site *site, int folder,
                      struct nfs_listing *listing, struct problem *why)
{
    struct nfs_lane *nfs = nfs_lane_of(site->nfs, lane_index(lane), why);
    uint64_t *listed = &site->listed[lane_index(lane)], before = *listed;
    while (*listed - before < site->with->batch && !listing->over) {
        struct count count = { .length = name_bytes(site->with) };
        int error = wire_list(nfs->wire, folder_at(nfs, folder), listing, count_file, &count, why);
        if (error < 0)
            return nfs_lane_lost(*listed, why);
        if (error)
            return lane_refused(lane, error, ATTEMPT_OTHER, *listed, "list", "the run directory",
                                why);
        *listed += count.files;
        if (!lane_note_many(lane, count.files, 0))
            listing->over = true;
    }
    return 0;
}

int list_lane_nfs(struct lane *lane, const void *arg, struct problem *why)
{
    const struct site *site = arg;
    const struct create_scaling *with = site->with;
    bool fanout = with->layout == LAYOUT_FANOUT;
    uint64_t first = fanout || with->layout == LAYOUT_PRIVATE ? lane_index(lane) : 0;
    uint64_t end = fanout ? with->directories : first + 1;
    for (uint64_t i = first; i < end && !lane_stopped(lane); i += with->threads) {
        struct nfs_listing listing = { 0 };
        while (!listing.over && lane_begin(lane))
            if (list_batch(lane, site, (int)i, &listing, why))
                return -1;
    }
    return 0;
}
