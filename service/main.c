/* plimsolld: argv and signals. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "service/commands.h"
#include "service/service.h"
#include "service/settings.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>

enum { DONE = 0, FAILED = 1, USAGE = 2 };

static void print_target_field(const struct field *f)
{
    printf("  %-14s %s", f->name, f->doc);
    for (const char *const *choice = f->choices; choice && *choice; choice++)
        printf("%s%s", choice == f->choices ? " One of: " : ", ", *choice);
    puts(f->choices ? "." : "");
}

static void print_help(void)
{
    printf(
        "usage: plimsolld [--settings FILE]                  serve, until SIGTERM or SIGINT\n"
        "       plimsolld [--settings FILE] --check-config   say whether the settings are right\n"
        "       plimsolld [--settings FILE] token add NAME --role viewer|operator|admin "
        "[--targets a,b] [--expires 90d]\n"
        "       plimsolld [--settings FILE] token list\n"
        "       plimsolld [--settings FILE] token remove NAME\n"
        "       plimsolld [--settings FILE] code [--role ROLE]   a one-time code for the "
        "dashboard (admin)\n"
        "       plimsolld --help | --version\n"
        "\n"
        "Settings are read from %s and conf.d/*.conf beside it, unless --settings names\n"
        "another file. SIGHUP reads targets, tokens and certificates again.\n"
        "\n"
        "[service]\n",
        SETTINGS_PATH);
    for (const struct field *f = settings_fields; f->type != FT_END; f++)
        printf("  %-14s %s%s%s%s\n", f->name, f->doc, f->preset_text ? " (" : "",
               f->preset_text ? f->preset_text : "", f->preset_text ? ")" : "");
    printf("[target NAME]\n");
    for (const struct field *f = target_fields; f->type != FT_END; f++)
        print_target_field(f);
}

static int tell(const struct problem *why)
{
    if (why->field[0] && !strstr(why->message, why->field))
        fprintf(stderr, "plimsolld: %s: %s\n", why->field, why->message);
    else
        fprintf(stderr, "plimsolld: %s\n", why->message);
    return FAILED;
}

static int check_config(const char *path)
{
    struct problem why = { 0 };
    struct settings settings = { 0 };
    if (settings_load(path, &settings, &why) < 0) {
        tell(&why);
        return USAGE;
    }
    printf("OK\n");
    settings_done(&settings);
    return DONE;
}

/* ---- serving ---- */

/* Before any thread exists, so that all of them have these blocked and only the descriptor tells. */
static int catch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Milliseconds between two signs of life; -1: nobody asks for them. */
static int sign_of_life(void)
{
    uint64_t usec = 0;
    return sd_watchdog_enabled(0, &usec) > 0 && usec ? (int)(usec / 2000) : -1;
}

/* Returns the signal, or 0 when time has passed. */
static int next_signal(int fd)
{
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

static int run(struct service *service, int signals)
{
    int period = sign_of_life();
    for (;;) {
        struct pollfd fds[] = {
            { .fd = signals, .events = POLLIN },
            { .fd = service_failed_fd(service), .events = POLLIN },
        };
        if (poll(fds, COUNT_OF(fds), period) < 0 && errno != EINTR)
            return FAILED;
        if (fds[1].revents)
            return FAILED;
        int signal = next_signal(signals);
        if (signal == SIGHUP)
            service_reload(service);
        else if (signal)
            return DONE;
        if (period > 0)
            (void)sd_notify(0, "WATCHDOG=1");
    }
}

static int serve(const char *settings_path)
{
    struct problem why = { 0 };
    struct service *service = NULL;
    scoped_fd int signals = catch_signals();
    if (signals < 0) {
        problem_errno(&why, errno, "cannot wait for signals");
        return tell(&why);
    }
    if (service_open(settings_path, &service, &why) < 0) {
        log_problem(LOG_ERROR, "cannot start", &why);
        return FAILED;
    }
    int status = run(service, signals);
    (void)sd_notify(0, "STOPPING=1");
    log_line(LOG_NOTICE, "stopping; runners go on");
    service_close(service);
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "settings", required_argument, NULL, 's' },
        { "check-config", no_argument, NULL, 'c' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },
        { 0 },
    };
    const char *settings = SETTINGS_PATH;
    bool check = false;
    /* "+": what follows a command's name is the command's. */
    for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (option == 's')
            settings = optarg;
        else if (option == 'c')
            check = true;
        else if (option == 'h')
            return print_help(), DONE;
        else if (option == 'v')
            return printf("plimsolld %s\n", PLIMSOLL_VERSION), DONE;
        else
            return fprintf(stderr, "plimsolld --help tells how to call it\n"), USAGE;
    }
    argc -= optind;
    argv += optind;
    if (check && !argc)
        return check_config(settings);
    if (!argc)
        return serve(settings);
    if (!check && strcmp(argv[0], "token") == 0)
        return command_token(settings, argc, argv);
    if (!check && strcmp(argv[0], "code") == 0)
        return command_code(settings, argc, argv);
    fprintf(stderr, "plimsolld: there is no command \"%s\"; --help tells which there are\n",
            argv[0]);
    return USAGE;
}
