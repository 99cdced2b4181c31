/* GET /jobs/{id}/events. A stream begins with the whole job (snapshot); then come its changes of state, which
 * are named by the job's revision in the order of their commits and read from the store, so that Last-Event-ID
 * resumes them after a restart, too; its progress, at most a few times a second; and its findings. It ends
 * after the last of these. */
#include "api/api.h"
#include "api/events_inside.h"
#include "api/handlers.h"
#include "api/job_answer.h"
#include "api/jobs.h"

static const nsec findings_within = 30 * NSEC_PER_SEC; /* of the job's end; not waited for beyond */

static json_t *state_json(const struct job_event *event)
{
    char at[CLOCK_TEXT];
    return json_pack("{s:I, s:s, s:s, s:s, s:b}", "revision", (json_int_t)event->revision, "at",
                     clock_format(event->at, at), "state", job_states[event->state], "cleanup",
                     cleanup_states[event->cleanup], "stuck", (int)event->stuck);
}

static json_t *findings_json(const struct job *job)
{
    return json_pack("{s:i, s:o}", "analysis", job->analysis, "items",
                     json_loads(job->findings, 0, NULL));
}

/* Nothing more will be told. */
static bool is_over(const struct job *job)
{
    return job_settled(job->state, job->cleanup) &&
           (job->analysis || clock_wall() - job->finished_at > findings_within);
}

/* The job as it was found, and then its events: all of them up to there, perhaps newer ones, too. */
static int look_at(struct store *store, struct feed *feed, struct look *look, struct problem *why)
{
    struct job_event events[EVENTS_AT_ONCE];
    size_t n = 0;
    if (store_job_get(store, feed->job, &look->job, why) < 0) {
        look->gone = why->code == PROBLEM_NOT_FOUND;
        return look->gone ? 0 : -1;
    }
    if (store_job_events(store, feed->job, look->after, events, EVENTS_AT_ONCE, &n, why) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        scoped_json json_t *json = state_json(&events[i]);
        look_add(look, "state", events[i].revision, json ? json_dumps(json, JSON_COMPACT) : NULL);
    }
    /* Perhaps not all of them yet, or the job is older than they: the next look goes on. */
    look->more = n == EVENTS_AT_ONCE || (n && events[n - 1].revision > look->job.revision);
    return 0;
}

static void tell_rest(struct follower *follower, const struct look *look)
{
    const struct job *job = &look->job;
    struct problem why = { 0 };
    if (job->revision > follower->seen) {
        follower->seen = job->revision;
        json_t *progress = job_progress_json(job, &why);
        if (json_is_null(progress))
            json_decref(progress);
        else
            event_json(&follower->text, "progress", 0, progress);
    }
    if (job->analysis != follower->analysis) {
        follower->analysis = job->analysis;
        event_json(&follower->text, "findings", 0, findings_json(job));
    }
    follower->ended = is_over(job);
}

/* 1: an event after that revision is not told yet. */
static int more_events(struct store *store, job_id job, int64_t after, struct problem *why)
{
    struct job_event next;
    size_t n = 0;
    return store_job_events(store, job, after, &next, 1, &n, why) ? -1 : n > 0;
}

static const struct feed_kind of_job = { .look = look_at, .tell = tell_rest };

int job_events(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    scoped(job_done) struct job job = { 0 };
    int64_t after = 0;
    int resumes = events_last(in, &after, why);
    if (resumes < 0 || store_job_get(api->app->store, in->job, &job, why))
        return -1;
    if (!resumes || after > job.revision)
        after = job.revision;
    int more = resumes && is_over(&job) ? more_events(api->app->store, job.id, after, why) : 1;
    if (more < 0)
        return -1;
    if (!more) { /* an EventSource that gets this does not come again */
        out->status = 204;
        return 0;
    }
    const struct follower follower = { .state = after,
                                       .seen = job.revision,
                                       .analysis = job.analysis };
    return events_follow(api, in, &of_job, &follower, job_json(&job, why), out, why);
}
