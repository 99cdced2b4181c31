#include "engine/cli/by_hand.h"

#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/random.h>

struct request {
    const struct workload *workload;
    void *params;
    const char *on, *journal;
    struct target target; /* what --on names */
    struct matrix matrix;
    struct runs runs;
    uint64_t repeat, seed;
    double reserve;
    bool json, null;
};

static void request_done(struct request *request)
{
    if (request->params)
        fields_done(request->workload->params, request->params);
    free(request->params);
    matrix_done(&request->matrix);
    runs_done(&request->runs);
    target_done(&request->target);
}

static const struct field options[] = {
    FIELD_SHARE(struct request, reserve, "The share of space and of inodes that is left alone.",
                .max = 0.99, .preset = 0.05),
    FIELD_COUNT(struct request, repeat, "How often each point is measured.", .min = 1,
                .max = REPEAT_MOST, .preset = 1),
    FIELD_COUNT(struct request, seed, "What fixes the order of the runs; 0: chosen at random.",
                .max = SEED_MOST),
    FIELD_END,
};

/* NAME=VALUE,VALUE,...; with semicolons between values that have commas of their own. */
static int add_axis(struct request *request, const char *argument, struct problem *why)
{
    const char *equals = strchr(argument, '=');
    const char *separator = strchr(argument, ';') ? ";" : ",";
    if (!equals)
        return problem_field(why, "--matrix", "--matrix wants NAME=VALUE,VALUE,..., not %s",
                             argument);
    scoped_free char *name = strndup(argument, (size_t)(equals - argument));
    for (const char *value = equals + 1;; value++) {
        size_t n = strcspn(value, separator);
        scoped_free char *one = strndup(value, n);
        if (!name || !one)
            return problem_memory(why);
        if (matrix_add(&request->matrix, name, one, name, why))
            return -1;
        value += n;
        if (!*value)
            return 0;
    }
}

/* name=value, by the workload's table. */
static int set_param(struct request *request, const char *argument, struct problem *why)
{
    const struct field *table = request->workload->params;
    const char *equals = strchr(argument, '=');
    char name[64];
    if (!equals)
        return problem_field(why, argument, "%s is no option, and no name=value", argument);
    if (text_fit(name, sizeof name, "%.*s", (int)(equals - argument), argument))
        return problem_field(why, argument, "there is no parameter of such a long name");
    const struct field *field = field_named(table, name);
    if (!field)
        return field_unknown(table, name, name, why);
    return field_parse(field, equals + 1, name, request->params, why);
}

/* Reads options and parameters; *argv are those after the kind. */
static int read_arguments(struct request *request, char **argv, struct problem *why)
{
    for (; *argv; argv++) {
        const char **valued = strcmp(*argv, "--on") == 0        ? &request->on
                              : strcmp(*argv, "--journal") == 0 ? &request->journal
                                                                : NULL;
        bool axis = strcmp(*argv, "--matrix") == 0;
        const struct field *option =
            text_starts(*argv, "--") ? field_named(options, *argv + 2) : NULL;
        if ((valued || axis || option) && !argv[1])
            return problem_field(why, *argv, "%s wants a value", *argv);
        if (valued)
            *valued = *++argv;
        else if (axis) {
            if (add_axis(request, *++argv, why))
                return -1;
        } else if (option) {
            if (field_parse(option, argv[1], *argv, request, why))
                return -1;
            argv++;
        } else if (strcmp(*argv, "--json") == 0)
            request->json = true;
        else if (strcmp(*argv, "--null") == 0)
            request->null = true;
        else if (set_param(request, *argv, why))
            return -1;
    }
    if (!request->on == !request->null)
        return problem_field(why, "--on",
                             request->on ? "--null works on no folder: leave --on out"
                                         : "--on PLACE is needed: the folder to measure in, or "
                                           "nfs://..., zfs:DATASET, mkfs:DIR, btrfs:DIR");
    return 0;
}

static int choose_seed(uint64_t *ret, struct problem *why)
{
    uint32_t seed;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return problem_errno(why, errno, "cannot make a random order");
    *ret = seed ? seed : 1;
    return 0;
}

static int read_request(struct request *request, char **argv, struct problem *why)
{
    const struct workload *workload = request->workload;
    request->params = calloc(1, workload->params_size);
    request->matrix =
        (struct matrix){ .table = workload->params, .object_size = workload->params_size };
    if (!request->params)
        return problem_memory(why);
    if (fields_preset(workload->params, request->params, why) ||
        fields_preset(options, request, why) || read_arguments(request, argv, why))
        return -1;
    if (request->seed == 0 && choose_seed(&request->seed, why))
        return -1;
    if (target_by_hand(request->on, &request->target, why) ||
        (request->on && workload_fits(workload, &request->target, why)))
        return -1;
    /* A folder may be of any kind, and a user's rights are what the kernel says they are. */
    bool folder = request->target.kind == TARGET_DIRECTORY;
    const struct sweep_asked asked = { .workload = workload,
                                       .target = folder ? NULL : &request->target,
                                       .params = request->params,
                                       .matrix = &request->matrix,
                                       .repeat = request->repeat,
                                       .seed = request->seed };
    return runs_init(&asked, &request->runs, why);
}

/* Where the user wants it, or in a file without a name that goes with the process. */
static int open_journal(const char *path, struct journal **ret, struct problem *why)
{
    char temporary[] = "/tmp/plimsoll-XXXXXX";
    scoped_free char *for_folder = strdup(path ? path : "."), *for_name = strdup(path ? path : ".");
    if (!for_folder || !for_name)
        return problem_memory(why);
    const char *where = path ? dirname(for_folder) : mkdtemp(temporary);
    const char *name = path ? basename(for_name) : JOURNAL_FILE;
    scoped_fd int folder = where ? open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0)
        return problem_errno(why, errno, "cannot open the journal's folder %s",
                             where ? where : temporary);
    int result = journal_create(folder, name, ret, why);
    if (!path) {
        unlinkat(folder, name, 0);
        rmdir(temporary);
    }
    return result;
}

static int make_nonce(char text[17], struct problem *why)
{
    uint64_t nonce;
    if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
        return problem_errno(why, errno, "cannot make a random name");
    return text_fit(text, 17, "%016llx", (unsigned long long)nonce);
}

static void journal_cell(struct journal **journal)
{
    journal_close(*journal);
}

static int measure(const struct request *request, struct outcome *outcome, struct problem *why)
{
    char nonce[17];
    scoped(journal_cell) struct journal *journal = NULL;
    struct progress progress = { .tty = isatty(STDERR_FILENO) };
    const char *path = request->target.path;
    scoped_free char *on = path ? realpath(path, NULL) : NULL;
    scoped_fd int signals = session_signals(why);
    if (path && !on)
        return problem_errno(why, errno, "cannot find %s", path);
    if (signals < 0 || make_nonce(nonce, why) || open_journal(request->journal, &journal, why))
        return -1;
    const struct plan plan = {
        .runs = &request->runs,
        .run = 1,
        .leg = 1,
        .seed = request->seed,
        .target = &request->target,
        .where = on,
        .null = request->null,
        .nonce = nonce,
        .reserve = request->reserve,
        .journal = journal,
        .signals = signals,
        .by_hand = true,
        .progress = progress_show,
        .progress_arg = &progress,
    };
    session_run(&plan, outcome);
    progress_done(&progress);
    if (!request->json)
        report_table(&plan, outcome);
    return request->json ? report_json(&plan, outcome, why) : 0;
}

/* A field is named as it is written on a command line, and only where the message does not. */
static void say_refusal(const struct problem *why)
{
    const char *slash = strrchr(why->field, '/'), *field = slash ? slash + 1 : why->field;
    bool named = strstr(why->message, field);
    log_line(LOG_ERROR, "%s%s%s", named ? "" : field, named ? "" : ": ", why->message);
}

enum runner_exit by_hand(char **argv)
{
    struct problem why = { 0 };
    scoped(request_done) struct request request = { .workload = workload_find(argv[0]) };
    scoped(outcome_done) struct outcome outcome = { 0 };
    if (read_request(&request, argv + 1, &why)) {
        say_refusal(&why);
        return EXIT_USAGE;
    }
    if (measure(&request, &outcome, &why)) {
        log_line(LOG_ERROR, "%s", why.message);
        return EXIT_FAILED;
    }
    if (outcome.problem.code)
        log_line(outcome.state == JOB_CANCELLED ? LOG_NOTICE : LOG_ERROR, "%s",
                 outcome.problem.message);
    return outcome_exit(&outcome);
}
