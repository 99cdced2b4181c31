#include "engine/base/resolve.h"
#include "tests/unit/cmocka_first.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

static nsec in_seconds(int seconds)
{
    return clock_monotonic() + seconds * NSEC_PER_SEC;
}

static void an_address_stands_for_itself(void **state)
{
    static const char *const cases[][2] = { { "127.0.0.1", "127.0.0.1" },
                                            { "::1", "::1" },
                                            { "0:0:0::1", "::1" },
                                            { "10.1", "10.0.0.1" } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char address[HOST_ADDRESS];
        struct problem why = { 0 };
        assert_int_equal(resolve_host(cases[i][0], 0, NULL, NULL, address, &why), 0);
        assert_string_equal(address, cases[i][1]);
    }
}

static void a_name_is_found(void **state)
{
    char address[HOST_ADDRESS];
    struct problem why = { 0 };
    (void)state;
    if (resolve_host("localhost", in_seconds(60), NULL, NULL, address, &why))
        fail_msg("%s", why.message);
    assert_true(strcmp(address, "127.0.0.1") == 0 || strcmp(address, "::1") == 0);
}

/* A name server that takes every question and answers none, which this process alone asks; -1: not possible. */
static int serve_silence(void)
{
    static const char settings[] = "nameserver 127.0.0.1\noptions timeout:30 attempts:1\n";
    char file[] = "/tmp/plimsoll-resolv.XXXXXX";
    struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    const struct sockaddr_in at = { .sin_family = AF_INET,
                                    .sin_port = htons(53),
                                    .sin_addr = { htonl(INADDR_LOOPBACK) } };
    if (unshare(CLONE_NEWNS | CLONE_NEWNET) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return -1;
    int fd = mkstemp(file);
    assert_true(fd >= 0 && write(fd, settings, sizeof settings - 1) == sizeof settings - 1);
    close(fd);
    int mounted = mount(file, "/etc/resolv.conf", NULL, MS_BIND, NULL);
    unlink(file);
    int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (mounted != 0 || ioctl(server, SIOCSIFFLAGS, &loopback) != 0 ||
        bind(server, (const struct sockaddr *)&at, sizeof at) != 0) {
        close(server);
        return -1;
    }
    return server;
}

static bool stop_at_once(void *arg)
{
    ++*(unsigned *)arg;
    return true;
}

static void a_name_server_that_is_silent_ends_by_the_deadline(void **state)
{
    char address[HOST_ADDRESS] = "untouched";
    struct problem why = { 0 };
    unsigned asked = 0;
    int server = serve_silence();
    (void)state;
    if (server < 0)
        skip();
    assert_int_equal(resolve_host("filer.example", clock_monotonic() + 300 * NSEC_PER_MSEC, NULL,
                                  NULL, address, &why),
                     -1);
    assert_string_equal(why.message, "the address of filer.example was not found in time: no name "
                                     "server has answered");
    why = (struct problem){ 0 };
    assert_int_equal(
        resolve_host("filer.example", in_seconds(3600), stop_at_once, &asked, address, &why), -1);
    assert_int_equal(why.code, PROBLEM_CANCELLED);
    assert_int_equal(asked, 1);
    assert_string_equal(address, "untouched");
    close(server);
}

static void what_is_no_host_is_told(void **state)
{
    char address[HOST_ADDRESS];
    struct problem why = { 0 };
    (void)state;
    assert_int_equal(resolve_host("no host", in_seconds(60), NULL, NULL, address, &why), -1);
    assert_non_null(strstr(why.message, "cannot find the address of no host: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_stands_for_itself),
        cmocka_unit_test(a_name_is_found),
        cmocka_unit_test(what_is_no_host_is_told),
        cmocka_unit_test(a_name_server_that_is_silent_ends_by_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
