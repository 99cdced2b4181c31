/* How the time to create a file grows with the number of files already there. */
#include "engine/workload/create_scaling_nfs.h"

#include "engine/cold.h"
#include "engine/slowdown.h"
#include "engine/workload/workload.h"
#include "engine/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const char *const layouts[] = { "shared", "private", "fanout", NULL };
static const char *const create_calls[] = { "open", "mknod", NULL };
static const char *const sync_modes[] = { "none", "fsync", "open", "directory", NULL };
static const char *const operations[] = {
    "create", "list", "stat", "open", "rename", "remove", NULL
};
static const char *const orders[] = { "created", "random", NULL };
static const char *const caches[] = { "warm", "cold", NULL };

static const struct field params[] = {
    FIELD_COUNT(struct create_scaling, files, "Files to create in all.", .min = 1,
                .max = 9999999999, .preset = 100000, .unit = "files"),
    FIELD_COUNT(struct create_scaling, batch, "Files timed together, by one lane.", .min = 1,
                .max = 1e6, .preset = 100, .unit = "files"),
    FIELD_COUNT(struct create_scaling, threads, "Lanes that work at once.", .min = 1, .max = 1024,
                .preset = 1, .unit = "lanes"),
    FIELD_CHOICE(struct create_scaling, layout,
                 "Whether all lanes share one directory, each has a private one, or batches go "
                 "into several directories in turn.",
                 .choices = layouts, .preset_text = "shared"),
    FIELD_COUNT(struct create_scaling, directories,
                "How many directories the fanout layout has; the others do not look at it.",
                .min = 1, .max = DIRECTORIES_MOST, .preset = 16, .unit = "directories"),
    FIELD_CHOICE(struct create_scaling, create_call,
                 "The call that makes a file: open and close, or mknod, which makes empty files "
                 "without opening them.",
                 .choices = create_calls, .preset_text = "open"),
    FIELD_COUNT(
        struct create_scaling, name_length,
        "Length of the files' names; a target that refuses it ends the phase at limit name.",
        .min = NAME_LEAST, .max = NAME_MOST, .preset = NAME_LEAST, .unit = "bytes"),
    FIELD_BYTES(struct create_scaling, file_bytes,
                "Bytes written to each file, incompressible and different in each.", .max = 1 << 30,
                .unit = "bytes"),
    FIELD_CHOICE(struct create_scaling, sync,
                 "When a file is on stable storage: never forced, by fsync, by opening it O_SYNC, "
                 "or by fsync of the file and its directory.",
                 .choices = sync_modes, .preset_text = "none"),
    FIELD_CHOICES(struct create_scaling, operations,
                  "What is measured, in this order; without remove, clean-up removes the files.",
                  .choices = operations, .preset_text = "create,list,stat,remove"),
    FIELD_CHOICE(struct create_scaling, order,
                 "The order in which stat, open, rename and remove go over the files: as they were "
                 "created, or at random.",
                 .choices = orders, .preset_text = "created"),
    FIELD_COUNT(struct create_scaling, seed, "What fixes the random order.", .max = 1e15,
                .preset = 1),
    FIELD_CHOICE(
        struct create_scaling, cache,
        "Before list and before stat: warm, as the operations before left the caches, or cold, "
        "emptied by dropping all caches of the machine, where the target allows it.",
        .choices = caches, .preset_text = "warm"),
    FIELD_SECONDS(
        struct create_scaling, max_seconds,
        "How long a phase may take; 0 is no bound. Reaching it is a limit, not a failure.",
        .max = 30 * 86400, .unit = "s"),
    FIELD_SLOWER(struct create_scaling),
    FIELD_SECONDS(
        struct create_scaling, patience,
        "How long an NFS server may be silent before the run fails; calls to a folder wait "
        "as long as the kernel does.",
        .min = 1, .max = 86400, .preset = 60, .unit = "s"),
    FIELD_BOOL(struct create_scaling, keep_files,
               "Leave the files when the job has succeeded, until the job is deleted; operations "
               "must not have remove then."),
    FIELD_END,
};

/* What can be known before; that it is cold is looked at when the time has come. */
static int check_cold(const struct target *target, struct problem *why)
{
    if (!target && geteuid() != 0)
        return problem_field(why, "/params/cache",
                             "cache cannot be cold: dropping the caches takes root");
    if (target && !(target->cold & COLD_DROP_CACHES))
        return problem_field(
            why, "/params/cache",
            "cache cannot be cold: target %s does not allow drop-caches in its "
            "setting cold; fadvise does not reach names, and a plain directory cannot "
            "be remounted",
            target->name);
    if (target && target->run_as && strcmp(target->run_as, "root") != 0)
        return problem_field(
            why, "/params/cache",
            "cache cannot be cold: dropping the caches takes root, and target %s runs "
            "as %s",
            target->name, target->run_as);
    return 0;
}

static int check(const void *params_, const struct target *target, struct problem *why)
{
    const struct create_scaling *with = params_;
    if (target && target->kind == TARGET_NFS && nfs_check(with, why))
        return -1;
    if (with->cache == CACHE_COLD && check_cold(target, why))
        return -1;
    if (!(with->operations & OPERATION_CREATE))
        return problem_field(why, "/params/operations",
                             "operations must have create: the others work on what it made");
    if (with->keep_files && with->operations & OPERATION_REMOVE)
        return problem_field(why, "/params/keep_files",
                             "keep_files leaves nothing where operations have remove: leave that "
                             "out, as in create,list,stat");
    if (with->create_call == CREATE_BY_MKNOD && with->file_bytes)
        return problem_field(why, "/params/file_bytes",
                             "file_bytes must be 0 with create_call mknod, which opens no file to "
                             "write to, not %llu",
                             (unsigned long long)with->file_bytes);
    if (with->create_call == CREATE_BY_MKNOD && with->sync != SYNC_NONE)
        return problem_field(
            why, "/params/sync",
            "sync must be none with create_call mknod, which opens no file, not %s",
            sync_modes[with->sync]);
    if (with->threads > with->files)
        return problem_field(why, "/params/threads",
                             "threads must not be more than files, %llu, but are %llu",
                             (unsigned long long)with->files, (unsigned long long)with->threads);
    return slowdown_check(with->stop_when_slower_than, why);
}

enum {
    BUFFERS = 8 << 20,      /* of all lanes together, so that memory is bounded */
    BUFFER_MOST = 64 << 10, /* 2048 entries of 32 bytes */
    BUFFER_LEAST = 4 << 10,
    ENTRY_HEAD = 19, /* bytes before the name in what the kernel lists */
    OWN_DESCRIPTORS = 64,
};

/* Bytes that the kernel needs to list one of our names. */
static size_t entry_bytes(const struct create_scaling *with)
{
    return (ENTRY_HEAD + name_bytes(with) + 1 + 7) / 8 * 8;
}

static size_t buffer_for(uint64_t lanes)
{
    size_t each = BUFFERS / lanes / BUFFER_LEAST * BUFFER_LEAST;
    return each > BUFFER_MOST ? BUFFER_MOST : each;
}

/* Every directory is open throughout: one that many lanes go through must not be looked up by each. */
static int make_room_for_descriptors(uint64_t n, struct problem *why)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return problem_errno(why, errno, "cannot ask how many files may be open");
    if (limit.rlim_cur >= n + OWN_DESCRIPTORS)
        return 0;
    if (limit.rlim_max < n + OWN_DESCRIPTORS)
        return problem_set(
            why, PROBLEM_UNSUPPORTED,
            "%llu directories are more than this host lets a process have open, %llu",
            (unsigned long long)n, (unsigned long long)limit.rlim_max);
    limit.rlim_cur = n + OWN_DESCRIPTORS;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return problem_errno(why, errno, "cannot have more files open");
    return 0;
}

static bool works_over_nfs(const struct run *run)
{
    const struct target *target = run_target(run);
    return target && target->kind == TARGET_NFS && !run_is_null(run);
}

static int connect_to_server(struct site *site, struct run *run, struct problem *why)
{
    uint64_t n = site->with->directories;
    if (make_room_for_descriptors(site->with->threads, why) ||
        nfs_place_open(run, site->with, &site->nfs, why))
        return -1;
    if (site->with->layout != LAYOUT_FANOUT)
        return 0;
    site->folders = malloc(n * sizeof *site->folders);
    for (uint64_t i = 0; site->folders && i < n; i++)
        site->folders[i] = (int)i;
    return site->folders ? 0 : problem_memory(why);
}

/* The directories of the fanout layout, before any clock runs. */
static int make_folders(struct site *site, struct problem *why)
{
    uint64_t n = site->with->directories;
    char name[FOLDER_NAME];
    if (make_room_for_descriptors(n, why))
        return -1;
    site->folders = malloc(n * sizeof *site->folders);
    if (!site->folders)
        return problem_memory(why);
    for (uint64_t i = 0; i < n; i++)
        site->folders[i] = -1;
    for (unsigned i = 0; i < n; i++) {
        folder_name(name, i);
        if (mkdirat(site->folder, name, 0700) != 0)
            return problem_errno(why, errno, "cannot make the folder %s", name);
        site->folders[i] = workspace_open_folder(site->folder, name, why);
        if (site->folders[i] < 0)
            return -1;
    }
    return 0;
}

static void site_done(struct site *site)
{
    for (uint64_t i = 0; site->folders && !site->nfs && i < site->with->directories; i++)
        close_cell(&site->folders[i]);
    nfs_place_close(site->nfs);
    free(site->folders);
    free(site->extents);
    free(site->quota);
    free(site->listed);
    manifest_done(&site->exist);
}

static int site_init(struct site *site, struct run *run, const struct create_scaling *with,
                     struct problem *why)
{
    site->with = with;
    site->folder = run_workspace(run) ? workspace_fd(run_workspace(run)) : -1;
    site->buffer = buffer_for(with->threads);
    site->extents = calloc(with->threads, sizeof *site->extents);
    site->quota = calloc(with->threads, sizeof *site->quota);
    site->listed = calloc(with->threads, sizeof *site->listed);
    site->prefix = PREFIX_MADE;
    if (!site->extents || !site->quota || !site->listed)
        return problem_memory(why);
    if (works_over_nfs(run))
        return connect_to_server(site, run, why);
    return with->layout == LAYOUT_FANOUT && site->folder >= 0 ? make_folders(site, why) : 0;
}

static void tell_stranger(struct run *run, const struct create_scaling *with, unsigned lane,
                          char prefix, uint64_t number)
{
    char name[NAME_ROOM], folder[FOLDER_NAME], path[FOLDER_NAME + NAME_ROOM];
    file_name_begin(name, with);
    file_name(name, prefix, number);
    if (with->layout == LAYOUT_SHARED) {
        run_foreign(run, name);
        return;
    }
    folder_name(folder, with->layout == LAYOUT_PRIVATE
                            ? lane
                            : (unsigned)(number / with->batch % with->directories));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    run_foreign(run, path);
}

/* A name that was there before its turn came is not ours, whatever it looks like. */
static void tell_strangers(struct run *run, const struct site *site)
{
    for (unsigned i = 0; i < site->with->threads; i++) {
        const struct extent *extent = &site->extents[i];
        if (extent->stranger)
            tell_stranger(run, site->with, i, PREFIX_MADE, extent->stranger - 1);
        if (extent->stranger_renamed)
            tell_stranger(run, site->with, i, PREFIX_RENAMED, extent->stranger_renamed - 1);
    }
}

static lane_fn *create_body(const struct run *run, const struct site *site)
{
    if (site->nfs)
        return create_lane_nfs;
    if (site->with->create_call == CREATE_BY_MKNOD)
        return run_is_null(run) ? mknod_lane_null : mknod_lane;
    return run_is_null(run) ? create_lane_null : create_lane;
}

static int create_all(struct run *run, struct site *site, struct problem *why)
{
    const struct create_scaling *with = site->with;
    const struct phase create = {
        .name = "create",
        .unit = "files",
        .lanes = (unsigned)with->threads,
        .total = with->files,
        .batch = with->batch,
        .duration = with->max_seconds,
        .slower = with->stop_when_slower_than,
        .cost = { .inodes = 1, .bytes = with->file_bytes, .name = name_bytes(with) },
        .room = site->nfs ? nfs_place_room : NULL,
        .room_arg = site->nfs,
        .body = create_body(run, site),
        .arg = site,
    };
    bool limited;
    int result = run_phase(run, &create, &limited, why);
    tell_strangers(run, site);
    if (result)
        return -1;
    for (unsigned i = 0; i < with->threads; i++)
        site->quota[i] = site->extents[i].made;
    if (with->layout == LAYOUT_PRIVATE)
        return 0;
    return manifest_new(site->extents, with->threads, &site->exist, why);
}

static uint64_t existing(const struct site *site)
{
    uint64_t files = 0;
    for (unsigned i = 0; i < site->with->threads; i++)
        files += site->extents[i].made;
    return files;
}

/* Empties the caches if that is asked for; afterwards they are as `cache` of the phase says. */
static int set_cache(struct run *run, const struct site *site, struct problem *why)
{
    if (site->with->cache == CACHE_WARM || run_is_null(run))
        return 0;
    return cold_drop_caches(site->folder, existing(site), why);
}

static const char *cache_of(const struct create_scaling *with)
{
    return with->cache == CACHE_COLD ? "drop-caches" : "warm";
}

/* A directory has one position, so one lane reads it. */
static uint64_t list_lanes(const struct create_scaling *with)
{
    uint64_t directories = with->layout == LAYOUT_SHARED    ? 1
                           : with->layout == LAYOUT_PRIVATE ? with->threads
                                                            : with->directories;
    return directories < with->threads ? directories : with->threads;
}

static int list_all(struct run *run, struct site *site, struct problem *why)
{
    const struct create_scaling *with = site->with;
    uint64_t expected = existing(site), listed = 0;
    uint64_t call = (site->nfs ? BUFFER_MOST : site->buffer) / entry_bytes(with);
    bool limited;
    const struct phase list = {
        .name = "list",
        .unit = "files",
        .lanes = (unsigned)list_lanes(with),
        .total = expected,
        .batch = with->batch > call ? with->batch : call, /* a batch is made of whole calls */
        .duration = with->max_seconds,
        .slower = with->stop_when_slower_than,
        .cache = cache_of(with),
        .body = site->nfs ? list_lane_nfs : list_lane,
        .arg = site,
    };
    if (site->nfs && nfs_place_refresh(site->nfs, why))
        return -1;
    if (set_cache(run, site, why) || run_phase(run, &list, &limited, why))
        return -1;
    for (unsigned i = 0; i < list.lanes; i++)
        listed += site->listed[i];
    if (!limited && listed != expected)
        return problem_set(why, PROBLEM_IO_FAILED,
                           "phase list: the directory shows %llu files where %llu were created",
                           (unsigned long long)listed, (unsigned long long)expected);
    return 0;
}

static int visit_all(struct run *run, struct site *site, const char *name, enum visit kind,
                     bool *ret_limited, struct problem *why)
{
    const struct create_scaling *with = site->with;
    const struct phase visit = {
        .name = name,
        .unit = "files",
        .lanes = (unsigned)with->threads,
        .total = existing(site),
        .quota = with->layout == LAYOUT_PRIVATE ? site->quota : NULL,
        .batch = with->batch,
        .duration = with->max_seconds,
        .slower = with->stop_when_slower_than,
        .cache = kind == VISIT_STAT ? cache_of(with) : NULL,
        .room = site->nfs ? nfs_place_room : NULL,
        .room_arg = site->nfs,
        .body = site->nfs          ? visit_lane_nfs
                : run_is_null(run) ? visit_lane_null
                                   : visit_lane,
        .arg = site,
    };
    if (site->nfs && nfs_place_refresh(site->nfs, why))
        return -1;
    if (kind == VISIT_STAT && set_cache(run, site, why))
        return -1;
    site->visit = kind;
    return run_phase(run, &visit, ret_limited, why);
}

/* The folder, as a descriptor of its own, and the number of one file that exists. */
static int some_file(const struct site *site, uint64_t *ret_number, struct problem *why)
{
    unsigned lane = 0;
    if (site->with->layout != LAYOUT_PRIVATE) {
        *ret_number = site->exist.pieces[0].first;
        if (site->folders)
            return fcntl(folder_of(site, -1, *ret_number), F_DUPFD_CLOEXEC, 0);
        return lane_folder(site, lane, false, why);
    }
    while (site->extents[lane].made == 0)
        lane++;
    *ret_number = 0;
    return lane_folder(site, lane, false, why);
}

/* Whether a rename that refuses to replace what it finds is known to the target (NFS does not know it): one
 * file there and back. 1 yes, 0 no, -1 a failure. */
static int renames_exclusively(struct site *site, struct problem *why)
{
    char from[NAME_ROOM], to[NAME_ROOM];
    uint64_t number = 0;
    scoped_fd int folder = some_file(site, &number, why);
    if (folder < 0)
        return -1;
    file_name_begin(from, site->with);
    file_name_begin(to, site->with);
    file_name(from, PREFIX_MADE, number);
    file_name(to, PREFIX_RENAMED, number);
    if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) != 0)
        return errno == EINVAL || errno == ENOSYS ? 0 : 1; /* the phase will tell what it is */
    if (renameat(folder, to, folder, from) != 0)
        return problem_errno(why, errno, "cannot rename %s back to %s", to, from);
    return 1;
}

static int rename_all(struct run *run, struct site *site, bool *ret_limited, struct problem *why)
{
    int exclusive = run_is_null(run) || site->nfs ? 1 : renames_exclusively(site, why);
    if (exclusive < 0)
        return -1;
    int result = visit_all(run, site, "rename", exclusive ? VISIT_RENAME : VISIT_RENAME_PLAIN,
                           ret_limited, why);
    tell_strangers(run, site);
    site->prefix = PREFIX_RENAMED;
    return result;
}

static int visit_each(struct run *run, struct site *site, struct problem *why)
{
    uint64_t operations_ = site->with->operations;
    bool limited, mixed = false;
    if (operations_ & OPERATION_STAT && visit_all(run, site, "stat", VISIT_STAT, &limited, why))
        return -1;
    if (operations_ & OPERATION_OPEN && visit_all(run, site, "open", VISIT_OPEN, &limited, why))
        return -1;
    if (operations_ & OPERATION_RENAME && rename_all(run, site, &mixed, why))
        return -1;
    if (operations_ & OPERATION_REMOVE &&
        visit_all(run, site, "remove", mixed ? VISIT_REMOVE_EITHER : VISIT_REMOVE, &limited, why))
        return -1;
    return 0;
}

static int run_all(struct run *run, const void *params_, struct problem *why)
{
    const struct create_scaling *with = params_;
    scoped(site_done) struct site site = { .with = with };
    if (site_init(&site, run, with, why) || create_all(run, &site, why))
        return -1;
    if (existing(&site) == 0)
        return 0;
    if (with->operations & OPERATION_LIST && !run_is_null(run) && list_all(run, &site, why))
        return -1;
    return visit_each(run, &site, why);
}

/* Names from this number on were not given to a file: there are not so many, and of a run that this
 * process has done it is known how far its lanes came, each to within one batch. */
static uint64_t names_end(const struct run *run, const struct create_scaling *with)
{
    size_t n;
    const struct phase_total *create = run_phases(run, &n);
    uint64_t claimed =
        n && create->finished ? create->ops + with->threads * with->batch : with->files;
    return claimed < with->files ? claimed : with->files;
}

static int clean(struct run *run, const void *params_, struct problem *why)
{
    const struct create_scaling *with = params_;
    struct workspace *workspace = run_workspace(run);
    const struct made renamed = { .prefix = PREFIX_RENAMED,
                                  .digits = FILE_DIGITS,
                                  .below = names_end(run, with),
                                  .length = (unsigned)name_bytes(with),
                                  .bytes_most = with->file_bytes };
    struct made file = renamed;
    file.prefix = PREFIX_MADE;
    file.or = with->operations & OPERATION_RENAME ? &renamed : NULL;
    const struct made folder = {
        .prefix = 'd',
        .digits = FOLDER_DIGITS,
        .below = with->layout == LAYOUT_PRIVATE ? with->threads : with->directories,
        .inside = &file,
    };
    const struct made *made = with->layout == LAYOUT_SHARED ? &file : &folder;
    if (works_over_nfs(run))
        return nfs_place_clean(run, with, made, why);
    if (!workspace)
        return 0;
    if (workspace_sweep(run, workspace_fd(workspace), made, why))
        return -1;
    size_t foreign;
    int left = workspace_remove(workspace, why);
    run_foreign_names(run, &foreign);
    if (left > 0 && foreign == 0)
        return problem_set(why, PROBLEM_CONFLICT, "something new appeared in the run directory");
    return left < 0 ? -1 : 0;
}

static bool keeps(const void *params_)
{
    const struct create_scaling *with = params_;
    return with->keep_files;
}

/* Without remove, what create made is there. */
static void count_kept(const struct run *run, struct kept_files *ret)
{
    size_t n;
    const struct phase_total *create = run_phases(run, &n);
    ret->files = n ? create->ops : 0;
    ret->bytes = n ? create->bytes : 0;
}

const struct workload create_scaling = {
    .name = "create-scaling",
    .summary = "How the time to create a file grows with the number of files already there.",
    .params = params,
    .params_size = sizeof(struct create_scaling),
    .targets = 1 << TARGET_DIRECTORY | 1 << TARGET_BTRFS | 1 << TARGET_NFS,
    .check = check,
    .run = run_all,
    .clean = clean,
    .keeps = keeps,
    .count_kept = count_kept,
};
