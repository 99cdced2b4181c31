/* A lock that is given back where its name goes out of scope. */
#pragma once
#include "engine/base/attr.h"

#include <pthread.h>

static inline pthread_mutex_t *lock_take(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    return mutex;
}
static inline void lock_give(pthread_mutex_t **mutex)
{
    pthread_mutex_unlock(*mutex);
}
#define LOCK_NAME_(line) lock_at_##line
#define LOCK_NAME(line)  LOCK_NAME_(line)
#define scoped_lock(mutex) \
    scoped(lock_give) unused pthread_mutex_t *LOCK_NAME(__LINE__) = lock_take(mutex)
