#include "engine/base/spawn.h"

#include "engine/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#define STOPPED_WITHIN \
    (5 * NSEC_PER_SEC)            /* what a tool may take to come to its end when all is to stop */
enum { KILLED_WITHIN_MS = 5000 }; /* what dying may take */
extern char **environ;

static void actions_done(posix_spawn_file_actions_t *actions)
{
    posix_spawn_file_actions_destroy(actions);
}
static void attributes_done(posix_spawnattr_t *attributes)
{
    posix_spawnattr_destroy(attributes);
}

/* In the child, `as` is fd, or /dev/null where there is none. One that is among the standard three itself is copied
 * above them, so that the order in which they are replaced does not matter. */
static int redirect(posix_spawn_file_actions_t *actions, int fd, int as, int *copy)
{
    if (fd == 0)
        return posix_spawn_file_actions_addopen(actions, as, "/dev/null", O_RDWR, 0);
    if (fd <= STDERR_FILENO && (*copy = fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) < 0)
        return errno;
    return posix_spawn_file_actions_adddup2(actions, fd, as);
}

/* Signals that we block or ignore must not be blocked or ignored in the child. */
static int set_attributes(posix_spawnattr_t *attributes, bool own_session)
{
    sigset_t all, none;
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    sigemptyset(&none);
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    if (own_session)
        flags |= POSIX_SPAWN_SETSID;
    int error = posix_spawnattr_setsigdefault(attributes, &all);
    if (!error)
        error = posix_spawnattr_setsigmask(attributes, &none);
    return error ? error : posix_spawnattr_setflags(attributes, flags);
}

int spawn_start(const struct spawn *spawn, pid_t *ret, struct problem *why)
{
    scoped_fd int in = -1, out = -1, err = -1; /* copies */
    scoped(actions_done) posix_spawn_file_actions_t actions;
    scoped(attributes_done) posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int error = redirect(&actions, spawn->in, STDIN_FILENO, &in);
    if (!error)
        error = redirect(&actions, spawn->out, STDOUT_FILENO, &out);
    if (!error)
        error = redirect(&actions, spawn->err, STDERR_FILENO, &err);
    if (!error)
        error = set_attributes(&attributes, spawn->own_session);

    /* posix_spawn takes char *const[] for reasons of history and changes nothing in it. */
    union {
        const char *const *given;
        char *const *taken;
    } argv = { spawn->argv }, env = { spawn->env };
    pid_t pid;
    if (!error)
        error = posix_spawnp(&pid, spawn->argv[0], &actions, &attributes, argv.taken,
                             spawn->env ? env.taken : environ);
    if (error)
        return problem_errno(why, error, "cannot start %s", spawn->argv[0]);
    *ret = pid;
    return 0;
}

static int milliseconds_until(nsec deadline)
{
    nsec left = deadline - clock_monotonic();
    if (left <= 0)
        return 0;
    nsec whole = (left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
    return whole > INT32_MAX ? INT32_MAX : (int)whole;
}

static int reap(pid_t pid, int *ret_status, struct problem *why)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return problem_errno(why, errno, "cannot wait for process %d", (int)pid);
    *ret_status = status;
    return 0;
}

int spawn_wait(pid_t pid, nsec deadline_in, int *ret_status, struct problem *why)
{
    scoped_fd int ended = pidfd_open(pid, 0);
    if (ended < 0)
        return problem_errno(why, errno, "cannot wait for process %d", (int)pid);
    nsec deadline = clock_monotonic() + deadline_in;
    struct pollfd wait = { .fd = ended, .events = POLLIN };
    for (;;) {
        int n = poll(&wait, 1, milliseconds_until(deadline));
        if (n > 0)
            return reap(pid, ret_status, why);
        if (n < 0 && errno != EINTR)
            return problem_errno(why, errno, "cannot wait for process %d", (int)pid);
        if (n == 0)
            return problem_set(why, PROBLEM_INTERRUPTED, "process %d did not end within %.3g s",
                               (int)pid, seconds_of(deadline_in));
    }
}

/* What a child has said so far, as much of it as is kept. */
struct heard {
    char *at;
    size_t n, room;
};

/* No more at once than a pipe holds: somebody may say things without end. */
static void hear(struct heard *heard, int fd)
{
    char bytes[4096];
    ssize_t got;
    for (int i = 0; i < 16 && (got = read(fd, bytes, sizeof bytes)) > 0; i++) {
        size_t kept = (size_t)got < heard->room - heard->n ? (size_t)got : heard->room - heard->n;
        memcpy(heard->at + heard->n, bytes, kept);
        heard->n += kept;
    }
}

/* Until the child has ended: a grandchild that holds the pipe open is not waited for. */
static int listen_until_end(int ended, int pipe, int stop, nsec deadline, struct heard *heard,
                            bool *ret_stopped)
{
    for (;;) {
        struct pollfd wait[] = {
            { .fd = ended, .events = POLLIN },
            { .fd = pipe, .events = POLLIN },
            { .fd = *ret_stopped ? -1 : stop, .events = POLLIN },
        };
        int n = poll(wait, COUNT_OF(wait), milliseconds_until(deadline));
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0 && wait[1].revents)
            hear(heard, pipe);
        if (n > 0 && wait[0].revents) {
            hear(heard, pipe);
            return 0;
        }
        nsec now = clock_monotonic();
        if (n > 0 && wait[2].revents) {
            *ret_stopped = true;
            deadline = now + STOPPED_WITHIN < deadline ? now + STOPPED_WITHIN : deadline;
        }
        if (n == 0 || now >= deadline)
            return -1;
    }
}

/* Lines are set apart by "; ", and other blanks are one each. */
static void join_lines(const char *output, char *line, size_t size)
{
    size_t n = 0;
    while (*output && n + 3 < size) {
        size_t blank = strspn(output, " \t\r\n");
        if (blank && n && memchr(output, '\n', blank))
            line[n++] = ';';
        if (blank && n)
            line[n++] = ' ';
        output += blank;
        if (!blank)
            line[n++] = *output++;
    }
    line[n] = '\0';
}

static int tell_status(const char *tool, int status, const char *output, struct problem *why)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    char line[512], words[256];
    join_lines(output, line, sizeof line);
    text_shown(line, words, sizeof words);
    const char *colon = words[0] ? ": " : "";
    if (WIFSIGNALED(status))
        return problem_set(why, PROBLEM_IO_FAILED, "%s was ended by signal %d (%s)%s%s", tool,
                           WTERMSIG(status), sigdescr_np(WTERMSIG(status)), colon, words);
    return problem_set(why, PROBLEM_IO_FAILED, "%s ended with status %d%s%s", tool,
                       WEXITSTATUS(status), colon, words);
}

static void trim_end(struct heard *heard)
{
    while (heard->n > 0 && strchr(" \t\r\n", heard->at[heard->n - 1]))
        heard->n--;
    heard->at[heard->n] = '\0';
}

/* What hangs in a system call does not die: it is left to the system. */
static int kill_and_reap(pid_t pid, int ended, int *ret_status, struct problem *why)
{
    struct pollfd wait = { .fd = ended, .events = POLLIN };
    kill(pid, SIGKILL);
    if (ended >= 0 && poll(&wait, 1, KILLED_WITHIN_MS) == 0)
        return problem_set(why, PROBLEM_IO_FAILED,
                           "it did not end in time, and killing it does not end it");
    return reap(pid, ret_status, why);
}

int spawn_run_until(int stop, const char *const *argv, nsec deadline_in, char *output, size_t size,
                    struct problem *why)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return problem_errno(why, errno, "cannot make a pipe for %s", argv[0]);
    scoped_fd int from = ends[0], to = ends[1];
    /* The child's end blocks: tools do not expect otherwise. */
    fcntl(to, F_SETFL, fcntl(to, F_GETFL) & ~O_NONBLOCK);

    nsec deadline = clock_monotonic() + deadline_in;
    struct spawn spawn = { .argv = argv, .out = to, .err = to };
    pid_t pid;
    if (spawn_start(&spawn, &pid, why) < 0)
        return -1;
    scoped_fd int ended =
        pidfd_open(pid, 0); /* which tells the end: ours of the pipe stays open, to be woken once */

    char words[512]; /* for a failure's sentence when the caller keeps nothing */
    bool keeps = size > 1, stopped = false;
    struct heard heard = { keeps ? output : words, 0, (keeps ? size : sizeof words) - 1 };
    int status = 0;
    bool late = ended < 0 || listen_until_end(ended, from, stop, deadline, &heard, &stopped) < 0;
    struct problem undead = { 0 };
    if (late ? kill_and_reap(pid, ended, &status, &undead) : reap(pid, &status, &undead))
        return problem_set(why, undead.code, "%s: %s", argv[0], undead.message);
    trim_end(&heard);
    if (late && stopped)
        return problem_set(why, PROBLEM_CANCELLED, "stopped on request, and %s was killed",
                           argv[0]);
    if (late)
        return problem_set(why, PROBLEM_IO_FAILED, "%s did not end within %.3g s and was killed",
                           argv[0], seconds_of(deadline_in));
    return tell_status(argv[0], status, heard.at, why);
}

int spawn_run(const char *const *argv, nsec deadline_in, char *output, size_t size,
              struct problem *why)
{
    return spawn_run_until(-1, argv, deadline_in, output, size, why);
}
