#include "service/launcher.h"

#include "engine/base/text.h"
#include "engine/spec.h"

#include <errno.h>
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
    if (spec_of_job(job->id, job->nonce, job->workload, job->target, job->params, &spec, why) < 0)
        return -1;
    return spec_write(path, &spec, why);
}

int launcher_start(const struct launcher *launcher, const struct job *job, enum launch what,
                   struct process *ret, struct problem *why)
{
    if (make_folder(launcher, job->id, why) < 0 || make_spec(launcher, job, why) < 0)
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
