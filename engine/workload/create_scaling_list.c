/* How the lanes of create-scaling list what they made. */
#include "engine/workload/create_scaling.h"

#include "engine/direct.h"

/* How many of the entries have the form of ours; strangers are clean-up's matter. */
static uint64_t count_files(const char *buffer, long bytes, size_t length)
{
    uint64_t n = 0;
    for (long at = 0; at < bytes;) {
        const struct directory_entry *entry = (const void *)(buffer + at);
        n += entry->length >= offsetof(struct directory_entry, name) + length + 1 &&
             entry->name[0] == PREFIX_MADE && entry->name[length] == 0;
        at += entry->length;
    }
    return n;
}

/* Whole calls until a batch is full or the listing ends. 1: more; 0: the end; -1: a failure. */
static int list_batch(struct lane *lane, const struct site *site, int folder, char *buffer,
                      struct problem *why)
{
    uint64_t *listed = &site->listed[lane_index(lane)], before = *listed;
    size_t length = name_bytes(site->with);
    while (*listed - before < site->with->batch) {
        long got = direct_list(folder, buffer, site->buffer);
        if (got < 0)
            return lane_refused(lane, errno, ATTEMPT_OTHER, *listed, "list", "the run directory",
                                why);
        uint64_t n = count_files(buffer, got, length);
        *listed += n;
        if (!lane_note_many(lane, n, 0) || got == 0)
            return 0;
    }
    return 1;
}

static int list_folder(struct lane *lane, const struct site *site, int folder, char *buffer,
                       struct problem *why)
{
    int more = 1;
    if (lseek(folder, 0, SEEK_SET) < 0)
        return problem_errno(why, errno, "cannot rewind the run directory");
    while (more > 0 && lane_begin(lane))
        more = list_batch(lane, site, folder, buffer, why);
    return more < 0 ? -1 : 0;
}

/* The directories of the fanout layout are dealt out: each has one position, so one lane reads it. */
static int list_folders(struct lane *lane, const struct site *site, char *buffer,
                        struct problem *why)
{
    const struct create_scaling *with = site->with;
    for (uint64_t i = lane_index(lane); i < with->directories && !lane_stopped(lane);
         i += with->threads)
        if (list_folder(lane, site, site->folders[i], buffer, why))
            return -1;
    return 0;
}

int list_lane(struct lane *lane, const void *arg, struct problem *why)
{
    const struct site *site = arg;
    scoped_free char *buffer = malloc(site->buffer);
    if (!buffer)
        return problem_memory(why);
    if (site->folders)
        return list_folders(lane, site, buffer, why);
    scoped_fd int folder = lane_folder(site, lane_index(lane), false, why);
    return folder < 0 ? -1 : list_folder(lane, site, folder, buffer, why);
}
