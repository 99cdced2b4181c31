/* The words of nfs-ganesha on D-Bus: who exports what, and orders to export and no longer to. Every call has a
 * deadline, and comes to its end soon when all is to stop. */
#pragma once
#include "engine/base/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ganesha;

enum { GANESHA_IDS = UINT16_MAX + 1 };

/* 1 and a connection; 0 when it is not on the system bus; -1 when not even that can be reached. stop: as in struct
 * provision. */
must_check int ganesha_open(int stop, struct ganesha **ret, struct problem *why);
struct ganesha *ganesha_close(struct ganesha *ganesha);
/* What says that it is not on the bus; -1. */
int ganesha_absent(struct problem *why);
/* Sets the bit of every export id in use, of GANESHA_IDS. */
must_check int ganesha_ids(struct ganesha *ganesha, unsigned char *ids, struct problem *why);
/* 1 and the path that is exported under the id; 0: nothing is; -1. */
must_check int ganesha_path(struct ganesha *ganesha, uint16_t id, char *path, size_t size,
                            struct problem *why);
/* Exports what the configuration file, which it reads itself, describes under this id. */
must_check int ganesha_add(struct ganesha *ganesha, const char *file, uint16_t id,
                           struct problem *why);
/* Also when nothing is exported under it. */
must_check int ganesha_remove(struct ganesha *ganesha, uint16_t id, struct problem *why);
