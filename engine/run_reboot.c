/* From one leg of a run to the next. That the machine is about to be restarted is on stable storage before it
 * is, so that whatever happens then, nothing is done twice. */
#include "engine/run_inside.h"
#include "engine/target.h"

const struct resumed *run_resumed(const struct run *run)
{
    return run->with.resumed;
}

static int check(struct run *run, struct problem *why)
{
    if (run_is_cancelled(run))
        return problem_set(why, PROBLEM_CANCELLED, "stopped on request before a reboot");
    if (!run->with.restart)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "only the service can go on after a reboot; a run by hand cannot");
    if (!run->with.target->allow_reboot)
        return problem_set(why, PROBLEM_FORBIDDEN,
                           "target %s does not allow a reboot in its setting allow_reboot",
                           run->with.target->name);
    return 0;
}

int run_reboot(struct run *run, const char *state, nsec within, struct problem *why)
{
    const struct run_options *with = &run->with;
    if (check(run, why) ||
        journal_reboot(with->journal, with->run, with->leg, state, within, why) ||
        journal_sync(with->journal, why))
        return -1;
    if (run_is_cancelled(run))
        return problem_set(why, PROBLEM_CANCELLED, "stopped on request just before a reboot");
    if (with->restart(why))
        return problem_during(why, "cannot restart the machine: ");
    run->rebooting = true;
    return -1;
}
