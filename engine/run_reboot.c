/* From one leg of a run to the next. That the machine is about to be restarted is on stable storage before it
 * is, so that whatever happens then, nothing is done twice. */
#include "engine/restart.h"
#include "engine/run_inside.h"
#include "engine/target.h"

const struct resumed *run_resumed(const struct run *run)
{
    return run->with.resumed;
}

int reboot_allowed(const struct target *target, const struct restarter *restarter,
                   struct problem *why)
{
    if (!target->name[0])
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "only the service can go on after a reboot; a run by hand cannot");
    if (!target->allow_reboot)
        return problem_set(why, PROBLEM_FORBIDDEN,
                           "target %s does not allow a reboot in its setting allow_reboot",
                           target->name);
    return restarter ? 0
                     : problem_set(why, PROBLEM_UNSUPPORTED,
                                   "this runner has no means to restart the machine");
}

static int check(struct run *run, const struct reboot *reboot, struct problem *why)
{
    const struct resumed *resumed = run->with.resumed;
    if (run_is_cancelled(run))
        return problem_set(why, PROBLEM_CANCELLED, "stopped on request before a reboot");
    if (reboot_allowed(run->with.target, run->with.restarter, why))
        return -1;
    if (resumed && reboot->batch <= resumed->batch)
        return problem_set(why, PROBLEM_INTERNAL,
                           "the machine has been restarted for batch %llu already",
                           (unsigned long long)resumed->batch);
    return 0;
}

int run_reboot(struct run *run, const struct reboot *reboot, struct problem *why)
{
    const struct run_options *with = &run->with;
    if (check(run, reboot, why) ||
        journal_reboot(with->journal, with->run, with->leg, reboot, why) ||
        journal_sync(with->journal, why))
        return -1;
    if (run_is_cancelled(run))
        return problem_set(why, PROBLEM_CANCELLED, "stopped on request just before a reboot");
    if (restarter_go(with->restarter, why))
        return problem_during(why, "cannot restart the machine: ");
    run->rebooting = true;
    return -1;
}

int run_booted(struct run *run, const struct boot *boot, struct problem *why)
{
    const struct run_options *with = &run->with;
    return journal_boot(with->journal, with->run, with->leg, boot, why) ||
                   journal_sync(with->journal, why)
               ? -1
               : 0;
}
