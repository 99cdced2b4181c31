/* GET /jobs/{id}/journal: the file as it is, up to its length when the request came. */
#include "api/journal.h"
#include "api/api.h"
#include "api/files.h"
#include "api/handlers.h"
#include "engine/base/text.h"
#include "engine/journal.h"

#include <errno.h>
#include <fcntl.h>

const char *const journal_types[] = { "application/x-ndjson", NULL };

int job_journal(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    char name[64];
    int64_t revision;
    int state;
    if (store_job_revision(api->app->store, in->job, &revision, &state, why) ||
        text_fit(name, sizeof name, "jobs/%lld/%s", (long long)in->job, JOURNAL_FILE))
        return -1;
    scoped_fd int folder = open(api->app->state, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return problem_errno(why, errno, "cannot open the state directory");
    int result = file_reply(folder, name, "application/x-ndjson", out, why);
    if (result < 0)
        return -1;
    return result ? 0
                  : problem_set(why, PROBLEM_NOT_FOUND, "this job has no journal%s",
                                state == JOB_QUEUED ? " yet" : " on this host");
}
