/* Clean-up number by number, by as many threads at once as the provisioner profits from. */
#include "engine/base/lock.h"
#include "engine/provision/provisioner.h"

#include <stdatomic.h>

enum { DEMOLISHERS_MOST = 8 };

struct demolition {
    const struct provisioner *with;
    struct pool *pool;
    const struct numbers *numbers;
    char prefix;
    _Atomic uint64_t next; /* of numbers */
    atomic_bool over;
    pthread_mutex_t lock;
    struct run *run;    /* lock */
    struct problem why; /* lock; of the first that failed */
};

static int demolish(struct demolition *all, uint64_t number, struct problem *why)
{
    char name[FILESYSTEM_NAME];
    filesystem_name(name, all->prefix, number);
    if (run_spares(all->run, name)) /* which nothing changes meanwhile */
        return 0;
    int foreign = all->with->destroy(all->pool, number, why);
    if (foreign < 0)
        return -1;
    scoped_lock(&all->lock);
    if (foreign)
        run_foreign(all->run, name);
    return run_removed(all->run, !foreign, why);
}

static void *demolisher(void *arg)
{
    struct demolition *all = arg;
    struct problem why = { 0 };
    while (!atomic_load(&all->over)) {
        uint64_t i = atomic_fetch_add(&all->next, 1);
        if (i >= all->numbers->n)
            break;
        if (demolish(all, all->numbers->at ? all->numbers->at[i] : i, &why)) {
            scoped_lock(&all->lock);
            atomic_store(&all->over, true);
            if (!all->why.code)
                all->why = why;
            break;
        }
    }
    return NULL;
}

int provision_destroy_all(const struct provisioner *with, struct pool *pool,
                          const struct numbers *numbers, char prefix, struct run *run,
                          struct problem *why)
{
    struct demolition all = {
        .with = with, .pool = pool, .numbers = numbers, .prefix = prefix, .run = run
    };
    pthread_t threads[DEMOLISHERS_MOST];
    unsigned n = 0;
    pthread_mutex_init(&all.lock, NULL);
    /* One is this thread itself; those that cannot be started are not missed. */
    while (n + 1 < with->demolishers && n + 1 < numbers->n && n < DEMOLISHERS_MOST &&
           pthread_create(&threads[n], NULL, demolisher, &all) == 0)
        n++;
    demolisher(&all);
    while (n > 0)
        pthread_join(threads[--n], NULL);
    pthread_mutex_destroy(&all.lock);
    if (!all.why.code)
        return 0;
    *why = all.why;
    return -1;
}
