/* Restarts this machine, by way of systemd. It takes root, and the connection is made while the process still
 * is: D-Bus goes by who made it, so that it stays good when the runner has become the target's run_as. Whoever
 * holds none cannot restart anything. */
#pragma once
#include "engine/base/problem.h"

struct restarter;
struct target;

/* UNSUPPORTED without root or without systemd. */
must_check int restarter_open(struct restarter **ret, struct problem *why);
struct restarter *restarter_close(struct restarter *restarter);
/* 0: systemd is about to. */
must_check int restarter_go(struct restarter *restarter, struct problem *why);

/* Whether a run may have its machine restarted there: by hand never, else as the target's settings say. */
must_check int reboot_allowed(const struct target *target, const struct restarter *restarter,
                              struct problem *why);
