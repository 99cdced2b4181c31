/* Children by argv through posix_spawn, never a shell; every wait has a deadline. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
    const char *const *env;  /* NULL: the caller's */
    int in, out, err;        /* 0: /dev/null; otherwise a descriptor */
    bool own_session;        /* setsid: not reached by the terminal's signals */
};

/* Starts it; signals unblocked and at their defaults in the child. Returns 0 and its pid. */
must_check int spawn_start(const struct spawn *spawn, pid_t *ret, struct problem *why);
/* Waits for it; -1 with why when the deadline passes (the child still runs). ret_status is
 * waitpid's. */
must_check int spawn_wait(pid_t pid, nsec deadline_in, int *ret_status, struct problem *why);
/* Runs to the end, keeps up to size-1 bytes of its output; kills it when the deadline passes. A
 * status other than 0 is a problem with the tool's own words. */
must_check int spawn_run(const char *const *argv, nsec deadline_in, char *output, size_t size,
                         struct problem *why);
/* The same; once the descriptor `stop` is readable it has two seconds left, and is then killed: CANCELLED. */
must_check int spawn_run_until(int stop, const char *const *argv, nsec deadline_in, char *output,
                               size_t size, struct problem *why);
