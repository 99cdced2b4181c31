/* Shares by nfs-ganesha, which takes and gives up exports over D-Bus while it runs. An export has a number of 16 bits
 * that is its own among all of the server: one that nobody has is chosen and told to the journal before it is used,
 * and nothing is removed but what has both the number and the path that the run gave it. */
#include "engine/provision/sharer.h"

#include "engine/base/text.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <systemd/sd-bus.h>

#define CALL_DEADLINE \
    (60 * NSEC_PER_SEC) /* an export may take what its filesystem takes to answer */
#define PROBE_DEADLINE (5 * NSEC_PER_SEC)
#define STOPPED_WITHIN (5 * NSEC_PER_SEC) /* what a call may take when all is to stop */
#define SERVICE        "org.ganesha.nfsd"
#define OBJECT         "/org/ganesha/nfsd/ExportMgr"
#define INTERFACE      "org.ganesha.nfsd.exportmgr"
enum { IDS = UINT16_MAX + 1 };
extern const struct sharer share_ganesha;

struct server {
    struct sharing_with with;
    sd_bus *bus;
    int file; /* the export's description, which ganesha reads: it has no name, so that none is left */
    char file_path[64];  /* the same, for others */
    unsigned char *used; /* bits, by export id: somebody has it */
    bool looked;         /* nothing was shared since that was found out */
};

static struct server *close_server(struct server *server)
{
    if (!server)
        return NULL;
    sd_bus_close_unref(server->bus);
    close_cell(&server->file);
    free(server->used);
    free(server);
    return NULL;
}

/* --- calls --- */

static void unref_bus(sd_bus **bus)
{
    sd_bus_close_unref(*bus);
}
static void unref_message(sd_bus_message **message)
{
    sd_bus_message_unref(*message);
}
static void unref_slot(sd_bus_slot **slot)
{
    sd_bus_slot_unref(*slot);
}
#define scoped_bus     scoped(unref_bus)
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
    return problem_set(why, PROBLEM_IO_FAILED, "nfs-ganesha cannot %s: %s", doing, words);
}

/* 0 and the reply; 1: it says that there is no such thing; -1. Takes the call over. */
static int send_call(const struct server *server, sd_bus_message *call, nsec deadline,
                     sd_bus_message **ret, struct problem *why)
{
    scoped_message sd_bus_message *reply = NULL;
    scoped_slot sd_bus_slot *slot = NULL;
    const char *doing = sd_bus_message_get_member(call);
    int error = sd_bus_call_async(server->bus, &slot, call, keep_reply, &reply,
                                  (uint64_t)((deadline + NSEC_PER_SEC) / NSEC_PER_USEC));
    if (error < 0)
        return problem_errno(why, -error, "cannot speak to nfs-ganesha over D-Bus");
    if (await_reply(server->bus, server->with.stop, deadline, &reply, why))
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

static int new_call(const struct server *server, const char *member, sd_bus_message **ret,
                    struct problem *why)
{
    int error =
        sd_bus_message_new_method_call(server->bus, ret, SERVICE, OBJECT, INTERFACE, member);
    return error < 0 ? problem_errno(why, -error, "cannot speak to nfs-ganesha over D-Bus") : 0;
}

static int broken_reply(int error, struct problem *why)
{
    return problem_errno(why, -error, "nfs-ganesha's answer cannot be read");
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

static int open_bus(sd_bus **ret, struct problem *why)
{
    int error = sd_bus_open_system(ret);
    return error < 0 ? problem_errno(why, -error, "cannot reach the system bus") : 0;
}

static int absent(struct problem *why)
{
    return problem_set(why, PROBLEM_UNSUPPORTED,
                       "nfs-ganesha is not on the system bus, where it would be " SERVICE);
}

static int probe(const struct target *target unused, struct problem *why)
{
    scoped_bus sd_bus *bus = NULL;
    if (open_bus(&bus, why))
        return -1;
    int there = find_service(bus, why);
    return there < 0 ? -1 : there ? 0 : absent(why);
}

/* --- numbers --- */

static bool is_used(const struct server *server, uint64_t id)
{
    return server->used[id / 8] & 1u << id % 8;
}
static void use(struct server *server, uint16_t id)
{
    server->used[id / 8] |= (unsigned char)(1u << id % 8);
}

/* The members of an export after its number differ from version to version. */
static int read_ids(struct server *server, sd_bus_message *reply)
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
        use(server, id);
        while (sd_bus_message_at_end(reply, 0) == 0)
            if ((error = sd_bus_message_skip(reply, NULL)) < 0)
                return error;
        if ((error = sd_bus_message_exit_container(reply)) < 0)
            return error;
    }
    return error;
}

static int look_who_is_there(struct server *server, struct problem *why)
{
    scoped_message sd_bus_message *call = NULL, *reply = NULL;
    memset(server->used, 0, IDS / 8);
    if (new_call(server, "ShowExports", &call, why))
        return -1;
    int sent = send_call(server, call, CALL_DEADLINE, &reply, why);
    if (sent)
        return sent < 0 ? -1 : absent(why);
    int error = read_ids(server, reply);
    if (error < 0)
        return broken_reply(error, why);
    server->looked = true;
    return 0;
}

static int claim(struct server *server, uint64_t end, struct problem *why)
{
    const struct target *target = server->with.target;
    struct ledger_shares *shares = server->with.shares;
    uint64_t id = target->share_id_first;
    if (shares->n >= end)
        return 0;
    if (look_who_is_there(server, why))
        return -1;
    for (uint64_t i = 0; i < shares->n; i++)
        use(server, shares->ids[i]); /* ours, also where they are not shared yet */
    while (shares->n < end) {
        while (id <= target->share_id_last && is_used(server, id))
            id++;
        if (id > target->share_id_last)
            return problem_set(
                why, PROBLEM_CONFLICT, "no export id from %llu to %llu is left for filesystem %llu",
                (unsigned long long)target->share_id_first,
                (unsigned long long)target->share_id_last, (unsigned long long)shares->n);
        if (ledger_share_add(shares, (uint16_t)id++, why))
            return -1;
    }
    return 0;
}

/* A clean-up finds that the server is gone: its exports were with it alone. */
static int open_server(const struct sharing_with *with, struct server **ret, struct problem *why)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return problem_memory(why);
    server->with = *with;
    server->file = -1;
    int there = -1;
    if (!(server->used = malloc(IDS / 8)))
        problem_memory(why);
    else if ((server->file = memfd_create("export", MFD_CLOEXEC)) < 0)
        problem_errno(why, errno, "cannot make a file in memory");
    else if (open_bus(&server->bus, why) == 0)
        there = find_service(server->bus, why);
    if (there > 0 && with->shares->claimed && look_who_is_there(server, why))
        there = -1;
    if (there <= 0) {
        close_server(server);
        return there < 0 ? -1 : with->shares->claimed ? 1 : absent(why);
    }
    snprintf(server->file_path, sizeof server->file_path, "/proc/%d/fd/%d", getpid(), server->file);
    *ret = server;
    return 0;
}

/* --- exports --- */

static void describe_client(const struct sharing_with *with, struct text *text)
{
    const struct texts *clients = &with->target->share_clients,
                       *options = &with->target->share_options;
    bool access = false;
    text_addf(text, "CLIENT { Clients = ");
    for (size_t i = 0; i < clients->n; i++)
        text_addf(text, "%s%s", i ? ", " : "", clients->at[i]);
    text_addf(text, "; ");
    for (size_t i = 0; i < options->n; i++) {
        size_t n = strcspn(options->at[i], "=");
        access = access || (n == 11 && strncasecmp(options->at[i], "Access_Type", n) == 0);
        text_addf(text, "%.*s = %s; ", (int)n, options->at[i], options->at[i] + n + 1);
    }
    text_addf(text, "%s}", access ? "" : "Access_Type = RW; ");
}

/* Nobody but the clients may: whatever the server's own presets allow to others. */
static char *describe(const struct sharing_with *with, uint16_t id, uint64_t number,
                      const char *path)
{
    char name[FILESYSTEM_NAME];
    struct text text = { 0 };
    filesystem_name(name, with->shares->prefix, number);
    text_addf(&text,
              "EXPORT { Export_Id = %u; Path = \"%s\"; Pseudo = \"%s/%s/%s\"; Access_Type = None; "
              "FSAL { Name = VFS; } ",
              id, path, with->target->share_pseudo, with->name, name);
    describe_client(with, &text);
    text_addf(&text, " }\n");
    return text_take(&text);
}

static int write_description(struct server *server, const char *words, struct problem *why)
{
    size_t n = strlen(words);
    if (ftruncate(server->file, 0) != 0 || pwrite(server->file, words, n, 0) != (ssize_t)n)
        return problem_errno(why, errno, "cannot write an export's description");
    return 0;
}

static int share(struct server *server, uint64_t number, struct problem *why)
{
    scoped_message sd_bus_message *call = NULL, *reply = NULL;
    const struct ledger_shares *shares = server->with.shares;
    char path[SHARE_ROOT], which[32];
    if (share_path(shares, number, path, why))
        return -1;
    scoped_free char *words = describe(&server->with, shares->ids[number], number, path);
    if (!words)
        return problem_memory(why);
    snprintf(which, sizeof which, "EXPORT(Export_Id=%u)", shares->ids[number]);
    server->looked = false;
    if (write_description(server, words, why) || new_call(server, "AddExport", &call, why))
        return -1;
    int error = sd_bus_message_append(call, "ss", server->file_path, which);
    if (error < 0)
        return problem_errno(why, -error, "cannot speak to nfs-ganesha over D-Bus");
    int sent = send_call(server, call, CALL_DEADLINE, &reply, why);
    return sent > 0 ? problem_set(why, PROBLEM_IO_FAILED, "nfs-ganesha does not find %s", path)
                    : sent;
}

/* Whether the export of this number is the one that the run made. */
static int is_ours(const struct server *server, uint16_t id, const char *path, struct problem *why)
{
    scoped_message sd_bus_message *call = NULL, *reply = NULL;
    uint16_t told;
    const char *there;
    if (new_call(server, "DisplayExport", &call, why))
        return -1;
    int error = sd_bus_message_append(call, "q", id);
    if (error < 0)
        return problem_errno(why, -error, "cannot speak to nfs-ganesha over D-Bus");
    int sent = send_call(server, call, CALL_DEADLINE, &reply, why);
    if (sent)
        return sent < 0 ? -1 : 0;
    error = sd_bus_message_read(reply, "qs", &told, &there);
    return error < 0 ? broken_reply(error, why) : told == id && strcmp(there, path) == 0;
}

static int unshare_one(struct server *server, uint64_t number, struct problem *why)
{
    scoped_message sd_bus_message *call = NULL, *reply = NULL;
    const struct ledger_shares *shares = server->with.shares;
    char path[SHARE_ROOT];
    if (number >= shares->n || (server->looked && !is_used(server, shares->ids[number])))
        return 0;
    if (share_path(shares, number, path, why))
        return -1;
    int ours = is_ours(server, shares->ids[number], path, why);
    if (ours <= 0)
        return ours;
    if (new_call(server, "RemoveExport", &call, why))
        return -1;
    int error = sd_bus_message_append(call, "q", shares->ids[number]);
    if (error < 0)
        return problem_errno(why, -error, "cannot speak to nfs-ganesha over D-Bus");
    return send_call(server, call, CALL_DEADLINE, &reply, why) < 0 ? -1 : 0;
}

const struct sharer share_ganesha = {
    .probe = probe,
    .open = open_server,
    .close = close_server,
    .claim = claim,
    .share = share,
    .unshare = unshare_one,
};
