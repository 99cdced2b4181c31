/* GET /events: what happens to jobs and alerts. A stream begins with the jobs that are under way and the alerts
 * that are not resolved (snapshot); then come the changes of both, findings and deletions, whose ids are in the
 * order of their commits, so that Last-Event-ID resumes them; and the progress of what runs, which has no ids.
 * It ends when its hour is over or the service stops. */
#include "api/baselines.h"
#include "api/events_inside.h"
#include "api/handlers.h"
#include "api/job_answer.h"

enum { SNAPSHOT_MOST = 500 };

static int note_event(void *arg, const struct event *event, struct problem *why)
{
    char *data = strdup(event->data);
    look_add(arg, event->kind, event->id, data);
    return data ? 0 : problem_memory(why);
}

/* ---- progress ---- */

struct running {
    struct feed *feed;
    struct look *look;
    struct progress_told told[PROGRESS_MOST]; /* now */
    size_t n;
};

static bool is_told(const struct feed *feed, const struct job *job)
{
    for (size_t i = 0; i < feed->told_n; i++)
        if (feed->told[i].job == job->id)
            return feed->told[i].revision >= job->revision;
    return false;
}

static int note_progress(void *arg, const struct job *job, struct problem *why)
{
    struct running *running = arg;
    if (running->n == PROGRESS_MOST)
        return 0;
    running->told[running->n++] = (struct progress_told){ job->id, job->revision };
    if (is_told(running->feed, job))
        return 0;
    json_t *progress = job_progress_json(job, why);
    if (json_is_object(progress)) {
        json_object_set_new(progress, "job", json_integer(job->id));
        event_json(&running->look->progress, "progress", 0, progress);
    } else {
        json_decref(progress);
    }
    return 0;
}

static int look_at(struct store *store, struct feed *feed, struct look *look, struct problem *why)
{
    struct running running = { .feed = feed, .look = look };
    const struct job_filter filter = { .states = UINT64_C(1) << JOB_RUNNING,
                                       .limit = PROGRESS_MOST };
    if (store_events(store, look->after, EVENTS_AT_ONCE, note_event, look, why) < 0)
        return -1;
    look->more = look->n == EVENTS_AT_ONCE;
    if (look->more)
        return 0;
    if (store_job_list(store, &filter, note_progress, &running, why) < 0)
        return -1;
    memcpy(feed->told, running.told, sizeof feed->told);
    feed->told_n = running.n;
    return 0;
}

static void tell_progress(struct follower *follower, const struct look *look)
{
    if (look->progress.n)
        text_add(&follower->text, look->progress.at, look->progress.n);
    follower->text.failed |= look->progress.failed;
}

static const struct feed_kind of_service = { .look = look_at, .tell = tell_progress };

/* ---- the snapshot ---- */

static int add_job(void *arg, const struct job *job, struct problem *why)
{
    json_t *progress = job_progress_json(job, why);
    json_t *json =
        json_pack("{s:I, s:I, s:s, s:s?, s:s, s:s, s:b, s:o?}", "job", (json_int_t)job->id,
                  "revision", (json_int_t)job->revision, "workload", job->workload, "target",
                  job->imported ? NULL : job->target, "state", job_states[job->state], "cleanup",
                  cleanup_states[job->cleanup], "stuck", (int)job->stuck, "progress", progress);
    return json_array_append_new(arg, json) ? problem_memory(why) : 0;
}

static int add_alert(void *arg, const struct alert *alert, struct problem *why)
{
    return json_array_append_new(arg, alert_json(alert)) ? problem_memory(why) : 0;
}

int service_events(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    struct store *store = api->app->store;
    const struct job_filter under_way = { .states = UINT64_C(1) << JOB_QUEUED |
                                                    UINT64_C(1) << JOB_RUNNING |
                                                    UINT64_C(1) << JOB_CANCELLING |
                                                    UINT64_C(1) << JOB_REBOOTING,
                                          .limit = SNAPSHOT_MOST };
    const struct alert_filter open = { .states = UINT64_C(1) << ALERT_OPENED |
                                                 UINT64_C(1) << ALERT_ACKNOWLEDGED,
                                       .limit = SNAPSHOT_MOST };
    scoped_json json_t *jobs = json_array(), *alerts = json_array();
    int64_t after = 0, last = 0;
    int resumes = events_last(in, &after, why);
    /* The last event first: what happens from here on may be told twice, but not missed. */
    if (resumes < 0 || store_event_last(store, &last, why) ||
        store_job_list(store, &under_way, add_job, jobs, why) ||
        store_alert_list(store, &open, add_alert, alerts, why))
        return -1;
    const struct follower follower = { .state = resumes && after < last ? after : last };
    return events_follow(api, in, &of_service, &follower,
                         json_pack("{s:O, s:O}", "jobs", jobs, "alerts", alerts), out, why);
}
