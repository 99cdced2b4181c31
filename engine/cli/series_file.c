#include "engine/cli/series_file.h"

#include "engine/import/import.h"

#include <errno.h>
#include <fcntl.h>

void series_file_done(struct series_file *file)
{
    for (size_t i = 0; i < file->n; i++)
        series_kept_free(file->at[i]);
    file->n = 0;
}

static struct series_kept *find(struct series_file *file, const struct phase_total *phase,
                                struct problem *why)
{
    for (size_t i = file->n; i-- > 0;) {
        const struct phase_total *known = series_kept_phase(file->at[i]);
        if (known->run == phase->run && known->leg == phase->leg &&
            strcmp(known->name, phase->name) == 0)
            return file->at[i];
    }
    if (file->n == SERIES_MOST) {
        problem_set(why, PROBLEM_TOO_LARGE, "there are more than %d series in it", SERIES_MOST);
        return NULL;
    }
    if (series_kept_new(phase, &file->at[file->n], why) < 0)
        return NULL;
    return file->at[file->n++];
}

/* --- journals --- */

/* The end of a phase tells what was done; what was planned stands in its beginning. */
static int take_totals(struct series_kept *series, const struct journal_record *record)
{
    struct phase_total total = *series_kept_phase(series);
    const struct phase_total *told = &record->phase;
    if (record->kind == RECORD_LIMIT) {
        total.limit = told->limit;
    } else {
        total.ops = told->ops;
        total.bytes = told->bytes;
        total.errors = told->errors;
        total.first_start = told->first_start;
        total.first_done = told->first_done;
        total.last_done = told->last_done;
        total.latency = told->latency;
        total.finished = true;
    }
    series_kept_total(series, &total);
    return 0;
}

static int take_record(struct series_file *file, const struct journal_record *record,
                       struct problem *why)
{
    switch (record->kind) {
    case RECORD_PHASE:
        return find(file, &record->phase, why) ? 0 : -1;
    case RECORD_SAMPLES: {
        struct phase_total phase = record->phase;
        phase.run = record->run;
        phase.leg = record->leg;
        struct series_kept *series = find(file, &phase, why);
        return series ? series_kept_add(series, record->samples, record->n, why) : -1;
    }
    case RECORD_PHASE_END:
    case RECORD_LIMIT: {
        struct series_kept *series = find(file, &record->phase, why);
        return series ? take_totals(series, record) : -1;
    }
    default:
        return 0;
    }
}

static int read_journal(const char *path, struct series_file *file, struct problem *why)
{
    struct journal_reader *reader;
    const struct journal_record *record;
    int more;
    if (journal_reader_open(path, 0, &reader, why) < 0)
        return -1;
    while ((more = journal_next(reader, &record, why)) > 0)
        if (take_record(file, record, why) < 0) {
            more = -1;
            break;
        }
    journal_reader_close(reader);
    return more;
}

/* --- CSV, and JSON as it is imported --- */

static int add_group(void *arg, const struct sample *samples, size_t n, struct problem *why)
{
    return series_kept_add(arg, samples, n, why);
}

static int take_import(const struct import *import, struct series_file *file, struct problem *why)
{
    for (size_t i = 0; i < import->n; i++) {
        struct series_kept *series = find(file, &import->phase[i]->total, why);
        if (!series || import_each(import, import->phase[i], add_group, series, why))
            return -1;
    }
    return 0;
}

static int read_import(FILE *f, const char *path, const struct series_options *options,
                       struct series_file *file, struct problem *why)
{
    const struct import_csv how = { .batch = options->batch, .start = options->start };
    const char *temporary = getenv("TMPDIR");
    scoped_fd int folder = open(temporary ? temporary : "/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    scoped(import_done) struct import import;
    int first = getc(f);
    rewind(f);
    import_init(&import, folder);
    if (first == '{' ? import_json(f, &import, why) : import_csv(f, &how, &import, why))
        return problem_during(why, "%s, ", path);
    return take_import(&import, file, why);
}

/* A journal starts with a record; other JSON is for imports. */
static bool is_journal(FILE *f)
{
    static const char begin[] = "{\"seq\":";
    char text[sizeof begin - 1];
    bool is =
        fread(text, 1, sizeof text, f) == sizeof text && memcmp(text, begin, sizeof text) == 0;
    rewind(f);
    return is;
}

int series_read(const char *path, const struct series_options *options, struct series_file *ret,
                struct problem *why)
{
    struct series_file file = { 0 };
    scoped_file FILE *f = fopen(path, "re");
    if (!f)
        return problem_errno(why, errno, "cannot read %s", path);
    int result =
        is_journal(f) ? read_journal(path, &file, why) : read_import(f, path, options, &file, why);
    if (result < 0) {
        series_file_done(&file);
        return -1;
    }
    *ret = file;
    return 0;
}
