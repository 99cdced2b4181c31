#include "service/folders.h"

#include "engine/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>

#define PORT_FILE "http.port"

/* State and runtime are open to others for passing only: PostgreSQL's user passes them. */
static int make(const char *path, mode_t mode, struct problem *why)
{
    if (mkdir(path, mode) == 0)
        return chmod(path, mode) < 0 ? problem_errno(why, errno, "cannot set the mode of %s", path)
                                     : 0;
    struct stat st;
    if (errno != EEXIST)
        return problem_errno(why, errno, "cannot make %s", path);
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return problem_set(why, PROBLEM_UNSUPPORTED, "%s is not a folder", path);
    return 0;
}

/* What root makes there the owner's own daemon could not work with. */
static int check_owner(const char *state, struct problem *why)
{
    struct stat st;
    if (stat(state, &st) < 0)
        return problem_errno(why, errno, "cannot look at %s", state);
    if (geteuid() != 0 || st.st_uid == 0)
        return 0;
    char room[1024], number[32];
    struct passwd entry, *found = NULL;
    snprintf(number, sizeof number, "user %u", st.st_uid);
    (void)getpwuid_r(st.st_uid, &entry, room, sizeof room, &found);
    return problem_set(why, PROBLEM_UNSUPPORTED,
                       "%s belongs to %s: start plimsolld as that user, or give root's another "
                       "folder as state",
                       state, found ? found->pw_name : number);
}

static int lock_state(const char *state, int *ret, struct problem *why)
{
    char path[PATH_MAX];
    if (text_fit(path, sizeof path, "%s/lock", state) < 0)
        return problem_field(why, "state", "the path is too long");
    scoped_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0)
        return problem_errno(why, errno, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return problem_set(why, PROBLEM_CONFLICT, "another plimsolld works in %s", state);
        return problem_errno(why, errno, "cannot lock %s", path);
    }
    *ret = steal_fd(&fd);
    return 0;
}

int folders_make(const char *state, const char *runtime, int *ret_lock, struct problem *why)
{
    char jobs[PATH_MAX];
    if (text_fit(jobs, sizeof jobs, "%s/jobs", state) < 0)
        return problem_field(why, "state", "the path is too long");
    if (make(state, 0711, why) < 0 || check_owner(state, why) < 0 || make(jobs, 0750, why) < 0 ||
        make(runtime, 0711, why) < 0)
        return -1;
    return lock_state(state, ret_lock, why);
}

static bool port_path(const char *runtime, char path[PATH_MAX])
{
    return text_fit(path, PATH_MAX, "%s/" PORT_FILE, runtime) == 0;
}

int folders_note_port(const char *runtime, unsigned port, struct problem *why)
{
    char path[PATH_MAX];
    if (!port_path(runtime, path))
        return problem_field(why, "runtime", "the path is too long");
    scoped_file FILE *f = fopen(path, "we");
    if (!f || fprintf(f, "%u\n", port) < 0 || fflush(f) != 0)
        return problem_errno(why, errno, "cannot write %s", path);
    return 0;
}

void folders_forget_port(const char *runtime)
{
    char path[PATH_MAX];
    if (port_path(runtime, path))
        (void)unlink(path);
}

unsigned folders_port(const char *runtime)
{
    char path[PATH_MAX], text[16];
    scoped_file FILE *f = port_path(runtime, path) ? fopen(path, "re") : NULL;
    return f && fgets(text, sizeof text, f) ? (unsigned)strtoul(text, NULL, 10) : 0;
}
