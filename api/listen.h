/* The sockets that the server listens on. */
#pragma once
#include "engine/base/problem.h"

#include <stdbool.h>
#include <sys/un.h>

struct listener {
    int fd;                                               /* non-blocking; -1: closed */
    unsigned port;                                        /* 0: a unix socket */
    char path[sizeof((struct sockaddr_un *)0)->sun_path]; /* of a unix socket; "": none */
};

/* "127.0.0.1:7117", "[::1]:0" (any free port), "unix:/run/plimsoll/http". */
must_check int listener_open(const char *text, struct listener *ret, struct problem *why);
/* Closes it and removes a unix socket's name. */
void listener_close(struct listener *listener);
