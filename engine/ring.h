/* Samples on their way from one lane to the recorder: one writer, one reader, no lock. A full ring
 * makes its lane wait before its next batch, outside of every clock; no sample is ever dropped. */
#pragma once
#include "engine/sample.h"

#include <stdatomic.h>
#include <stdbool.h>

struct ring {
    struct sample *slots;
    uint64_t mask;                      /* slots - 1; their number is a power of two */
    _Alignas(64) _Atomic uint64_t head; /* written so far: by the lane */
    _Alignas(64) _Atomic uint64_t tail; /* read so far: by the recorder */
};

/* For the lane. */
static inline uint64_t ring_used(struct ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_relaxed) -
           atomic_load_explicit(&ring->tail, memory_order_acquire);
}
static inline bool ring_full(struct ring *ring)
{
    return ring_used(ring) > ring->mask;
}
static inline void ring_push(struct ring *ring, const struct sample *sample)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    ring->slots[head & ring->mask] = *sample;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

/* For the recorder: the oldest sample, or NULL; it stays until ring_pop(). */
static inline const struct sample *ring_peek(struct ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail == atomic_load_explicit(&ring->head, memory_order_acquire))
        return NULL;
    return &ring->slots[tail & ring->mask];
}
static inline void ring_pop(struct ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
}
/* The `at` of the newest sample in it; `none` when it is empty. */
static inline nsec ring_newest(struct ring *ring, nsec none)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    if (head == atomic_load_explicit(&ring->tail, memory_order_relaxed))
        return none;
    return ring->slots[(head - 1) & ring->mask].at;
}
