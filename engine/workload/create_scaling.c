/* How the time to create a file grows with the number of files already there. */
#include "engine/workload/create_scaling.h"

#include "engine/workload/workload.h"

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
    FIELD_CHOICE(
        struct create_scaling, sync,
        "When a file is on stable storage: never forced, by fsync, by opening it O_SYNC, or "
        "by fsync of the file and its directory.",
        .choices = sync_modes, .preset_text = "none"),
    FIELD_CHOICES(
        struct create_scaling, operations,
        "What is measured, in this order; what is not removed here is removed by clean-up.",
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
                             "threads must not be more than files, %llu, not %llu",
                             (unsigned long long)with->files, (unsigned long long)with->threads);
    return 0;
}

const struct workload create_scaling = {
    .name = "create-scaling",
    .summary = "How the time to create a file grows with the number of files already there.",
    .params = params,
    .params_size = sizeof(struct create_scaling),
    .check = check,
};
