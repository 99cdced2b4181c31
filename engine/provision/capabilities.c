/* What filesystem-scaling may be asked for at a target, and why not, before anybody asks. */
#include "engine/provision/sharer.h"

#include <pwd.h>
#include <stdarg.h>

static void printf_like(2, 3) cannot(struct capability *able, const char *fmt, ...)
{
    va_list ap;
    able->usable = false;
    va_start(ap, fmt);
    vsnprintf(able->reason, sizeof able->reason, fmt, ap);
    va_end(ap);
}

static struct capability *add(struct target_facts *facts, const char *parameter, const char *value)
{
    struct capability *able = &facts->capabilities[facts->capabilities_n++];
    *able = (struct capability){ .parameter = parameter, .value = value, .usable = true };
    return able;
}

/* Runners become run_as; without it they are who starts them: systemd has root start them, whoever the daemon is. */
static bool is_root(const struct target *target)
{
    struct passwd entry, *found = NULL;
    char room[4096];
    if (!target->run_as)
        return geteuid() == 0 || access("/run/systemd/system", F_OK) == 0;
    return getpwnam_r(target->run_as, &entry, room, sizeof room, &found) == 0 && found &&
           found->pw_uid == 0;
}

static void need_root(const struct target *target, struct capability *able)
{
    if (!able->usable || is_root(target))
        return;
    if (target->run_as)
        cannot(able, "it takes root, and the target's setting run_as is %s", target->run_as);
    else
        cannot(able, "it takes root, and runners are not");
}

/* By path, as root: see provision_trusts(). */
static void need_trust(const struct target *target, struct capability *able)
{
    struct problem why = { 0 };
    if (able->usable && target->path && is_root(target) && provision_trusts(target->path, &why))
        cannot(able, "%.*s", (int)sizeof able->reason - 1, why.message);
}

static void can_share(const struct target *target, struct capability *able)
{
    struct problem why = { 0 };
    if (target->share == SHARE_NONE) {
        cannot(able, "the target's setting share names no means");
        return;
    }
    able->by = share_means[target->share];
    need_root(target, able);
    need_trust(target, able);
    if (able->usable && sharing_probe(target, &why))
        cannot(able, "%.*s", (int)sizeof able->reason - 1, why.message);
}

static void can_cycle(const struct target *target, const struct provisioner *provisioner,
                      enum cycle cycle, struct capability *able)
{
    if (!(provisioner->cycles & 1u << cycle))
        cannot(able, "a target of kind %s cannot be brought back so", target_kinds[target->kind]);
    else if (cycle == CYCLE_REBOOT && !target->allow_reboot)
        cannot(able, "the target's setting allow_reboot is no");
    else if (cycle != CYCLE_REBOOT) {
        need_root(target, able);
        need_trust(target, able);
    }
}

void capabilities_probe(const struct target *target, struct target_facts *facts)
{
    const struct provisioner *provisioner = provisioner_of(target);
    facts->capabilities_n = 0;
    if (!provisioner)
        return;
    if (facts->usable && provisioner->by_path) {
        struct capability all = { .usable = true };
        need_trust(target, &all);
        facts->usable = all.usable;
        memcpy(facts->reason, all.reason, sizeof all.reason);
    }
    can_share(target, add(facts, "share", "nfs"));
    can_cycle(target, provisioner, CYCLE_REMOUNT, add(facts, "cycle", "remount"));
    can_cycle(target, provisioner, CYCLE_IMPORT, add(facts, "cycle", "import"));
    can_cycle(target, provisioner, CYCLE_REBOOT, add(facts, "cycle", "reboot"));
}
