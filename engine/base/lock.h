/* Locks that end with their block, and condition waits with a deadline. */
#pragma once
#include "engine/base/attr.h"
#include "engine/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static inline pthread_mutex_t *lock_taken(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    return lock;
}
static inline void unlock_cell(pthread_mutex_t **lock)
{
    pthread_mutex_unlock(*lock);
}
/* Holds `lock` until the end of the block; a block may hold several. */
#define LOCK_NAME_(line) lock_at_##line
#define LOCK_NAME(line)  LOCK_NAME_(line)
#define scoped_lock(lock) \
    scoped(unlock_cell) pthread_mutex_t *LOCK_NAME(__LINE__) unused = lock_taken(lock)

/* A condition whose deadlines are clock_monotonic()'s. */
static inline void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}
/* false: the deadline has passed. */
static inline bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, nsec deadline)
{
    struct timespec at = { .tv_sec = deadline / NSEC_PER_SEC, .tv_nsec = deadline % NSEC_PER_SEC };
    return pthread_cond_timedwait(cond, lock, &at) != ETIMEDOUT;
}
