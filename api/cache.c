#include "api/cache.h"

#include "engine/base/lock.h"

enum {
    CACHE_BUCKETS = 1024,
    CACHE_ENTRIES = 2048,
    CACHE_BYTES = 32 * 1024 * 1024, /* some 500 charts, or 10,000 jobs */
};

struct cache {
    void (*wire_free)(void *wire);
    atomic_uint_fast64_t stamp; /* changed under the lock, read without it */
    pthread_mutex_t lock;
    struct kept *bucket[CACHE_BUCKETS]; /* lock, and all below */
    struct kept *newest, *oldest;
    size_t entries, bytes;
};

int cache_new(void (*wire_free)(void *wire), struct cache **ret, struct problem *why)
{
    struct cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return problem_memory(why);
    cache->wire_free = wire_free;
    pthread_mutex_init(&cache->lock, NULL);
    *ret = cache;
    return 0;
}

struct kept *kept_drop(struct kept *kept)
{
    if (kept && atomic_fetch_sub_explicit(&kept->uses, 1, memory_order_acq_rel) == 1) {
        void *wire = atomic_load(&kept->wire);
        if (wire)
            kept->wire_free(wire);
        reply_drop(kept->reply);
        free(kept->key);
        free(kept);
    }
    return NULL;
}

static struct kept **cell_of(struct cache *cache, const char *key)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = key; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    struct kept **cell = &cache->bucket[(hash ^ hash >> 32) % CACHE_BUCKETS];
    while (*cell && strcmp((*cell)->key, key) != 0)
        cell = &(*cell)->next;
    return cell;
}

static void unlink_use(struct cache *cache, struct kept *kept)
{
    *(kept->newer ? &kept->newer->older : &cache->newest) = kept->older;
    *(kept->older ? &kept->older->newer : &cache->oldest) = kept->newer;
}

static void link_use(struct cache *cache, struct kept *kept)
{
    kept->newer = NULL;
    kept->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = kept;
    cache->newest = kept;
}

static void drop_cell(struct cache *cache, struct kept **cell)
{
    struct kept *kept = *cell;
    *cell = kept->next;
    unlink_use(cache, kept);
    cache->entries--;
    cache->bytes -= kept->cost;
    kept_drop(kept);
}

struct cache *cache_free(struct cache *cache)
{
    if (!cache)
        return NULL;
    while (cache->oldest)
        drop_cell(cache, cell_of(cache, cache->oldest->key));
    pthread_mutex_destroy(&cache->lock);
    free(cache);
    return NULL;
}

struct kept *cache_find(struct cache *cache, const char *key, bool *ret_fresh)
{
    nsec now = clock_monotonic();
    scoped_lock(&cache->lock);
    struct kept *kept = *cell_of(cache, key);
    if (!kept)
        return NULL;
    if (kept != cache->newest) {
        unlink_use(cache, kept);
        link_use(cache, kept);
    }
    atomic_fetch_add_explicit(&kept->uses, 1, memory_order_relaxed);
    *ret_fresh = now < kept->fresh_until;
    return kept;
}

uint64_t cache_stamp(struct cache *cache)
{
    return atomic_load(&cache->stamp);
}

void cache_refresh(struct cache *cache, struct kept *kept, uint64_t stamp)
{
    nsec now = clock_monotonic();
    scoped_lock(&cache->lock);
    if (atomic_load(&cache->stamp) == stamp)
        kept->fresh_until = now + kept->reply->keep;
}

struct kept *cache_add(struct cache *cache, const char *key, struct reply *reply, uint64_t stamp)
{
    struct kept *kept = calloc(1, sizeof *kept);
    char *copy = strdup(key);
    if (!kept || !copy) { /* then it is simply not kept */
        free(kept);
        free(copy);
        return NULL;
    }
    atomic_init(&kept->uses, 2); /* the cache's and the caller's */
    kept->reply = reply_hold(reply);
    kept->key = copy;
    kept->wire_free = cache->wire_free;
    kept->cost = sizeof *kept + sizeof *reply + strlen(key) + reply->n;
    nsec now = clock_monotonic();

    scoped_lock(&cache->lock);
    kept->fresh_until = atomic_load(&cache->stamp) == stamp ? now + reply->keep : 0;
    struct kept **cell = cell_of(cache, key);
    if (*cell)
        drop_cell(cache, cell);
    while (cache->oldest &&
           (cache->entries >= CACHE_ENTRIES || cache->bytes + kept->cost > CACHE_BYTES))
        drop_cell(cache, cell_of(cache, cache->oldest->key));
    cell = cell_of(cache, key);
    kept->next = *cell;
    *cell = kept;
    link_use(cache, kept);
    cache->entries++;
    cache->bytes += kept->cost;
    return kept;
}

void cache_stale(struct cache *cache, job_id job)
{
    scoped_lock(&cache->lock);
    atomic_fetch_add(&cache->stamp, 1);
    for (struct kept *kept = cache->newest; kept; kept = kept->older)
        if (job == 0 || kept->reply->job == job)
            kept->fresh_until = 0;
}
