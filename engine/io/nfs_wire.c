#include "engine/io/nfs_wire.h"

#include "engine/base/resolve.h"

#include <errno.h>
#include <nfsc/libnfs.h> /* before the others, which need it */

#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 128, LIST_BYTES = 64 << 10, IO_MOST = 1 << 20 };
#define LOOK_EVERY  (250 * NSEC_PER_MSEC)
#define LATER_FIRST (50 * NSEC_PER_MSEC) /* twice as long each time */
#define LATER_MOST  NSEC_PER_SEC

struct wire {
    struct rpc_context *rpc;
    struct wire_options options;
    struct nfs_address url;
    char address[HOST_ADDRESS];
    struct nfs_handle root;
    uint32_t read_most, write_most;
    char words[WORDS], source[2 * NFS_NAME + 4];
    unsigned in_flight; /* transfers */
    struct wire_transfer *later;
    bool verified;       /* there is a verifier: */
    writeverf3 verifier; /* another one means that the server lost what it had not made stable */
    enum { SOUND, FORGETFUL, PUTS_OFF } fault; /* why it dies in the next turn */
    nsec heard; /* the server, or when something was first asked after silence */
    bool dead, closing;

    /* of the one call that waits for its answer */
    bool answered, lost;
    nsec asked;
    struct wire_delay delay;
    int error; /* an errno */
    struct nfs_handle handle;
    struct nfs_facts facts;
    struct room room;
    struct nfs_listing *listing;
    int (*each)(void *arg, const char *name, const struct nfs_facts *facts);
    void *each_arg;
};

/* --- waiting --- */

static int dies(struct wire *wire, struct problem *why, const char *what)
{
    wire->dead = true;
    return problem_set(why, PROBLEM_IO_FAILED, "the NFS server %s %s", wire->url.host, what);
}

static int dies_of_silence(struct wire *wire, struct problem *why)
{
    char what[96];
    snprintf(what, sizeof what, "has not answered for %g s", seconds_of(wire->options.patience));
    return dies(wire, why, what);
}

static int dies_of_fault(struct wire *wire, struct problem *why)
{
    char what[96];
    if (wire->fault == FORGETFUL)
        return dies(wire, why,
                    "has another write verifier than before: what it had not yet made stable is "
                    "lost");
    snprintf(what, sizeof what, "has asked for %g s to be asked again later (NFS3ERR_JUKEBOX)",
             seconds_of(wire->options.patience));
    return dies(wire, why, what);
}

static nsec less(nsec a, nsec b)
{
    return a < b ? a : b;
}

/* Whether there is still time for it. */
static bool delay_on(struct wire *wire, struct wire_delay *delay)
{
    nsec most = less(LATER_MOST, wire->options.patience / 4);
    delay->length = less(delay->length ? 2 * delay->length : LATER_FIRST, most);
    delay->until = clock_monotonic() + delay->length;
    if (delay->until - delay->began > wire->options.patience)
        wire->fault = PUTS_OFF;
    return !wire->fault;
}

static int send_part(struct wire_transfer *transfer);

/* Sends what has waited long enough. When the next has: INT64_MAX if there is none. -1: not connected. */
static nsec send_delayed(struct wire *wire, nsec now)
{
    nsec next = INT64_MAX;
    for (struct wire_transfer **at = &wire->later, *transfer; (transfer = *at);) {
        if (transfer->delay.until > now) {
            next = less(next, transfer->delay.until);
            at = &transfer->later;
            continue;
        }
        *at = transfer->later;
        wire->heard = now;
        if (send_part(transfer) < 0)
            return -1;
    }
    return next;
}

int wire_turn(struct wire *wire, nsec until, struct problem *why)
{
    if (wire->dead)
        return dies(wire, why, "is no longer connected");
    nsec now = clock_monotonic(), delayed = wire->later ? send_delayed(wire, now) : INT64_MAX;
    if (delayed < 0)
        return dies(wire, why, "is no longer connected");
    until = less(until, delayed);
    nsec end = wire->heard + wire->options.patience;
    nsec next = until < now + LOOK_EVERY ? until : now + LOOK_EVERY;
    int milliseconds = next <= now ? 0 : (int)((next - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
    struct pollfd wait = { .fd = rpc_get_fd(wire->rpc),
                           .events = (short)rpc_which_events(wire->rpc) };
    int ready = poll(&wait, 1, milliseconds);
    if (ready < 0 && errno != EINTR)
        return problem_errno(why, errno, "cannot wait for the NFS server");
    if (ready > 0 && wait.revents & POLLIN)
        wire->heard = clock_monotonic();
    if (rpc_service(wire->rpc, ready > 0 ? wait.revents : 0) < 0)
        return dies(wire, why, "has closed the connection");
    if (wire->fault)
        return dies_of_fault(wire, why);
    if (wire->options.stopped && wire->options.stopped(wire->options.arg)) {
        wire->dead = true;
        return problem_set(why, PROBLEM_CANCELLED, "stopped on request");
    }
    return ready <= 0 && clock_monotonic() > end ? dies_of_silence(wire, why) : 0;
}

static void ask(struct wire *wire)
{
    wire->answered = wire->lost = false;
    wire->error = 0;
    wire->asked = clock_monotonic();
    if (wire->in_flight == 0)
        wire->heard = wire->asked;
}

/* `queued` is what the library said when it took the call. */
static int answer(struct wire *wire, int queued, struct problem *why)
{
    if (wire->dead || queued < 0)
        return dies(wire, why, "is no longer connected");
    while (!wire->answered)
        if (wire_turn(wire, INT64_MAX, why))
            return -1;
    return wire->lost ? dies(wire, why, "did not take the call") : wire->error;
}

/* Whether the call is to be made again, which it then is time for. *error: what answer() gave. */
static bool is_put_off(struct wire *wire, int *error, struct problem *why)
{
    struct wire_delay *delay = &wire->delay;
    if (*error != EAGAIN) {
        delay->length = 0;
        return false;
    }
    if (delay->length == 0)
        delay->began = wire->asked;
    if (!delay_on(wire, delay)) {
        *error = dies_of_fault(wire, why);
        return false;
    }
    while (clock_monotonic() < delay->until)
        if (wire_turn(wire, delay->until, why)) {
            *error = -1;
            return false;
        }
    return true;
}

static bool is_lost(struct wire *wire, int status)
{
    wire->answered = true;
    wire->lost = status != RPC_STATUS_SUCCESS;
    return wire->lost || wire->closing;
}

/* The library does not know them all: it says ERANGE, and EINVAL of NOTSUPP. */
int nfs_errno(int status)
{
    switch (status) {
    case NFS3_OK:
        return 0;
    case NFS3ERR_DQUOT:
        return EDQUOT;
    case NFS3ERR_NOTSUPP:
        return EOPNOTSUPP;
    case NFS3ERR_JUKEBOX:
        return EAGAIN;
    default:
        return nfsstat3_to_errno(status) == -ERANGE ? EIO : -nfsstat3_to_errno(status);
    }
}

/* --- what stands in answers --- */

static void take_handle(struct nfs_handle *ret, unsigned n, const char *bytes)
{
    ret->n = n <= NFS_HANDLE ? n : 0;
    memcpy(ret->at, bytes, ret->n);
}

static struct nfs_facts facts_of(const struct post_op_attr *from)
{
    const struct fattr3 *facts = &from->post_op_attr_u.attributes;
    if (!from->attributes_follow)
        return (struct nfs_facts){ 0 };
    return (struct nfs_facts){ .known = true,
                               .kind = facts->type == NF3REG   ? NFS_FILE
                                       : facts->type == NF3DIR ? NFS_FOLDER
                                                               : 0,
                               .uid = facts->uid,
                               .size = facts->size,
                               .inode = facts->fileid };
}

static struct nfs_fh3 handle_to_send(const struct nfs_handle *handle)
{
    return (struct nfs_fh3){ .data = { .data_len = handle->n,
                                       .data_val = (char *)(uintptr_t)handle->at } };
}

static struct diropargs3 name_in(const struct nfs_handle *folder, const char *name)
{
    return (struct diropargs3){ .dir = handle_to_send(folder), .name = (char *)(uintptr_t)name };
}

static struct sattr3 with_mode(unsigned mode)
{
    return (struct sattr3){ .mode = { .set_it = 1, .set_mode3_u = { .mode = mode } } };
}

/* --- the connection --- */

static int parse_port(const char *value, const char *name, unsigned *ret, struct problem *why)
{
    char *end;
    unsigned long port = strtoul(value, &end, 10);
    if (end == value || (*end && *end != '&') || port < 1 || port > 65535)
        return problem_field(why, "url", "url: %s must be a port from 1 to 65535", name);
    *ret = (unsigned)port;
    return 0;
}

static int parse_option(const char *option, struct nfs_address *url, struct problem *why)
{
    if (strncmp(option, "nfsport=", 8) == 0)
        return parse_port(option + 8, "nfsport", &url->port, why);
    if (strncmp(option, "mountport=", 10) == 0)
        return parse_port(option + 10, "mountport", &url->mount_port, why);
    if (strncmp(option, "version=", 8) == 0 && strcspn(option + 8, "&") == 1 && option[8] == '3')
        return 0;
    if (strncmp(option, "version=", 8) == 0)
        return problem_field(why, "url",
                             "url: version must be 3, as libnfs writes no record of 4 KiB or more "
                             "by NFSv4; for that mount the export on this host and make it a "
                             "target of kind directory");
    return problem_field(why, "url", "url may end in ?version=3&nfsport=N&mountport=N, not in %.*s",
                         (int)strcspn(option, "&"), option);
}

int nfs_address_parse(const char *text, struct nfs_address *ret, struct problem *why)
{
    struct nfs_address url = { 0 };
    const char *host = text + 6;
    if (strncmp(text, "nfs://", 6) != 0)
        return problem_field(why, "url", "url must be as nfs://host/export, not %s", text);
    bool six = *host == '['; /* nfs://[fe80::1]/export, RFC 3986 */
    host += six;
    size_t host_n = strcspn(host, six ? "]/?" : ":/?"), path_n;
    const char *path = host + host_n;
    if (six && *path++ != ']')
        return problem_field(why, "url", "url: the address after [ must end with ], in %s", text);
    if (*path == ':') {
        char *end;
        unsigned long port = strtoul(path + 1, &end, 10);
        if (end == path + 1 || *end != '/' || port < 1 || port > 65535)
            return problem_field(why, "url",
                                 "url: the port must be from 1 to 65535, and the export after it");
        url.port = (unsigned)port;
        path = end;
    }
    path_n = strcspn(path, "?");
    if (host_n == 0 || host_n >= sizeof url.host || *path != '/' || path_n >= sizeof url.export)
        return problem_field(why, "url", "url must be as nfs://host/export, not %s", text);
    memcpy(url.host, host, host_n);
    memcpy(url.export, path, path_n);
    for (const char *option = path + path_n; *option; option += strcspn(option, "&"))
        if (parse_option(++option, &url, why))
            return -1;
    *ret = url;
    return 0;
}

static void on_connected(struct rpc_context *rpc, int status, void *data, void *arg)
{
    (void)rpc, (void)data;
    (void)is_lost(arg, status);
}

static int connect_to(struct wire *wire, unsigned port, int program, int version,
                      struct problem *why)
{
    ask(wire);
    int queued = port ? rpc_connect_port_async(wire->rpc, wire->address, (int)port, program,
                                               version, on_connected, wire)
                      : rpc_connect_program_async(wire->rpc, wire->address, program, version,
                                                  on_connected, wire);
    if (queued < 0 || answer(wire, queued, why)) {
        if (why->code == PROBLEM_NONE || why->code == PROBLEM_IO_FAILED) {
            *why = (struct problem){ 0 };
            problem_set(why, PROBLEM_IO_FAILED, "cannot reach the %s service of %s%s%s",
                        program == NFS_PROGRAM ? "NFSv3" : "mount", wire->url.host,
                        wire->dead ? "" : ": ", wire->dead ? "" : rpc_get_error(wire->rpc));
        }
        return -1;
    }
    return 0;
}

static void on_mounted(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire *wire = arg;
    const struct mountres3 *result = data;
    (void)rpc;
    if (is_lost(wire, status))
        return;
    wire->error = result->fhs_status == MNT3_OK ? 0 : (int)result->fhs_status;
    if (wire->error == 0)
        take_handle(&wire->root, result->mountres3_u.mountinfo.fhandle.fhandle3_len,
                    result->mountres3_u.mountinfo.fhandle.fhandle3_val);
}

/* The numbers of MOUNT's errors that there are in errno.h are the same there. */
static int mount_export(struct wire *wire, struct problem *why)
{
    ask(wire);
    int error =
        answer(wire, rpc_mount3_mnt_async(wire->rpc, on_mounted, wire->url.export, wire), why);
    if (error > 0)
        return problem_errno(why, error > 10000 ? ENOTSUP : error, "the NFS server %s refuses %s",
                             wire->url.host, wire->url.export);
    return error;
}

static void on_info(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire *wire = arg;
    const struct FSINFO3res *result = data;
    (void)rpc;
    if (is_lost(wire, status) || (wire->error = nfs_errno(result->status)))
        return;
    wire->read_most = result->FSINFO3res_u.resok.rtmax;
    wire->write_most = result->FSINFO3res_u.resok.wtmax;
}

static uint32_t within(uint32_t most)
{
    return most == 0 || most > IO_MOST ? IO_MOST : most;
}

static int ask_info(struct wire *wire, struct problem *why)
{
    struct FSINFO3args args = { .fsroot = handle_to_send(&wire->root) };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_fsinfo_async(wire->rpc, on_info, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    if (error > 0)
        return problem_errno(why, error, "the NFS server %s does not describe %s", wire->url.host,
                             wire->url.export);
    wire->read_most = within(wire->read_most);
    wire->write_most = within(wire->write_most);
    bool six = strchr(wire->url.host, ':') != NULL;
    snprintf(wire->source, sizeof wire->source, "%s%s%s:%.*s", six ? "[" : "", wire->url.host,
             six ? "]" : "", NFS_NAME, wire->url.export);
    snprintf(wire->words, sizeof wire->words, "vers=3,proto=tcp,rsize=%u,wsize=%u", wire->read_most,
             wire->write_most);
    return error;
}

/* A new context: the service for mounts may have another port, and the library keeps one connection in each. */
static int renew(struct wire *wire, struct problem *why)
{
    if (wire->rpc)
        rpc_destroy_context(wire->rpc);
    wire->rpc = rpc_init_context();
    return wire->rpc ? 0 : problem_memory(why);
}

/* The library would look the name up by itself, and wait for as long as the system's resolver does. */
static int connect_all(struct wire *wire, struct problem *why)
{
    const struct wire_options *with = &wire->options;
    if (resolve_host(wire->url.host, clock_monotonic() + with->patience, with->stopped, with->arg,
                     wire->address, why))
        return -1;
    if (renew(wire, why) || connect_to(wire, wire->url.mount_port, MOUNT_PROGRAM, MOUNT_V3, why) ||
        mount_export(wire, why))
        return -1;
    if (renew(wire, why) || connect_to(wire, wire->url.port, NFS_PROGRAM, NFS_V3, why))
        return -1;
    return ask_info(wire, why);
}

int wire_open(const struct wire_options *options, struct wire **ret, struct problem *why)
{
    struct wire *wire = calloc(1, sizeof *wire);
    if (!wire)
        return problem_memory(why);
    wire->options = *options;
    if (nfs_address_parse(options->url, &wire->url, why) || connect_all(wire, why)) {
        wire_close(wire);
        return -1;
    }
    *ret = wire;
    return 0;
}

struct wire *wire_close(struct wire *wire)
{
    if (!wire)
        return NULL;
    wire->closing = true;
    if (wire->rpc)
        rpc_destroy_context(wire->rpc);
    free(wire);
    return NULL;
}

nsec wire_silence(const struct wire *wire)
{
    return clock_monotonic() - wire->heard;
}

const struct nfs_handle *wire_root(const struct wire *wire)
{
    return &wire->root;
}
uint32_t wire_read_most(const struct wire *wire)
{
    return wire->read_most;
}
uint32_t wire_write_most(const struct wire *wire)
{
    return wire->write_most;
}
const char *wire_words(const struct wire *wire)
{
    return wire->words;
}

const char *wire_source(const struct wire *wire)
{
    return wire->source;
}

/* --- names --- */

static void on_looked_up(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire *wire = arg;
    const struct LOOKUP3res *result = data;
    (void)rpc;
    if (is_lost(wire, status) || (wire->error = nfs_errno(result->status)))
        return;
    const struct LOOKUP3resok *found = &result->LOOKUP3res_u.resok;
    take_handle(&wire->handle, found->object.data.data_len, found->object.data.data_val);
    wire->facts = facts_of(&found->obj_attributes);
}

int wire_look_up(struct wire *wire, const struct nfs_handle *folder, const char *name,
                 struct nfs_handle *ret, struct nfs_facts *facts, struct problem *why)
{
    struct LOOKUP3args args = { .what = name_in(folder, name) };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_lookup_async(wire->rpc, on_looked_up, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    if (error == 0 && ret)
        *ret = wire->handle;
    if (error == 0 && facts)
        *facts = wire->facts;
    return error;
}

static void on_looked(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire *wire = arg;
    const struct GETATTR3res *result = data;
    (void)rpc;
    if (is_lost(wire, status) || (wire->error = nfs_errno(result->status)))
        return;
    const struct post_op_attr got = {
        .attributes_follow = 1,
        .post_op_attr_u = { .attributes = result->GETATTR3res_u.resok.obj_attributes }
    };
    wire->facts = facts_of(&got);
}

int wire_look(struct wire *wire, const struct nfs_handle *object, struct nfs_facts *ret,
              struct problem *why)
{
    struct GETATTR3args args = { .object = handle_to_send(object) };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_getattr_async(wire->rpc, on_looked, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    if (error == 0 && ret)
        *ret = wire->facts;
    return error;
}

/* All these results begin with their status. */
static void on_done(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire *wire = arg;
    (void)rpc;
    if (!is_lost(wire, status))
        wire->error = nfs_errno(*(const nfsstat3 *)data);
}

int wire_make_folder(struct wire *wire, const struct nfs_handle *folder, const char *name,
                     struct problem *why)
{
    struct MKDIR3args args = { .where = name_in(folder, name), .attributes = with_mode(0700) };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_mkdir_async(wire->rpc, on_done, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    return error;
}

int wire_remove_folder(struct wire *wire, const struct nfs_handle *folder, const char *name,
                       struct problem *why)
{
    struct RMDIR3args args = { .object = name_in(folder, name) };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_rmdir_async(wire->rpc, on_done, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    return error;
}

int wire_remove(struct wire *wire, const struct nfs_handle *folder, const char *name,
                struct problem *why)
{
    struct REMOVE3args args = { .object = name_in(folder, name) };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_remove_async(wire->rpc, on_done, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    return error;
}

int wire_rename(struct wire *wire, const struct nfs_handle *folder, const char *from,
                const char *to, struct problem *why)
{
    struct RENAME3args args = { .from = name_in(folder, from), .to = name_in(folder, to) };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_rename_async(wire->rpc, on_done, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    return error;
}

static void on_created(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire *wire = arg;
    const struct CREATE3res *result = data;
    (void)rpc;
    wire->handle.n = 0;
    if (is_lost(wire, status) || (wire->error = nfs_errno(result->status)))
        return;
    const struct post_op_fh3 *made = &result->CREATE3res_u.resok.obj;
    if (made->handle_follows)
        take_handle(&wire->handle, made->post_op_fh3_u.handle.data.data_len,
                    made->post_op_fh3_u.handle.data.data_val);
}

int wire_create(struct wire *wire, const struct nfs_handle *folder, const char *name,
                struct nfs_handle *ret, struct problem *why)
{
    struct CREATE3args args = {
        .where = name_in(folder, name),
        .how = { .mode = GUARDED, .createhow3_u = { .g_obj_attributes = with_mode(0600) } }
    };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_create_async(wire->rpc, on_created, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    if (error || !ret)
        return error;
    if (wire->handle.n == 0) /* a server need not tell it */
        return wire_look_up(wire, folder, name, ret, NULL, why);
    *ret = wire->handle;
    return 0;
}

static void on_access(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire *wire = arg;
    const struct ACCESS3res *result = data;
    (void)rpc;
    if (is_lost(wire, status) || (wire->error = nfs_errno(result->status)))
        return;
    wire->error = result->ACCESS3res_u.resok.access & ACCESS3_READ ? 0 : EACCES;
}

int wire_access(struct wire *wire, const struct nfs_handle *object, struct problem *why)
{
    struct ACCESS3args args = { .object = handle_to_send(object), .access = ACCESS3_READ };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_access_async(wire->rpc, on_access, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    return error;
}

static void on_room(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire *wire = arg;
    const struct FSSTAT3res *result = data;
    (void)rpc;
    if (is_lost(wire, status) || (wire->error = nfs_errno(result->status)))
        return;
    const struct FSSTAT3resok *room = &result->FSSTAT3res_u.resok;
    wire->room =
        (struct room){ room->tbytes, room->abytes, room->tfiles, room->tfiles ? room->afiles : 0 };
}

int wire_room(struct wire *wire, struct room *ret, struct problem *why)
{
    struct FSSTAT3args args = { .fsroot = handle_to_send(&wire->root) };
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_fsstat_async(wire->rpc, on_room, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    if (error == 0)
        *ret = wire->room;
    return error;
}

/* --- listings --- */

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void on_listed(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire *wire = arg;
    const struct READDIRPLUS3res *result = data;
    struct nfs_listing *listing = wire->listing;
    (void)rpc;
    if (is_lost(wire, status) || (wire->error = nfs_errno(result->status)))
        return;
    const struct READDIRPLUS3resok *got = &result->READDIRPLUS3res_u.resok;
    memcpy(listing->verifier, got->cookieverf, sizeof listing->verifier);
    listing->over = got->reply.eof;
    struct entryplus3 entry; /* the library's are not aligned as the machine may want it */
    for (const void *at = got->reply.entries; at; at = entry.nextentry) {
        memcpy(&entry, at, sizeof entry);
        listing->cookie = entry.cookie;
        if (is_dots(entry.name))
            continue;
        listing->entries++;
        struct nfs_facts facts = facts_of(&entry.name_attributes);
        if (wire->each && wire->each(wire->each_arg, entry.name, &facts)) {
            wire->error = ECANCELED;
            return;
        }
    }
}

int wire_list(struct wire *wire, const struct nfs_handle *folder, struct nfs_listing *listing,
              int (*each)(void *arg, const char *name, const struct nfs_facts *facts), void *arg,
              struct problem *why)
{
    struct READDIRPLUS3args args = { .dir = handle_to_send(folder),
                                     .cookie = listing->cookie,
                                     .dircount = LIST_BYTES,
                                     .maxcount = LIST_BYTES };
    memcpy(args.cookieverf, listing->verifier, sizeof listing->verifier);
    listing->entries = 0;
    wire->listing = listing;
    wire->each = each;
    wire->each_arg = arg;
    int error;
    do {
        ask(wire);
        error = answer(wire, rpc_nfs3_readdirplus_async(wire->rpc, on_listed, &args, wire), why);
    } while (is_put_off(wire, &error, why));
    return error;
}

/* --- transfers --- */

static void end_transfer(struct wire_transfer *transfer, int error)
{
    transfer->error = error;
    transfer->wire->in_flight--;
    if (!transfer->wire->closing)
        transfer->ended(transfer);
}

/* It is sent again after a while. */
static void delay_transfer(struct wire_transfer *transfer)
{
    struct wire *wire = transfer->wire;
    if (!delay_on(wire, &transfer->delay)) {
        end_transfer(transfer, EIO);
        return;
    }
    transfer->later = wire->later;
    wire->later = transfer;
}

/* Whether the answer says that it was done; if not, that was seen to. */
static bool is_done(struct wire_transfer *transfer, int status, const void *data)
{
    int error = status == RPC_STATUS_SUCCESS ? nfs_errno(*(const nfsstat3 *)data) : EIO;
    if (error == EAGAIN)
        delay_transfer(transfer);
    else if (error)
        end_transfer(transfer, error);
    return error == 0;
}

/* n bytes moved; the rest, if there is one, goes on. */
static void go_on(struct wire_transfer *transfer, uint32_t n, bool over)
{
    uint32_t left = transfer->length - transfer->moved;
    transfer->moved += n < left ? n : left;
    if (transfer->moved == transfer->length || over)
        end_transfer(transfer, 0);
    else if (n == 0 || send_part(transfer) < 0)
        end_transfer(transfer, EIO);
}

static void on_read(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire_transfer *transfer = arg;
    const struct READ3res *result = data;
    (void)rpc;
    if (!is_done(transfer, status, data))
        return;
    const struct READ3resok *got = &result->READ3res_u.resok;
    uint32_t left = transfer->length - transfer->moved;
    uint32_t n = got->data.data_len < left ? got->data.data_len : left;
    memcpy(transfer->buffer + transfer->moved, got->data.data_val, n);
    go_on(transfer, n, got->eof);
}

/* It is another one after each start of the server, and whenever it lost what it had not made stable yet. */
static void note_verifier(struct wire *wire, const writeverf3 verifier)
{
    if (wire->verified && memcmp(wire->verifier, verifier, sizeof wire->verifier) != 0)
        wire->fault = FORGETFUL;
    memcpy(wire->verifier, verifier, sizeof wire->verifier);
    wire->verified = true;
}

static void on_written(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire_transfer *transfer = arg;
    const struct WRITE3res *result = data;
    (void)rpc;
    if (!is_done(transfer, status, data))
        return;
    const struct WRITE3resok *done = &result->WRITE3res_u.resok;
    if (done->committed != FILE_SYNC)
        note_verifier(transfer->wire, done->verf);
    go_on(transfer, done->count, false);
}

static void on_committed(struct rpc_context *rpc, int status, void *data, void *arg)
{
    struct wire_transfer *transfer = arg;
    const struct COMMIT3res *result = data;
    (void)rpc;
    if (!is_done(transfer, status, data))
        return;
    if (transfer->wire->verified)
        note_verifier(transfer->wire, result->COMMIT3res_u.resok.verf);
    end_transfer(transfer, 0);
}

static int send_commit(struct wire_transfer *transfer)
{
    struct COMMIT3args args = { .file = handle_to_send(&transfer->file) };
    return rpc_nfs3_commit_async(transfer->wire->rpc, on_committed, &args, transfer);
}

static int send_part(struct wire_transfer *transfer)
{
    struct wire *wire = transfer->wire;
    if (transfer->commit)
        return send_commit(transfer);
    uint32_t left = transfer->length - transfer->moved,
             most = transfer->write ? wire->write_most : wire->read_most;
    uint32_t n = left < most ? left : most;
    if (transfer->write) {
        struct WRITE3args args = { .file = handle_to_send(&transfer->file),
                                   .offset = transfer->offset + transfer->moved,
                                   .count = n,
                                   .stable = transfer->stable ? FILE_SYNC : UNSTABLE,
                                   .data = { .data_len = n,
                                             .data_val = transfer->buffer + transfer->moved } };
        return rpc_nfs3_write_async(wire->rpc, on_written, &args, transfer);
    }
    struct READ3args args = { .file = handle_to_send(&transfer->file),
                              .offset = transfer->offset + transfer->moved,
                              .count = n };
    return rpc_nfs3_read_async(wire->rpc, on_read, &args, transfer);
}

static int begin_transfer(struct wire *wire, struct wire_transfer *transfer)
{
    if (wire->dead)
        return -1;
    if (wire->in_flight == 0)
        wire->heard = clock_monotonic();
    transfer->wire = wire;
    transfer->moved = 0;
    transfer->error = 0;
    transfer->delay = (struct wire_delay){ .began = clock_monotonic() };
    return 0;
}

static int begin_and_send(struct wire *wire, struct wire_transfer *transfer, struct problem *why)
{
    if (begin_transfer(wire, transfer) < 0 || send_part(transfer) < 0)
        return dies(wire, why, "is no longer connected");
    wire->in_flight++;
    return 0;
}

int wire_transfer(struct wire *wire, struct wire_transfer *transfer, struct problem *why)
{
    transfer->commit = false;
    return begin_and_send(wire, transfer, why);
}

int wire_commit(struct wire *wire, struct wire_transfer *transfer, struct problem *why)
{
    transfer->commit = true;
    return begin_and_send(wire, transfer, why);
}
