/* Work that a request waits for in a thread of its own, so that those which answer are free meanwhile. */
#pragma once
#include "engine/base/problem.h"

#include <stdbool.h>

struct api;
struct request;
struct task;

/* `work` may look at *arg alone; `done` frees it, at task_end. */
struct task_kind {
    int (*work)(void *arg, struct problem *why);
    void (*done)(void *arg);
};
/* Steals arg, also when it fails. */
must_check int task_start(struct api *api, const struct task_kind *kind, void *arg,
                          struct task **ret, struct problem *why);
/* HOLD, and the request is prepared to be held; otherwise what the work returned. */
must_check int task_wait(struct task *task, struct request *in, struct problem *why);
void *task_arg(struct task *task);
/* Waits for its end. NULL is fine. Returns NULL. */
struct task *task_end(struct task *task);
