/* login-manager SOCKET CALLED: what systemd's login manager answers to those who reach it by SOCKET, as
 * DBUS_SYSTEM_BUS_ADDRESS=unix:path=SOCKET makes them. It restarts nothing: that it was asked to is a line of
 * CALLED, "reboot". While there is a file CALLED.refuse, it says no in the words of that; while there is CALLED.hold,
 * it does not answer. Says "ready" when it listens, and ends with whoever started it. */
#include "engine/base/attr.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

struct manager {
    const char *called;
    sd_event *event;
};

static int reboot(const struct manager *manager, sd_bus_message *call)
{
    char path[4096], words[200] = "";
    snprintf(path, sizeof path, "%s.refuse", manager->called);
    int refused = open(path, O_RDONLY | O_CLOEXEC);
    if (refused >= 0) {
        ssize_t n = read(refused, words, sizeof words - 1);
        close(refused);
        words[n > 0 ? strcspn(words, "\n") : 0] = '\0';
        return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_ACCESS_DENIED, "%s", words);
    }
    int fd = open(manager->called, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    bool told = fd >= 0 && write(fd, "reboot\n", 7) == 7;
    if (fd >= 0)
        close(fd);
    snprintf(path, sizeof path, "%s.hold", manager->called);
    if (access(path, F_OK) == 0)
        return 1; /* for good: its caller has a deadline */
    return told ? sd_bus_reply_method_return(call, NULL)
                : sd_bus_reply_method_errorf(call, SD_BUS_ERROR_FAILED, "cannot write %s",
                                             manager->called);
}

static int answer(sd_bus_message *call, void *arg, sd_bus_error *error unused)
{
    if (sd_bus_message_is_method_call(call, "org.freedesktop.DBus", "Hello"))
        return sd_bus_reply_method_return(call, "s", ":1.1");
    if (sd_bus_message_is_method_call(call, "org.freedesktop.login1.Manager", "Reboot"))
        return reboot(arg, call);
    return 0;
}

/* Each connection for as long as its client keeps it. */
static int greet(sd_event_source *source unused, int fd, uint32_t events unused, void *arg)
{
    struct manager *manager = arg;
    sd_id128_t id;
    sd_bus *bus = NULL;
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0 || sd_id128_randomize(&id) < 0 || sd_bus_new(&bus) < 0 ||
        sd_bus_set_fd(bus, client, client) < 0 || sd_bus_set_server(bus, 1, id) < 0 ||
        sd_bus_add_filter(bus, NULL, answer, manager) < 0 || sd_bus_start(bus) < 0 ||
        sd_bus_attach_event(bus, manager->event, 0) < 0)
        return -1;
    return 0;
}

int main(int argc, char **argv)
{
    struct manager manager = { .called = argc == 3 ? argv[2] : NULL };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (argc != 3 || snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]) >=
                         (int)sizeof address.sun_path)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, 16) != 0 || sd_event_default(&manager.event) < 0 ||
        sd_event_add_io(manager.event, NULL, fd, EPOLLIN, greet, &manager) < 0)
        return 1;
    puts("ready");
    fflush(stdout);
    return sd_event_loop(manager.event) < 0;
}
