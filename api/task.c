#include "api/task.h"

#include "api/api.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { NICE = 10 };
static const nsec look_again = 60 * NSEC_PER_SEC;

struct task {
    struct api *api;
    const struct task_kind *kind;
    void *arg;
    job_id number; /* below 0: what held requests wait for, which is no job's */
    pthread_t thread;
    bool joined;
    atomic_bool ready; /* result and why are there */
    int result;
    struct problem why;
};

static void *work_on(void *arg)
{
    struct task *task = arg;
    struct api *api = task->api;
    job_id number = task->number;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    task->result = task->kind->work(task->arg, &task->why);
    atomic_store(&task->ready, true);
    api->wake(api->wake_arg, number); /* the task belongs to whoever wakes */
    return NULL;
}

int task_start(struct api *api, const struct task_kind *kind, void *arg, struct task **ret,
               struct problem *why)
{
    struct task *task = calloc(1, sizeof *task);
    if (!task) {
        kind->done(arg);
        return problem_memory(why);
    }
    *task = (struct task){ .api = api, .kind = kind, .arg = arg };
    task->number = -(job_id)atomic_fetch_add(&api->tasks, 1) - 1;
    int error = pthread_create(&task->thread, NULL, work_on, task);
    if (error) {
        kind->done(arg);
        free(task);
        return problem_errno(why, error, "cannot start a thread");
    }
    *ret = task;
    return 0;
}

int task_wait(struct task *task, struct request *in, struct problem *why)
{
    if (!atomic_load(&task->ready) && !in->hold_over) {
        in->hold_job = task->number;
        in->hold_until = clock_monotonic() + look_again;
        return HOLD;
    }
    if (!task->joined) {
        pthread_join(task->thread, NULL);
        task->joined = true;
    }
    if (task->result < 0)
        *why = task->why;
    return task->result;
}

void *task_arg(struct task *task)
{
    return task->arg;
}

struct task *task_end(struct task *task)
{
    if (!task)
        return NULL;
    if (!task->joined)
        pthread_join(task->thread, NULL);
    task->kind->done(task->arg);
    free(task);
    return NULL;
}
