/* What another host says over HTTP, within a few seconds and a few megabytes, and never through a redirect
 * or a proxy. One thread at a time. */
#pragma once
#include "engine/base/problem.h"

#include <stdbool.h>
#include <stddef.h>

struct fetch;

/* Of this address, which may carry a name and a password; no message shows it. `stop` ends a fetch that is
 * under way. */
must_check int fetch_open(const char *url, const _Atomic bool *stop, struct fetch **ret,
                          struct problem *why);
/* The body of the answer, to be taken apart in place until the next call. IO_FAILED: there is no answer;
 * UNSUPPORTED: it is not 200; TOO_LARGE; CANCELLED. */
must_check int fetch_get(struct fetch *fetch, char **ret, size_t *ret_n, struct problem *why);
struct fetch *fetch_close(struct fetch *fetch);
