#include "service/launcher.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/spec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

int launcher_path(const struct launcher *launcher, job_id id, const char *name, char path[PATH_MAX],
                  struct problem *why)
{
    if (text_fit(path, PATH_MAX, "%s/jobs/%lld%s%s", launcher->state, (long long)id,
                 *name ? "/" : "", name) < 0)
        return problem_field(why, "state", "the path is too long");
    return 0;
}

static int make_folder(const struct launcher *launcher, job_id id, struct problem *why)
{
    char path[PATH_MAX];
    if (launcher_path(launcher, id, "", path, why) < 0)
        return -1;
    if (mkdir(path, 0750) < 0 && errno != EEXIST)
        return problem_errno(why, errno, "cannot make %s", path);
    return 0;
}

/* A database that was made anew, or put back from a backup, counts its jobs from an earlier number on. A
 * folder that stands there already then holds another job's journal, which must not become this one's. */
static int put_aside(const struct launcher *launcher, const struct job *job, struct problem *why)
{
    char spec_path[PATH_MAX], folder[PATH_MAX], aside[PATH_MAX];
    struct problem unreadable = { 0 };
    scoped(spec_done) struct spec spec = { 0 };
    if (launcher_path(launcher, job->id, SPEC_FILE, spec_path, why) < 0 ||
        launcher_path(launcher, job->id, "", folder, why) < 0)
        return -1;
    if (access(spec_path, F_OK) < 0)
        return 0;
    bool readable = spec_read(spec_path, &spec, &unreadable) == 0;
    if (readable && strcmp(spec.nonce, job->nonce) == 0)
        return 0;
    if (text_fit(aside, sizeof aside, "%s.%s", folder, readable ? spec.nonce : "unreadable") < 0)
        return problem_field(why, "state", "the path is too long");
    if (rename(folder, aside) < 0)
        return problem_errno(why, errno, "cannot put %s aside, which is another job's", folder);
    log_job(LOG_WARNING, job->id,
            "%s was there already, of a job that this database does not know: put aside as %s",
            folder, aside);
    return 0;
}

/* The spec is written once: what a second start or a clean-up reads is what the first one read. */
static int make_spec(const struct launcher *launcher, const struct job *job, struct problem *why)
{
    char path[PATH_MAX];
    struct stat st;
    if (launcher_path(launcher, job->id, SPEC_FILE, path, why) < 0)
        return -1;
    if (stat(path, &st) == 0)
        return 0;
    scoped(spec_done) struct spec spec = { 0 };
    const struct spec_held held = { .job = job->id,
                                    .nonce = job->nonce,
                                    .workload = job->workload,
                                    .target = job->target,
                                    .params = job->params,
                                    .matrix = job->matrix,
                                    .repeat = job->repeat,
                                    .seed = job->seed };
    if (spec_of_job(&held, &spec, why) < 0)
        return -1;
    return spec_write(path, &spec, why);
}

int launcher_start(const struct launcher *launcher, const struct job *job, enum launch what,
                   struct process *ret, struct problem *why)
{
    if ((what == LAUNCH_RUN && put_aside(launcher, job, why) < 0) ||
        make_folder(launcher, job->id, why) < 0 || make_spec(launcher, job, why) < 0)
        return -1;
    if (launcher->way->start(launcher, job->id, what, ret, why) < 0)
        return problem_during(why, "starting the runner: ");
    return 0;
}

int launcher_signal(const struct launcher *launcher, job_id id, const struct process *process,
                    int signal, struct problem *why)
{
    return launcher->way->signal(launcher, id, process, signal, why);
}

void launcher_last_words(const struct launcher *launcher, job_id id, char *text, size_t size)
{
    text[0] = '\0';
    launcher->way->last_words(launcher, id, text, size);
}

static bool is_ours(int folder, const char *name)
{
    static const char *const ours[] = { SPEC_FILE, SPEC_FILE ".new", JOURNAL_FILE, RUNNER_LOG };
    struct stat st;
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (strcmp(name, ours[i]) == 0)
            return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    return false;
}

static void close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

/* Calls `each` with every name in the folder until one is refused. */
static int each_name(DIR *dir, const char *path, int (*each)(int, const char *, struct problem *),
                     struct problem *why)
{
    const struct dirent *entry;
    rewinddir(dir);
    while (errno = 0, (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            each(dirfd(dir), entry->d_name, why) < 0)
            return problem_during(why, "%s: ", path);
    return errno ? problem_errno(why, errno, "cannot list %s", path) : 0;
}

static int check_name(int folder, const char *name, struct problem *why)
{
    char shown[128];
    if (is_ours(folder, name))
        return 0;
    return problem_set(why, PROBLEM_CONFLICT,
                       "the job's folder holds %s, which was not made here: remove it first",
                       text_shown(name, shown, sizeof shown));
}

static int remove_name(int folder, const char *name, struct problem *why)
{
    if (is_ours(folder, name) && unlinkat(folder, name, 0) < 0 && errno != ENOENT)
        return problem_errno(why, errno, "cannot remove %s", name);
    return 0;
}

int launcher_forget(const struct launcher *launcher, job_id id, struct problem *why)
{
    char path[PATH_MAX];
    if (launcher_path(launcher, id, "", path, why) < 0)
        return -1;
    scoped_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : problem_errno(why, errno, "cannot open %s", path);
    scoped(close_dir) DIR *dir = fdopendir(fd);
    if (!dir)
        return problem_errno(why, errno, "cannot list %s", path);
    (void)steal_fd(&fd); /* closed with dir */
    if (each_name(dir, path, check_name, why) < 0 || each_name(dir, path, remove_name, why) < 0)
        return -1;
    return rmdir(path) < 0 ? problem_errno(why, errno, "cannot remove %s", path) : 0;
}
