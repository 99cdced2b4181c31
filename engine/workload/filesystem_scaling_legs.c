#include "engine/workload/filesystem_scaling_legs.h"

#include "engine/base/text.h"

#define LAYOUT(COUNT, TIME)                                                                  \
    "created " COUNT " mounted " COUNT " shared " COUNT " create_ns " TIME " mount_ns " TIME \
    " share_ns " TIME

int legs_write(const struct legs *legs, char text[LEGS_TEXT], struct problem *why)
{
    return text_fit(text, LEGS_TEXT, LAYOUT("%llu", "%lld"), (unsigned long long)legs->created,
                    (unsigned long long)legs->mounted, (unsigned long long)legs->shared,
                    (long long)legs->create_ns, (long long)legs->mount_ns,
                    (long long)legs->share_ns)
               ? problem_set(why, PROBLEM_INTERNAL, "what the next leg is to know is too long")
               : 0;
}

int legs_read(const char *text, struct legs *ret, struct problem *why)
{
    unsigned long long created, mounted, shared;
    long long create_ns, mount_ns, share_ns;
    int n = 0;
    if (sscanf(text, LAYOUT("%llu", "%lld") "%n", &created, &mounted, &shared, &create_ns,
               &mount_ns, &share_ns, &n) != 6 ||
        text[n])
        return problem_set(why, PROBLEM_BAD_SYNTAX,
                           "the leg before the reboot left no state of this workload: %.80s", text);
    *ret = (struct legs){ created, mounted, shared, create_ns, mount_ns, share_ns };
    return 0;
}

int legs_tell(struct run *run, uint64_t load, uint64_t brought_back, struct problem *why)
{
    const struct resumed *resumed = run_resumed(run);
    nsec now = clock_wall(), since = resumed->rebooted_at;
    const struct boot boot = { .load = load,
                               .kernel = now - clock_since_boot() - since,
                               .daemon = resumed->resumed_at - since,
                               .all = now - since,
                               .brought_back = brought_back,
                               .clock_then = resumed->clock_then,
                               .clock_now = clock_sync() };
    const struct {
        const char *phase;
        nsec took;
    } measured[] = {
        { "cycle", boot.all },
        { "cycle-kernel", boot.kernel },
        { "cycle-daemon", boot.daemon },
    };
    for (size_t i = 0; i < COUNT_OF(measured); i++)
        if (measured[i].took > 0 &&
            run_measured(run, measured[i].phase, "filesystems", load, measured[i].took, why))
            return -1;
    return run_booted(run, &boot, why);
}
