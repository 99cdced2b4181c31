/* What the machine does while a run goes on, from /proc. Descriptors stay open, so that a reading
 * costs little; one thread at a time. */
#pragma once
#include "engine/base/problem.h"
#include "engine/sample.h"

#include <stdbool.h>
#include <sys/types.h>

struct host_sampler;

/* For the disk `device`, which device_of() of the target gives. Takes the first counters, so that
 * the first reading already has rates. A file that this machine has not is no failure. */
must_check int host_sampler_open(dev_t device, struct host_sampler **ret, struct problem *why);
/* The folder of the runner's own cgroup; false: it has none, or shares it with others. */
bool host_own_cgroup(char *path, size_t size);
/* Reads that cgroup too, from now on. */
void host_sampler_watch(struct host_sampler *sampler, const char *cgroup);
struct host_sampler *host_sampler_close(struct host_sampler *sampler);
/* Rates since the reading before; NAN for what cannot be told. */
void host_sampler_read(struct host_sampler *sampler, nsec since_leg, struct host_sample *ret);
