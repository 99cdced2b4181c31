/* A registry with one workload, which restarts the machine: linked before the product's, it makes programs that
 * know nothing else. In each leg it makes one file, in a phase, and then has the machine restarted, `reboots`
 * times. */
#include "engine/lane.h"
#include "engine/workload/workload.h"
#include "engine/workspace.h"

#include <errno.h>
#include <fcntl.h>

struct rebooting {
    uint64_t reboots;
    nsec takes, within;
};
static const struct field params[] = {
    FIELD_COUNT(struct rebooting, reboots, "How often.", .max = 9, .preset = 1),
    FIELD_SECONDS(struct rebooting, takes, "How long each file takes.", .max = 60),
    FIELD_SECONDS(struct rebooting, within, "How long the machine may take to be up again.",
                  .max = 86400, .preset = 3600),
    FIELD_END,
};

struct leg {
    int folder;
    nsec takes;
    uint64_t number;
};

static int make_file(struct lane *lane, const void *arg, struct problem *why)
{
    const struct leg *leg = arg;
    char name[16];
    uint64_t first;
    while (lane_claim(lane, &first) > 0) {
        snprintf(name, sizeof name, "f%010llu", (unsigned long long)leg->number);
        scoped_fd int fd = openat(leg->folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0)
            return problem_errno(why, errno, "cannot create %s", name);
        struct timespec left = { .tv_sec = leg->takes / NSEC_PER_SEC };
        nanosleep(&left, NULL);
        (void)lane_note(lane, 0);
    }
    return 0;
}

static int run_leg(struct run *run, const void *params_, struct problem *why)
{
    const struct rebooting *with = params_;
    const struct resumed *resumed = run_resumed(run);
    struct leg leg = { .folder = workspace_fd(run_workspace(run)),
                       .takes = with->takes,
                       .number = resumed ? strtoull(resumed->state, NULL, 10) : 0 };
    const struct phase phase = { .name = "create",
                                 .unit = "files",
                                 .lanes = 1,
                                 .total = 1,
                                 .batch = 1,
                                 .body = make_file,
                                 .arg = &leg };
    char next[24];
    bool limited;
    if (run_phase(run, &phase, &limited, why))
        return -1;
    snprintf(next, sizeof next, "%llu", (unsigned long long)leg.number + 1);
    const struct reboot reboot = { next, leg.number + 1, with->within };
    return leg.number < with->reboots ? run_reboot(run, &reboot, why) : 0;
}

static const char *reboots(const void *params_)
{
    return ((const struct rebooting *)params_)->reboots > 0 ? "/params/reboots" : NULL;
}

static int clean(struct run *run, const void *params_ unused, struct problem *why)
{
    const struct made file = { .prefix = 'f', .digits = 10, .below = 10 };
    struct workspace *workspace = run_workspace(run);
    if (workspace_sweep(run, workspace_fd(workspace), &file, why))
        return -1;
    return workspace_remove(workspace, why) < 0 ? -1 : 0;
}

static const struct workload rebooting = {
    .name = "rebooting",
    .summary = "Restarts the machine.",
    .targets = 1 << TARGET_DIRECTORY,
    .params = params,
    .params_size = sizeof(struct rebooting),
    .reboots = reboots,
    .run = run_leg,
    .clean = clean,
};
static const struct workload *const all[] = { &rebooting, NULL };

const struct workload *const *workload_all(void)
{
    return all;
}

const struct workload *workload_find(const char *name)
{
    return name && strcmp(name, rebooting.name) == 0 ? &rebooting : NULL;
}

int workload_fits(const struct workload *workload unused, const struct target *target unused,
                  struct problem *why unused)
{
    return 0;
}

static const struct field *table_of(const char *selected, size_t *ret_size)
{
    *ret_size = rebooting.params_size;
    return workload_find(selected) ? params : NULL;
}

static const char *name_of(size_t i)
{
    return i == 0 ? rebooting.name : NULL;
}

const struct variant workload_params = { "workload", table_of, name_of };
