#include "service/process.h"

#include "engine/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

int process_open(pid_t pid, struct process *ret, struct problem *why)
{
    if (pid <= 0)
        return 0;
    int fd = pidfd_open(pid, 0);
    if (fd < 0 && errno == ESRCH)
        return 0;
    if (fd < 0)
        return problem_errno(why, errno, "cannot watch process %d", (int)pid);
    *ret = (struct process){ .pid = pid, .fd = fd };
    return 1;
}

int process_of_child(pid_t pid, struct process *ret, struct problem *why)
{
    struct process process;
    int found = process_open(pid, &process, why);
    if (found == 0)
        return problem_set(why, PROBLEM_INTERNAL, "child %d has already been collected", (int)pid);
    if (found < 0)
        return -1;
    process.child = true;
    *ret = process;
    return 0;
}

static bool read_small(const char *path, char *text, size_t size)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (n < 0)
        return false;
    text[n] = '\0';
    return true;
}

/* The fields after the name, which may hold spaces and brackets: from the state on. */
static const char *after_name(const char *stat)
{
    const char *bracket = strrchr(stat, ')');
    return bracket && bracket[1] == ' ' ? bracket + 2 : NULL;
}

static bool started_at(pid_t pid, uint64_t *ret)
{
    char path[64], stat[1024];
    if (text_fit(path, sizeof path, "/proc/%d/stat", (int)pid) < 0 ||
        !read_small(path, stat, sizeof stat))
        return false;
    const char *p = after_name(stat); /* field 3 */
    for (int field = 3; p && field < 22; field++)
        if ((p = strchr(p, ' ')))
            p++;
    if (!p)
        return false;
    *ret = strtoull(p, NULL, 10);
    return true;
}

/* With hyphens or without. */
static bool is_same_id(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "-\n");
        b += strspn(b, "-\n");
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

bool process_this_boot(const char *boot_id)
{
    char kernel[64];
    const char *now = getenv(BOOT_VARIABLE);
    if (!boot_id)
        return false;
    if (!now || !*now)
        now = read_small("/proc/sys/kernel/random/boot_id", kernel, sizeof kernel) ? kernel : "";
    return *now && is_same_id(now, boot_id);
}

int process_find(pid_t pid, uint64_t start, const char *boot_id, struct process *ret,
                 struct problem *why)
{
    if (!process_this_boot(boot_id))
        return 0;
    struct process process;
    int found = process_open(pid, &process, why);
    if (found <= 0)
        return found;
    /* Opened first, looked at then: the descriptor cannot move to a later process. */
    uint64_t its_start;
    if (!started_at(pid, &its_start) || its_start != start) {
        process_leave(&process);
        return 0;
    }
    *ret = process;
    return 1;
}

bool process_wait(const struct process *process, nsec deadline_in)
{
    if (process->fd < 0)
        return true;
    nsec deadline = clock_monotonic() + deadline_in;
    struct pollfd p = { .fd = process->fd, .events = POLLIN };
    for (;;) {
        nsec left = deadline - clock_monotonic();
        int n = poll(&p, 1, left > 0 ? (int)((left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC) : 0);
        if (n > 0)
            return true;
        if (left <= 0)
            return false;
    }
}

bool process_ended(const struct process *process)
{
    return process_wait(process, 0);
}

int process_signal(const struct process *process, int signal)
{
    if (process->fd < 0)
        return -1;
    return pidfd_send_signal(process->fd, signal, NULL, 0);
}

static void closedir_cell(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

enum process_rest process_rest(const struct process *process)
{
    char path[64];
    enum process_rest rest = PROCESS_SLEEPS;
    if (process->fd < 0 || text_fit(path, sizeof path, "/proc/%d/task", (int)process->pid) < 0)
        return PROCESS_RUNS;
    scoped(closedir_cell) DIR *dir = opendir(path);
    if (!dir)
        return PROCESS_RUNS;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char file[384], stat[1024];
        if (entry->d_name[0] == '.' ||
            text_fit(file, sizeof file, "%s/%s/stat", path, entry->d_name) < 0 ||
            !read_small(file, stat, sizeof stat))
            continue;
        const char *state = after_name(stat);
        if (state && *state == 'D')
            return PROCESS_HELD;
        if (state && *state == 'R')
            rest = PROCESS_RUNS;
    }
    return rest;
}

void process_leave(struct process *process)
{
    close_cell(&process->fd);
    *process = PROCESS_NONE;
}

void process_close(struct process *process, char fate[PROCESS_FATE])
{
    int status = 0;
    bool known = process->child && waitpid(process->pid, &status, WNOHANG) == process->pid;
    if (known && WIFEXITED(status))
        snprintf(fate, PROCESS_FATE, "ended with status %d", WEXITSTATUS(status));
    else if (known && WIFSIGNALED(status))
        snprintf(fate, PROCESS_FATE, "was killed by signal %d", WTERMSIG(status));
    else
        snprintf(fate, PROCESS_FATE, "ended");
    process_leave(process);
}
