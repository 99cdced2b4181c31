/* Jobs: queue, list, look at, cancel. */
#include "api/jobs.h"

#include "api/api.h"
#include "api/auth.h"
#include "api/cache.h"
#include "api/handlers.h"
#include "api/job_answer.h"
#include "api/listing.h"
#include "engine/base/field_json.h"
#include "engine/base/text.h"

enum { WAIT_MOST = 60 }; /* seconds: a client that left meanwhile is not noticed */
/* An answer about a job that may change is sent again for so long without asking the store; one about
 * a job that has ended and is cleaned up, for so long until its revision is looked at again. */
static const nsec keep_changing = 100 * NSEC_PER_MSEC;
static const nsec keep_settled = NSEC_PER_SEC;

const struct field job_get_query[] = {
    FIELD_SECONDS(struct job_get_query, wait,
                  "Hold the answer until the job's state changes, at most for so long. An "
                  "If-None-Match that is out of date is answered at once.",
                  .max = WAIT_MOST, .unit = "s"),
    FIELD_END,
};
enum { SORT_NEWEST, SORT_OLDEST };
static const char *const sorts[] = { "-created_at", "created_at", NULL };

const struct field jobs_get_query[] = {
    FIELD_COUNT(struct jobs_get_query, limit, "How many at most.", .min = 1, .max = 500,
                .preset = 50),
    FIELD_TEXT(struct jobs_get_query, cursor, "next_cursor of the page before.", .min = 1,
               .max = 32),
    FIELD_CHOICES(struct jobs_get_query, state, "Only in these states, separated by commas.",
                  .choices = job_states),
    FIELD_TEXT(struct jobs_get_query, workload, "Only of these workloads, separated by commas.",
               .min = 1, .max = 500),
    FIELD_TEXT(struct jobs_get_query, target, "Only on these targets, separated by commas.",
               .min = 1, .max = 500),
    FIELD_MAP(struct jobs_get_query, label,
              "Only with this value of the label NAME, or one of several, separated by commas.",
              .max = 500),
    FIELD_TIME(struct jobs_get_query, created_after, "Only from this time on."),
    FIELD_TIME(struct jobs_get_query, created_before, "Only before this time."),
    FIELD_CHOICE(struct jobs_get_query, sort, "Newest first, or oldest first.", .choices = sorts,
                 .preset_text = "-created_at"),
    FIELD_END,
};

/* ---- what the store takes and keeps as text ---- */

int job_member_text(const struct field *table, const void *object, const char *name, char **ret,
                    struct problem *why)
{
    scoped_json json_t *json = fields_render(table, object);
    char *text = json_dumps(json_object_get(json, name), JSON_COMPACT);
    if (!text)
        return problem_memory(why);
    *ret = text;
    return 0;
}

int job_render(void *arg unused, const struct job *job, char **ret, struct problem *why)
{
    scoped_json json_t *json = job_json(job, why);
    if (!json)
        return -1;
    char *text = json_dumps(json, JSON_COMPACT);
    if (!text)
        return problem_memory(why);
    *ret = text;
    return 0;
}

/* ---- GET /jobs ---- */

struct page {
    json_t *items;
    uint64_t limit;
    job_id last; /* on this page */
    bool more;
};

/* One more than asked for is read: it only says that there is a next page. */
static int page_add(void *arg, const struct job *job, struct problem *why)
{
    struct page *page = arg;
    if (json_array_size(page->items) == page->limit) {
        page->more = true;
        return 0;
    }
    json_t *json = job_json(job, why);
    if (!json)
        return -1;
    page->last = job->id;
    return json_array_append_new(page->items, json) ? problem_memory(why) : 0;
}

int jobs_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct jobs_get_query *query = in->query;
    scoped_json json_t *items = json_array();
    struct page page = { .items = items, .limit = query->limit };
    scoped_free char *labels = NULL;
    struct job_filter filter = { .states = query->state,
                                 .workload = query->workload,
                                 .target = query->target,
                                 .created_after = query->created_after,
                                 .created_before = query->created_before,
                                 .oldest_first = query->sort == SORT_OLDEST,
                                 .limit = query->limit + 1 };
    if (query->label.n && job_member_text(jobs_get_query, query, "label", &labels, why))
        return -1;
    filter.labels = labels;
    if (listing_cursor(query->cursor, &filter.before, why) ||
        store_job_list(api->app->store, &filter, page_add, &page, why))
        return -1;
    if (page.more && listing_link(in, out, page.last, why))
        return -1;
    return reply_json(
        out,
        json_pack("{s:O, s:o}", "items", items, "next_cursor",
                  page.more ? json_sprintf("%lld", (long long)page.last) : json_null()),
        why);
}

/* ---- one job ---- */

bool job_settled(int state, int cleanup)
{
    return job_state_final(state) && cleanup != CLEANUP_PENDING && cleanup != CLEANUP_RUNNING;
}

void job_keep(struct reply *out, const struct job *job)
{
    out->keep = job_settled(job->state, job->cleanup) ? keep_settled : keep_changing;
    out->job = job->id;
    out->revision = job->revision;
}

/* Whether the answer that stands in `out` shall wait for another state. */
static bool shall_wait(struct request *in, const struct job *job, const struct reply *out)
{
    const struct job_get_query *query = in->query;
    const char *known = in->header(in->wire, "If-None-Match");
    if (query->wait == 0 || job_state_final(job->state))
        return false;
    if (in->hold_state < 0) {
        in->hold_state = job->state;
        in->hold_until = in->began + query->wait;
        in->hold_job = job->id;
        if (known && !etag_listed(known, out->etag))
            return false;
    }
    return in->hold_state == job->state && !in->hold_over && clock_monotonic() < in->hold_until;
}

int job_get(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct job_get_query *query = in->query;
    scoped(job_done) struct job job = { 0 };
    if (store_job_get(api->app->store, in->job, &job, why))
        return -1;
    json_t *json = job_json(&job, why);
    if (!json || reply_json(out, json, why))
        return -1;
    if (query->wait == 0)
        job_keep(out, &job);
    else if (reply_etag(out, why))
        return -1;
    return shall_wait(in, &job, out) ? HOLD : 0;
}

int job_cancel(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    scoped(job_done) struct job before = { 0 }, after = { 0 };
    struct store *store = api->app->store;
    int state;
    if (store_job_get(store, in->job, &before, why) ||
        auth_target(&in->principal, before.target, why) ||
        store_job_cancel(store, in->job, &state, why))
        return -1;
    cache_stale(api->cache, in->job);
    api->app->nudge(api->app->service);
    if (store_job_get(store, in->job, &after, why))
        return -1;
    json_t *json = job_json(&after, why);
    return json ? reply_json(out, json, why) : -1;
}
