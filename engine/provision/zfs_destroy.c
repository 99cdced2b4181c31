/* Datasets are known again by their guid, or, before that is told, by the run's mark, a property that they are made with.
 * Nothing is ever destroyed with what is below it: what somebody puts there stays. */
#include "engine/provision/zfs.h"

#include "engine/base/spawn.h"

#include <fcntl.h>
#include <poll.h>

enum { BUSY_TRIES = 10 };
#define LOOK_AGE NSEC_PER_SEC /* no identity is used that is older */
static const char known_by[] = "guid," MARK;

static bool is_absent(const struct problem *words)
{
    return strstr(words->message, "does not exist") || strstr(words->message, "no such pool");
}

/* One line of `zfs get -o property,value,source guid,MARK`, less its end. */
static void identity_take(const struct pool *pool, const char *property, const char *value,
                          const char *source, struct identity *identity)
{
    char mark[IDENTITY];
    zfs_mark(pool, mark);
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

/* Not through pool->output: several do it at once. */
int zfs_look(struct pool *pool, const char *dataset, struct identity *ret, struct problem *why)
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

/* The number of a child of the parent, by its name; UINT64_MAX: no name of ours. */
static uint64_t number_of(const struct pool *pool, const char *name)
{
    char made[DATASET];
    size_t n = strlen(pool->parent);
    if (strncmp(name, pool->parent, n) != 0 || name[n] != '/' || name[n + 1] != 'f')
        return UINT64_MAX;
    uint64_t number = strtoull(name + n + 2, NULL, 10);
    zfs_child(pool, number, made);
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
        zfs_child(pool, number + n, names[n]);
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

/* As zfs_look(), of a number. */
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
    zfs_child(pool, number, name);
    return zfs_look(pool, name, ret, why);
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

int zfs_destroy(struct pool *pool, uint64_t number, struct problem *why)
{
    char name[DATASET];
    struct identity identity;
    int found = look_ahead(pool, number, &identity, why);
    if (found <= 0)
        return found;
    zfs_child(pool, number, name);
    if (!is_made(&identity, ledger_identity(pool->with.made, number)))
        return 1;
    return destroy_dataset(pool, name, why);
}

/* --- clean-up --- */

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
    if (zfs_tool(pool, argv, POOL_DEADLINE, why))
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
int zfs_clean(struct pool *pool, struct run *run, struct problem *why)
{
    struct identity parent;
    scoped_free uint64_t *ours = NULL, *later = NULL;
    struct numbers numbers = { 0 };
    if (zfs_bring_back(pool, why) < 0)
        return -1;
    int found = zfs_look(pool, pool->parent, &parent, why);
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
