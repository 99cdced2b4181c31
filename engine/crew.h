/* What the lanes of one phase share with each other and with the recorder. Only for lane, recorder
 * and run. */
#pragma once
#include "engine/lane.h"

enum stop_cause { STOP_NOT, STOP_CANCEL, STOP_DEADLINE, STOP_LIMIT, STOP_FAILURE };
enum gate { GATE_CLOSED, GATE_OPEN, GATE_ABANDONED };

struct crew {
    _Alignas(64) atomic_int stop;       /* enum stop_cause; the first one stays */
    atomic_int over;                    /* 1: a lane has done all it had to do */
    _Alignas(64) _Atomic uint64_t next; /* of the pool: the first operation nobody has claimed */

    const struct phase *phase;
    uint64_t until;   /* operations to be done when this stretch ends */
    nsec epoch;       /* the monotonic time at which the leg began */
    uint64_t wake_at; /* samples in a ring that are worth a wake-up */
    struct limits limits;

    int wake;                 /* an eventfd that the recorder waits on */
    _Atomic bool woken;       /* it has been written and not yet read */
    _Atomic unsigned running; /* lanes that have not ended */
    _Atomic unsigned starved; /* lanes that wait for room in their ring */
    _Atomic nsec
        queued; /* what lanes waited for a CPU in batches that ended, until somebody takes it */
    _Atomic bool queue_untold; /* the kernel does not tell that */

    pthread_mutex_t lock;
    pthread_cond_t ready_or_open, room, stopped_or_together;
    unsigned ready;     /* lock: lanes at the gate */
    unsigned together;  /* lock: lanes in lane_together() */
    enum gate gate;     /* lock */
    nsec first_done;    /* lock; since the leg began, of the lane that set `over` */
    struct limit limit; /* lock: the first one reached */
};

/* The first cause counts. */
void crew_stop(struct crew *crew, enum stop_cause cause);
void crew_wake(struct crew *crew);
/* A limit ends the phase. */
void crew_limit(struct crew *crew, const struct limit *limit);
/* A lane has done all that it had to do, at that time since the leg began; the first one counts. */
void crew_over(struct crew *crew, nsec at);
/* The recorder made room in the rings. */
void crew_room(struct crew *crew);

/* The thread's function; arg is a struct lane. */
void *lane_main(void *arg);
