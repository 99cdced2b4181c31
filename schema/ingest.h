/* Inside this folder only: what an ingest holds in memory, and how it becomes rows. See ingest.c for
 * why every sample is stored once. */
#pragma once
#include "schema/chunk.h"

/* A phase, its totals so far, and its samples that do not fill a chunk yet. */
struct gather {
    struct phase_total total;
    uint64_t began_seq;
    char *histogram;        /* JSON text, once the phase ended */
    bool dirty;             /* the row in the database is older than `total` */
    size_t n, stored;       /* samples; the first `stored` are in small chunks already */
    uint64_t seq_first;     /* record of the first sample */
    uint64_t seq_unstored;  /* record of the first one that is not stored */
    uint64_t seq_last;      /* record of the last sample */
    struct sample *samples; /* SAMPLE_GROUP of them, while there are some */
};

/* A host sample until the commit: one a second must not hold a connection all the time. */
struct host_row {
    struct leg leg;
    struct host_sample sample;
};
enum { HOST_ROWS = 64 }; /* more, while catching up, are written at once */

/* host.c: one row, in the transaction that is open. */
must_check int host_put(struct connection *connection, job_id job, const struct leg *leg,
                        enum host_origin of, const struct host_sample *sample, struct problem *why);

struct ingest {
    struct store *store;
    job_id job;
    struct connection *connection; /* while a transaction is open */
    bool failed;                   /* what is in memory went further than the database */
    uint64_t seq_stored, seq;      /* last record: in the database, taken in */
    off_t offset;
    size_t phases_n;
    struct gather *phases;
    size_t host_n;
    struct host_row host[HOST_ROWS];
};

/* ---- gather.c: phases and their samples ---- */
void gather_done(struct gather *gather);
struct gather *gather_find(struct ingest *ingest, unsigned run, unsigned leg, const char *phase);
struct gather *gather_new(struct ingest *ingest, struct problem *why); /* NULL: no memory */
/* Makes sure that there is room for SAMPLE_GROUP samples. */
must_check int gather_room(struct gather *gather, struct problem *why);
/* All that is gathered becomes one chunk, and replaces its small ones. */
must_check int gather_seal(struct ingest *ingest, struct gather *gather, struct problem *why);
/* The same for every phase: no more samples will come to what is there. */
must_check int gather_seal_all(struct ingest *ingest, struct problem *why);
/* The phase's row, if it changed, and what is gathered but not stored as a small chunk. */
must_check int gather_store(struct ingest *ingest, struct gather *gather, struct problem *why);

/* ---- ingest.c ---- */
/* Opens the transaction that ingest_commit ends, unless it is open. */
must_check int ingest_transaction(struct ingest *ingest, struct problem *why);
/* Writes the host samples that are in memory. */
must_check int ingest_host(struct ingest *ingest, struct problem *why);
/* All that is still in memory. */
must_check int ingest_rest(struct ingest *ingest, struct problem *why);
/* Somebody else stored records that this one holds in memory: CONFLICT. */
int ingest_overtaken(struct problem *why);

/* ---- ingest_record.c ---- */
/* Takes in one record, whatever its number. */
must_check int ingest_take(struct ingest *ingest, const struct journal_record *record,
                           struct problem *why);
/* One record of a journal that came whole; for import.c, whose connection has a transaction open. */
must_check int ingest_imported(struct ingest *ingest, const struct journal_record *record,
                               struct problem *why);
