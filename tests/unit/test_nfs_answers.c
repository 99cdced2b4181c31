/* What is made of a server's answers that a server gives on bad days only: one that says them on purpose. */
#include "engine/io/nfs_wire.h"
#include "tests/unit/cmocka_first.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { JUKEBOX = 10008, FOREVER = 1 << 30, STORE = 1 << 16, PROCEDURES = 22, WORDS = 1 << 15 };
enum { LOOKUP = 3, READ = 6, WRITE = 7, CREATE = 8, FSINFO = 19, COMMIT = 21 };

/* One connection after the other. All but the sockets is under `lock`. */
struct server {
    bool six; /* by IPv6 */
    int listening, connection;
    unsigned port;
    pthread_t thread;
    pthread_mutex_t lock;
    int later[PROCEDURES]; /* how many more of these are put off */
    int calls[PROCEDURES];
    uint32_t most, whole;           /* bytes of a call; of a WRITE or READ, done at once */
    int verifier, verifier_changes; /* with that WRITE, counted from 1; 0: never */
    char store[STORE];
};

/* --- XDR: words of four bytes --- */

struct words {
    uint32_t at[WORDS];
    size_t n;
};

static void put(struct words *to, uint32_t word)
{
    to->at[to->n++] = htonl(word);
}

static void put_all(struct words *to, size_t n, const uint32_t *words)
{
    for (size_t i = 0; i < n; i++)
        put(to, words[i]);
}

static void put_bytes(struct words *to, const void *bytes, uint32_t n)
{
    put(to, n);
    to->at[to->n + n / 4] = 0;
    memcpy(&to->at[to->n], bytes, n);
    to->n += (n + 3) / 4;
}

static uint32_t take(struct words *from)
{
    return ntohl(from->at[from->n++]);
}

static void skip_bytes(struct words *from)
{
    uint32_t n = take(from);
    from->n += (n + 3) / 4;
}

static void put_verifier(struct words *to, int verifier)
{
    put(to, 0);
    put(to, (uint32_t)verifier);
}

/* --- the answers: RFC 1813 --- */

static void answer_info(const struct server *server, struct words *to)
{
    const uint32_t most = server->most,
                   info[] = { 0, 0, most, most, 1, most, most, 1, 4096, 0, 1 << 30, 0, 1, 0x1b };
    put_all(to, COUNT(info), info);
}

static uint32_t take_range(const struct server *server, struct words *from, uint32_t *ret_offset)
{
    skip_bytes(from);
    take(from);
    *ret_offset = take(from);
    uint32_t count = take(from);
    return count < server->whole ? count : server->whole;
}

static void answer_read(struct server *server, struct words *from, struct words *to)
{
    uint32_t offset, n = take_range(server, from, &offset);
    const uint32_t head[] = { 0, 0, n, offset + n == STORE };
    put_all(to, COUNT(head), head);
    put_bytes(to, server->store + offset, n);
}

static void answer_write(struct server *server, struct words *from, struct words *to)
{
    uint32_t offset, n = take_range(server, from, &offset), stable = take(from);
    take(from); /* of the bytes: how many */
    memcpy(server->store + offset, &from->at[from->n], n);
    if (server->calls[WRITE] == server->verifier_changes)
        server->verifier++;
    const uint32_t head[] = { 0, 0, 0, n, stable };
    put_all(to, COUNT(head), head);
    put_verifier(to, server->verifier);
}

static void answer_nfs(struct server *server, uint32_t procedure, struct words *from,
                       struct words *to)
{
    static const uint32_t refusal[] = { JUKEBOX, 0, 0 }, sound[] = { 0, 0, 0 };
    server->calls[procedure]++;
    if (server->later[procedure] > 0) {
        server->later[procedure]--;
        put_all(to, procedure == LOOKUP || procedure == READ || procedure == FSINFO ? 2 : 3,
                refusal);
        return;
    }
    switch (procedure) {
    case FSINFO:
        answer_info(server, to);
        break;
    case LOOKUP:
        put(to, 0);
        put_bytes(to, "handle", 6);
        put_all(to, 2, sound);
        break;
    case CREATE:
        put(to, 0);
        put(to, 1);
        put_bytes(to, "handle", 6);
        put_all(to, 3, sound);
        break;
    case READ:
        answer_read(server, from, to);
        break;
    case WRITE:
        answer_write(server, from, to);
        break;
    case COMMIT:
        put_all(to, 3, sound);
        put_verifier(to, server->verifier);
        break;
    default:
        break;
    }
}

static void answer_call(struct server *server, struct words *from, struct words *to)
{
    enum { MOUNT = 100005 };
    uint32_t xid = take(from);
    const uint32_t head[] = { 0, xid, 1, 0, 0, 0, 0 }; /* its length comes first */
    from->n += 2;
    uint32_t program = take(from), procedure = (take(from), take(from));
    for (int i = 0; i < 2; i++) { /* credentials and verifier */
        take(from);
        skip_bytes(from);
    }
    to->n = 0;
    put_all(to, COUNT(head), head);
    if (program == MOUNT && procedure == 1) {
        put(to, 0);
        put_bytes(to, "root", 4);
        put(to, 0);
    } else if (program != MOUNT && procedure) {
        answer_nfs(server, procedure, from, to);
    }
    to->at[0] = htonl(0x80000000u | (uint32_t)(4 * to->n - 4));
}

/* --- the server --- */

static bool receive(int fd, void *to, size_t n)
{
    return recv(fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

static void *serve(void *arg)
{
    struct server *server = arg;
    struct words *from = calloc(2, sizeof *from), *to = from + 1;
    int fd;
    while ((fd = accept(server->listening, NULL, NULL)) >= 0) {
        uint32_t length;
        while (receive(fd, &length, sizeof length) && (length = ntohl(length) & 0x7fffffff) &&
               length <= sizeof from->at && receive(fd, from->at, length)) {
            from->n = 0;
            pthread_mutex_lock(&server->lock);
            answer_call(server, from, to);
            pthread_mutex_unlock(&server->lock);
            if (send(fd, to->at, 4 * to->n, MSG_NOSIGNAL) < 0)
                break;
        }
        close(fd);
    }
    free(from);
    return NULL;
}

static void server_start(struct server *server)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = { .four = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } } };
    socklen_t length = sizeof address;
    if (server->six)
        address.six =
            (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
    pthread_mutex_init(&server->lock, NULL);
    server->most = server->most ? server->most : STORE;
    server->whole = server->whole ? server->whole : STORE;
    server->listening = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listening, &address.any, length), 0);
    assert_int_equal(listen(server->listening, 4), 0);
    assert_int_equal(getsockname(server->listening, &address.any, &length), 0);
    server->port = ntohs(server->six ? address.six.sin6_port : address.four.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

/* Once nobody is connected any more. */
static void server_end(struct server *server)
{
    shutdown(server->listening, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listening);
    pthread_mutex_destroy(&server->lock);
}

static struct wire *wire_to(const struct server *server, nsec patience)
{
    static char url[128];
    const struct wire_options options = { .url = url, .patience = patience };
    struct problem why = { 0 };
    struct wire *wire = NULL;
    snprintf(url, sizeof url, "nfs://%s/export?nfsport=%u&mountport=%u",
             server->six ? "[::1]" : "127.0.0.1", server->port, server->port);
    if (wire_open(&options, &wire, &why))
        fail_msg("%s", why.message);
    return wire;
}

/* --- transfers --- */

struct waiting {
    struct wire_transfer transfer; /* first */
    bool ended;
};

static void note_ended(struct wire_transfer *transfer)
{
    ((struct waiting *)transfer)->ended = true;
}

static int wait_for(struct wire *wire, struct waiting *waiting, int sent, struct problem *why)
{
    while (sent == 0 && !waiting->ended)
        if (wire_turn(wire, INT64_MAX, why))
            return -1;
    return sent ? -1 : waiting->transfer.error;
}

static int move(struct wire *wire, bool write, bool stable, char *buffer, uint32_t n,
                struct problem *why)
{
    struct waiting waiting = { .transfer = { .ended = note_ended,
                                             .buffer = buffer,
                                             .length = n,
                                             .write = write,
                                             .stable = stable } };
    int result = wait_for(wire, &waiting, wire_transfer(wire, &waiting.transfer, why), why);
    if (result == 0 && waiting.transfer.moved != n)
        fail_msg("%u bytes, not %u", waiting.transfer.moved, n);
    return result;
}

static int commit(struct wire *wire, struct problem *why)
{
    struct waiting waiting = { .transfer = { .ended = note_ended } };
    return wait_for(wire, &waiting, wire_commit(wire, &waiting.transfer, why), why);
}

static void fill(char *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (char)(i * 7 + i / 251);
}

/* --- the tests --- */

static void what_is_put_off_is_asked_again(void **state)
{
    static const int procedures[] = { FSINFO, LOOKUP, CREATE, WRITE, COMMIT, READ };
    struct server server = { 0 };
    static char data[10000], found[sizeof data];
    struct problem why = { 0 };
    struct nfs_handle handle;
    (void)state;
    for (size_t i = 0; i < COUNT(procedures); i++)
        server.later[procedures[i]] = 2;
    server_start(&server);
    struct wire *wire = wire_to(&server, 60 * NSEC_PER_SEC);
    fill(data, sizeof data);
    assert_int_equal(wire_look_up(wire, wire_root(wire), "a", &handle, NULL, &why), 0);
    assert_int_equal(wire_create(wire, wire_root(wire), "b", &handle, &why), 0);
    assert_int_equal(move(wire, true, false, data, sizeof data, &why), 0);
    assert_int_equal(commit(wire, &why), 0);
    assert_int_equal(move(wire, false, false, found, sizeof found, &why), 0);
    assert_memory_equal(data, found, sizeof data);
    wire_close(wire);
    server_end(&server);
    for (size_t i = 0; i < COUNT(procedures); i++)
        if (server.calls[procedures[i]] != 3)
            fail_msg("procedure %d was called %d times, not 3", procedures[i],
                     server.calls[procedures[i]]);
}

/* Of two, one is put off once: the other does not wait for it. */
static void what_is_put_off_holds_nothing_up(void **state)
{
    struct server server = { .later = { [READ] = 1 } };
    static char data[2][4096];
    struct waiting waiting[2];
    struct problem why = { 0 };
    (void)state;
    server_start(&server);
    struct wire *wire = wire_to(&server, 60 * NSEC_PER_SEC);
    for (int i = 0; i < 2; i++) {
        waiting[i] = (struct waiting){
            .transfer = { .ended = note_ended, .buffer = data[i], .length = sizeof data[i] }
        };
        assert_int_equal(wire_transfer(wire, &waiting[i].transfer, &why), 0);
    }
    while (!waiting[1].ended)
        assert_int_equal(wire_turn(wire, INT64_MAX, &why), 0);
    assert_false(waiting[0].ended);
    assert_int_equal(wait_for(wire, &waiting[0], 0, &why), 0);
    wire_close(wire);
    server_end(&server);
    assert_int_equal(server.calls[READ], 3);
}

static void what_is_put_off_for_ever_ends_by_patience(void **state)
{
    struct server server = { .later = { [LOOKUP] = FOREVER, [WRITE] = FOREVER } };
    static char data[4096];
    (void)state;
    server_start(&server);
    for (int i = 0; i < 2; i++) {
        struct problem why = { 0 };
        struct wire *wire = wire_to(&server, NSEC_PER_SEC);
        int result = i ? move(wire, true, false, data, sizeof data, &why)
                       : wire_look_up(wire, wire_root(wire), "a", NULL, NULL, &why);
        assert_int_equal(result, -1);
        assert_int_equal(why.code, PROBLEM_IO_FAILED);
        assert_string_equal(why.message, "the NFS server 127.0.0.1 has asked for 1 s to be asked "
                                         "again later (NFS3ERR_JUKEBOX)");
        wire_close(wire);
    }
    server_end(&server);
    assert_true(server.calls[LOOKUP] > 1 && server.calls[WRITE] > 1);
}

static bool always(void *arg)
{
    return *(const bool *)arg;
}

static void waiting_for_a_later_time_ends_on_request(void **state)
{
    struct server server = { .later = { [LOOKUP] = FOREVER } };
    struct problem why = { 0 };
    struct wire *wire = NULL;
    bool stop = false;
    char url[128];
    (void)state;
    server_start(&server);
    snprintf(url, sizeof url, "nfs://127.0.0.1/export?nfsport=%u&mountport=%u", server.port,
             server.port);
    const struct wire_options options = {
        .url = url, .patience = 3600 * NSEC_PER_SEC, .stopped = always, .arg = &stop
    };
    assert_int_equal(wire_open(&options, &wire, &why), 0);
    stop = true;
    assert_int_equal(wire_look_up(wire, wire_root(wire), "a", NULL, NULL, &why), -1);
    assert_int_equal(why.code, PROBLEM_CANCELLED);
    wire_close(wire);
    server_end(&server);
}

/* RFC 1813, 4.8: then what was answered but not committed has to be written again; here it is a failure. */
static void a_server_that_forgot_what_it_took_is_a_failure(void **state)
{
    static const struct {
        const char *title;
        int changes_with_write;
        bool stable, change_before_commit, fails;
    } cases[] = {
        { "the same throughout", 0, false, false, false },
        { "another with the second write", 2, false, false, true },
        { "another with the commit", 0, false, true, true },
        { "all was stable at once", 2, true, true, false },
    };
    static char data[4096];
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct server server = { .verifier_changes = cases[i].changes_with_write };
        struct problem why = { 0 };
        server_start(&server);
        struct wire *wire = wire_to(&server, 60 * NSEC_PER_SEC);
        int result = 0;
        for (int n = 0; n < 3 && result == 0; n++)
            result = move(wire, true, cases[i].stable, data, sizeof data, &why);
        pthread_mutex_lock(&server.lock);
        server.verifier += cases[i].change_before_commit;
        pthread_mutex_unlock(&server.lock);
        if (result == 0)
            result = commit(wire, &why);
        wire_close(wire);
        server_end(&server);
        if (result != (cases[i].fails ? -1 : 0))
            fail_msg("%s: %d, %s", cases[i].title, result, why.message);
        if (cases[i].fails)
            assert_string_equal(why.message,
                                "the NFS server 127.0.0.1 has another write verifier than before: "
                                "what it had not yet made stable is lost");
    }
}

/* Calls smaller than the record, and servers that do less than they are asked. */
static void a_record_is_moved_whole_in_parts(void **state)
{
    static const struct {
        uint32_t most, whole;
        int calls;
    } cases[] = {
        { STORE, STORE, 1 }, { 1000, STORE, 11 }, { STORE, 3000, 4 }, { 4096, 1, 10001 }
    };
    static char data[10001], found[sizeof data];
    (void)state;
    fill(data, sizeof data);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct server server = { .most = cases[i].most, .whole = cases[i].whole };
        struct problem why = { 0 };
        memset(found, 0, sizeof found);
        server_start(&server);
        struct wire *wire = wire_to(&server, 60 * NSEC_PER_SEC);
        assert_int_equal(move(wire, true, false, data, sizeof data, &why), 0);
        assert_int_equal(move(wire, false, false, found, sizeof found, &why), 0);
        wire_close(wire);
        server_end(&server);
        assert_memory_equal(server.store, data, sizeof data);
        assert_memory_equal(found, data, sizeof data);
        assert_int_equal(server.calls[WRITE], cases[i].calls);
        assert_int_equal(server.calls[READ], cases[i].calls);
    }
}

static bool this_host_speaks_ipv6(void)
{
    const struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool result = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return result;
}

static void a_server_may_have_an_ipv6_address(void **state)
{
    struct server server = { .six = true };
    struct problem why = { 0 };
    (void)state;
    if (!this_host_speaks_ipv6())
        skip();
    server_start(&server);
    struct wire *wire = wire_to(&server, 60 * NSEC_PER_SEC);
    assert_int_equal(wire_look_up(wire, wire_root(wire), "a", NULL, NULL, &why), 0);
    assert_string_equal(wire_source(wire), "[::1]:/export");
    wire_close(wire);
    server_end(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_off_is_asked_again),
        cmocka_unit_test(what_is_put_off_holds_nothing_up),
        cmocka_unit_test(what_is_put_off_for_ever_ends_by_patience),
        cmocka_unit_test(waiting_for_a_later_time_ends_on_request),
        cmocka_unit_test(a_server_that_forgot_what_it_took_is_a_failure),
        cmocka_unit_test(a_record_is_moved_whole_in_parts),
        cmocka_unit_test(a_server_may_have_an_ipv6_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
