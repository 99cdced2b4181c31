#include "service/retries.h"

#include "engine/base/attr.h"

void retries_done(struct retries *retries)
{
    free(retries->at);
    *retries = (struct retries){ 0 };
}

void retries_round(struct retries *retries)
{
    size_t kept = 0;
    for (size_t i = 0; i < retries->n; i++) {
        struct retry *retry = &retries->at[i];
        if (!retry->seen)
            continue;
        retry->seen = false;
        retries->at[kept++] = *retry;
    }
    retries->n = kept;
}

static struct retry *find(struct retries *retries, job_id id)
{
    for (size_t i = 0; i < retries->n; i++)
        if (retries->at[i].id == id)
            return &retries->at[i];
    return NULL;
}

static struct retry *add(struct retries *retries, job_id id, nsec now)
{
    if (retries->n == retries->room) {
        size_t room = retries->room ? 2 * retries->room : 8;
        struct retry *at = reallocarray(retries->at, room, sizeof *at);
        if (!at)
            return NULL;
        retries->at = at;
        retries->room = room;
    }
    retries->at[retries->n] =
        (struct retry){ .id = id, .at = now + RETRY_FIRST, .gap = RETRY_FIRST };
    return &retries->at[retries->n++];
}

void retries_keep(struct retries *retries, job_id id)
{
    struct retry *retry = find(retries, id);
    if (retry)
        retry->seen = true;
}

bool retries_due(struct retries *retries, job_id id, nsec now)
{
    struct retry *retry = find(retries, id);
    if (!retry && !(retry = add(retries, id, now)))
        return false;
    retry->seen = true;
    if (now < retry->at)
        return false;
    retry->gap = 2 * retry->gap < RETRY_MOST ? 2 * retry->gap : RETRY_MOST;
    retry->at = now + retry->gap;
    return true;
}
