#include "engine/restart.h"

#include "engine/base/clock.h"

#include <systemd/sd-bus.h>
#include <unistd.h>

#define CALL_WITHIN (60 * NSEC_PER_SEC) /* for it to agree; the machine goes down later */

struct restarter {
    sd_bus *bus;
};

struct restarter *restarter_close(struct restarter *restarter)
{
    if (!restarter)
        return NULL;
    sd_bus_flush_close_unref(restarter->bus);
    free(restarter);
    return NULL;
}

int restarter_open(struct restarter **ret, struct problem *why)
{
    if (geteuid() != 0)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "restarting the machine takes root, and the runner is not");
    struct restarter *restarter = calloc(1, sizeof *restarter);
    if (!restarter)
        return problem_memory(why);
    int r = sd_bus_open_system(&restarter->bus);
    if (r < 0) {
        restarter_close(restarter);
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "systemd, which would restart the machine, cannot be reached by D-Bus: "
                           "%s",
                           strerror(-r));
    }
    (void)sd_bus_set_method_call_timeout(restarter->bus, CALL_WITHIN / NSEC_PER_USEC);
    *ret = restarter;
    return 0;
}

/* As systemctl(1) does: by the login manager, which lets others finish what must not be interrupted; where there
 * is none, by systemd itself. */
int restarter_go(struct restarter *restarter, struct problem *why)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int r = sd_bus_call_method(restarter->bus, "org.freedesktop.login1", "/org/freedesktop/login1",
                               "org.freedesktop.login1.Manager", "Reboot", &error, NULL, "b", 0);
    if (r < 0 && (sd_bus_error_has_name(&error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
                  sd_bus_error_has_name(&error, SD_BUS_ERROR_NAME_HAS_NO_OWNER))) {
        sd_bus_error_free(&error);
        r = sd_bus_call_method(restarter->bus, "org.freedesktop.systemd1",
                               "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                               "StartUnit", &error, NULL, "ss", "reboot.target",
                               "replace-irreversibly");
    }
    if (r < 0)
        problem_set(why, PROBLEM_UNSUPPORTED, "%s", error.message ? error.message : strerror(-r));
    sd_bus_error_free(&error);
    return r < 0 ? -1 : 0;
}
