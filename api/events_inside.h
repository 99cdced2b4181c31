/* Shared by the two kinds of event streams: of a job (job_events.c) and of the whole service
 * (service_events.c). */
#pragma once
#include "api/api.h"
#include "api/events.h"
#include "engine/base/field_json.h"
#include "engine/base/text.h"

enum { EVENTS_AT_ONCE = 64, PROGRESS_MOST = 32 };

struct follower {
    struct events *events;
    struct feed *feed;
    nsec until;            /* monotonic */
    struct live *live;     /* the lock, and all below; NULL: nobody to wake */
    int64_t state;         /* id of the last event that it was told */
    int64_t seen;          /* of a job: its revision that it was told otherwise */
    int analysis;          /* of a job: whose findings it was told */
    struct text text;      /* what it is to be sent */
    size_t at;             /* how much of that it has taken */
    nsec spoken;           /* when there was something for it, monotonic */
    bool missed;           /* a look, because it had not taken everything */
    bool ended, dropped;   /* after its text; at once */
    struct follower *next; /* in its feed */
};

struct feed {
    const struct feed_kind *kind;
    job_id job;                 /* 0: of the service */
    bool dirty;                 /* the lock */
    struct follower *followers; /* the lock */
    nsec looked;                /* the thread's, and all below */
    struct progress_told {
        job_id job;
        int64_t revision;
    } told[PROGRESS_MOST]; /* of the service: whose progress was told last */
    size_t told_n;
    struct feed *next; /* the lock; taken out and freed by the thread alone */
};

/* What was found in one look. */
struct look {
    int64_t after; /* whose events were asked for */
    size_t n;
    struct told {
        int64_t id;
        char kind[16];
        char *data; /* NULL: there was no memory for it */
    } told[EVENTS_AT_ONCE];
    bool more;            /* and there are more: look again soon */
    struct job job;       /* of a job */
    bool gone;            /* it is no more */
    struct text progress; /* of the service: events without ids, as they are sent */
};
/* Takes data over. */
void look_add(struct look *look, const char *kind, int64_t id, char *data);

struct feed_kind {
    /* Without the lock, by the thread alone. */
    int (*look)(struct store *store, struct feed *feed, struct look *look, struct problem *why);
    /* What a follower is told beside the events, once it has them all; with the lock. */
    void (*tell)(struct follower *follower, const struct look *look);
};

/* id 0: none. data NULL: the text has failed. */
void event_text(struct text *text, const char *event, int64_t id, const char *data);
/* Steals json. */
void event_json(struct text *text, const char *event, int64_t id, json_t *json);
/* Last-Event-ID: 1: it is there. */
must_check int events_last(const struct request *in, int64_t *ret, struct problem *why);
/* A stream that begins with the snapshot (stolen; NULL: no memory) and goes on after first->state. */
must_check int events_follow(struct api *api, const struct request *in,
                             const struct feed_kind *kind, const struct follower *first,
                             json_t *snapshot, struct reply *out, struct problem *why);
