/* Datasets below one that the run makes. Everything is done by zfs(8) and zpool(8), as an administrator would: OpenZFS
 * or zfs-fuse. */
#include "engine/provision/zfs.h"

#include "engine/base/spawn.h"
#include "engine/base/text.h"

static struct pool *close_pool(struct pool *pool)
{
    if (!pool)
        return NULL;
    pthread_mutex_destroy(&pool->ahead.lock);
    free(pool->output);
    free(pool);
    return NULL;
}

int zfs_tool(struct pool *pool, const char *const *argv, nsec deadline, struct problem *why)
{
    return spawn_run_until(pool->with.stop, argv, deadline, pool->output, OUTPUT, why);
}

void zfs_mark(const struct pool *pool, char mark[IDENTITY])
{
    snprintf(mark, IDENTITY, "%016llx", (unsigned long long)pool->with.made->mark);
}

void zfs_child(const struct pool *pool, uint64_t number, char name[DATASET])
{
    char last[FILESYSTEM_NAME];
    filesystem_name(last, 'f', number);
    snprintf(name, DATASET, "%.200s/%s", pool->parent, last);
}

static void mark_option(const struct pool *pool, char option[ANSWER])
{
    char mark[IDENTITY];
    zfs_mark(pool, mark);
    snprintf(option, ANSWER, MARK "=%s", mark);
}

/* Whether the tool works for us, and the target's dataset is there. */
static int ask(struct pool *pool, struct problem *why)
{
    struct identity identity;
    const char *dataset = pool->with.target->dataset;
    int found = zfs_look(pool, dataset, &identity, why);
    return found == 0 ? problem_set(why, PROBLEM_UNSUPPORTED, "there is no dataset %s", dataset)
                      : (found > 0 ? 0 : -1);
}

static int open_pool(const struct provision *with, struct pool **ret, struct problem *why)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return problem_memory(why);
    pthread_mutex_init(&pool->ahead.lock, NULL);
    pool->output = malloc(OUTPUT);
    if (!pool->output) {
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
    if (!with->cleaning && !with->resumed && ask(pool, why)) {
        close_pool(pool);
        return -1;
    }
    *ret = pool;
    return 0;
}

/* The folder of the pool's files, which import does not find by itself; none for devices. */
static int find_search(struct pool *pool, struct problem *why)
{
    const char *const argv[] = { "zpool", "status", pool->pool, NULL };
    char *to = pool->with.made->search;
    if (zfs_tool(pool, argv, TOOL_DEADLINE, why))
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
    if (zfs_tool(pool, argv, POOL_DEADLINE, why))
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
    char mark[ANSWER];
    struct identity identity;
    size_t n = 2;
    const struct texts *properties = pool->with.properties;
    if (pool->with.cycle == CYCLE_IMPORT && pool_is_ours_alone(pool, why))
        return -1;
    mark_option(pool, mark);
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
    if (zfs_tool(pool, argv, TOOL_DEADLINE, why))
        return -1;
    int found = zfs_look(pool, pool->parent, &identity, why);
    if (found == 0)
        return problem_set(why, PROBLEM_IO_FAILED, "%s was made and is not there", pool->parent);
    if (found < 0)
        return -1;
    memcpy(pool->with.made->parent, identity.guid, sizeof identity.guid);
    bool goes = pool->with.cycle == CYCLE_IMPORT || pool->with.cycle == CYCLE_REBOOT;
    return goes ? find_search(pool, why) : 0;
}

static int create(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[DATASET], mark[ANSWER];
    zfs_child(pool, number, name);
    mark_option(pool, mark);
    const char *const argv[] = { "zfs", "create", "-o", mark, name, NULL };
    return spawn_run_until(pool->with.stop, argv, TOOL_DEADLINE, NULL, 0, why);
}

/* Children are mounted below where their parent is. */
static int place(struct pool *pool, char root[SHARE_ROOT], char *prefix, struct problem *why)
{
    char point[ANSWER];
    const char *const argv[] = {
        "zfs", "get", "-H", "-o", "value", "mountpoint", pool->parent, NULL
    };
    if (spawn_run_until(pool->with.stop, argv, TOOL_DEADLINE, point, sizeof point, why))
        return -1;
    point[strcspn(point, "\n")] = '\0';
    if (point[0] != '/' || point[strcspn(point, " \t\"'\\#:,;{}")])
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "what is mounted at %.200s cannot be shared: it must be a path, without "
                           "spaces, quotes and any of \\ # : , ; { }",
                           point);
    snprintf(root, SHARE_ROOT, "%s", point);
    *prefix = 'f';
    return 0;
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
        zfs_child(pool, i, names[n]);
        argv[7 + n] = names[n];
    }
    if (zfs_tool(pool, argv, TOOL_DEADLINE, why))
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
    if (zfs_tool(pool, argv, POOL_DEADLINE, why))
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
    return zfs_tool(pool, search[0] ? there : anywhere, POOL_DEADLINE, why);
}

static int cycle_pool(struct pool *pool, struct problem *why)
{
    const char *const export[] = { "zpool", "export", pool->pool, NULL };
    if (zfs_tool(pool, export, POOL_DEADLINE, why))
        return -1;
    return import(pool, why);
}

static int each(struct pool *pool, uint64_t n, const char *verb, struct problem *why)
{
    char name[DATASET];
    for (uint64_t i = 0; i < n; i++) {
        zfs_child(pool, i, name);
        const char *const argv[] = { "zfs", verb, name, NULL };
        if (spawn_run_until(pool->with.stop, argv, TOOL_DEADLINE, NULL, 0, why))
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

/* A run that died while the pool was exported left it so. */
int zfs_bring_back(struct pool *pool, struct problem *why)
{
    const char *const look[] = { "zpool", "list", "-H", "-o", "name", pool->pool, NULL };
    struct problem words = { 0 };
    if (zfs_tool(pool, look, TOOL_DEADLINE, &words) == 0)
        return 0;
    if (strstr(words.message, "no such pool"))
        return import(pool, why) ? -1 : 1;
    *why = words;
    return -1;
}

/* How many of ours are mounted, or are not to be. */
static int count_mounted(struct pool *pool, uint64_t *ret, struct problem *why)
{
    const char *const argv[] = { "zfs", "list", "-H", "-o", "mounted", "-r", pool->parent, NULL };
    uint64_t n = 0;
    if (zfs_tool(pool, argv, POOL_DEADLINE, why))
        return -1;
    for (const char *line = strchr(pool->output, '\n'); line; line = strchr(line + 1, '\n'))
        n += text_starts(line + 1, "yes"); /* after the parent's */
    *ret = n;
    return 0;
}

/* What the pool's services do at boot, where they have not: import it, and mount what is to be mounted. */
static int boot(struct pool *pool, uint64_t n, uint64_t *ret_brought_back, struct problem *why)
{
    char name[DATASET];
    struct identity parent;
    uint64_t mounted = n;
    int imported = zfs_bring_back(pool, why);
    int found = imported < 0 ? -1 : zfs_look(pool, pool->parent, &parent, why);
    if (found < 0)
        return -1;
    if (found == 0 || strcmp(parent.guid, pool->with.made->parent) != 0)
        return problem_set(why, PROBLEM_CONFLICT, "%s is not what the run made", pool->parent);
    if (pool->with.mounted && count_mounted(pool, &mounted, why))
        return -1;
    for (uint64_t i = 0; mounted < n && i < n; i++) {
        const char *const argv[] = { "zfs", "mount", name, NULL };
        struct problem words = { 0 };
        zfs_child(pool, i, name);
        if (zfs_tool(pool, argv, TOOL_DEADLINE, &words) &&
            !strstr(words.message, "already mounted")) {
            *why = words;
            return -1;
        }
    }
    *ret_brought_back = imported ? n : n - mounted;
    return 0;
}

const struct provisioner provision_zfs = {
    .name = "zfs",
    .cycles = 1 << CYCLE_REMOUNT | 1 << CYCLE_IMPORT | 1 << CYCLE_REBOOT,
    .demolishers = 4, /* most of it is the start of a program */
    .open = open_pool,
    .close = close_pool,
    .make_parent = make_parent,
    .create = create,
    .identify = identify,
    .place = place,
    .list = list,
    .cycle = cycle,
    .boot = boot,
    .destroy = zfs_destroy,
    .clean = zfs_clean,
};
