#include "service/launcher.h"

#include "engine/base/spawn.h"
#include "engine/base/text.h"
#include "engine/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

/* The daemon's environment without what belongs to the daemon alone. */
static const char **make_environment(void)
{
    static const char *const ours[] = { "NOTIFY_SOCKET=",     "WATCHDOG_",  "LISTEN_", "PG",
                                        "RUNTIME_DIRECTORY=", "CREDENTIALS" };
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    const char **made = calloc(n + 1, sizeof *made);
    for (size_t i = 0; made && i < n; i++) {
        bool drop = false;
        for (size_t k = 0; k < COUNT_OF(ours); k++)
            drop = drop || text_starts(environ[i], ours[k]);
        if (!drop)
            made[kept++] = environ[i];
    }
    return made;
}

static int start(const struct launcher *launcher, job_id id, enum launch what, struct process *ret,
                 struct problem *why)
{
    char spec[PATH_MAX], log_path[PATH_MAX];
    if (launcher_path(launcher, id, SPEC_FILE, spec, why) < 0 ||
        launcher_path(launcher, id, RUNNER_LOG, log_path, why) < 0)
        return -1;
    scoped_fd int log =
        open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (log < 0)
        return problem_errno(why, errno, "cannot open %s", log_path);
    scoped_free const char **env = make_environment();
    if (!env)
        return problem_memory(why);
    const char *const argv[] = { launcher->runner,
                                 what == LAUNCH_RUN ? "run" : "clean",
                                 spec,
                                 "--settings",
                                 launcher->settings,
                                 NULL };
    const struct spawn spawn = {
        .argv = argv, .env = env, .out = log, .err = log, .own_session = true
    };
    pid_t pid;
    cpus_lanes(&launcher->cpus);
    int started = spawn_start(&spawn, &pid, why);
    cpus_ours(&launcher->cpus);
    return started < 0 ? -1 : process_of_child(pid, ret, why);
}

static int send_signal(const struct launcher *launcher unused, job_id id unused,
                       const struct process *process, int signal, struct problem *why)
{
    if (process_signal(process, signal) < 0 && errno != ESRCH)
        return problem_errno(why, errno, "cannot signal process %d", (int)process->pid);
    return 0;
}

/* The last line of its log. */
static void last_words(const struct launcher *launcher, job_id id, char *text, size_t size)
{
    char path[PATH_MAX], tail[512];
    struct problem ignored = { 0 };
    if (launcher_path(launcher, id, RUNNER_LOG, path, &ignored) < 0)
        return;
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    if (end <= 0)
        return;
    off_t from = end > (off_t)sizeof tail - 1 ? end - ((off_t)sizeof tail - 1) : 0;
    ssize_t n = pread(fd, tail, sizeof tail - 1, from);
    while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == '\0'))
        n--;
    if (n <= 0)
        return;
    tail[n] = '\0';
    const char *line = strrchr(tail, '\n');
    line = line ? line + 1 : tail;
    /* systemd's priority, "<3>", is not for people. */
    if (line[0] == '<' && line[1] >= '0' && line[1] <= '7' && line[2] == '>')
        line += 3;
    if (text_is_plain(line) && text_fit(text, size, "%s", line) < 0)
        text[0] = '\0';
}

const struct launcher_way launcher_spawn = {
    .name = "spawn",
    .start = start,
    .signal = send_signal,
    .last_words = last_words,
};
