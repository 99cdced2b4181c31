/* The daemon's folders: STATE, STATE/jobs and the runtime folder of its sockets. */
#pragma once
#include "engine/base/problem.h"

/* Makes what is missing and locks the state for this daemon, as long as *ret_lock is open. */
must_check int folders_make(const char *state, const char *runtime, int *ret_lock,
                            struct problem *why);
/* RUNTIME/http.port: the port of the first TCP address, for scripts that asked for a free one. */
must_check int folders_note_port(const char *runtime, unsigned port, struct problem *why);
void folders_forget_port(const char *runtime);
/* 0: there is none. */
unsigned folders_port(const char *runtime);
