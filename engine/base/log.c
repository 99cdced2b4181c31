#include "engine/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { LINE_MOST = 1024 }; /* whole lines in one write, so that threads do not mix them */

static const char *const names[] = {
    [LOG_ERROR] = "error: ", [LOG_WARNING] = "warning: ", [LOG_NOTICE] = "",
    [LOG_INFO] = "",         [LOG_DEBUG] = "debug: ",
};

/* Whether systemd reads our standard error: it says so by device and inode. */
static bool journald_reads(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;
    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/* In the journal's own form, so that the job's number is a field of its own: NAME=VALUE lines in one
 * datagram. Our lines hold no newline. */
static bool tell_journald(enum log_level level, long long job, const char *line)
{
    static const struct sockaddr_un journald = { .sun_family = AF_UNIX,
                                                 .sun_path = "/run/systemd/journal/socket" };
    char text[LINE_MOST + 256];
    int n = snprintf(text, sizeof text,
                     "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nPLIMSOLL_JOB=%lld\nMESSAGE=%s\n",
                     (int)level, program_invocation_short_name, job, line);
    scoped_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return n > 0 && (size_t)n < sizeof text && fd >= 0 &&
           sendto(fd, text, (size_t)n, MSG_NOSIGNAL, (const struct sockaddr *)&journald,
                  sizeof journald) == n;
}

static void write_all(const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write(STDERR_FILENO, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; /* nowhere left to say so */
        bytes += written;
        n -= (size_t)written;
    }
}

/* One failure is one line, whatever the texts in it hold. */
static void one_line(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = ' ';
}

static void printf_like(3, 0) say(enum log_level level, long long job, const char *fmt, va_list ap)
{
    if (level == LOG_DEBUG && !getenv("PLIMSOLL_DEBUG"))
        return;
    int saved = errno;
    char line[LINE_MOST];
    bool journald = journald_reads();
    int n = journald && !job ? snprintf(line, sizeof line, "<%d>", (int)level)
                             : snprintf(line, sizeof line, "%s", journald ? "" : names[level]);
    if (job)
        n += snprintf(line + n, sizeof line - (size_t)n, "job %lld: ", job);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    if ((size_t)n > sizeof line - 2)
        n = sizeof line - 2;
    line[n] = '\0';
    one_line(line);
    /* What is about no job, such as why the daemon cannot start, goes where journald cannot take it
     * for another unit's when we have ended meanwhile. */
    if (!journald || !job || !tell_journald(level, job, line)) {
        line[n] = '\n';
        write_all(line, (size_t)n + 1);
    }
    errno = saved;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(level, 0, fmt, ap);
    va_end(ap);
}

void log_job(enum log_level level, long long job, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(level, job, fmt, ap);
    va_end(ap);
}

void log_problem(enum log_level level, const char *what, const struct problem *why)
{
    /* A message about a settings file begins with its place. */
    if (why->field[0] && !strstr(why->message, why->field))
        log_line(level, "%s: %s (%s)", what, why->message, why->field);
    else
        log_line(level, "%s: %s", what, why->message);
}
