#include "engine/import/import.h"

#include "engine/base/field_json.h"
#include "engine/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>

enum { SCRATCH_TRIES = 16 };

const struct field import_head_fields[] = {
    FIELD_TEXT(struct import_head, workload,
               "What was measured: create-scaling, filesystem-scaling, throughput, or another "
               "name of letters, digits, '.', '_' and '-'.",
               .required = true, .min = 1, .max = IMPORT_NAME_MOST),
    FIELD_TEXT(struct import_head, name, "What it was measured on, in a few words.", .min = 1,
               .max = IMPORT_NAME_MOST, .preset_text = "imported"),
    FIELD_MAP(struct import_head, labels, "Names and values to find it by.",
              .max = IMPORT_LABEL_MOST),
    FIELD_TEXT(struct import_head, note, "Free text.", .max = IMPORT_NOTE_MOST, .preset_text = ""),
    FIELD_TEXT(struct import_head, external_ref, "What it is called elsewhere: a ticket, a commit.",
               .max = IMPORT_REF_MOST, .preset_text = ""),
    FIELD_END,
};

bool import_workload_named(const char *workload)
{
    for (const char *c = workload; *c; c++)
        if (!isascii(*c) || !(isalnum((unsigned char)*c) || strchr("._-", *c)))
            return false;
    return isalnum((unsigned char)workload[0]);
}

const char *import_unit(const char *workload)
{
    static const struct {
        const char *workload, *unit;
    } units[] = {
        { "create-scaling", "files" },
        { "filesystem-scaling", "filesystems" },
        { "throughput", "bytes" },
    };
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcmp(units[i].workload, workload) == 0)
            return units[i].unit;
    return "operations";
}

/* --- samples in a file --- */

struct import_block {
    off_t at;
    size_t n;
};

void import_init(struct import *import, int folder)
{
    *import = (struct import){ .folder = folder, .spool = -1 };
}

int import_scratch(int folder, int *ret, struct problem *why)
{
    int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    for (unsigned i = 0; fd < 0 && errno == EOPNOTSUPP && i < SCRATCH_TRIES; i++) {
        char name[64]; /* a filesystem without nameless files */
        snprintf(name, sizeof name, "scratch.%d.%llx", (int)getpid(),
                 (unsigned long long)clock_monotonic() + i);
        fd = openat(folder, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0)
            (void)unlinkat(folder, name, 0);
        else if (errno == EEXIST)
            errno = EOPNOTSUPP;
    }
    if (fd < 0)
        return problem_errno(why, errno, "cannot make a file for what is read");
    *ret = fd;
    return 0;
}

void import_done(struct import *import)
{
    for (size_t i = 0; i < import->n; i++) {
        free(import->phase[i]->group);
        free(import->phase[i]->blocks);
        free(import->phase[i]);
    }
    fields_done(import_head_fields, &import->head);
    free(import->head.params);
    free(import->head.environment);
    for (size_t i = 0; i < import->runs_n; i++)
        free(import->runs[i].params);
    free(import->runs);
    free(import->host);
    close_cell(&import->spool);
    *import = (struct import){ .spool = -1 };
}

struct import_phase *import_phase(struct import *import, const char *name, unsigned run,
                                  unsigned leg, const char *unit, struct problem *why)
{
    for (size_t i = import->n; i-- > 0;) {
        const struct phase_total *total = &import->phase[i]->total;
        if (total->run == run && total->leg == leg && strcmp(total->name, name) == 0)
            return import->phase[i];
    }
    if (import->n == IMPORT_PHASES_MOST) {
        problem_field(why, "/phases", "there are more than %d phases", IMPORT_PHASES_MOST);
        return NULL;
    }
    struct import_phase *phase = calloc(1, sizeof *phase);
    struct sample *group = reallocarray(NULL, SAMPLE_GROUP, sizeof *group);
    if (!phase || !group) {
        free(phase);
        free(group);
        problem_memory(why);
        return NULL;
    }
    phase->group = group;
    phase->total = (struct phase_total){ .run = run, .leg = leg, .lanes = 1, .batch = 1 };
    (void)!text_fit(phase->total.name, sizeof phase->total.name, "%s", name);
    (void)!text_fit(phase->total.unit, sizeof phase->total.unit, "%s", unit);
    import->phase[import->n++] = phase;
    return phase;
}

static int write_all(int fd, const void *bytes, size_t n, off_t at, struct problem *why)
{
    for (const char *p = bytes; n > 0;) {
        ssize_t put = pwrite(fd, p, n, at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return problem_errno(why, errno, "cannot keep the samples meanwhile");
        p += put;
        at += put;
        n -= (size_t)put;
    }
    return 0;
}

static int read_all(int fd, void *bytes, size_t n, off_t at, struct problem *why)
{
    for (char *p = bytes; n > 0;) {
        ssize_t got = pread(fd, p, n, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return problem_errno(why, got < 0 ? errno : EIO, "cannot read the samples again");
        p += got;
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

static int spill(struct import *import, struct import_phase *phase, struct problem *why)
{
    if (phase->blocks_n == phase->blocks_room) {
        size_t room = phase->blocks_room ? 2 * phase->blocks_room : 16;
        struct import_block *blocks = reallocarray(phase->blocks, room, sizeof *blocks);
        if (!blocks)
            return problem_memory(why);
        phase->blocks = blocks;
        phase->blocks_room = room;
    }
    size_t bytes = phase->group_n * sizeof *phase->group;
    if (import->spool < 0 && import_scratch(import->folder, &import->spool, why))
        return -1;
    if (write_all(import->spool, phase->group, bytes, import->spool_end, why))
        return -1;
    phase->blocks[phase->blocks_n++] = (struct import_block){ import->spool_end, phase->group_n };
    import->spool_end += (off_t)bytes;
    phase->group_n = 0;
    return 0;
}

int import_sample(struct import *import, struct import_phase *phase, const struct sample *sample,
                  struct problem *why)
{
    struct phase_total *total = &phase->total;
    nsec start = sample->at - sample->elapsed;
    if (phase->group_n == SAMPLE_GROUP && spill(import, phase, why))
        return -1;
    phase->group[phase->group_n++] = *sample;
    if (phase->n++ == 0 || start < total->first_start)
        total->first_start = start > 0 ? start : 0;
    if (sample->at > total->last_done)
        total->first_done = total->last_done = sample->at;
    if (sample->ops > total->batch)
        total->batch = sample->ops;
    if (sample->lane >= total->lanes)
        total->lanes = sample->lane + 1;
    total->ops += sample->ops;
    total->bytes += sample->bytes;
    total->errors += sample->errors;
    phase->load = sample->load;
    return 0;
}

int import_each(const struct import *import, const struct import_phase *phase,
                import_group_fn *each, void *arg, struct problem *why)
{
    scoped_free struct sample *group = reallocarray(NULL, SAMPLE_GROUP, sizeof *group);
    if (!group)
        return problem_memory(why);
    for (size_t i = 0; i < phase->blocks_n; i++) {
        const struct import_block *block = &phase->blocks[i];
        if (read_all(import->spool, group, block->n * sizeof *group, block->at, why) ||
            each(arg, group, block->n, why))
            return -1;
    }
    return phase->group_n ? each(arg, phase->group, phase->group_n, why) : 0;
}

/* --- the journal --- */

struct writing {
    struct journal *journal;
    const struct phase_total *phase;
};

static int write_group(void *arg, const struct sample *samples, size_t n, struct problem *why)
{
    const struct writing *to = arg;
    return journal_samples(to->journal, to->phase->run, to->phase->leg, to->phase->name, samples, n,
                           why);
}

static int write_phase(const struct import *import, const struct import_phase *phase,
                       struct journal *journal, struct problem *why)
{
    scoped_free struct histogram *histogram = calloc(1, sizeof *histogram);
    struct writing to = { journal, &phase->total };
    struct phase_total total = phase->total;
    if (!histogram)
        return problem_memory(why);
    total.total = total.total > total.ops ? total.total : total.ops;
    histogram->sum = (uint64_t)total.latency.sum;
    if (phase_counts_bytes(&total) && total.bytes == 0)
        total.bytes = total.ops; /* nothing but the load was told */
    if (journal_phase(journal, &total, why) || import_each(import, phase, write_group, &to, why) ||
        (total.limit.reached && journal_limit(journal, &total, why)))
        return -1;
    return journal_phase_end(journal, &total, histogram, why);
}

static bool begun_before(const struct import *import, size_t i)
{
    const struct phase_total *now = &import->phase[i]->total;
    for (size_t k = 0; k < i; k++)
        if (import->phase[k]->total.run == now->run && import->phase[k]->total.leg == now->leg)
            return true;
    return false;
}

static int write_host(const struct import *import, struct journal *journal, struct problem *why)
{
    for (size_t i = 0; i < import->host_n; i++) {
        const struct import_host *host = &import->host[i];
        if (journal_host(journal, host->run, host->leg, &host->sample, 1, why))
            return -1;
    }
    return 0;
}

/* The parameters of a run: the job's, and what sets it apart. NULL: no memory. */
static json_t *params_of(const struct import *import, unsigned run)
{
    json_t *params = json_loads(import->head.params ? import->head.params : "{}", 0, NULL);
    for (size_t i = 0; params && i < import->runs_n; i++)
        if (import->runs[i].run == run) {
            scoped_json json_t *own = json_loads(import->runs[i].params, 0, NULL);
            if (!own || json_object_update(params, own)) {
                json_decref(params);
                return NULL;
            }
        }
    return params;
}

static int write_begin(const struct import *import, const struct phase_total *first,
                       const json_t *environment, struct journal *journal, struct problem *why)
{
    scoped_json json_t *params = params_of(import, first->run);
    uint64_t point = 0;
    for (size_t i = 0; i < import->runs_n; i++)
        if (import->runs[i].run == first->run)
            point = import->runs[i].point;
    const struct journal_begin begin = { .run = first->run,
                                         .leg = first->leg,
                                         .workload = import->head.workload,
                                         .target = "",
                                         .workspace = "",
                                         .params = params,
                                         .environment = environment,
                                         .runs = (unsigned)import->runs_n,
                                         .point = point };
    return params ? journal_begin(journal, &begin, why) : problem_memory(why);
}

int import_write(const struct import *import, struct journal *journal, struct problem *why)
{
    const struct import_head *head = &import->head;
    scoped_json json_t *environment =
        json_loads(head->environment ? head->environment : "{}", 0, NULL);
    if (!environment)
        return problem_memory(why);
    for (size_t i = 0; i < import->n; i++)
        if ((!begun_before(import, i) &&
             write_begin(import, &import->phase[i]->total, environment, journal, why)) ||
            write_phase(import, import->phase[i], journal, why))
            return -1;
    if (write_host(import, journal, why))
        return -1;
    const struct phase_total *last = &import->phase[import->n - 1]->total;
    return journal_end(journal, last->run, last->leg, JOB_SUCCEEDED, NULL, NULL, 0, why);
}
