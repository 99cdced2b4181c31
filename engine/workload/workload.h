/* A kind of benchmark. To add one: a file beside this, a line in registry.c, tests. */
#pragma once
#include "engine/base/field.h"
#include "engine/run.h"
#include "engine/target.h"

struct workload {
    const char *name;    /* "create-scaling", in URLs, rows and charts */
    const char *summary; /* one sentence, shown to users */
    unsigned targets;    /* bits, 1 << enum target_kind: where it can run */
    const struct field *params;
    size_t params_size;

    /* The axes that a `ladder` of the parameters stands for, by matrix_add(): the job then has a run of each
     * of their values (engine/runs.h). NULL: it has no ladder. */
    int (*ladder)(const void *params, struct matrix *ladder, struct problem *why);
    /* Which parameter ("/params/cycle") makes it restart the machine and go on after that, by run_reboot(): it takes
     * an administrator's token then, and a target that allows it. NULL, or it returns NULL: none does. */
    const char *(*reboots)(const void *params);
    /* Rules that span fields or depend on the target (NULL: by hand). Touches nothing. */
    int (*check)(const void *params, const struct target *target, struct problem *why);
    int (*run)(struct run *run, const void *params, struct problem *why);
    /* Removes what a run made, by its generated names, from the run directory; repeatable after a
     * crash. Foreign entries are left and listed through run_foreign(). */
    int (*clean)(struct run *run, const void *params, struct problem *why);
    /* Whether these parameters ask that the files stay when the run has succeeded, and how many there are
     * then (files, bytes). NULL: never. */
    bool (*keeps)(const void *params);
    void (*count_kept)(const struct run *run, struct kept_files *ret);
};

/* Whether it can run on a target of this kind; if not, the problem is of /target. */
must_check int workload_fits(const struct workload *workload, const struct target *target,
                             struct problem *why);
const struct workload *workload_find(const char *name); /* NULL if unknown */
const struct workload *const *workload_all(void);       /* NULL-terminated */
extern const struct variant workload_params;            /* for FT_VARIANT beside "workload" */
