#include "service/prober.h"

#include "engine/base/lock.h"
#include "engine/base/text.h"

#include <errno.h>

#define LOOK_EVERY   (10 * NSEC_PER_SEC)
#define SILENT_AFTER (10 * NSEC_PER_SEC) /* a look that takes longer: the place hangs */
#define STOP_WITHIN  (2 * NSEC_PER_SEC)  /* a thread that hangs in the kernel is left behind */

/* The targets of one reading, freed with the last that holds them. */
struct roster {
    struct targets targets; /* first: what prober_hold() gives away */
    unsigned holders;       /* lock */
};

struct probe {
    struct probe *next;
    struct prober *prober;
    struct roster *roster;
    const struct target *target;

    struct target_facts facts; /* lock */
    bool known;                /* lock */
    bool stop, again;          /* lock */
    nsec looking_since;        /* lock; 0: it does not look now */
};

struct prober {
    pthread_mutex_t lock;
    pthread_cond_t wake;   /* CLOCK_MONOTONIC */
    struct roster *roster; /* lock */
    struct probe *probes;  /* lock: of the present roster */
    unsigned threads;      /* lock: also those of earlier rosters */
    unsigned references;   /* lock: the owner and each thread; the last one frees it all */
};

/* ---- with the lock held ---- */

static void drop_roster(struct roster *roster)
{
    if (--roster->holders > 0)
        return;
    targets_done(&roster->targets);
    free(roster);
}

static struct probe *find(struct prober *prober, const char *name)
{
    for (struct probe *probe = prober->probes; probe; probe = probe->next)
        if (strcmp(probe->target->name, name) == 0)
            return probe;
    return NULL;
}

/* Returns whether this was the last reference. */
static bool drop_reference(struct prober *prober)
{
    return --prober->references == 0;
}

/* ---- a thread per target ---- */

static void destroy(struct prober *prober)
{
    pthread_cond_destroy(&prober->wake);
    pthread_mutex_destroy(&prober->lock);
    free(prober);
}

static void look(struct probe *probe)
{
    struct target_facts facts = { 0 };
    struct problem why = { 0 };
    if (target_probe(probe->target, &facts, &why) < 0) {
        facts = (struct target_facts){ 0 };
        snprintf(facts.reason, sizeof facts.reason, "%.*s", (int)sizeof facts.reason - 1,
                 why.message);
    }
    scoped_lock(&probe->prober->lock);
    probe->facts = facts;
    probe->known = true;
    probe->looking_since = 0;
    pthread_cond_broadcast(&probe->prober->wake);
}

/* false: it is to end. */
static bool wait_for_turn(struct probe *probe)
{
    struct prober *prober = probe->prober;
    nsec next = clock_monotonic() + LOOK_EVERY;
    scoped_lock(&prober->lock);
    while (!probe->stop && !probe->again)
        if (!cond_wait_until(&prober->wake, &prober->lock, next))
            break;
    probe->again = false;
    probe->looking_since = clock_monotonic();
    return !probe->stop;
}

static void *watch_target(void *arg)
{
    struct probe *probe = arg;
    struct prober *prober = probe->prober;
    do
        look(probe);
    while (wait_for_turn(probe));
    bool last;
    {
        scoped_lock(&prober->lock);
        drop_roster(probe->roster);
        prober->threads--;
        pthread_cond_broadcast(&prober->wake);
        last = drop_reference(prober);
    }
    free(probe);
    if (last)
        destroy(prober);
    return NULL;
}

/* With the lock held. */
static int add_probe(struct prober *prober, struct roster *roster, const struct target *target,
                     struct probe **list, struct problem *why)
{
    struct probe *probe = calloc(1, sizeof *probe);
    if (!probe)
        return problem_memory(why);
    *probe = (struct probe){ .prober = prober,
                             .roster = roster,
                             .target = target,
                             .next = *list,
                             .looking_since = clock_monotonic() };
    const struct probe *before = find(prober, target->name);
    if (before && before->known && before->target->kind == target->kind &&
        strcmp(target_place(before->target), target_place(target)) == 0) {
        probe->facts = before->facts;
        probe->known = true;
    }
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &attr, watch_target, probe);
    pthread_attr_destroy(&attr);
    if (error) {
        free(probe);
        return problem_errno(why, error, "cannot start a thread for target %s", target->name);
    }
    roster->holders++;
    prober->threads++;
    prober->references++;
    *list = probe;
    return 0;
}

/* With the lock held. The threads end by themselves; one that hangs does so when it comes back. */
static void retire(struct prober *prober, struct probe *list)
{
    for (struct probe *probe = list, *next; probe; probe = next) {
        next = probe->next;
        probe->stop = true;
    }
    pthread_cond_broadcast(&prober->wake);
}

int prober_reload(struct prober *prober, struct targets *targets, struct problem *why)
{
    struct roster *roster = calloc(1, sizeof *roster);
    if (!roster)
        return problem_memory(why);
    *roster = (struct roster){ .targets = *targets, .holders = 1 };
    struct probe *probes = NULL;
    scoped_lock(&prober->lock);
    for (size_t i = 0; i < targets->n; i++)
        if (add_probe(prober, roster, &roster->targets.at[i], &probes, why) < 0) {
            /* The threads already started hold a copy of the list, not the caller's. */
            retire(prober, probes);
            *targets = (struct targets){ 0 };
            drop_roster(roster);
            return -1;
        }
    *targets = (struct targets){ 0 };
    retire(prober, prober->probes);
    prober->probes = probes;
    if (prober->roster)
        drop_roster(prober->roster);
    prober->roster = roster;
    return 0;
}

int prober_start(struct targets *targets, struct prober **ret, struct problem *why)
{
    struct prober *prober = calloc(1, sizeof *prober);
    if (!prober)
        return problem_memory(why);
    pthread_mutex_init(&prober->lock, NULL);
    cond_init(&prober->wake);
    prober->references = 1;
    if (prober_reload(prober, targets, why) < 0) {
        prober_stop(prober);
        return -1;
    }
    *ret = prober;
    return 0;
}

/* ---- what is asked of it ---- */

const struct targets *prober_hold(struct prober *prober)
{
    scoped_lock(&prober->lock);
    prober->roster->holders++;
    return &prober->roster->targets;
}

void prober_release(struct prober *prober, const struct targets *targets)
{
    scoped_lock(&prober->lock);
    drop_roster((struct roster *)(uintptr_t)targets);
}

bool prober_facts(struct prober *prober, const char *name, struct target_facts *ret)
{
    scoped_lock(&prober->lock);
    const struct probe *probe = find(prober, name);
    if (!probe)
        return false;
    nsec silent = probe->looking_since ? clock_monotonic() - probe->looking_since : 0;
    if (!probe->known && silent < SILENT_AFTER)
        return false;
    *ret = probe->facts;
    if (silent >= SILENT_AFTER) {
        ret->usable = false;
        snprintf(ret->reason, sizeof ret->reason, "the filesystem has not answered for %.0f s",
                 seconds_of(silent));
    }
    return true;
}

void prober_look(struct prober *prober)
{
    scoped_lock(&prober->lock);
    for (struct probe *probe = prober->probes; probe; probe = probe->next)
        probe->again = true;
    pthread_cond_broadcast(&prober->wake);
}

struct prober *prober_stop(struct prober *prober)
{
    if (!prober)
        return NULL;
    bool last;
    {
        nsec deadline = clock_monotonic() + STOP_WITHIN;
        scoped_lock(&prober->lock);
        retire(prober, steal(&prober->probes));
        if (prober->roster)
            drop_roster(steal(&prober->roster));
        while (prober->threads > 0)
            if (!cond_wait_until(&prober->wake, &prober->lock, deadline))
                break;
        last = drop_reference(prober);
    }
    if (last)
        destroy(prober);
    return NULL;
}
