/* How the time to create a file grows with the number of files already there. */
#include "engine/workload/create_scaling.h"

#include "engine/workload/workload.h"
#include "engine/workspace.h"

static const char *const layouts[] = { "shared", "private", NULL };
static const char *const sync_modes[] = { "none", "fsync", "open", "directory", NULL };
static const char *const operations[] = { "create", "list", "stat", "remove", NULL };

static const struct field params[] = {
    FIELD_COUNT(struct create_scaling, files, "Files to create in all.", .min = 1,
                .max = 9999999999, .preset = 100000, .unit = "files"),
    FIELD_COUNT(struct create_scaling, batch, "Files timed together, by one lane.", .min = 1,
                .max = 1e6, .preset = 100, .unit = "files"),
    FIELD_COUNT(struct create_scaling, threads, "Lanes that work at once.", .min = 1, .max = 1024,
                .preset = 1, .unit = "lanes"),
    FIELD_CHOICE(struct create_scaling, layout,
                 "Whether all lanes share one directory, or each has a private one.",
                 .choices = layouts, .preset_text = "shared"),
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
    FIELD_SECONDS(
        struct create_scaling, max_seconds,
        "How long a phase may take; 0 is no bound. Reaching it is a limit, not a failure.",
        .max = 30 * 86400, .unit = "s"),
    FIELD_END,
};

static int check(const void *params_, const struct target *target, struct problem *why)
{
    const struct create_scaling *with = params_;
    (void)target;
    if (!(with->operations & OPERATION_CREATE))
        return problem_field(why, "/params/operations",
                             "operations must have create: the others work on what it made");
    if (with->threads > with->files)
        return problem_field(why, "/params/threads",
                             "threads must not be more than files, %llu, but are %llu",
                             (unsigned long long)with->files, (unsigned long long)with->threads);
    return 0;
}

enum {
    BUFFERS = 8 << 20,      /* of all lanes together, so that memory is bounded */
    BUFFER_MOST = 64 << 10, /* 2048 entries of 32 bytes */
    BUFFER_LEAST = 4 << 10,
    ENTRY = 32, /* bytes that the kernel needs to list one of our names */
};

static size_t buffer_for(uint64_t lanes)
{
    size_t each = BUFFERS / lanes / BUFFER_LEAST * BUFFER_LEAST;
    return each > BUFFER_MOST ? BUFFER_MOST : each;
}

static void site_done(struct site *site)
{
    free(site->extents);
    free(site->quota);
    free(site->listed);
    manifest_done(&site->exist);
}

static int site_init(struct site *site, struct run *run, const struct create_scaling *with,
                     struct problem *why)
{
    site->with = with;
    site->folder = run_is_null(run) ? -1 : workspace_fd(run_workspace(run));
    site->buffer = buffer_for(with->threads);
    site->extents = calloc(with->threads, sizeof *site->extents);
    site->quota = calloc(with->threads, sizeof *site->quota);
    site->listed = calloc(with->threads, sizeof *site->listed);
    if (!site->extents || !site->quota || !site->listed)
        return problem_memory(why);
    return 0;
}

/* A name that was there before its turn came is not ours, whatever it looks like. */
static void tell_strangers(struct run *run, const struct site *site)
{
    for (unsigned i = 0; i < site->with->threads; i++) {
        char name[FILE_NAME], path[FOLDER_NAME + FILE_NAME] = "", folder[FOLDER_NAME];
        if (!site->extents[i].stranger)
            continue;
        file_name(name, site->extents[i].stranger - 1);
        folder_name(folder, i);
        if (site->with->layout == LAYOUT_PRIVATE)
            snprintf(path, sizeof path, "%s/%s", folder, name);
        else
            snprintf(path, sizeof path, "%s", name);
        run_foreign(run, path);
    }
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
        .cost = { .inodes = 1, .bytes = with->file_bytes },
        .body = run_is_null(run) ? create_lane_null : create_lane,
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

static int list_all(struct run *run, struct site *site, struct problem *why)
{
    const struct create_scaling *with = site->with;
    uint64_t expected = existing(site), call = site->buffer / ENTRY, listed = 0;
    bool limited;
    const struct phase list = {
        .name = "list",
        .unit = "files",
        /* a directory has one position, so one lane reads it */
        .lanes = with->layout == LAYOUT_PRIVATE ? (unsigned)with->threads : 1,
        .total = expected,
        .batch = with->batch > call ? with->batch : call, /* a batch is made of whole calls */
        .duration = with->max_seconds,
        .body = list_lane,
        .arg = site,
    };
    if (run_phase(run, &list, &limited, why))
        return -1;
    for (unsigned i = 0; i < list.lanes; i++)
        listed += site->listed[i];
    if (!limited && listed != expected)
        return problem_set(why, PROBLEM_IO_FAILED,
                           "phase list: the directory shows %llu files where %llu were created",
                           (unsigned long long)listed, (unsigned long long)expected);
    return 0;
}

static int visit_all(struct run *run, struct site *site, const char *name, lane_fn *body,
                     struct problem *why)
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
        .body = body,
        .arg = site,
    };
    bool limited;
    return run_phase(run, &visit, &limited, why);
}

static int run_all(struct run *run, const void *params_, struct problem *why)
{
    const struct create_scaling *with = params_;
    bool null = run_is_null(run);
    scoped(site_done) struct site site = { 0 };
    if (site_init(&site, run, with, why) || create_all(run, &site, why))
        return -1;
    if (existing(&site) == 0)
        return 0;
    if (with->operations & OPERATION_LIST && !null && list_all(run, &site, why))
        return -1;
    if (with->operations & OPERATION_STAT &&
        visit_all(run, &site, "stat", null ? stat_lane_null : stat_lane, why))
        return -1;
    if (with->operations & OPERATION_REMOVE &&
        visit_all(run, &site, "remove", null ? remove_lane_null : remove_lane, why))
        return -1;
    return 0;
}

static int clean(struct run *run, const void *params_, struct problem *why)
{
    const struct create_scaling *with = params_;
    struct workspace *workspace = run_workspace(run);
    const struct made file = {
        .prefix = 'f', .digits = FILE_DIGITS, .below = with->files, .bytes_most = with->file_bytes
    };
    const struct made folder = {
        .prefix = 'd', .digits = FOLDER_DIGITS, .below = with->threads, .inside = &file
    };
    if (!workspace)
        return 0;
    if (workspace_sweep(run, workspace_fd(workspace),
                        with->layout == LAYOUT_PRIVATE ? &folder : &file, why))
        return -1;
    size_t foreign;
    int left = workspace_remove(workspace, why);
    run_foreign_names(run, &foreign);
    if (left > 0 && foreign == 0)
        return problem_set(why, PROBLEM_CONFLICT, "something new appeared in the run directory");
    return left < 0 ? -1 : 0;
}

const struct workload create_scaling = {
    .name = "create-scaling",
    .summary = "How the time to create a file grows with the number of files already there.",
    .params = params,
    .params_size = sizeof(struct create_scaling),
    .check = check,
    .run = run_all,
    .clean = clean,
};
