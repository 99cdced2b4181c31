/* The course of one job from its start to the end of its clean-up: its journal, its runner's process
 * and what is to be done next. Moved on by the ingester's thread alone. */
#pragma once
#include "service/follow.h"
#include "service/launcher.h"
#include "service/outage.h"

struct course {
    struct course *next;
    struct job job; /* as it was claimed or found */
    struct store *store;
    const struct launcher *launcher;
    struct follow follow;
    char folder[PATH_MAX];
    struct process process;
    nsec since; /* when it was taken up or last started; monotonic */
    unsigned starts, resumes, cleans;
    char fate[PROCESS_FATE]; /* of the last runner that ended */
    bool unwritten;          /* nobody writes the journal any more */
    struct problem cause;    /* why it failed, if that is no death of its runner */
    struct problem damage;   /* why the journal cannot be read on; code 0: it can */

    bool cancel, stuck, killed;
    nsec cancelled_at; /* 0: the runner has not been told */

    /* What the ingester waits for. */
    bool dirty; /* something happened */
    nsec look;  /* look again at this time, monotonic; COURSE_IDLE: when something happens */
    int watch;  /* inotify's name of the folder; -1: none */
    nsec gap;   /* after the last failure */
    struct outage outage;
};
#define COURSE_IDLE INT64_MAX

struct course *course_new(struct store *store, const struct launcher *launcher, struct job *job,
                          struct process process, struct problem *why);
struct course *course_free(struct course *course);

enum course_result {
    COURSE_GOES_ON,
    COURSE_CHANGED, /* goes on; the job changed in the database */
    COURSE_DONE,    /* changed, and there is nothing more to look after */
};
/* Does what can be done now and sets `look`. Never fails: what cannot be done yet is tried again. */
enum course_result course_attend(struct course *course, nsec now);
