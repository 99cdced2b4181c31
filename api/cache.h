/* Answers that may be sent again: of finished jobs, and for a moment those of running ones. Bounded
 * in bytes and number; any thread. Who may read them is settled before anybody asks here. */
#pragma once
#include "api/reply.h"

struct cache;
struct kept {
    atomic_uint uses;
    struct reply *reply;
    _Atomic(void *) wire;          /* what the server made of it for sending; the first one stays */
    void (*wire_free)(void *wire); /* the cache's */
    nsec fresh_until;              /* monotonic; the cache's lock */
    char *key;
    size_t cost;
    struct kept *next;          /* in its bucket */
    struct kept *newer, *older; /* by use */
};

must_check int cache_new(void (*wire_free)(void *wire), struct cache **ret, struct problem *why);
struct cache *cache_free(struct cache *cache);
/* NULL: nothing. *ret_fresh false: ask whether the job's revision is still the same, then
 * cache_refresh or cache_forget. The caller drops what it got. */
struct kept *cache_find(struct cache *cache, const char *key, bool *ret_fresh);
void cache_refresh(struct cache *cache, struct kept *kept, uint64_t stamp);
/* Changes whenever a job is told to have changed: taken before the store is asked for an answer. */
uint64_t cache_stamp(struct cache *cache);
/* Keeps a sealed answer for its reply->keep; not fresh if the stamp has changed since. Returns it
 * counted for the caller, or NULL. */
struct kept *cache_add(struct cache *cache, const char *key, struct reply *reply, uint64_t stamp);
/* The job changed: its answers are no longer fresh. 0: all of them. */
void cache_stale(struct cache *cache, job_id job);
struct kept *kept_drop(struct kept *kept); /* NULL */
