#include "engine/provision/ganesha.h"

#include "engine/base/clock.h"
#include "engine/base/text.h"

#include <errno.h>
#include <poll.h>
#include <systemd/sd-bus.h>

#define CALL_DEADLINE \
    (60 * NSEC_PER_SEC) /* an export may take what its filesystem takes to answer */
#define PROBE_DEADLINE (5 * NSEC_PER_SEC)
#define STOPPED_WITHIN (5 * NSEC_PER_SEC) /* what a call may take when all is to stop */
#define SERVICE        "org.ganesha.nfsd"
#define OBJECT         "/org/ganesha/nfsd/ExportMgr"
#define INTERFACE      "org.ganesha.nfsd.exportmgr"

struct ganesha {
    sd_bus *bus;
    int stop;
};

struct ganesha *ganesha_close(struct ganesha *ganesha)
{
    if (!ganesha)
        return NULL;
    sd_bus_close_unref(ganesha->bus);
    free(ganesha);
    return NULL;
}

/* --- calls --- */

static void unref_message(sd_bus_message **message)
{
    sd_bus_message_unref(*message);
}
static void unref_slot(sd_bus_slot **slot)
{
    sd_bus_slot_unref(*slot);
}
#define scoped_message scoped(unref_message)
#define scoped_slot    scoped(unref_slot)

static int keep_reply(sd_bus_message *message, void *arg, sd_bus_error *error unused)
{
    sd_bus_message **reply = arg;
    *reply = sd_bus_message_ref(message);
    return 1;
}

static int milliseconds_until(nsec when)
{
    nsec left = when - clock_monotonic();
    return left <= 0 ? 0 : (int)(left / NSEC_PER_MSEC) + 1;
}

/* 0: something came or the time was used; a negative errno; 1: the request to stop came. */
static int wait_for_bus(sd_bus *bus, int stop, nsec deadline)
{
    int events = sd_bus_get_events(bus);
    struct pollfd waits[] = {
        { .fd = sd_bus_get_fd(bus), .events = (short)events },
        { .fd = stop, .events = POLLIN },
    };
    if (events < 0)
        return events;
    if (poll(waits, COUNT_OF(waits), milliseconds_until(deadline)) < 0 && errno != EINTR)
        return -errno;
    return waits[1].revents != 0;
}

static int tell_late(bool stopped, nsec deadline_in, struct problem *why)
{
    return stopped ? problem_set(why, PROBLEM_CANCELLED,
                                 "stopped on request, and there was no answer over D-Bus")
                   : problem_set(why, PROBLEM_IO_FAILED, "no answer over D-Bus within %.3g s",
                                 seconds_of(deadline_in));
}

/* Waits for the reply, which is then the caller's. */
static int await_reply(sd_bus *bus, int stop, nsec deadline_in, sd_bus_message **reply,
                       struct problem *why)
{
    nsec deadline = clock_monotonic() + deadline_in;
    bool stopped = false;
    for (;;) {
        int worked = sd_bus_process(bus, NULL);
        if (*reply)
            return 0;
        nsec now = clock_monotonic();
        if (worked == 0 && now >= deadline)
            return tell_late(stopped, deadline_in, why);
        int waited = worked == 0 ? wait_for_bus(bus, stopped ? -1 : stop, deadline) : 0;
        if (worked < 0 || waited < 0)
            return problem_errno(why, worked < 0 ? -worked : -waited,
                                 "cannot speak to the server over D-Bus");
        if (waited > 0) {
            stopped = true;
            deadline = now + STOPPED_WITHIN < deadline ? now + STOPPED_WITHIN : deadline;
        }
    }
}

/* What it says may have lines, and is for people: on one line, and cut where it is too long. */
static int tell_error(sd_bus_message *reply, const char *doing, struct problem *why)
{
    const sd_bus_error *error = sd_bus_message_get_error(reply);
    char words[300];
    text_shown(error->message ? error->message : error->name, words, sizeof words);
    for (char *p = words; *p; p++)
        *p = *p == '?' ? ' ' : *p; /* where a line ended */
    return problem_set(why, PROBLEM_IO_FAILED, "nfs-ganesha cannot %s: %s", doing, words);
}

/* 0 and the reply; 1: it says that there is no such thing; -1. doing: the method, for people. */
static int send_call(struct ganesha *ganesha, sd_bus_message *call, const char *doing,
                     sd_bus_message **ret, struct problem *why)
{
    scoped_message sd_bus_message *reply = NULL;
    scoped_slot sd_bus_slot *slot = NULL;
    int error = sd_bus_call_async(ganesha->bus, &slot, call, keep_reply, &reply,
                                  (CALL_DEADLINE + NSEC_PER_SEC) / NSEC_PER_USEC);
    if (error < 0)
        return problem_errno(why, -error, "cannot speak to nfs-ganesha over D-Bus");
    if (await_reply(ganesha->bus, ganesha->stop, CALL_DEADLINE, &reply, why))
        return problem_during(why, "nfs-ganesha, %s: ", doing);
    if (!sd_bus_message_is_method_error(reply, NULL)) {
        *ret = steal(&reply);
        return 0;
    }
    const sd_bus_error *said = sd_bus_message_get_error(reply);
    if (said->message && strstr(said->message, "not found"))
        return 1;
    return tell_error(reply, doing, why);
}

static int new_call(struct ganesha *ganesha, const char *member, sd_bus_message **ret,
                    struct problem *why)
{
    int error =
        sd_bus_message_new_method_call(ganesha->bus, ret, SERVICE, OBJECT, INTERFACE, member);
    return error < 0 ? problem_errno(why, -error, "cannot speak to nfs-ganesha over D-Bus") : 0;
}

static int broken_reply(int error, struct problem *why)
{
    return problem_errno(why, -error, "nfs-ganesha's answer cannot be read");
}

/* A call with one number, or none. */
static int ask(struct ganesha *ganesha, const char *member, const uint16_t *id,
               sd_bus_message **ret, struct problem *why)
{
    scoped_message sd_bus_message *call = NULL;
    if (new_call(ganesha, member, &call, why))
        return -1;
    int error = id ? sd_bus_message_append(call, "q", *id) : 0;
    if (error < 0)
        return problem_errno(why, -error, "cannot speak to nfs-ganesha over D-Bus");
    return send_call(ganesha, call, member, ret, why);
}

/* --- whether it is there --- */

/* 1: it is on the bus; 0; -1: not even the bus is there. */
static int find_service(sd_bus *bus, struct problem *why)
{
    scoped_message sd_bus_message *call = NULL, *reply = NULL;
    scoped_slot sd_bus_slot *slot = NULL;
    int there = 0;
    int error =
        sd_bus_message_new_method_call(bus, &call, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                       "org.freedesktop.DBus", "NameHasOwner");
    if (error >= 0)
        error = sd_bus_message_append(call, "s", SERVICE);
    if (error >= 0)
        error = sd_bus_call_async(bus, &slot, call, keep_reply, &reply,
                                  (PROBE_DEADLINE + NSEC_PER_SEC) / NSEC_PER_USEC);
    if (error < 0)
        return problem_errno(why, -error, "cannot speak to the system bus");
    if (await_reply(bus, -1, PROBE_DEADLINE, &reply, why))
        return problem_during(why, "the system bus: ");
    if (sd_bus_message_is_method_error(reply, NULL))
        return problem_set(why, PROBLEM_IO_FAILED, "the system bus does not say who is there");
    error = sd_bus_message_read(reply, "b", &there);
    return error < 0 ? broken_reply(error, why) : there;
}

int ganesha_absent(struct problem *why)
{
    return problem_set(why, PROBLEM_UNSUPPORTED,
                       "nfs-ganesha is not on the system bus, where it would be " SERVICE);
}

int ganesha_open(int stop, struct ganesha **ret, struct problem *why)
{
    struct ganesha *ganesha = calloc(1, sizeof *ganesha);
    if (!ganesha)
        return problem_memory(why);
    ganesha->stop = stop;
    int error = sd_bus_open_system(&ganesha->bus);
    int there = error < 0 ? problem_errno(why, -error, "cannot reach the system bus")
                          : find_service(ganesha->bus, why);
    if (there > 0)
        *ret = ganesha;
    else
        ganesha_close(ganesha);
    return there;
}

/* --- exports --- */

/* The members of an export after its number differ from version to version. */
static int read_ids(unsigned char *ids, sd_bus_message *reply)
{
    char type;
    const char *inside;
    uint16_t id;
    int error;
    while ((error = sd_bus_message_peek_type(reply, &type, &inside)) > 0 && type != 'a')
        if ((error = sd_bus_message_skip(reply, NULL)) < 0)
            return error;
    if (error <= 0)
        return error ? error : -EBADMSG;
    char within[2048];
    snprintf(within, sizeof within, "%s", inside);
    if ((error = sd_bus_message_enter_container(reply, 'a', within)) < 0)
        return error;
    within[strlen(within) - 1] = '\0'; /* "(qs...)": what is in the struct */
    while ((error = sd_bus_message_enter_container(reply, 'r', within + 1)) > 0) {
        if ((error = sd_bus_message_read(reply, "q", &id)) < 0)
            return error;
        ids[id / 8] |= (unsigned char)(1u << id % 8);
        while (sd_bus_message_at_end(reply, 0) == 0)
            if ((error = sd_bus_message_skip(reply, NULL)) < 0)
                return error;
        if ((error = sd_bus_message_exit_container(reply)) < 0)
            return error;
    }
    return error;
}

int ganesha_ids(struct ganesha *ganesha, unsigned char *ids, struct problem *why)
{
    scoped_message sd_bus_message *reply = NULL;
    int asked = ask(ganesha, "ShowExports", NULL, &reply, why);
    if (asked)
        return asked < 0 ? -1 : ganesha_absent(why);
    memset(ids, 0, GANESHA_IDS / 8);
    int error = read_ids(ids, reply);
    return error < 0 ? broken_reply(error, why) : 0;
}

int ganesha_path(struct ganesha *ganesha, uint16_t id, char *path, size_t size, struct problem *why)
{
    scoped_message sd_bus_message *reply = NULL;
    uint16_t told;
    const char *there;
    int asked = ask(ganesha, "DisplayExport", &id, &reply, why);
    if (asked)
        return asked < 0 ? -1 : 0;
    int error = sd_bus_message_read(reply, "qs", &told, &there);
    if (error < 0)
        return broken_reply(error, why);
    return text_fit(path, size, "%s", told == id ? there : "") < 0 ? 0 : 1;
}

int ganesha_add(struct ganesha *ganesha, const char *file, uint16_t id, struct problem *why)
{
    scoped_message sd_bus_message *call = NULL, *reply = NULL;
    char which[32];
    snprintf(which, sizeof which, "EXPORT(Export_Id=%u)", id);
    if (new_call(ganesha, "AddExport", &call, why))
        return -1;
    int error = sd_bus_message_append(call, "ss", file, which);
    if (error < 0)
        return problem_errno(why, -error, "cannot speak to nfs-ganesha over D-Bus");
    int sent = send_call(ganesha, call, "AddExport", &reply, why);
    return sent > 0 ? problem_set(why, PROBLEM_IO_FAILED, "nfs-ganesha does not find export %u", id)
                    : sent;
}

int ganesha_remove(struct ganesha *ganesha, uint16_t id, struct problem *why)
{
    scoped_message sd_bus_message *reply = NULL;
    return ask(ganesha, "RemoveExport", &id, &reply, why) < 0 ? -1 : 0;
}
