#include "service/follow.h"

#include "engine/base/text.h"

enum {
    PIECE = 128, /* records at one step, so that no job keeps the others waiting */
    MOST = 1024, /* records in one transaction: a long backlog is committed in parts */
};
#define COMMIT_EVERY NSEC_PER_SEC

void follow_init(struct follow *follow, struct store *store, const struct job *job,
                 const char *journal)
{
    *follow = (struct follow){
        .store = store,
        .id = job->id,
        .pid = job->pid,
        .pid_start = job->pid_start,
        .began = job->pid != 0,
        .ended = job_state_final(job->state),
    };
    snprintf(follow->path, sizeof follow->path, "%s", journal);
    snprintf(follow->boot_id, sizeof follow->boot_id, "%s", job->boot_id ? job->boot_id : "");
}

void follow_done(struct follow *follow)
{
    follow->ingest = ingest_close(follow->ingest);
    follow->reader = journal_reader_close(follow->reader);
    follow->pending = 0;
    follow->urgent = false;
}

bool follow_exists(const struct follow *follow)
{
    return access(follow->path, F_OK) == 0;
}

static int open_both(struct follow *follow, struct problem *why)
{
    off_t offset;
    if (ingest_open(follow->store, follow->id, &follow->ingest, &offset, why) < 0)
        return -1;
    if (journal_reader_open(follow->path, offset, &follow->reader, why) < 0)
        return -1;
    follow->committed_at = 0;
    return 0;
}

static void learn(struct follow *follow, const struct journal_record *record)
{
    switch (record->kind) {
    case RECORD_BEGIN:
        follow->began = true;
        follow->pid = record->pid;
        follow->pid_start = record->pid_start;
        snprintf(follow->boot_id, sizeof follow->boot_id, "%s", record->boot_id);
        break;
    case RECORD_END:
        follow->ended = true;
        break;
    default:
        break;
    }
    /* Whoever looks at the job wants to see these at once, and they are few. */
    if (record->kind != RECORD_SAMPLES && record->kind != RECORD_HOST &&
        record->kind != RECORD_UNKNOWN)
        follow->urgent = true;
}

/* What is wrong with the text of a journal stays wrong; a lost database or a full table of files
 * does not. */
static bool is_for_good(const struct problem *why)
{
    return why->code == PROBLEM_BAD_SYNTAX || why->code == PROBLEM_UNSUPPORTED ||
           why->code == PROBLEM_BAD_FIELD;
}

/* Reads and adds; 1: there may be more. */
static int take_in(struct follow *follow, struct problem *why)
{
    for (int i = 0; i < PIECE; i++) {
        const struct journal_record *record;
        int got = journal_next(follow->reader, &record, why);
        if (got == 0)
            return 0;
        if (got < 0 || ingest_add(follow->ingest, record, why) < 0) {
            follow->broken = is_for_good(why);
            return -1;
        }
        learn(follow, record);
        follow->pending++;
    }
    return 1;
}

static int step(struct follow *follow, nsec *ret_due, bool *ret_committed, struct problem *why)
{
    if (!follow->reader && open_both(follow, why) < 0)
        return -1;
    int more = take_in(follow, why);
    if (more < 0)
        return -1;
    if (!follow->pending)
        return FOLLOWED_ALL;
    nsec now = clock_monotonic(), due = follow->committed_at + COMMIT_EVERY;
    bool wanted = now >= due || (follow->urgent && !more) || follow->pending >= MOST;
    if (!wanted) {
        *ret_due = due;
        return more ? FOLLOWED_MORE : FOLLOWED_DUE;
    }
    if (ingest_commit(follow->ingest, why) < 0)
        return -1;
    follow->committed_at = now;
    follow->pending = 0;
    follow->urgent = false;
    *ret_committed = true;
    return more ? FOLLOWED_MORE : FOLLOWED_ALL;
}

int follow_step(struct follow *follow, nsec *ret_due, bool *ret_committed, struct problem *why)
{
    *ret_committed = false;
    int done = step(follow, ret_due, ret_committed, why);
    if (done < 0)
        follow_done(follow); /* the next step opens anew, where the database stands */
    return done;
}
