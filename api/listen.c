#include "api/listen.h"

#include "engine/base/text.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { BACKLOG = 512 };

/* A name left by a server that died may go; one that somebody answers on may not. */
static int clear_stale(const struct sockaddr_un *address, struct problem *why)
{
    struct stat st;
    if (lstat(address->sun_path, &st))
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return problem_set(why, PROBLEM_CONFLICT, "listen: %s is there and is not a socket",
                           address->sun_path);
    scoped_fd int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return problem_errno(why, errno, "listen: cannot make a socket");
    if (connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 ||
        errno != ECONNREFUSED)
        return problem_set(why, PROBLEM_CONFLICT, "listen: another server answers on %s",
                           address->sun_path);
    if (unlink(address->sun_path))
        return problem_errno(why, errno, "listen: cannot remove the old %s", address->sun_path);
    return 0;
}

static int open_unix(const char *path, struct listener *ret, struct problem *why)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (text_fit(address.sun_path, sizeof address.sun_path, "%s", path) || path[0] != '/')
        return problem_set(why, PROBLEM_BAD_FIELD,
                           "listen: unix:%s must be an absolute path of at most %zu bytes", path,
                           sizeof address.sun_path - 1);
    if (clear_stale(&address, why))
        return -1;
    scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || chmod(path, 0660) ||
        listen(fd, BACKLOG))
        return problem_errno(why, errno, "cannot listen on unix:%s", path);
    *ret = (struct listener){ .fd = steal_fd(&fd) };
    memcpy(ret->path, address.sun_path, sizeof ret->path);
    return 0;
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage address = { 0 };
    socklen_t n = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &n))
        return 0;
    if (address.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

static int open_inet(const char *text, const struct addrinfo *address, struct listener *ret,
                     struct problem *why)
{
    const int on = 1;
    scoped_fd int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        (address->ai_family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on)) ||
        bind(fd, address->ai_addr, address->ai_addrlen) || listen(fd, BACKLOG))
        return problem_errno(why, errno, "cannot listen on %s", text);
    *ret = (struct listener){ .port = port_of(fd), .fd = fd };
    (void)steal_fd(&fd);
    return 0;
}

int listener_open(const char *text, struct listener *ret, struct problem *why)
{
    if (text_starts(text, "unix:"))
        return open_unix(text + strlen("unix:"), ret, why);
    char host[64];
    const char *colon = strrchr(text, ':');
    bool brackets = colon && text[0] == '[' && colon[-1] == ']';
    int n = colon ? (int)(colon - text) : 0;
    if (!colon || text_fit(host, sizeof host, "%.*s", brackets ? n - 2 : n, text + brackets))
        goto unreadable;
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                    .ai_socktype = SOCK_STREAM };
    struct addrinfo *address = NULL;
    if (getaddrinfo(host, colon + 1, &hints, &address))
        goto unreadable;
    int result = open_inet(text, address, ret, why);
    freeaddrinfo(address);
    return result;
unreadable:
    return problem_set(why, PROBLEM_BAD_FIELD,
                       "listen: %s must be ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH", text);
}

void listener_close(struct listener *listener)
{
    if (listener->path[0])
        unlink(listener->path);
    if (listener->fd >= 0)
        close(steal_fd(&listener->fd));
    listener->path[0] = '\0';
}
