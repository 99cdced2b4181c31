/* The bare HTTP server that the service's answers are held against: libmicrohttpd, epoll, a pool of
 * threads, six bytes.
 *
 *     hello [THREADS]
 *
 * Prints its port on loopback and serves until SIGTERM or SIGINT. */
#include "engine/base/attr.h"

#include <arpa/inet.h>
#include <err.h>
#include <microhttpd.h>
#include <signal.h>

static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *body_size, void **seen)
{
    (void)url, (void)method, (void)version, (void)body, (void)body_size;
    static char mark;
    if (!*seen) { /* the head has come; answer when the whole request has */
        *seen = &mark;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, arg);
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2;
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stop, NULL);

    static char text[] = "hello\n";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof(text) - 1, text, MHD_RESPMEM_PERSISTENT);
    struct sockaddr_in loopback = { .sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, response,
                         MHD_OPTION_SOCK_ADDR, &loopback, MHD_OPTION_THREAD_POOL_SIZE, threads,
                         MHD_OPTION_CONNECTION_TIMEOUT, 10u, MHD_OPTION_END);
    if (!response || !daemon)
        errx(1, "the server does not start with %u threads", threads);
    printf("%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);

    int signal_seen;
    sigwait(&stop, &signal_seen);
    MHD_stop_daemon(daemon);
    MHD_destroy_response(response);
    return 0;
}
