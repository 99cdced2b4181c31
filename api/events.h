/* What happens to a job, or to all of them, told to those who listen as it happens: Server-Sent Events. One thread looks
 * at the store for all of them. */
#pragma once
#include "schema/store.h"

struct events;

enum { FOLLOWERS_MOST = 192 }; /* at once; beside held answers, so that others still get in */

must_check int events_new(struct store *store, struct events **ret, struct problem *why);
/* A job changed (0: any may have). Any thread. */
void events_wake(struct events *events, job_id job);
/* Wakes every connection, so that one that is to end does. */
void events_stir(struct events *events);
/* Ends every stream, and lets no new one begin. NULL is fine. */
void events_stop(struct events *events);
/* After the last stream is done. */
struct events *events_free(struct events *events);

extern const char *const events_types[];
