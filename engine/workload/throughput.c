/* How many bytes a second go to files and come from them. */
#include "engine/workload/throughput.h"

#include "engine/base/matrix.h"
#include "engine/resident.h"
#include "engine/workload/workload.h"
#include "engine/workspace.h"

#include <errno.h>
#include <fcntl.h>

static const char *const layouts[] = { "private", "shared-segments", "shared-interleaved", NULL };
static const char *const operations[] = { "write",  "rewrite",       "read",
                                          "reread", "random-read",   "random-write",
                                          "mixed",  "backward-read", "stride-read",
                                          NULL };
static const char *const syncs[] = { "none", "data", "full", NULL };
static const char *const syncs_at[] = { "end", "record", NULL };
static const char *const caches[] = { "warm", "cold", NULL };
static const char *const ladders[] = { "none", "threads", "record_bytes", "both", NULL };

enum {
    LADDER_RECORD_LEAST = 4096,
    STRIDE_BYTES = 1 << 20, /* written between two looks at the target's room, about */
    STRIDE_MOST = 64,
};
#define BUFFERS_MOST (UINT64_C(1) << 30) /* of all lanes together */

static const struct field params[] = {
    FIELD_BYTES(
        struct throughput, file_bytes,
        "Size of each file: of every lane's own in layout private, of the one that all share "
        "otherwise.",
        .min = DATA_SECTOR, .preset = 200 << 20, .unit = "bytes"),
    FIELD_BYTES(struct throughput, record_bytes, "Bytes moved by one operation, a multiple of 512.",
                .min = DATA_SECTOR, .max = 256 << 20, .preset = 1 << 20, .unit = "bytes"),
    FIELD_COUNT(struct throughput, threads, "Lanes that work at once.", .min = 1, .max = 1024,
                .preset = 1, .unit = "lanes"),
    FIELD_CHOICE(
        struct throughput, layout,
        "Whether each lane has a file of its own, or all share one: each a segment of it, or "
        "every so many-th record.",
        .choices = layouts, .preset_text = "private"),
    FIELD_CHOICES(struct throughput, operations,
                  "What is measured, in this order. Each goes over every record once.",
                  .choices = operations, .preset_text = "write,read"),
    FIELD_COUNT(struct throughput, read_percent, "How many of the operations of mixed read.",
                .max = 100, .preset = 70, .unit = "%"),
    FIELD_COUNT(
        struct throughput, stride,
        "How many records stride-read moves on by; it passes over the file until it has read "
        "all.",
        .min = 2, .max = 1e9, .preset = 8, .unit = "records"),
    FIELD_CHOICE(
        struct throughput, backend,
        "How operations are issued: by a call that waits for each, or through io_uring with "
        "registered buffers and files.",
        .choices = io_backend_names, .preset_text = "posix"),
    FIELD_COUNT(struct throughput, queue_depth,
                "Operations of a lane that are under way at once; posix has 1.", .min = 1,
                .max = 1024, .preset = 1, .unit = "operations"),
    FIELD_BOOL(struct throughput, direct,
               "Whether the page cache is passed by (O_DIRECT), where the filesystem can."),
    FIELD_CHOICE(struct throughput, sync,
                 "What is forced to stable storage while the clock runs: nothing, the data "
                 "(fdatasync), or the data and all of the inode (fsync).",
                 .choices = syncs, .preset_text = "none"),
    FIELD_CHOICE(struct throughput, sync_at,
                 "When that happens: once, when a lane has written all it has to, or after each "
                 "record.",
                 .choices = syncs_at, .preset_text = "end"),
    FIELD_CHOICE(
        struct throughput, cache,
        "Before each operation that reads, but reread: warm, as the operations before left "
        "the caches, or cold, emptied by a way that the target allows, and looked at.",
        .choices = caches, .preset_text = "warm"),
    FIELD_SECONDS(struct throughput, max_seconds,
                  "How long an operation's phase may take; 0 is no bound. Reaching it is a limit, "
                  "not a failure.",
                  .max = 30 * 86400, .unit = "s"),
    FIELD_SECONDS(struct throughput, interval, "How long a sample is.", .min = 0.01, .max = 3600,
                  .preset = 1, .unit = "s"),
    FIELD_BOOL(struct throughput, verify,
               "Whether each record carries its offset and seed, and what is read is compared with "
               "them. Takes CPU time of the lanes, in no latency but in the rate."),
    FIELD_COUNT(struct throughput, compressible_percent,
                "How much of each 4 KiB is zeros; the rest is noise that differs everywhere.",
                .max = 100, .unit = "%"),
    FIELD_BYTES(struct throughput, rate_limit,
                "Bytes per second that all lanes together may move; 0 is no bound. Latencies then "
                "count from when an operation was due.",
                .unit = "bytes/s"),
    FIELD_COUNT(struct throughput, seed, "What fixes the data and the random orders.", .max = 1e15,
                .preset = 1),
    FIELD_SECONDS(struct throughput, patience,
                  "How long the target may be silent before the run fails; calls of posix wait as "
                  "long as the kernel does.",
                  .min = 1, .max = 86400, .preset = 60, .unit = "s"),
    FIELD_CHOICE(
        struct throughput, ladder,
        "A run for each power of two of threads up to its value, of record_bytes from 4 KiB "
        "up to its value, or of both.",
        .choices = ladders, .preset_text = "none"),
    FIELD_END,
};

/* --- what is refused before anything is made --- */

static int check_sizes(const struct throughput *with, struct problem *why)
{
    uint64_t lanes = with->layout == LAYOUT_OWN ? 1 : with->threads;
    if (with->record_bytes % DATA_SECTOR)
        return problem_field(why, "/params/record_bytes",
                             "record_bytes must be a multiple of %d, not %llu", DATA_SECTOR,
                             (unsigned long long)with->record_bytes);
    if (with->file_bytes == 0 || with->file_bytes % (with->record_bytes * lanes))
        return problem_field(
            why, "/params/file_bytes",
            "file_bytes must be a multiple of record_bytes%s, %llu bytes, not %llu",
            lanes > 1 ? " times threads, which share the file" : "",
            (unsigned long long)(with->record_bytes * lanes), (unsigned long long)with->file_bytes);
    if (with->record_bytes * with->threads * with->queue_depth > BUFFERS_MOST)
        return problem_field(
            why, "/params/record_bytes",
            "record_bytes times threads times queue_depth must not be more than 1 "
            "GiB, but is %llu bytes",
            (unsigned long long)(with->record_bytes * with->threads * with->queue_depth));
    return 0;
}

static int check_backend(const struct throughput *with, const struct target *target,
                         struct problem *why)
{
    const struct io_backend *backend = io_backend_at(with->backend);
    if (target && !(backend->targets & 1u << target->kind))
        return problem_field(why, "/params/backend",
                             "backend %s does not work on target %s, which is of kind %s",
                             backend->name, target_called(target), target_kinds[target->kind]);
    if (with->queue_depth > backend->depth_most)
        return problem_field(
            why, "/params/queue_depth", "queue_depth must be at most %u with backend %s, not %llu",
            backend->depth_most, backend->name, (unsigned long long)with->queue_depth);
    if (with->direct && !backend->direct)
        return problem_field(why, "/params/direct",
                             "direct must be no with backend %s, which has no cache to pass by",
                             backend->name);
    return backend->check ? backend->check(target, why) : 0;
}

/* By hand, whatever the user may do is allowed. */
static uint64_t cold_ways(const struct target *target)
{
    if (!target || !target->name || !target->name[0])
        return COLD_FADVISE | COLD_DROP_CACHES;
    return target->cold & (COLD_FADVISE | COLD_DROP_CACHES);
}

/* What can be known before; that it is cold is looked at when the time has come. */
static int check_cold(const struct throughput *with, const struct target *target,
                      struct problem *why)
{
    const struct io_backend *backend = io_backend_at(with->backend);
    if (!backend->cached)
        return problem_field(
            why, "/params/cache",
            "cache cannot be cold with backend %s: it has no cache on this host, and "
            "the server's cannot be emptied from here",
            backend->name);
    if (cold_ways(target) == 0)
        return problem_field(
            why, "/params/cache",
            "cache cannot be cold: target %s allows %s in its setting cold, and a file can leave "
            "memory by fadvise or drop-caches; a folder in use cannot be mounted anew",
            target->name, target->cold & COLD_REMOUNT ? "remount alone" : "nothing");
    return 0;
}

static int check(const void *params_, const struct target *target, struct problem *why)
{
    const struct throughput *with = params_;
    if (!(with->operations & 1u << DO_WRITE))
        return problem_field(why, "/params/operations",
                             "operations must have write: the others work on what it wrote");
    if (check_sizes(with, why) || check_backend(with, target, why))
        return -1;
    return with->cache == CACHE_EMPTIED ? check_cold(with, target, why) : 0;
}

static int add_rungs(struct matrix *matrix, const char *name, uint64_t first, uint64_t last,
                     struct problem *why)
{
    char text[32], where[64];
    snprintf(where, sizeof where, "/params/%s", name);
    for (uint64_t rung = first; rung < last; rung *= 2) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)rung);
        if (matrix_add(matrix, name, text, where, why))
            return -1;
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)last);
    return matrix_add(matrix, name, text, where, why);
}

static int ladder(const void *params_, struct matrix *matrix, struct problem *why)
{
    const struct throughput *with = params_;
    if ((with->ladder == LADDER_THREADS || with->ladder == LADDER_BOTH) &&
        add_rungs(matrix, "threads", 1, with->threads, why))
        return -1;
    if ((with->ladder == LADDER_RECORD || with->ladder == LADDER_BOTH) &&
        add_rungs(matrix, "record_bytes", LADDER_RECORD_LEAST, with->record_bytes, why))
        return -1;
    return 0;
}

/* --- the run --- */

static void site_done(struct site *site)
{
    if (site->meter)
        site->backend->close(site->meter);
    free(site->made);
}

static bool run_stopped(void *arg)
{
    return run_is_cancelled(arg);
}

static struct io_options options_of(struct run *run, const struct throughput *with)
{
    struct workspace *workspace = run_workspace(run);
    return (struct io_options){
        .target = run_target(run),
        .folder = workspace ? workspace_fd(workspace) : -1,
        .name = run_name(run),
        .depth = (unsigned)with->queue_depth,
        .sessions = (unsigned)with->threads,
        .patience = with->patience,
        .stopped = run_stopped,
        .arg = run,
    };
}

static int make_files(struct run *run, const struct site *site, struct problem *why)
{
    const struct io_backend *backend = site->backend;
    struct io_session *session = NULL;
    char name[DATA_NAME];
    int result = 0;
    if (backend->folder_make && backend->folder_make(&site->options, why))
        return -1;
    if (backend->open(&site->options, &session, why))
        return -1;
    for (uint64_t i = 0; i < data_files(site->with) && result == 0; i++) {
        struct io_file *file = NULL;
        data_name(name, i);
        result = backend->file_open(session, name, IO_CREATE | (site->with->direct ? IO_DIRECT : 0),
                                    &file, why);
        if (result && why->code == PROBLEM_CONFLICT)
            run_foreign(run, name); /* it was there before its turn came: not ours */
        int late = backend->file_close(session, file);
        if (late && result == 0)
            result = problem_errno(why, late, "cannot close %s", name);
    }
    backend->close(session);
    return result;
}

static int ask_room(void *arg, struct room *ret, struct problem *why)
{
    const struct site *site = arg;
    return site->backend->room(site->meter, ret, why);
}

/* A session of its own asks what the target has: the lanes' are full of what they move. */
static int open_meter(struct site *site, struct problem *why)
{
    return site->backend->room ? site->backend->open(&site->options, &site->meter, why) : 0;
}

/* --- what of the files is in memory before they are read --- */

struct caches {
    const char *name; /* for struct phase */
    uint64_t resident;
};

static int look_at_file(const struct site *site, const char *name, bool evict, struct caches *found,
                        struct problem *why)
{
    const char *way = NULL;
    uint64_t bytes = 0;
    scoped_fd int file = openat(site->options.folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return problem_errno(why, errno, "cannot open %s", name);
    if (evict && resident_evict(file, cold_ways(site->options.target), &way, why))
        return -1;
    if (resident_bytes(file, &bytes, why))
        return -1;
    if (way)
        found->name = way;
    found->resident += bytes;
    return 0;
}

/* Dropping the caches for one file drops the others' too, so that each is looked at when all have gone. */
static int look_at_caches(const struct site *site, struct caches *found, struct problem *why)
{
    bool evict = site->with->cache == CACHE_EMPTIED && site->operation != DO_REREAD;
    char name[DATA_NAME];
    *found = (struct caches){ .name = operation_reads(site->operation) ? "warm" : NULL };
    if (!operation_reads(site->operation) || site->options.folder < 0 || !site->backend->cached)
        return 0;
    for (uint64_t i = 0; i < data_files(site->with); i++) {
        data_name(name, i);
        if (look_at_file(site, name, evict, found, why))
            return -1;
    }
    return 0;
}

static uint64_t in_place(const struct site *site)
{
    uint64_t records = 0;
    for (unsigned i = 0; i < site->with->threads; i++)
        records += site->made[i];
    return records * site->with->record_bytes;
}

static uint64_t stride_of(const struct throughput *with)
{
    uint64_t n = STRIDE_BYTES / with->record_bytes;
    return n < 1 ? 1 : n > STRIDE_MOST ? STRIDE_MOST : n;
}

static int do_operation(struct run *run, struct site *site, enum throughput_operation operation,
                        struct problem *why)
{
    const struct throughput *with = site->with;
    bool first = operation == DO_WRITE, limited;
    struct caches found;
    site->operation = operation;
    if (look_at_caches(site, &found, why))
        return -1;
    const struct phase phase = {
        .name = operations[operation],
        .unit = "bytes",
        .lanes = (unsigned)with->threads,
        .total = first ? with->file_bytes * data_files(with) : in_place(site),
        .batch = 1,
        .interval = with->interval,
        .stride = stride_of(with),
        .overlap = with->queue_depth > 1 ? with->queue_depth : 0,
        .duration = with->max_seconds,
        .cost = { .bytes = first ? with->record_bytes : 0 },
        .room = site->meter ? ask_room : NULL,
        .room_arg = site,
        .cache = found.name,
        .resident = found.resident,
        .paced = with->rate_limit > 0,
        .body = throughput_lane,
        .arg = site,
    };
    return phase.total ? run_phase(run, &phase, &limited, why) : 0;
}

static int run_all(struct run *run, const void *params_, struct problem *why)
{
    struct throughput with = *(const struct throughput *)params_;
    bool null = run_is_null(run);
    scoped(site_done) struct site site = {
        .with = &with,
        .backend = null ? &io_null : io_backend_at(with.backend),
        .options = options_of(run, &with),
        .made = calloc(with.threads, sizeof *site.made),
    };
    if (null) /* nothing is there to compare */
        with.verify = false;
    if (!site.made)
        return problem_memory(why);
    if (!null && site.options.folder < 0 && !site.backend->folder_make)
        return problem_field(
            why, "/params/backend",
            "backend %s needs a folder of this host, which the target does not have",
            site.backend->name);
    if (make_files(run, &site, why) || open_meter(&site, why))
        return -1;
    for (unsigned i = 0; i < DO_COUNT; i++)
        if (with.operations & 1u << i && do_operation(run, &site, i, why))
            return -1;
    return 0;
}

static int clean(struct run *run, const void *params_, struct problem *why)
{
    const struct throughput *with = params_;
    const struct io_backend *backend = io_backend_at(with->backend);
    struct workspace *workspace = run_workspace(run);
    const struct made file = { .prefix = 'f',
                               .digits = DATA_DIGITS,
                               .below = data_files(with),
                               .bytes_most = with->file_bytes };
    const struct io_options options = options_of(run, with);
    size_t foreign;
    if (run_is_null(run))
        return 0;
    if (backend->folder_sweep)
        return backend->folder_sweep(run, &options, &file, why);
    if (!workspace)
        return 0;
    if (workspace_sweep(run, workspace_fd(workspace), &file, why))
        return -1;
    int left = workspace_remove(workspace, why);
    run_foreign_names(run, &foreign);
    if (left > 0 && foreign == 0)
        return problem_set(why, PROBLEM_CONFLICT, "something new appeared in the run directory");
    return left < 0 ? -1 : 0;
}

const struct workload throughput = {
    .name = "throughput",
    .summary = "How many bytes a second go to files and come from them.",
    .params = params,
    .params_size = sizeof(struct throughput),
    .targets = 1 << TARGET_DIRECTORY | 1 << TARGET_BTRFS | 1 << TARGET_NFS,
    .ladder = ladder,
    .check = check,
    .run = run_all,
    .clean = clean,
};
