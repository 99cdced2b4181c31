/* syncfs() in a thread of its own: on a target that hangs it never returns, and whoever waits for it must
 * still hear that the run is to stop. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct flush;

/* Begins to write what the folder's filesystem holds back. */
must_check int flush_start(int folder, struct flush **ret, struct problem *why);
/* Readable once it is over. */
int flush_fd(const struct flush *flush);
/* Whether it is over; then how long it took, and the errno of syncfs or 0. */
bool flush_over(const struct flush *flush, nsec *ret_took, int *ret_error);
/* Over or not: what still runs goes on by itself, and frees what is its when it ends. */
struct flush *flush_leave(struct flush *flush);

/* Bytes that this machine holds back for any of its devices (Dirty and Writeback); 0 if it does not
 * tell. */
uint64_t flush_pending(void);
