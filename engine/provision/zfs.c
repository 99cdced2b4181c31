/* Datasets below one that the run makes, each known again by its guid, or, before that is told, by the run's mark,
 * a property that it is made with. Everything is done by zfs(8) and zpool(8), as an administrator would: OpenZFS
 * or zfs-fuse. Nothing is ever destroyed with what is below it: what somebody puts there stays. */
#include "engine/provision/provisioner.h"

#include "engine/base/lock.h"
#include "engine/base/spawn.h"
#include "engine/base/text.h"

#include <fcntl.h>
#include <poll.h>

#define TOOL_DEADLINE (60 * NSEC_PER_SEC)
#define POOL_DEADLINE (600 * NSEC_PER_SEC) /* of the whole pool: with thousands to mount, minutes */
enum {
    DATASET = 256, /* the longest name that ZFS takes */
    AT_ONCE = 200, /* datasets named in one call */
    BUSY_TRIES = 10,
    ANSWER = 1024,   /* what a tool says of one dataset */
    LOOK_AHEAD = 10, /* a program is started for each look, and none is older than LOOK_AGE */
    OUTPUT = 8 << 20 /* 20,000 datasets of the longest names, two lines each */
};
#define LOOK_AGE NSEC_PER_SEC
#define MARK \
    "plimsoll:run" /* a property, set as a dataset is made; what is made by others below inherits it */
static const char known_by[] = "guid," MARK;
extern const struct provisioner provision_zfs;

/* What a dataset is known by. */
struct identity {
    char guid[IDENTITY];
    bool marked; /* it was made with our mark */
};

/* Identities that one call has told of the next few: each is used once, and soon. */
struct ahead {
    pthread_mutex_t lock;
    uint64_t first;                 /* lock, as all that follows */
    nsec at;                        /* when it was asked */
    struct identity of[LOOK_AHEAD]; /* of number first, ...; without a guid: not known */
};

struct pool {
    struct provision with;
    char parent[DATASET], pool[DATASET];
    char *output;
    struct ahead ahead;
};

static struct pool *close_pool(struct pool *pool)
{
    if (!pool)
        return NULL;
    pthread_mutex_destroy(&pool->ahead.lock);
    free(pool->output);
    free(pool);
    return NULL;
}

static int run_tool(struct pool *pool, const char *const *argv, nsec deadline, struct problem *why)
{
    return spawn_run_until(pool->with.stop, argv, deadline, pool->output, OUTPUT, why);
}

static void mark_of(const struct pool *pool, char mark[IDENTITY])
{
    snprintf(mark, IDENTITY, "%016llx", (unsigned long long)pool->with.made->mark);
}

static void mark_option(const struct pool *pool, char option[ANSWER])
{
    char mark[IDENTITY];
    mark_of(pool, mark);
    snprintf(option, ANSWER, MARK "=%s", mark);
}

static void child(const struct pool *pool, uint64_t number, char name[DATASET])
{
    char last[FILESYSTEM_NAME];
    filesystem_name(last, 'f', number);
    snprintf(name, DATASET, "%.200s/%s", pool->parent, last);
}

static bool is_absent(const struct problem *words)
{
    return strstr(words->message, "does not exist") || strstr(words->message, "no such pool");
}

/* One line of `zfs get -o property,value,source guid,MARK`, less its end. */
static void identity_take(const struct pool *pool, const char *property, const char *value,
                          const char *source, struct identity *identity)
{
    char mark[IDENTITY];
    mark_of(pool, mark);
    if (strcmp(property, "guid") == 0)
        snprintf(identity->guid, sizeof identity->guid, "%.*s", IDENTITY - 1, value);
    else if (strcmp(property, MARK) == 0)
        identity->marked = strcmp(value, mark) == 0 && strcmp(source, "local") == 0;
}

/* Cuts a line at its tabs: how many fields. */
static size_t cut(char *line, char *fields[], size_t most)
{
    size_t n = 0;
    char *rest = NULL;
    for (char *field = strtok_r(line, "\t", &rest); field && n < most;
         field = strtok_r(NULL, "\t", &rest))
        fields[n++] = field;
    return n;
}

/* 1; 0 when there is none; -1. Not through pool->output: several do it at once. */
static int look(struct pool *pool, const char *dataset, struct identity *ret, struct problem *why)
{
    const char *const argv[] = { "zfs",    "get",   "-H", "-p", "-o", "property,value,source",
                                 known_by, dataset, NULL };
    char output[ANSWER], *fields[3], *rest = NULL;
    struct problem words = { 0 };
    struct identity identity = { 0 };
    if (spawn_run_until(pool->with.stop, argv, TOOL_DEADLINE, output, sizeof output, &words)) {
        if (is_absent(&words))
            return 0;
        *why = words;
        return -1;
    }
    for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (cut(line, fields, COUNT_OF(fields)) == COUNT_OF(fields))
            identity_take(pool, fields[0], fields[1], fields[2], &identity);
    if (!identity.guid[0])
        return problem_set(why, PROBLEM_IO_FAILED, "zfs tells no guid of %s", dataset);
    *ret = identity;
    return 1;
}

/* Whether it is what the run made: by the guid that was told, or by the mark. */
static bool is_made(const struct identity *identity, const char *known)
{
    return known[0] ? strcmp(known, identity->guid) == 0 : identity->marked;
}

/* Whether the tool works for us, and the target's dataset is there. */
static int ask(struct pool *pool, struct problem *why)
{
    struct identity identity;
    const char *dataset = pool->with.target->dataset;
    int found = look(pool, dataset, &identity, why);
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
    if (!with->cleaning && ask(pool, why)) {
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
    if (run_tool(pool, argv, TOOL_DEADLINE, why))
        return -1;
    int found = look(pool, pool->parent, &identity, why);
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
    child(pool, number, name);
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

/* Until a mount has gone or come, anywhere, or the time is over: what keeps a dataset busy is mostly that its mount
 * is still being let go. */
static void wait_for_mounts(int mounts, int milliseconds)
{
    struct pollfd wait = { .fd = mounts, .events = POLLPRI };
    poll(&wait, 1, milliseconds);
}

/* 0: it is gone; 1: something that is not ours lies below it; -1. One that is in use may be let go in a moment. */
static int destroy_dataset(struct pool *pool, const char *name, struct problem *why)
{
    const char *const argv[] = { "zfs", "destroy", name, NULL };
    scoped_fd int mounts = -1;
    for (int tries = 1;; tries++) {
        char output[ANSWER];
        struct problem words = { 0 };
        if (spawn_run_until(pool->with.stop, argv, TOOL_DEADLINE, output, sizeof output, &words) ==
                0 ||
            strstr(words.message, "does not exist"))
            return 0;
        if (strstr(words.message, "has children") || strstr(words.message, "dependent clones"))
            return 1;
        if (tries == BUSY_TRIES || !strstr(words.message, "busy")) {
            *why = words;
            return -1;
        }
        if (mounts < 0)
            mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        wait_for_mounts(mounts, 20 * tries);
    }
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

/* Asks of `number` and the next ones at once; nothing is known when one of them is not there. */
static void ask_ahead(struct pool *pool, uint64_t number)
{
    struct ahead *ahead = &pool->ahead;
    char names[LOOK_AHEAD][DATASET], output[LOOK_AHEAD * 2 * (DATASET + 128)], *fields[4], *rest;
    const char *argv[LOOK_AHEAD + 9] = { "zfs",   "get", "-H",
                                         "-p",    "-o",  "name,property,value,source",
                                         known_by };
    struct problem words = { 0 };
    uint64_t left = pool->with.made->claimed - number, n = 0;
    for (; n < LOOK_AHEAD && n < left; n++) {
        child(pool, number + n, names[n]);
        argv[7 + n] = names[n];
    }
    memset(ahead->of, 0, sizeof ahead->of);
    ahead->first = number;
    ahead->at = clock_monotonic();
    if (spawn_run_until(pool->with.stop, argv, TOOL_DEADLINE, output, sizeof output, &words))
        return;
    for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        uint64_t which = cut(line, fields, 4) == 4 ? number_of(pool, fields[0]) : UINT64_MAX;
        if (which >= number && which < number + n)
            identity_take(pool, fields[1], fields[2], fields[3], &ahead->of[which - number]);
    }
}

/* As look(), of a number. */
static int look_ahead(struct pool *pool, uint64_t number, struct identity *ret, struct problem *why)
{
    struct ahead *ahead = &pool->ahead;
    char name[DATASET];
    {
        scoped_lock(&ahead->lock);
        bool old = clock_monotonic() - ahead->at > LOOK_AGE;
        if (old || number < ahead->first || number >= ahead->first + LOOK_AHEAD)
            ask_ahead(pool, number);
        struct identity *known = &ahead->of[number - ahead->first];
        if (known->guid[0]) {
            *ret = *known;
            known->guid[0] = '\0';
            return 1;
        }
    }
    child(pool, number, name);
    return look(pool, name, ret, why);
}

static int destroy(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[DATASET];
    struct identity identity;
    int found = look_ahead(pool, number, &identity, why);
    if (found <= 0)
        return found;
    child(pool, number, name);
    if (!is_made(&identity, ledger_identity(pool->with.made, number)))
        return 1;
    return destroy_dataset(pool, name, why);
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

/* How many of ours are mounted, or are not to be. */
static int count_mounted(struct pool *pool, uint64_t *ret, struct problem *why)
{
    const char *const argv[] = { "zfs", "list", "-H", "-o", "mounted", "-r", pool->parent, NULL };
    uint64_t n = 0;
    if (run_tool(pool, argv, POOL_DEADLINE, why))
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
    uint64_t mounted = n;
    if (bring_pool_back(pool, why) || (pool->with.mounted && count_mounted(pool, &mounted, why)))
        return -1;
    for (uint64_t i = 0; mounted < n && i < n; i++) {
        const char *const argv[] = { "zfs", "mount", name, NULL };
        struct problem words = { 0 };
        child(pool, i, name);
        if (run_tool(pool, argv, TOOL_DEADLINE, &words) &&
            !strstr(words.message, "already mounted")) {
            *why = words;
            return -1;
        }
    }
    *ret_brought_back = n - mounted;
    return 0;
}

/* What `zfs get -r` told of one dataset or snapshot below the parent. */
struct found {
    char *name; /* in pool->output */
    struct identity identity;
};

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* Ours goes into `ours`, which has room; all else below the parent is told. */
static void sort_out(const struct pool *pool, const struct found *found, struct run *run,
                     uint64_t *ours, uint64_t *n)
{
    size_t parent = strlen(pool->parent);
    if (!found->name || strcmp(found->name, pool->parent) == 0)
        return;
    const char *shown = strlen(found->name) > parent ? found->name + parent + 1 : found->name;
    uint64_t number = number_of(pool, found->name);
    if (number < pool->with.made->claimed && !run_spares(run, shown) &&
        is_made(&found->identity, ledger_identity(pool->with.made, number)))
        ours[(*n)++] = number;
    else
        run_foreign(run, shown);
}

/* The numbers of what is there and ours; tells what is not, snapshots too. */
static int take_stock(struct pool *pool, struct run *run, uint64_t **ret, uint64_t *ret_n,
                      struct problem *why)
{
    const char *const argv[] = {
        "zfs",    "get",        "-H", "-p", "-r", "-o", "name,property,value,source",
        known_by, pool->parent, NULL
    };
    struct found found = { 0 };
    char *fields[4], *rest = NULL;
    uint64_t n = 0, lines = 1;
    if (run_tool(pool, argv, POOL_DEADLINE, why))
        return -1;
    for (const char *p = pool->output; (p = strchr(p, '\n')); p++)
        lines++;
    scoped_free uint64_t *ours = calloc(lines, sizeof *ours);
    if (!ours)
        return problem_memory(why);
    for (char *line = strtok_r(pool->output, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (cut(line, fields, COUNT_OF(fields)) != COUNT_OF(fields))
            continue;
        if (!found.name || strcmp(found.name, fields[0]) != 0) {
            sort_out(pool, &found, run, ours, &n);
            found = (struct found){ .name = fields[0] };
        }
        identity_take(pool, fields[1], fields[2], fields[3], &found.identity);
    }
    sort_out(pool, &found, run, ours, &n);
    qsort(ours, n, sizeof *ours, compare_numbers);
    *ret = steal(&ours);
    *ret_n = n;
    return 0;
}

/* What is ours goes one by one, and then the parent; anything else below it keeps it. */
static int clean(struct pool *pool, struct run *run, struct problem *why)
{
    struct identity parent;
    scoped_free uint64_t *ours = NULL, *later = NULL;
    struct numbers numbers = { 0 };
    if (bring_pool_back(pool, why))
        return -1;
    int found = look(pool, pool->parent, &parent, why);
    if (found <= 0)
        return found;
    if (!is_made(&parent, pool->with.made->parent)) {
        run_foreign(run, pool->with.name);
        return 0;
    }
    if (take_stock(pool, run, &ours, &numbers.n, why))
        return -1;
    numbers.at = ours;
    if (provision_destroy_all(&provision_zfs, pool, &numbers, 'f', run, why))
        return -1;
    found = destroy_dataset(pool, pool->parent, why);
    if (found > 0) /* also what came since */
        return take_stock(pool, run, &later, &numbers.n, why);
    return found;
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
    .destroy = destroy,
    .clean = clean,
};
