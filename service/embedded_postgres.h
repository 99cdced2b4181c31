/* The daemon's own PostgreSQL: made, started or adopted, restarted when it dies, stopped with us. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"

#include <sys/types.h>

struct embedded_postgres;

/* Makes the cluster in STATE/postgres if there is none, starts its server (or adopts one that
 * outlived a killed daemon), and watches over it in a thread. Takes connections a little later. */
must_check int embedded_postgres_open(const char *state, const char *runtime,
                                      struct embedded_postgres **ret, struct problem *why);
const char *embedded_postgres_conninfo(const struct embedded_postgres *postgres);
/* Until it takes connections. */
must_check int embedded_postgres_wait(struct embedded_postgres *postgres, nsec deadline_in,
                                      struct problem *why);
/* The server's process now; 0 while there is none. */
pid_t embedded_postgres_pid(struct embedded_postgres *postgres);
/* Stops the server, with growing insistence. Returns NULL. */
struct embedded_postgres *embedded_postgres_close(struct embedded_postgres *postgres);
