#include "engine/cli/series_file.h"

#include "engine/base/text.h"
#include "engine/journal.h"

#include <errno.h>
#include <math.h>

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

/* --- CSV --- */

enum column {
    SECONDS,
    ELAPSED_NS,
    LOAD,
    PHASE,
    RUN,
    LEG,
    OPS,
    BYTES,
    AT_NS,
    LANE,
    CPU_NS,
    SWITCHES,
    COLUMNS
};

static const struct {
    const char *name;
    enum column column;
} names[] = {
    { "seconds", SECONDS }, { "elapsed", SECONDS }, { "elapsed_ns", ELAPSED_NS },
    { "load", LOAD },       { "n", LOAD },          { "phase", PHASE },
    { "series", PHASE },    { "run", RUN },         { "leg", LEG },
    { "ops", OPS },         { "bytes", BYTES },     { "at_ns", AT_NS },
    { "lane", LANE },       { "cpu_ns", CPU_NS },   { "switches", SWITCHES },
};

enum { FIELDS_MOST = 64 };

struct csv {
    const char *path;
    const struct series_options *options;
    size_t line;
    int place[COLUMNS]; /* -1: not there */
    double load, at;    /* of the line before, where the file does not say */
};

/* Cuts the line at its commas. Returns how many fields. */
static size_t cut(char *line, char *fields[FIELDS_MOST])
{
    size_t n = 0;
    line[strcspn(line, "\r\n")] = 0;
    for (char *rest = line; rest && n < FIELDS_MOST;)
        fields[n++] = strsep(&rest, ",");
    return n;
}

static int refuse(const struct csv *csv, size_t column, struct problem *why, const char *what,
                  const char *given)
{
    char shown[64];
    return problem_set(why, PROBLEM_BAD_SYNTAX, "%s, line %zu, column %zu: %s, not %s", csv->path,
                       csv->line, column + 1, what, text_shown(given, shown, sizeof shown));
}

static int heading(struct csv *csv, char *fields[], size_t n, struct problem *why)
{
    for (int c = 0; c < COLUMNS; c++)
        csv->place[c] = -1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < COUNT_OF(names); k++)
            if (strcmp(fields[i], names[k].name) == 0)
                csv->place[names[k].column] = (int)i;
    if (csv->place[SECONDS] < 0 && csv->place[ELAPSED_NS] < 0)
        return problem_set(why, PROBLEM_BAD_SYNTAX,
                           "%s, line 1: one column must be seconds or elapsed_ns, the time of a "
                           "batch",
                           csv->path);
    if (csv->place[LOAD] < 0 && !(csv->options->batch > 0))
        return problem_set(why, PROBLEM_BAD_SYNTAX,
                           "%s, line 1: there is no column load or n, so --batch must say how many "
                           "a batch has",
                           csv->path);
    return 0;
}

static int number(const struct csv *csv, char *fields[], size_t n, enum column column,
                  double otherwise, double *ret, struct problem *why)
{
    int place = csv->place[column];
    if (place < 0) {
        *ret = otherwise;
        return 0;
    }
    const char *text = (size_t)place < n ? fields[place] : "";
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !isfinite(value) || value < 0)
        return refuse(csv, (size_t)place, why, "a number from 0 up is wanted", text);
    *ret = value;
    return 0;
}

static int add_line(struct csv *csv, char *fields[], size_t n, struct series_file *file,
                    struct problem *why)
{
    double seconds, load, run, leg, bytes, at, lane, cpu, switches, ops;
    double usual = csv->options->batch;
    struct phase_total phase = { .unit = "operations", .lanes = 1, .batch = 1 };
    const char *name = csv->place[PHASE] >= 0 && (size_t)csv->place[PHASE] < n
                           ? fields[csv->place[PHASE]]
                           : "series";
    if (text_fit(phase.name, sizeof phase.name, "%s", name) < 0)
        return refuse(csv, (size_t)csv->place[PHASE], why, "a name of up to 31 bytes is wanted",
                      name);
    if (number(csv, fields, n, ELAPSED_NS, NAN, &seconds, why) ||
        number(csv, fields, n, SECONDS, seconds / 1e9, &seconds, why) ||
        number(csv, fields, n, RUN, 1, &run, why) || number(csv, fields, n, LEG, 1, &leg, why))
        return -1;
    phase.run = (unsigned)run;
    phase.leg = (unsigned)leg;
    struct series_kept *series = find(file, &phase, why);
    if (!series)
        return -1;
    const struct phase_total *known = series_kept_phase(series);
    double before = known->ops ? (double)known->ops : csv->options->start;
    double until = seconds_of(known->last_done);
    if (number(csv, fields, n, LOAD, before + usual, &load, why) ||
        number(csv, fields, n, OPS, load - before, &ops, why) ||
        number(csv, fields, n, BYTES, 0, &bytes, why) ||
        number(csv, fields, n, AT_NS, (until + seconds) * 1e9, &at, why) ||
        number(csv, fields, n, LANE, 0, &lane, why) ||
        number(csv, fields, n, CPU_NS, seconds * 1e9, &cpu, why) ||
        number(csv, fields, n, SWITCHES, 0, &switches, why))
        return -1;
    if (load < before)
        return refuse(csv, (size_t)(csv->place[LOAD] < 0 ? 0 : csv->place[LOAD]), why,
                      "the load must rise from line to line", fields[0]);
    struct sample sample = { .load = (uint64_t)load,
                             .at = (nsec)at,
                             .elapsed = (nsec)(seconds * 1e9),
                             .lane = (uint32_t)lane,
                             .ops = (uint64_t)ops,
                             .bytes = (uint64_t)bytes,
                             .cpu = (nsec)cpu,
                             .switches = (uint32_t)switches };
    phase = *known;
    phase.batch = (uint64_t)fmax((double)phase.batch, ops);
    phase.ops = sample.load;
    phase.bytes += sample.bytes;
    phase.last_done = sample.at;
    phase.lanes = lane + 1 > (double)phase.lanes ? (uint64_t)lane + 1 : phase.lanes;
    series_kept_total(series, &phase);
    return series_kept_add(series, &sample, 1, why);
}

static int read_csv(FILE *f, const char *path, const struct series_options *options,
                    struct series_file *file, struct problem *why)
{
    struct csv csv = { .path = path, .options = options };
    scoped_free char *line = NULL;
    char *fields[FIELDS_MOST];
    size_t room = 0;
    while (getline(&line, &room, f) > 0) {
        size_t n = cut(line, fields);
        csv.line++;
        if (csv.line == 1 ? heading(&csv, fields, n, why)
                          : (fields[0][0] || n > 1) && add_line(&csv, fields, n, file, why))
            return -1;
    }
    return csv.line < 2 ? problem_set(why, PROBLEM_BAD_SYNTAX, "%s has no lines of data", path) : 0;
}

int series_read(const char *path, const struct series_options *options, struct series_file *ret,
                struct problem *why)
{
    struct series_file file = { 0 };
    scoped_file FILE *f = fopen(path, "re");
    if (!f)
        return problem_errno(why, errno, "cannot read %s", path);
    int first = getc(f);
    rewind(f);
    int result =
        first == '{' ? read_journal(path, &file, why) : read_csv(f, path, options, &file, why);
    if (result < 0) {
        series_file_done(&file);
        return -1;
    }
    *ret = file;
    return 0;
}
