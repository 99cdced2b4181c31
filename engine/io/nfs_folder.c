#include "engine/io/nfs_folder.h"

#include "engine/base/text.h"
#include "engine/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wire_options nfs_wire_options(const struct io_options *options)
{
    return (struct wire_options){ .url = options->target->url,
                                  .patience = options->patience,
                                  .stopped = options->stopped,
                                  .arg = options->arg };
}

static int refused(int error, const char *doing, const char *name, struct problem *why)
{
    return error < 0 ? -1 : problem_errno(why, error, "cannot %s %s", doing, name);
}

static void wire_cell(struct wire **wire)
{
    *wire = wire_close(*wire);
}

int nfs_folder_make(const struct io_options *options, struct problem *why)
{
    struct wire_options with = nfs_wire_options(options);
    scoped(wire_cell) struct wire *wire = NULL;
    if (wire_open(&with, &wire, why))
        return -1;
    int error = wire_make_folder(wire, wire_root(wire), options->name, why);
    if (error == EEXIST)
        return problem_set(why, PROBLEM_CONFLICT, "%s is there already", options->name);
    return error ? refused(error, "make the run directory", options->name, why) : 0;
}

/* --- sweeping: as engine/workspace.c, by calls to the server --- */

/* What one call for a listing gave. */
struct entry {
    char *name;
    struct nfs_facts facts;
};
struct entries {
    size_t n, room;
    struct entry *at;
};

struct sweep {
    struct run *run;
    struct wire *wire;
    struct nfs_handle folder;
    uint32_t owner; /* the server may have made another user of ours */
    const struct made *made;
    const char *prefix; /* of names told as foreign: "" or "d0001/" */
    uint64_t removed;   /* in this pass */
    struct entries entries;
};

static void forget_entries(struct entries *entries)
{
    for (size_t i = 0; i < entries->n; i++)
        free(entries->at[i].name);
    entries->n = 0;
}

static void entries_done(struct entries *entries)
{
    forget_entries(entries);
    free(entries->at);
}

static int note_entry(void *arg, const char *name, const struct nfs_facts *facts)
{
    struct entries *entries = arg;
    if (entries->n == entries->room) {
        size_t room = entries->room ? 2 * entries->room : 256;
        struct entry *at = realloc(entries->at, room * sizeof *at);
        if (!at)
            return -1;
        entries->at = at;
        entries->room = room;
    }
    char *copy = strdup(name);
    if (!copy)
        return -1;
    entries->at[entries->n++] = (struct entry){ copy, *facts };
    return 0;
}

/* What refuses to go but does not keep the others. */
static bool is_stubborn(int error)
{
    return error == EBUSY || error == EPERM || error == EACCES || error == EXDEV ||
           error == ENOTDIR || error == EISDIR;
}

static int leave(struct sweep *sweep, const char *shown)
{
    run_foreign(sweep->run, shown);
    return 0;
}

/* By name, kind, owner and size: what of `made` it is; NULL: not ours. */
static const struct made *find_made(const struct sweep *sweep, const char *name,
                                    const struct nfs_facts *facts)
{
    const struct made *made = sweep->made;
    while (made && !name_is_made(made, name))
        made = made->or ;
    if (!made || facts->uid != sweep->owner)
        return NULL;
    bool fits = made->inside ? facts->kind == NFS_FOLDER
                             : facts->kind == NFS_FILE && facts->size <= made->bytes_most;
    return fits ? made : NULL;
}

static int sweep_folder(struct sweep *sweep, struct problem *why);

static int sweep_inside(const struct sweep *sweep, const struct nfs_handle *folder,
                        const struct made *inside, const char *shown, struct problem *why)
{
    char prefix[300];
    if (text_fit(prefix, sizeof prefix, "%s/", shown))
        return problem_set(why, PROBLEM_INTERNAL, "%s is too long", shown);
    struct sweep inner = { .run = sweep->run,
                           .wire = sweep->wire,
                           .folder = *folder,
                           .owner = sweep->owner,
                           .made = inside,
                           .prefix = prefix };
    int result = sweep_folder(&inner, why);
    entries_done(&inner.entries);
    return result;
}

static int sweep_entry(struct sweep *sweep, const struct entry *entry, struct problem *why)
{
    char shown[600];
    struct nfs_facts facts = entry->facts;
    struct nfs_handle handle;
    const char *name = entry->name;
    snprintf(shown, sizeof shown, "%s%s", sweep->prefix, name);
    if (run_spares(sweep->run, shown))
        return leave(sweep, shown);
    /* A listing need not tell what an entry is, and does not give what enters a folder. */
    if (!facts.known || facts.kind == NFS_FOLDER) {
        int error = wire_look_up(sweep->wire, &sweep->folder, name, &handle, NULL, why);
        error = error ? error : wire_look(sweep->wire, &handle, &facts, why);
        if (error == ENOENT || error == ESTALE)
            return 0;
        if (error)
            return refused(error, "look at", shown, why);
    }
    const struct made *made = find_made(sweep, name, &facts);
    if (!made)
        return leave(sweep, shown);
    if (made->inside && sweep_inside(sweep, &handle, made->inside, shown, why))
        return -1;
    int error = made->inside ? wire_remove_folder(sweep->wire, &sweep->folder, name, why)
                             : wire_remove(sweep->wire, &sweep->folder, name, why);
    if (error == 0)
        sweep->removed++;
    else if (error > 0 && is_stubborn(error))
        return leave(sweep, shown);
    else if (error != ENOENT && !(made->inside && (error == ENOTEMPTY || error == EEXIST)))
        return refused(error, "remove", shown, why);
    return 0;
}

static int sweep_noted(struct sweep *sweep, struct problem *why)
{
    uint64_t before = sweep->removed;
    for (size_t i = 0; i < sweep->entries.n; i++)
        if (sweep_entry(sweep, &sweep->entries.at[i], why))
            return -1;
    return run_removed(sweep->run, sweep->removed - before, why);
}

/* One pass over the folder. A server may refuse to go on with a listing after entries have gone: then the next
 * pass does. */
static int sweep_pass(struct sweep *sweep, struct problem *why)
{
    struct nfs_listing listing = { 0 };
    sweep->removed = 0;
    while (!listing.over) {
        forget_entries(&sweep->entries);
        int error =
            wire_list(sweep->wire, &sweep->folder, &listing, note_entry, &sweep->entries, why);
        if (error == ECANCELED) /* it is note_entry that ended it */
            return problem_memory(why);
        if (error > 0 && sweep->removed > 0)
            return 0;
        if (error == ENOENT || error == ESTALE) /* the folder is gone */
            return 0;
        if (error)
            return refused(error, "list", "the run directory", why);
        if (sweep_noted(sweep, why))
            return -1;
    }
    return 0;
}

/* A listing may skip entries while others are removed: passes go on until one removes nothing. */
static int sweep_folder(struct sweep *sweep, struct problem *why)
{
    do
        if (sweep_pass(sweep, why))
            return -1;
    while (sweep->removed > 0);
    return 0;
}

static int sweep_all(struct sweep *sweep, const char *name, struct problem *why)
{
    struct nfs_facts own;
    size_t foreign;
    int error = wire_look_up(sweep->wire, wire_root(sweep->wire), name, &sweep->folder, NULL, why);
    if (error == ENOENT)
        return 0;
    if (error || (error = wire_look(sweep->wire, &sweep->folder, &own, why)))
        return refused(error, "find", name, why);
    if (own.kind != NFS_FOLDER)
        return problem_set(why, PROBLEM_CONFLICT, "%s is no folder", name);
    sweep->owner = own.uid;
    if (sweep_folder(sweep, why))
        return -1;
    error = wire_remove_folder(sweep->wire, wire_root(sweep->wire), name, why);
    run_foreign_names(sweep->run, &foreign);
    if ((error == ENOTEMPTY || error == EEXIST) && foreign > 0)
        return 0; /* and it is told: clean-up is blocked */
    return error && error != ENOENT ? refused(error, "remove the run directory", name, why) : 0;
}

int nfs_folder_sweep(struct run *run, const struct io_options *options, const struct made *made,
                     struct problem *why)
{
    /* Who cancelled the run wants its clean-up. */
    const struct wire_options with = { .url = options->target->url, .patience = options->patience };
    scoped(wire_cell) struct wire *wire = NULL;
    if (wire_open(&with, &wire, why))
        return -1;
    struct sweep sweep = { .run = run, .wire = wire, .made = made, .prefix = "" };
    int result = sweep_all(&sweep, options->name, why);
    entries_done(&sweep.entries);
    return result;
}
