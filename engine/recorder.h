/* Brings the lanes' samples into one series, ordered by `at`, and writes it to the journal. */
#pragma once
#include "engine/crew.h"
#include "engine/slowdown.h"

struct recorder {
    struct journal *journal;
    struct crew *crew;
    struct lane *lanes;
    unsigned lanes_n;
    struct phase_total *total; /* ops, bytes and errors so far; one of the first two is the load */
    bool counts_bytes;         /* then the load is the bytes */

    struct slowdown slowdown;
    unsigned *heap; /* lanes with a sample that may be written, the oldest first */
    unsigned heap_n;
    size_t n;
    struct sample group[SAMPLE_GROUP];
};

must_check int recorder_new(struct journal *journal, struct crew *crew, struct lane *lanes,
                            unsigned lanes_n, struct phase_total *total, struct recorder **ret,
                            struct problem *why);
struct recorder *recorder_free(struct recorder *recorder);

enum drain { DRAIN_SOME, DRAIN_ALL };
/* Writes what is in the rings: all of it when the lanes have ended, otherwise up to the moment before
 * which no sample can be missing. The rings are emptied even if the journal cannot be written. */
must_check int recorder_drain(struct recorder *recorder, enum drain drain, struct problem *why);
