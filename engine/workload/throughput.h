/* Private to the files throughput*.c and their tests: the parameters, where each lane's records lie, and what
 * stands in them. */
#pragma once
#include "engine/base/clock.h"
#include "engine/io/backend.h"
#include "engine/lane.h"
#include "engine/workload/scatter.h"

#include <stdint.h>

enum throughput_layout { LAYOUT_OWN, LAYOUT_SEGMENTS, LAYOUT_INTERLEAVED };
enum throughput_sync { MAKE_STABLE_NOT, MAKE_STABLE_DATA, MAKE_STABLE_FULL };
enum throughput_sync_at { SYNC_AT_END, SYNC_AT_RECORD };
enum throughput_cache { CACHE_AS_LEFT, CACHE_EMPTIED };
enum throughput_ladder { LADDER_NONE, LADDER_THREADS, LADDER_RECORD, LADDER_BOTH };
enum throughput_operation { /* bit numbers of `operations`, in the order in which they run */
                            DO_WRITE,
                            DO_REWRITE,
                            DO_READ,
                            DO_REREAD,
                            DO_RANDOM_READ,
                            DO_RANDOM_WRITE,
                            DO_MIXED,
                            DO_BACKWARD_READ,
                            DO_STRIDE_READ,
                            DO_COUNT,
};

struct throughput {
    uint64_t file_bytes, record_bytes, threads;
    int layout;          /* enum throughput_layout */
    uint64_t operations; /* bits, 1 << enum throughput_operation */
    uint64_t read_percent, stride;
    int backend; /* of io_backend_names */
    uint64_t queue_depth;
    bool direct;
    int sync, sync_at; /* enum throughput_sync, throughput_sync_at */
    int cache;         /* enum throughput_cache */
    nsec max_seconds, interval;
    bool verify;
    uint64_t compressible_percent;
    uint64_t rate_limit; /* bytes/s of all lanes together; 0: none */
    uint64_t seed;
    nsec patience;
    int ladder; /* enum throughput_ladder */
};

static inline bool operation_reads(enum throughput_operation operation)
{
    return operation != DO_WRITE && operation != DO_REWRITE && operation != DO_RANDOM_WRITE;
}
static inline bool operation_writes(enum throughput_operation operation)
{
    return !operation_reads(operation) || operation == DO_MIXED;
}

/* --- files: f0000000000 for all, or one of each lane --- */

enum { DATA_DIGITS = 10, DATA_NAME = 16, DATA_BLOCK = 4096, DATA_SECTOR = 512 };

void data_name(char name[DATA_NAME], uint64_t number);
static inline uint64_t data_files(const struct throughput *with)
{
    return with->layout == LAYOUT_OWN ? with->threads : 1;
}
/* Of each lane's part. */
static inline uint64_t data_records(const struct throughput *with)
{
    uint64_t lanes = with->layout == LAYOUT_OWN ? 1 : with->threads;
    return with->file_bytes / with->record_bytes / lanes;
}
/* Of record i of a lane. */
static inline uint64_t data_offset(const struct throughput *with, unsigned lane, uint64_t i)
{
    if (with->layout == LAYOUT_SEGMENTS)
        i += lane * data_records(with);
    else if (with->layout == LAYOUT_INTERLEAVED)
        i = i * with->threads + lane;
    return i * with->record_bytes;
}

/* --- the order in which a lane goes over its records, each once --- */

struct order {
    enum throughput_operation operation;
    uint64_t n, done;
    uint64_t at, stride, pass; /* stride-read */
    struct scatter scatter;    /* random ones */
};

void order_init(struct order *order, const struct throughput *with,
                enum throughput_operation operation, unsigned lane, uint64_t n);
static inline uint64_t order_left(const struct order *order)
{
    return order->n - order->done;
}
/* `operation` is the order's own; where the compiler knows it, the rest falls away. */
static inline __attribute__((always_inline)) uint64_t order_next_as(
    enum throughput_operation operation, struct order *order)
{
    uint64_t i = order->done++;
    switch (operation) {
    case DO_RANDOM_READ:
    case DO_RANDOM_WRITE:
    case DO_MIXED:
        return scatter_of(&order->scatter, i);
    case DO_BACKWARD_READ:
        return order->n - 1 - i;
    case DO_STRIDE_READ:
        i = order->at;
        order->at += order->stride;
        if (order->at >= order->n)
            order->at = ++order->pass;
        return i;
    default:
        return i;
    }
}
static inline uint64_t order_next(struct order *order)
{
    return order_next_as(order->operation, order);
}

/* --- what stands in the records --- */

/* Without `verify`: noise, in which a word of each block is another one in every block ever written. With it,
 * each block says at which offset, by which seed and in which operation it was written, and all its other
 * words follow from these. The last compressible_percent of each block are zero. */
struct content {
    uint64_t seed, key; /* key: of the seed and the file */
    size_t random;      /* bytes of a block that are not zero */
    uint64_t code[DO_COUNT];
};

struct mismatch {
    uint64_t offset;
    uint8_t expected, found;
};

void content_init(struct content *content, const struct throughput *with, uint64_t file);
/* Noise and zeros, before any clock runs. */
void content_noise(const struct content *content, char *data, size_t n, uint64_t salt);
static inline void content_stamp(const struct content *content, char *data, size_t n,
                                 uint64_t offset, enum throughput_operation operation)
{
    if (content->random < sizeof content->key)
        return;
    uint64_t stamp = content->key + offset + (uint64_t)operation;
    for (size_t i = 0; i < n; i += DATA_BLOCK) {
        uint64_t word = (stamp + i) * UINT64_C(0x9e3779b97f4a7c15);
        memcpy(data + i, &word, sizeof word);
    }
}
void content_fill(const struct content *content, char *data, size_t n, uint64_t offset,
                  enum throughput_operation operation);
/* Whether the data are what any operation wrote there. */
bool content_check(const struct content *content, const char *data, size_t n, uint64_t offset,
                   struct mismatch *ret);

/* --- the lanes' work --- */

struct site {
    const struct throughput *with;
    const struct io_backend *backend;
    struct io_options options; /* without what is a lane's own */
    struct io_session *meter;  /* asks what the target has; NULL: its folder tells it */
    uint64_t *made; /* of each lane: its records in place, from the first; its own to write */
    enum throughput_operation operation;
};

enum {
    BUFFERS_LEAST = 256 << 10
}; /* of a lane, in turn: the same data would be found again close by */

lane_fn throughput_lane;
