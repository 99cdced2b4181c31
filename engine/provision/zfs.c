/* Datasets below one that the run makes, each known again by its guid. Everything is done by zfs(8) and zpool(8),
 * as an administrator would: OpenZFS or zfs-fuse. */
#include "engine/provision/provisioner.h"

#include "engine/base/spawn.h"
#include "engine/base/text.h"

#include <poll.h>

#define TOOL_DEADLINE (60 * NSEC_PER_SEC)
#define POOL_DEADLINE (600 * NSEC_PER_SEC) /* of the whole pool: with thousands to mount, minutes */
enum {
    DATASET = 256, /* the longest name that ZFS takes */
    AT_ONCE = 200, /* datasets named in one call */
    BUSY_TRIES = 10,
    OUTPUT = 4 << 20 /* 20,000 lines of the longest names */
};
#define MARK "plimsoll:run" /* a property of the parent alone, set as it is made */
extern const struct provisioner provision_zfs;

struct pool {
    struct provision with;
    char parent[DATASET], pool[DATASET];
    char *output;
};

static struct pool *close_pool(struct pool *pool)
{
    if (!pool)
        return NULL;
    free(pool->output);
    free(pool);
    return NULL;
}

static int run_tool(struct pool *pool, const char *const *argv, nsec deadline, struct problem *why)
{
    return spawn_run(argv, deadline, pool->output, OUTPUT, why);
}

static int open_pool(const struct provision *with, struct pool **ret, struct problem *why)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool || !(pool->output = malloc(OUTPUT))) {
        close_pool(pool);
        return problem_memory(why);
    }
    pool->with = *with;
    const char *dataset = with->target->dataset;
    snprintf(pool->pool, sizeof pool->pool, "%.*s", (int)strcspn(dataset, "/"), dataset);
    if (text_fit(pool->parent, sizeof pool->parent - FILESYSTEM_NAME, "%s/%s", dataset,
                 with->name)) {
        close_pool(pool);
        return problem_set(why, PROBLEM_UNSUPPORTED, "the name of dataset %s is too long", dataset);
    }
    *ret = pool;
    return 0;
}

static void child(const struct pool *pool, uint64_t number, char name[DATASET])
{
    char last[FILESYSTEM_NAME];
    filesystem_name(last, 'f', number);
    snprintf(name, DATASET, "%.200s/%s", pool->parent, last);
}

/* The guid of one; 1 and its guid, 0 when there is none, -1. */
static int guid_of(struct pool *pool, const char *dataset, char guid[IDENTITY], struct problem *why)
{
    const char *const argv[] = { "zfs", "get", "-H", "-p", "-o", "value", "guid", dataset, NULL };
    struct problem words = { 0 };
    if (run_tool(pool, argv, TOOL_DEADLINE, &words)) {
        if (strstr(words.message, "does not exist") || strstr(words.message, "no such pool"))
            return 0;
        *why = words;
        return -1;
    }
    snprintf(guid, IDENTITY, "%.*s", (int)strcspn(pool->output, "\n"), pool->output);
    return 1;
}

/* The folder of the pool's files, which import does not find by itself; none for devices. */
static int find_search(struct pool *pool, struct problem *why)
{
    const char *const argv[] = { "zpool", "status", pool->pool, NULL };
    char *to = pool->with.made->search;
    if (run_tool(pool, argv, TOOL_DEADLINE, why))
        return -1;
    for (const char *line = pool->output; line; line = strchr(line, '\n')) {
        line += strspn(line, " \t\n");
        const char *end = line + strcspn(line, " \t\n"), *slash = end;
        while (slash > line && *slash != '/')
            slash--;
        if (line[0] != '/' || text_starts(line, "/dev/"))
            continue;
        if ((size_t)(slash - line) >= sizeof pool->with.made->search)
            return problem_set(why, PROBLEM_UNSUPPORTED, "the path of the pool's file is too long");
        snprintf(to, sizeof pool->with.made->search, "%.*s", (int)(slash - line), line);
        return 0;
    }
    return 0;
}

/* Whether one lies within the other. */
static bool is_below(const char *name, const char *above)
{
    size_t n = strlen(above);
    return strncmp(name, above, n) == 0 && (name[n] == '/' || name[n] == '\0' || name[n] == '@');
}

/* An export takes the whole pool away: also what others have in it, which is none of ours. */
static int pool_is_ours_alone(struct pool *pool, struct problem *why)
{
    const char *const argv[] = { "zfs", "list", "-H", "-o",       "name",
                                 "-t",  "all",  "-r", pool->pool, NULL };
    const char *dataset = pool->with.target->dataset;
    char *rest = NULL;
    if (run_tool(pool, argv, POOL_DEADLINE, why))
        return -1;
    for (char *name = strtok_r(pool->output, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
        if (!is_below(name, dataset) && !is_below(dataset, name))
            return problem_field(why, "/params/cycle",
                                 "cycle cannot be import: it takes all of pool %s away, and %s is "
                                 "not the target's",
                                 pool->pool, name);
    return 0;
}

static int make_parent(struct pool *pool, struct problem *why)
{
    const char *argv[2 * TEXTS_MOST + 10] = { "zfs", "create" };
    char mark[DATASET];
    size_t n = 2;
    const struct texts *properties = pool->with.properties;
    if (pool->with.cycle == CYCLE_IMPORT && pool_is_ours_alone(pool, why))
        return -1;
    snprintf(mark, sizeof mark, MARK "=%s", pool->with.name);
    argv[n++] = "-o";
    argv[n++] = mark;
    for (size_t i = 0; i < properties->n; i++) {
        argv[n++] = "-o";
        argv[n++] = properties->at[i];
    }
    if (!pool->with.mounted) {
        argv[n++] = "-o";
        argv[n++] = "mountpoint=none";
    }
    argv[n++] = pool->parent;
    if (run_tool(pool, argv, TOOL_DEADLINE, why))
        return -1;
    int found = guid_of(pool, pool->parent, pool->with.made->parent, why);
    if (found > 0 && pool->with.cycle == CYCLE_IMPORT && find_search(pool, why))
        return -1;
    return found > 0
               ? 0
               : problem_set(why, PROBLEM_IO_FAILED, "%s was made and is not there", pool->parent);
}

static int create(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[DATASET];
    child(pool, number, name);
    const char *const argv[] = { "zfs", "create", name, NULL };
    return spawn_run(argv, TOOL_DEADLINE, NULL, 0, why);
}

/* Of at most AT_ONCE, in the order of their numbers. */
static int identify_some(struct pool *pool, uint64_t end, struct problem *why)
{
    struct ledger *made = pool->with.made;
    scoped_free char(*names)[DATASET] = calloc(AT_ONCE, sizeof *names);
    const char *argv[AT_ONCE + 9] = { "zfs", "get", "-H", "-p", "-o", "value", "guid" };
    size_t n = 0;
    if (!names)
        return problem_memory(why);
    for (uint64_t i = made->n; i < end && n < AT_ONCE; i++, n++) {
        child(pool, i, names[n]);
        argv[7 + n] = names[n];
    }
    if (run_tool(pool, argv, TOOL_DEADLINE, why))
        return -1;
    const char *line = pool->output;
    for (size_t i = 0; i < n; i++, line += line[0] == '\n') {
        char guid[IDENTITY];
        size_t length = strcspn(line, "\n");
        if (length == 0 || length >= sizeof guid)
            return problem_set(why, PROBLEM_IO_FAILED, "zfs tells no guid of %s", names[i]);
        snprintf(guid, sizeof guid, "%.*s", (int)length, line);
        line += length;
        if (ledger_add(made, guid, why))
            return -1;
    }
    return 0;
}

static int identify(struct pool *pool, uint64_t end, struct problem *why)
{
    while (pool->with.made->n < end)
        if (identify_some(pool, end, why))
            return -1;
    return 0;
}

static int list(struct pool *pool, uint64_t *ret, struct problem *why)
{
    const char *const argv[] = { "zfs", "list", "-H", "-o", "name", "-r", pool->parent, NULL };
    uint64_t lines = 1; /* the last one has no end */
    if (run_tool(pool, argv, POOL_DEADLINE, why))
        return -1;
    for (const char *p = pool->output; (p = strchr(p, '\n')); p++)
        lines++;
    *ret = lines - 1; /* without the parent */
    return 0;
}

static int import(struct pool *pool, struct problem *why)
{
    const char *search = pool->with.made->search;
    const char *const anywhere[] = { "zpool", "import", pool->pool, NULL };
    const char *const there[] = { "zpool", "import", "-d", search, pool->pool, NULL };
    return run_tool(pool, search[0] ? there : anywhere, POOL_DEADLINE, why);
}

static int cycle_pool(struct pool *pool, struct problem *why)
{
    const char *const export[] = { "zpool", "export", pool->pool, NULL };
    if (run_tool(pool, export, POOL_DEADLINE, why))
        return -1;
    return import(pool, why);
}

static int each(struct pool *pool, uint64_t n, const char *verb, struct problem *why)
{
    char name[DATASET];
    for (uint64_t i = 0; i < n; i++) {
        child(pool, i, name);
        const char *const argv[] = { "zfs", verb, name, NULL };
        if (spawn_run(argv, TOOL_DEADLINE, NULL, 0, why))
            return -1;
    }
    return 0;
}

static int cycle(struct pool *pool, uint64_t n, struct problem *why)
{
    if (pool->with.cycle == CYCLE_IMPORT)
        return cycle_pool(pool, why);
    return each(pool, n, "unmount", why) || each(pool, n, "mount", why) ? -1 : 0;
}

/* What was mounted may be busy for a moment after it was let go. */
static int destroy_dataset(struct pool *pool, const char *name, bool all, struct problem *why)
{
    const char *const one[] = { "zfs", "destroy", name, NULL };
    const char *const with_all[] = { "zfs", "destroy", "-r", name, NULL };
    struct problem words, before = { 0 };
    for (int tries = 1;; tries++) {
        words = (struct problem){ 0 };
        if (run_tool(pool, all ? with_all : one, all ? POOL_DEADLINE : TOOL_DEADLINE, &words) ==
                0 ||
            strstr(words.message, "does not exist"))
            return 0;
        if (strcmp(words.message, before.message) != 0)
            tries = 1; /* another one is busy: it has come further */
        before = words;
        if (tries == BUSY_TRIES || !strstr(words.message, "busy")) {
            *why = words;
            return -1;
        }
        poll(NULL, 0, 20 * tries);
    }
}

static int destroy(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[DATASET], guid[IDENTITY];
    const char *known = ledger_identity(pool->with.made, number);
    child(pool, number, name);
    int found = guid_of(pool, name, guid, why);
    if (found <= 0)
        return found;
    if (known[0] && strcmp(known, guid) != 0)
        return 1;
    return destroy_dataset(pool, name, false, why);
}

/* --- clean-up --- */

/* A run that died while the pool was exported left it so. */
static int bring_pool_back(struct pool *pool, struct problem *why)
{
    const char *const look[] = { "zpool", "list", "-H", "-o", "name", pool->pool, NULL };
    struct problem words = { 0 };
    if (run_tool(pool, look, TOOL_DEADLINE, &words) == 0)
        return 0;
    if (strstr(words.message, "no such pool"))
        return import(pool, why);
    *why = words;
    return -1;
}

/* Whether the parent is ours: by its guid, or, when the runner died before it could tell that, by its mark. */
static int parent_is_ours(struct pool *pool, struct problem *why)
{
    char guid[IDENTITY];
    const char *const argv[] = {
        "zfs", "get", "-H", "-o", "value,source", MARK, pool->parent, NULL
    };
    int found = guid_of(pool, pool->parent, guid, why);
    if (found <= 0)
        return found;
    if (pool->with.made->parent[0])
        return strcmp(pool->with.made->parent, guid) == 0 ? 1 : 2;
    if (run_tool(pool, argv, TOOL_DEADLINE, why))
        return -1;
    char wanted[DATASET];
    snprintf(wanted, sizeof wanted, "%s\tlocal", pool->with.name);
    return strcmp(pool->output, wanted) == 0 ? 1 : 2;
}

/* The number of a child of the parent, by its name; UINT64_MAX: no name of ours. */
static uint64_t number_of(const struct pool *pool, const char *name)
{
    char made[DATASET];
    size_t n = strlen(pool->parent);
    if (strncmp(name, pool->parent, n) != 0 || name[n] != '/' || name[n + 1] != 'f')
        return UINT64_MAX;
    uint64_t number = strtoull(name + n + 2, NULL, 10);
    child(pool, number, made);
    return strcmp(made, name) == 0 ? number : UINT64_MAX;
}

static bool line_is_ours(const struct pool *pool, const char *name, const char *guid)
{
    uint64_t number = number_of(pool, name);
    if (number >= pool->with.made->claimed)
        return false;
    const char *known = ledger_identity(pool->with.made, number);
    return !known[0] || strcmp(known, guid) == 0;
}

/* Tells what below the parent is not ours; snapshots too. *ret_ours: of those that are. */
static int tell_foreign(struct pool *pool, struct run *run, uint64_t *ret_ours,
                        uint64_t *ret_foreign, struct problem *why)
{
    const char *const argv[] = { "zfs", "get",        "-H",   "-p",         "-r",
                                 "-o",  "name,value", "guid", pool->parent, NULL };
    char *rest = NULL;
    if (run_tool(pool, argv, POOL_DEADLINE, why))
        return -1;
    size_t parent = strlen(pool->parent);
    for (char *line = strtok_r(pool->output, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *tab = strchr(line, '\t');
        if (!tab)
            continue;
        *tab = '\0';
        if (strcmp(line, pool->parent) == 0)
            continue;
        const char *shown = strlen(line) > parent ? line + parent + 1 : line;
        if (line_is_ours(pool, line, tab + 1) && !run_spares(run, shown)) {
            (*ret_ours)++;
        } else {
            (*ret_foreign)++;
            run_foreign(run, shown);
        }
    }
    return 0;
}

static int clean(struct pool *pool, struct run *run, struct problem *why)
{
    uint64_t ours = 0, foreign = 0;
    if (bring_pool_back(pool, why))
        return -1;
    int is = parent_is_ours(pool, why);
    if (is <= 0)
        return is;
    if (is == 2) {
        run_foreign(run, pool->with.name);
        return 0;
    }
    if (tell_foreign(pool, run, &ours, &foreign, why))
        return -1;
    if (foreign) /* one by one, around what stays */
        return provision_destroy_all(&provision_zfs, pool, pool->with.made, 'f', run, why);
    if (destroy_dataset(pool, pool->parent, true, why))
        return -1;
    return run_removed(run, ours, why);
}

const struct provisioner provision_zfs = {
    .name = "zfs",
    .cycles = 1 << CYCLE_REMOUNT | 1 << CYCLE_IMPORT,
    .open = open_pool,
    .close = close_pool,
    .make_parent = make_parent,
    .create = create,
    .identify = identify,
    .list = list,
    .cycle = cycle,
    .destroy = destroy,
    .clean = clean,
};
