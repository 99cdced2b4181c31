/* plimsoll-runner@JOB.service and plimsoll-clean@JOB.service, which root's units describe; a polkit rule lets the
 * daemon start and signal exactly these. A connection for each request: they are few, and two threads make
 * them. */
#include "service/launcher.h"

#include "engine/base/text.h"
#include "service/settings.h"

#include <errno.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#define CALL_WITHIN  (10 * NSEC_PER_SEC)
#define START_WITHIN (30 * NSEC_PER_SEC)
#define SYSTEMD      "org.freedesktop.systemd1"
#define MANAGER      "/org/freedesktop/systemd1", SYSTEMD ".Manager"

enum { UNIT_NAME = 64 };

static void bus_cell(sd_bus **bus)
{
    sd_bus_flush_close_unref(*bus);
}
static void message_cell(sd_bus_message **message)
{
    sd_bus_message_unref(*message);
}

bool launcher_under_systemd(const char *settings)
{
    scoped_free char *preset = realpath(SETTINGS_PATH, NULL);
    return sd_booted() > 0 && getenv("NOTIFY_SOCKET") && preset && strcmp(settings, preset) == 0;
}

static int name_unit(job_id id, enum launch what, char name[UNIT_NAME], struct problem *why)
{
    if (text_fit(name, UNIT_NAME, "plimsoll-%s@%lld.service",
                 what == LAUNCH_RUN ? "runner" : "clean", (long long)id) < 0)
        return problem_set(why, PROBLEM_INTERNAL, "the name of a unit is too long");
    return 0;
}

static int open_bus(sd_bus **ret, struct problem *why)
{
    scoped(bus_cell) sd_bus *bus = NULL;
    int r = sd_bus_open_system(&bus);
    if (r < 0)
        return problem_errno(why, -r, "cannot reach systemd by D-Bus");
    (void)sd_bus_set_method_call_timeout(bus, CALL_WITHIN / NSEC_PER_USEC);
    *ret = steal(&bus);
    return 0;
}

/* Frees the error. */
static int refused(const char *what, const char *unit, int r, sd_bus_error *error,
                   struct problem *why)
{
    problem_set(why, PROBLEM_UNSUPPORTED, "systemd does not %s %s: %s", what, unit,
                error->message ? error->message : strerror(-r));
    sd_bus_error_free(error);
    return -1;
}

/* ---- starting ---- */

/* Systemd answers with a job of its own, and says later what became of it. */
struct start {
    const char *job; /* its path; borrowed */
    bool over;
    char result[32]; /* "done", "failed", ... */
};

static int on_removed(sd_bus_message *message, void *arg, sd_bus_error *error unused)
{
    struct start *start = arg;
    const char *job, *unit, *result;
    uint32_t id;
    if (sd_bus_message_read(message, "uoss", &id, &job, &unit, &result) < 0 || !start->job ||
        strcmp(job, start->job) != 0)
        return 0;
    start->over = true;
    if (text_fit(start->result, sizeof start->result, "%s", result) < 0)
        start->result[0] = '\0';
    return 0;
}

static int wait_started(sd_bus *bus, const char *unit, struct start *start, struct problem *why)
{
    nsec deadline = clock_monotonic() + START_WITHIN;
    while (!start->over) {
        int r = sd_bus_process(bus, NULL);
        nsec left = deadline - clock_monotonic();
        if (r == 0 && left > 0)
            r = sd_bus_wait(bus, (uint64_t)(left / NSEC_PER_USEC));
        if (r < 0)
            return problem_errno(why, -r, "cannot hear whether %s has started", unit);
        if (left <= 0)
            return problem_set(why, PROBLEM_UNSUPPORTED, "%s has not started within %.0f s", unit,
                               seconds_of(START_WITHIN));
    }
    if (strcmp(start->result, "done") != 0)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "%s did not start (%s); journalctl -u %s tells why", unit, start->result,
                           unit);
    return 0;
}

static int start_unit(sd_bus *bus, const char *unit, struct problem *why)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    scoped(message_cell) sd_bus_message *reply = NULL;
    struct start start = { 0 };
    int r = sd_bus_match_signal(bus, NULL, SYSTEMD, MANAGER, "JobRemoved", on_removed, &start);
    if (r < 0)
        return problem_errno(why, -r, "cannot listen to systemd");
    r = sd_bus_call_method(bus, SYSTEMD, MANAGER, "StartUnit", &error, &reply, "ss", unit, "fail");
    if (r < 0)
        return refused("start", unit, r, &error, why);
    r = sd_bus_message_read(reply, "o", &start.job);
    if (r < 0)
        return problem_errno(why, -r, "cannot understand systemd");
    return wait_started(bus, unit, &start, why);
}

/* 0 when none runs. */
static int main_pid(sd_bus *bus, const char *unit, pid_t *ret, struct problem *why)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    scoped_free char *path = NULL;
    uint32_t pid = 0;
    int r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path);
    if (r >= 0)
        r = sd_bus_get_property_trivial(bus, SYSTEMD, path, SYSTEMD ".Service", "MainPID", &error,
                                        'u', &pid);
    if (r < 0)
        return refused("tell the process of", unit, r, &error, why);
    *ret = (pid_t)pid;
    return 0;
}

/* Asked again once its descriptor is held, which then cannot be a later process's. */
static int find_process(sd_bus *bus, const char *unit, struct process *ret, struct problem *why)
{
    struct process process = PROCESS_NONE;
    pid_t pid, again;
    if (main_pid(bus, unit, &pid, why) < 0)
        return -1;
    int found = process_open(pid, &process, why);
    if (found < 0)
        return -1;
    if (main_pid(bus, unit, &again, why) < 0 || again != pid)
        process_leave(&process);
    if (why->code)
        return -1;
    *ret = process;
    return 0;
}

static int start(const struct launcher *launcher unused, job_id id, enum launch what,
                 struct process *ret, struct problem *why)
{
    char unit[UNIT_NAME];
    scoped(bus_cell) sd_bus *bus = NULL;
    if (name_unit(id, what, unit, why) < 0 || open_bus(&bus, why) < 0 ||
        start_unit(bus, unit, why) < 0)
        return -1;
    return find_process(bus, unit, ret, why);
}

/* ---- afterwards ---- */

/* The runner is root's or another user's: only systemd may. */
static int send_signal(const struct launcher *launcher unused, job_id id,
                       const struct process *process unused, int signal, struct problem *why)
{
    char unit[UNIT_NAME];
    sd_bus_error error = SD_BUS_ERROR_NULL;
    scoped(bus_cell) sd_bus *bus = NULL;
    if (name_unit(id, LAUNCH_RUN, unit, why) < 0 || open_bus(&bus, why) < 0)
        return -1;
    int r = sd_bus_call_method(bus, SYSTEMD, MANAGER, "KillUnit", &error, NULL, "ssi", unit, "main",
                               (int32_t)signal);
    if (r < 0 && !sd_bus_error_has_name(&error, SYSTEMD ".NoSuchUnit") &&
        !sd_bus_error_has_name(&error, SYSTEMD ".NoSuchProcess"))
        return refused("signal", unit, r, &error, why);
    sd_bus_error_free(&error);
    return 0;
}

/* They are in systemd's journal, which the daemon may not read. */
static void last_words(const struct launcher *launcher unused, job_id id, char *text, size_t size)
{
    if (text_fit(text, size, "journalctl PLIMSOLL_JOB=%lld shows them", (long long)id) < 0)
        text[0] = '\0';
}

const struct launcher_way launcher_systemd = {
    .name = "systemd",
    .start = start,
    .signal = send_signal,
    .last_words = last_words,
};
