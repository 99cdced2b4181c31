/* What a run has just made, but could not yet tell by what it is known again, must not be taken for what somebody
 * has put under the same name. So a random number is told to the journal, on stable storage, before anything is
 * made, and everything bears it from the moment it is there: a dataset as a property, an entry of a folder by
 * its group, which is set by the same system call that makes it. A look-alike has another group.
 *
 * Also here: tools that a killed runner has left at work are waited for, so that what they are about to make is
 * there before it is looked for. They are known by their environment. */
#include "engine/provision/provisioner.h"

#include "engine/base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/pidfd.h>
#include <sys/random.h>

#define RUN_VARIABLE "PLIMSOLL_RUN"
enum {
    GROUPS_NOBODY_HAS = 0x40000000, /* from here on, as many again */
    OUTLIVED_MS = 60000,            /* what a tool may take that works on after its runner */
    KILLED_MS = 5000                /* and then to die */
};

/* --- marks --- */

static void probe_name(const struct ledger *made, char name[FILESYSTEM_NAME])
{
    snprintf(name, FILESYSTEM_NAME, "p%016llx", (unsigned long long)made->mark);
}

/* Whether entries keep the group they are made under: not for users without the right, not on a server that
 * decides by itself, not below a folder that gives its own. */
static int find_group(int folder, struct ledger *made, struct problem *why)
{
    char name[FILESYSTEM_NAME];
    struct stat st;
    gid_t group = GROUPS_NOBODY_HAS | (gid_t)(made->mark & (GROUPS_NOBODY_HAS - 1));
    probe_name(made, name);
    gid_t usual = (gid_t)setfsgid(group);
    scoped_fd int fd =
        openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = errno;
    setfsgid(usual);
    if (fd < 0)
        return problem_errno(why, error, "cannot make a file in the run directory");
    if (fstat(fd, &st) == 0 && st.st_gid == group)
        made->group = group;
    provision_unprobe(folder, made);
    return 0;
}

void provision_unprobe(int folder, const struct ledger *made)
{
    char name[FILESYSTEM_NAME];
    probe_name(made, name);
    if (made->mark)
        unlinkat(folder, name, 0);
}

int provision_begin(struct run *run, int folder, struct problem *why)
{
    struct ledger *made = run_made(run);
    if (setenv(RUN_VARIABLE, run_name(run), 1) != 0)
        return problem_memory(why);
    if (made->mark) /* an earlier leg has drawn it */
        return 0;
    if (getrandom(&made->mark, sizeof made->mark, 0) != sizeof made->mark)
        return problem_errno(why, errno, "cannot draw a random number");
    made->mark |= 1;
    if (run_made_tell(run, why))
        return -1;
    return folder >= 0 ? find_group(folder, made, why) : 0;
}

void provision_enter(const struct ledger *made)
{
    if (made->group)
        setfsgid(made->group); /* of this thread alone */
}

bool provision_owns(const struct ledger *made, const struct stat *st)
{
    return st->st_uid == geteuid() && (!made->group || st->st_gid == made->group);
}

/* --- tools that outlived their runner --- */

static void closedir_cell(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

/* Whether it is one, by its environment; those that we may not read are none of ours. */
static bool works_for(const char *pid, const char *wanted, size_t n)
{
    char path[300], bytes[4096 + 256];
    size_t kept = 0;
    ssize_t got;
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (got = read(fd, bytes + kept, sizeof bytes - kept)) > 0) {
        size_t filled = kept + (size_t)got;
        if (memmem(bytes, filled, wanted, n))
            return true;
        kept = filled < n ? filled : n; /* it may lie across two pieces */
        memmove(bytes, bytes + filled - kept, kept);
    }
    return false;
}

/* One, as a pidfd, and its number; -1: there is none. */
static int find_outlived(const char *wanted, size_t n, char pid[16])
{
    scoped(closedir_cell) DIR *dir = opendir("/proc");
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !works_for(entry->d_name, wanted, n))
            continue;
        snprintf(pid, 16, "%.15s", entry->d_name);
        int fd = pidfd_open((pid_t)strtol(pid, NULL, 10), 0);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static bool ends_within(int process, int milliseconds)
{
    struct pollfd wait = { .fd = process, .events = POLLIN };
    nsec deadline = clock_monotonic() + milliseconds * NSEC_PER_MSEC;
    int n;
    do {
        nsec left = (deadline - clock_monotonic()) / NSEC_PER_MSEC;
        n = poll(&wait, 1, left > 0 ? (int)left : 0);
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

int provision_outlived(const char *run, struct problem *why)
{
    char wanted[256], pid[16];
    int length = snprintf(wanted, sizeof wanted, RUN_VARIABLE "=%s", run);
    if (length >= (int)sizeof wanted)
        return problem_set(why, PROBLEM_INTERNAL, "the name of the run is too long");
    for (;;) {
        scoped_fd int process = find_outlived(wanted, (size_t)length + 1, pid);
        if (process < 0)
            return 0;
        if (ends_within(process, OUTLIVED_MS))
            continue;
        pidfd_send_signal(process, SIGKILL, NULL, 0);
        if (!ends_within(process, KILLED_MS))
            return problem_set(why, PROBLEM_CONFLICT,
                               "process %s, which the run has started, does not end", pid);
    }
}
