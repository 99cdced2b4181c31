/* Files sent as they are: web pages and journals. */
#pragma once
#include "api/api.h"

/* Opens the file beneath the folder (no symlinks, nothing above it) as the answer's body, with its
 * ETag. Returns 1; 0: there is no such regular file; -1 with why. */
must_check int file_reply(int folder, const char *name, const char *type, struct reply *out,
                          struct problem *why);
/* Handler of every path outside the API: a file of the web folder, or the page for /, /new and
 * /jobs/... */
int file_get(struct api *api, struct request *in, struct reply *out, struct problem *why);
