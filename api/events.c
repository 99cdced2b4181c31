/* One thread looks at the store for all who listen, and writes to them.
 *
 * Those who listen to one job share a feed, and so do those who listen to the whole service. A feed that has
 * changed is looked at once, and every follower that has taken what it got before is told; the others are told
 * what they missed when they have. So no follower holds more than one look's worth of text, and one that takes
 * nothing from one heartbeat to the next is dropped. Heartbeats also uncover clients that have left: the
 * library does not look at a connection that is suspended. */
#include "api/events_inside.h"

#include "api/live.h"
#include "engine/base/field_json.h"
#include "engine/base/lock.h"

static const nsec look_gap = 250 * NSEC_PER_MSEC;
static const nsec heartbeat = 15 * NSEC_PER_SEC;
static const nsec lifetime = 3600 * NSEC_PER_SEC; /* then it comes again, if its token still may */

const char *const events_types[] = { "text/event-stream", NULL };

struct events {
    struct store *store;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* CLOCK_MONOTONIC */
    struct feed *feeds;     /* lock, and all below */
    unsigned followers_n;
    bool stopping, ended;
};

/* ---- what a follower is told ---- */

void event_text(struct text *text, const char *event, int64_t id, const char *data)
{
    if (id)
        text_addf(text, "id: %lld\n", (long long)id);
    if (data)
        text_addf(text, "event: %s\ndata: %s\n\n", event, data);
    else
        text->failed = true;
}

void event_json(struct text *text, const char *event, int64_t id, json_t *json)
{
    scoped_json json_t *held = json;
    scoped_free char *data = held ? json_dumps(held, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    event_text(text, event, id, data);
}

static void look_done(struct look *look)
{
    for (size_t i = 0; i < look->n; i++)
        free(look->told[i].data);
    text_done(&look->progress);
    job_done(&look->job);
}

void look_add(struct look *look, const char *kind, int64_t id, char *data)
{
    if (look->n == EVENTS_AT_ONCE) {
        free(data);
        return;
    }
    struct told *told = &look->told[look->n++];
    *told = (struct told){ .id = id, .data = data };
    (void)!text_fit(told->kind, sizeof told->kind, "%s", kind);
}

static bool has_taken_all(const struct follower *follower)
{
    return follower->at == follower->text.n;
}

static void wake(const struct follower *follower)
{
    if (follower->live)
        live_wake(follower->live);
}

static void tell(struct follower *follower, const struct look *look, nsec now)
{
    struct feed *feed = follower->feed;
    if (look->gone) {
        follower->ended = true;
    } else if (!has_taken_all(follower)) {
        follower->missed = true;
        return;
    } else if (follower->state < look->after) { /* it came while the store was asked */
        feed->dirty = true;
        return;
    } else {
        for (size_t i = 0; i < look->n; i++)
            if (look->told[i].id > follower->state) {
                follower->state = look->told[i].id;
                event_text(&follower->text, look->told[i].kind, follower->state,
                           look->told[i].data);
            }
        if (look->more)
            feed->dirty = true;
        else
            feed->kind->tell(follower, look);
    }
    follower->dropped = follower->text.failed;
    if (has_taken_all(follower) && !follower->ended && !follower->dropped)
        return;
    follower->spoken = now;
    wake(follower);
}

/* Called and left with the lock. */
static nsec look_after(struct events *events, struct feed *feed, nsec now)
{
    if (!feed->dirty)
        return now + heartbeat;
    if (now < feed->looked + look_gap)
        return feed->looked + look_gap;
    scoped(look_done) struct look look = { .after = INT64_MAX };
    for (const struct follower *f = feed->followers; f; f = f->next)
        if (has_taken_all(f) && f->state < look.after)
            look.after = f->state;
    feed->dirty = false;
    feed->looked = now;
    struct problem why = { 0 };
    pthread_mutex_unlock(&events->lock);
    int found = feed->kind->look(events->store, feed, &look, &why);
    pthread_mutex_lock(&events->lock);
    if (found < 0) {
        feed->dirty = true; /* the store comes back: others tell of that */
        feed->looked = clock_monotonic() + NSEC_PER_SEC;
        return feed->looked;
    }
    for (struct follower *f = feed->followers; f; f = f->next)
        tell(f, &look, now);
    return feed->dirty ? now + look_gap : now + heartbeat;
}

/* Comments while nothing happens, and the ends that come by themselves. Returns when to look again. */
static nsec beat(struct follower *follower, nsec now)
{
    if (now >= follower->until && !follower->ended) {
        follower->ended = true;
        wake(follower);
    }
    if (now < follower->spoken + heartbeat)
        return follower->spoken + heartbeat;
    follower->spoken = now;
    if (!has_taken_all(follower)) {
        follower->dropped = true;
        text_done(&follower->text);
        follower->at = 0;
    } else {
        text_addf(&follower->text, ":\n\n");
        follower->feed->dirty = true; /* hints can be lost */
    }
    wake(follower);
    return now + heartbeat;
}

static void *run(void *arg)
{
    struct events *events = arg;
    scoped_lock(&events->lock);
    while (!events->ended) {
        nsec now = clock_monotonic(), next = now + heartbeat;
        for (struct feed **cell = &events->feeds; *cell;) {
            struct feed *feed = *cell;
            if (!feed->followers) {
                *cell = feed->next;
                free(feed);
                continue;
            }
            nsec due = look_after(events, feed, now);
            next = due < next ? due : next;
            for (struct follower *f = feed->followers; f; f = f->next) {
                due = beat(f, now);
                next = due < next ? due : next;
            }
            /* New feeds are put in front, meanwhile too: the way here is looked for anew. */
            for (cell = &events->feeds; *cell != feed; cell = &(*cell)->next)
                ;
            cell = &feed->next;
        }
        bool again = false;
        for (const struct feed *feed = events->feeds; feed; feed = feed->next)
            again = again || (feed->dirty && clock_monotonic() >= feed->looked + look_gap);
        struct timespec until = { next / NSEC_PER_SEC, next % NSEC_PER_SEC };
        if (!again && !events->ended)
            pthread_cond_timedwait(&events->changed, &events->lock, &until);
    }
    return NULL;
}

/* ---- a follower's stream ---- */

static int follower_read(void *arg, char *bytes, size_t size, size_t *ret, struct problem *why)
{
    struct follower *follower = arg;
    struct events *events = follower->events;
    scoped_lock(&events->lock);
    *ret = 0;
    if (events->stopping)
        return 0;
    if (follower->dropped)
        return problem_set(why, PROBLEM_TOO_MANY, "the reader is too slow");
    if (has_taken_all(follower))
        return follower->ended ? 0 : STREAM_WAIT;
    size_t n = follower->text.n - follower->at;
    n = n < size ? n : size;
    memcpy(bytes, follower->text.at + follower->at, n);
    follower->at += n;
    *ret = n;
    if (!has_taken_all(follower))
        return 0;
    text_done(&follower->text);
    follower->at = 0;
    if (follower->missed) {
        follower->missed = false;
        follower->feed->dirty = true;
        pthread_cond_signal(&events->changed);
    }
    return 0;
}

static void follower_attach(void *arg, struct live *live)
{
    struct follower *follower = arg;
    scoped_lock(&follower->events->lock);
    follower->live = live;
}

static void follower_done(void *arg)
{
    struct follower *follower = arg;
    struct events *events = follower->events;
    {
        scoped_lock(&events->lock);
        struct follower **cell = &follower->feed->followers;
        while (*cell != follower)
            cell = &(*cell)->next;
        *cell = follower->next;
        events->followers_n--;
    }
    text_done(&follower->text);
    free(follower);
}

/* Under the lock: the feed of a job (0: of the service), made if there is none; NULL: no memory. */
static struct feed *feed_of(struct events *events, const struct feed_kind *kind, job_id job)
{
    struct feed *feed = events->feeds;
    while (feed && feed->job != job)
        feed = feed->next;
    if (feed || !(feed = calloc(1, sizeof *feed)))
        return feed;
    feed->kind = kind;
    feed->job = job;
    feed->next = events->feeds;
    events->feeds = feed;
    return feed;
}

/* Takes the follower over, unless it fails. */
static int join(struct events *events, struct follower *follower, const struct feed_kind *kind,
                job_id job, struct problem *why)
{
    scoped_lock(&events->lock);
    if (events->stopping || events->followers_n >= FOLLOWERS_MOST)
        return problem_set(why, PROBLEM_OVERLOADED,
                           events->stopping ? "the service stops"
                                            : "as many as are possible listen already");
    struct feed *feed = feed_of(events, kind, job);
    if (!feed)
        return problem_memory(why);
    follower->feed = feed;
    follower->next = feed->followers;
    feed->followers = follower;
    events->followers_n++;
    feed->dirty = true;
    pthread_cond_signal(&events->changed);
    return 0;
}

/* 1: it is there. */
int events_last(const struct request *in, int64_t *ret, struct problem *why)
{
    const char *text = NULL;
    char *end;
    if (request_header(in, "Last-Event-ID", &text, why))
        return -1;
    if (!text || !*text)
        return 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 18 || text[digits])
        return problem_field(why, "/Last-Event-ID", "it must be the id of an earlier event");
    *ret = strtoll(text, &end, 10);
    return 1;
}

static nsec lives_until(const struct principal *principal)
{
    nsec left = principal->expires_at ? principal->expires_at - clock_wall() : lifetime;
    return clock_monotonic() + (left < lifetime ? left : lifetime);
}

int events_follow(struct api *api, const struct request *in, const struct feed_kind *kind,
                  const struct follower *first, json_t *snapshot, struct reply *out,
                  struct problem *why)
{
    scoped_json json_t *json = snapshot;
    struct follower *follower = json ? malloc(sizeof *follower) : NULL;
    if (!follower)
        return problem_memory(why);
    *follower = *first;
    follower->events = api->events;
    follower->until = lives_until(&in->principal);
    follower->spoken = clock_monotonic();
    text_addf(&follower->text, "retry: 2000\n");
    event_json(&follower->text, "snapshot", follower->state, steal(&json));
    if (follower->text.failed ? problem_memory(why)
                              : join(api->events, follower, kind, in->job, why)) {
        text_done(&follower->text);
        free(follower);
        return -1;
    }
    out->type = events_types[0];
    out->cache_control = "no-store";
    out->stream = (struct stream){
        .read = follower_read, .done = follower_done, .attach = follower_attach, .arg = follower
    };
    return reply_header(out, why, "X-Accel-Buffering", "no"); /* of a proxy in between */
}

/* ---- start and stop ---- */

int events_new(struct store *store, struct events **ret, struct problem *why)
{
    struct events *events = calloc(1, sizeof *events);
    if (!events)
        return problem_memory(why);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&events->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&events->lock, NULL);
    events->store = store;
    int error = pthread_create(&events->thread, NULL, run, events);
    if (error) {
        pthread_cond_destroy(&events->changed);
        pthread_mutex_destroy(&events->lock);
        free(events);
        return problem_errno(why, error, "cannot start a thread");
    }
    *ret = events;
    return 0;
}

void events_wake(struct events *events, job_id job)
{
    scoped_lock(&events->lock);
    for (struct feed *feed = events->feeds; feed; feed = feed->next)
        if (job == 0 || feed->job == job || feed->job == 0) {
            feed->dirty = true;
            pthread_cond_signal(&events->changed);
        }
}

void events_stir(struct events *events)
{
    scoped_lock(&events->lock);
    for (struct feed *feed = events->feeds; feed; feed = feed->next)
        for (struct follower *f = feed->followers; f; f = f->next)
            wake(f);
}

void events_stop(struct events *events)
{
    if (!events)
        return;
    {
        scoped_lock(&events->lock);
        events->stopping = true;
    }
    events_stir(events);
}

struct events *events_free(struct events *events)
{
    if (!events)
        return NULL;
    {
        scoped_lock(&events->lock);
        events->ended = true;
        pthread_cond_signal(&events->changed);
    }
    pthread_join(events->thread, NULL);
    for (struct feed *feed = events->feeds, *next; feed; feed = next) {
        next = feed->next;
        free(feed);
    }
    pthread_cond_destroy(&events->changed);
    pthread_mutex_destroy(&events->lock);
    free(events);
    return NULL;
}
