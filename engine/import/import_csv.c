/* CSV as people and other programs write it (RFC 4180 without line breaks in a field): one line a batch.
 * Lines are read one at a time, and the first wrong one ends it. */
#include "engine/base/text.h"
#include "engine/import/import.h"

#include <errno.h>
#include <math.h>

enum {
    FIELDS_MOST = 1024,
    LINE_MOST = 64 << 10, /* bytes */
    NAME_TEXT = 64,
};

/* --- lines --- */

struct csv {
    FILE *file;
    const struct import_csv *how;
    struct import *to;
    uint64_t line;
    size_t n;
    char *field[FIELDS_MOST];
    char text[LINE_MOST + 2];
};

/* Cuts the line in place at its commas; a field may stand in quotes. */
static int cut(struct csv *csv, struct problem *why)
{
    char *p = csv->text;
    csv->n = 0;
    for (bool more = true; more;) {
        if (csv->n == FIELDS_MOST)
            return problem_at(why, "", csv->line, csv->n + 1, "there are more than %d columns",
                              FIELDS_MOST);
        p += strspn(p, " \t");
        char *to = csv->field[csv->n++] = p;
        if (*p == '"') {
            for (p++; *p && (*p != '"' || p[1] == '"'); p++)
                *to++ = *p == '"' ? *p++ : *p;
            if (*p++ != '"')
                return problem_at(why, "", csv->line, csv->n, "the quote is not closed");
            p += strspn(p, " \t");
            if (*p && *p != ',')
                return problem_at(why, "", csv->line, csv->n,
                                  "a comma must follow the closing quote");
        } else {
            p += strcspn(p, ",");
            to = p;
            while (to > csv->field[csv->n - 1] && (to[-1] == ' ' || to[-1] == '\t'))
                to--;
        }
        more = *p == ',';
        p += more;
        *to = '\0';
    }
    return 0;
}

/* 1: a line, cut; 0: the end. Empty lines are passed over. */
static int next_line(struct csv *csv, struct problem *why)
{
    do {
        if (!fgets(csv->text, sizeof csv->text, csv->file))
            return ferror(csv->file) ? problem_errno(why, errno, "cannot read the file") : 0;
        csv->line++;
        size_t n = strlen(csv->text);
        if ((n == 0 || csv->text[n - 1] != '\n') && !feof(csv->file))
            return problem_at(why, "", csv->line, 1,
                              "the line is longer than %d bytes, or holds a zero byte", LINE_MOST);
        while (n && (csv->text[n - 1] == '\n' || csv->text[n - 1] == '\r'))
            csv->text[--n] = '\0';
        if (csv->line == 1 && text_starts(csv->text, "\xef\xbb\xbf"))
            memmove(csv->text, csv->text + 3, n - 2);
    } while (!csv->text[0]);
    return cut(csv, why) ? -1 : 1;
}

static const char *heading(const struct csv *csv, size_t column, char text[NAME_TEXT])
{
    return text_shown(csv->field[column], text, NAME_TEXT);
}

/* -1: there is none of that name. */
static int column_named(const struct csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->n; i++)
        if (strcmp(csv->field[i], name) == 0)
            return (int)i;
    return -1;
}

/* Names the columns that there are; a sheet written with other separators has one. */
static int no_column(const struct csv *csv, const char *where, const char *name,
                     struct problem *why)
{
    char asked[NAME_TEXT], there[2 * NAME_TEXT];
    struct text names = { 0 };
    for (size_t i = 0; i < csv->n; i++)
        text_addf(&names, "%s\"%s\"", i ? ", " : "", csv->field[i]);
    scoped_free char *list = text_take(&names);
    bool one = csv->n == 1 && csv->field[0][strcspn(csv->field[0], ";\t")];
    return problem_at(why, where, csv->line, 1, "there is no column %s, but %s%s",
                      text_shown(name, asked, sizeof asked),
                      text_shown(list ? list : "others", there, sizeof there),
                      one ? "; columns are separated by commas" : "");
}

static int refuse(const struct csv *csv, size_t column, struct problem *why, const char *wanted)
{
    char shown[NAME_TEXT];
    const char *given = column < csv->n ? csv->field[column] : "";
    return problem_at(why, "", csv->line, column + 1, "%s is wanted, not %s", wanted,
                      *given ? text_shown(given, shown, sizeof shown) : "an empty cell");
}

static int falls(const struct csv *csv, size_t column, double before, struct problem *why)
{
    return problem_at(why, "", csv->line, column + 1, "the load must not fall: %s follows %.0f",
                      csv->field[column], before);
}

/* 1: a number; 0: an empty cell; -1: something else. */
static int number(const struct csv *csv, size_t column, double most, double *ret,
                  struct problem *why)
{
    const char *text = column < csv->n ? csv->field[column] : "";
    char *end;
    if (!*text)
        return 0;
    errno = 0;
    double value = strtod(text, &end);
    if (*end || text[strspn(text, "0123456789.eE+-")] || !isfinite(value) || value < 0)
        return refuse(csv, column, why, "a number from 0 up");
    if (value > most)
        return refuse(csv, column, why, "a smaller number");
    *ret = value;
    return 1;
}

static int count(const struct csv *csv, size_t column, uint64_t *ret, struct problem *why)
{
    double value = 0;
    int got = number(csv, column, IMPORT_LOAD_MOST, &value, why);
    if (got < 0)
        return -1;
    if (value != floor(value))
        return refuse(csv, column, why, "a whole number");
    if (got)
        *ret = (uint64_t)value;
    return got;
}

static bool is_at_load(const struct import_csv *how, const char *phase)
{
    for (size_t i = 0; i < how->at_load.n; i++)
        if (strcmp(how->at_load.at[i], phase) == 0)
            return true;
    return false;
}

/* --- a column for each phase --- */

struct series {
    size_t column;
    struct import_phase *phase;
};

struct plan {
    int x;      /* the column; -1: lines are counted */
    double row; /* the load of the line before */
    size_t n;
    struct series series[IMPORT_PHASES_MOST];
};

static int plan_phase(struct csv *csv, const char *y, const char *unit, struct plan *plan,
                      struct problem *why)
{
    char name[sizeof(struct phase_total){ 0 }.name];
    const char *colon = strchr(y, ':'), *column = colon ? colon + 1 : y;
    size_t before = csv->to->n;
    int place = column_named(csv, column);
    if (place < 0)
        return no_column(csv, "/?y", column, why);
    if (text_fit(name, sizeof name, "%.*s", colon ? (int)(colon - y) : (int)strlen(y), y) || !*name)
        return problem_field(why, "/?y", "a phase's name has 1 to %zu bytes: NAME:COLUMN",
                             sizeof name - 1);
    struct import_phase *phase = import_phase(csv->to, name, 1, 1, unit, why);
    if (!phase)
        return -1;
    if (csv->to->n == before)
        return problem_field(why, "/?y", "the phase %s is named twice", name);
    phase->total.at_load = is_at_load(csv->how, name);
    plan->series[plan->n++] = (struct series){ (size_t)place, phase };
    return 0;
}

static int check_at_load(const struct csv *csv, struct problem *why)
{
    for (size_t i = 0; i < csv->how->at_load.n; i++) {
        char shown[NAME_TEXT];
        bool found = false;
        for (size_t k = 0; k < csv->to->n; k++)
            found |= strcmp(csv->to->phase[k]->total.name, csv->how->at_load.at[i]) == 0;
        if (!found)
            return problem_field(why, "/?at_load", "there is no phase %s",
                                 text_shown(csv->how->at_load.at[i], shown, sizeof shown));
    }
    return 0;
}

static int make_plan(struct csv *csv, struct plan *plan, struct problem *why)
{
    const struct import_csv *how = csv->how;
    plan->x = how->x ? column_named(csv, how->x) : -1;
    plan->row = how->start;
    if (how->x && plan->x < 0)
        return no_column(csv, "/?x", how->x, why);
    for (size_t i = 0; i < how->y.n; i++)
        if (plan_phase(csv, how->y.at[i], how->unit ? how->unit : how->x, plan, why))
            return -1;
    return 0;
}

static int row_load(const struct csv *csv, const struct plan *plan, double *ret,
                    struct problem *why)
{
    uint64_t load = 0;
    if (plan->x < 0) {
        *ret = plan->row + csv->how->batch;
        return 0;
    }
    int got = count(csv, (size_t)plan->x, &load, why);
    if (got == 0)
        return refuse(csv, (size_t)plan->x, why, "the load");
    if (got < 0)
        return -1;
    if ((double)load < plan->row)
        return falls(csv, (size_t)plan->x, plan->row, why);
    *ret = (double)load;
    return 0;
}

static int take_row(struct csv *csv, struct plan *plan, struct problem *why)
{
    double load = 0;
    if (row_load(csv, plan, &load, why))
        return -1;
    for (size_t i = 0; i < plan->n; i++) {
        struct import_phase *phase = plan->series[i].phase;
        double seconds = 0;
        int got = number(csv, plan->series[i].column, IMPORT_SECONDS_MOST, &seconds, why);
        if (got < 0)
            return -1;
        if (got == 0)
            continue;
        nsec elapsed = (nsec)llround(seconds * 1e9);
        const struct sample sample = {
            .load = (uint64_t)load,
            .at = phase->total.last_done + elapsed,
            .elapsed = elapsed,
            .cpu = elapsed, /* not known: no time was lost */
            .ops = phase->total.at_load ? 1 : (uint64_t)(load - plan->row),
        };
        if (import_sample(csv->to, phase, &sample, why))
            return -1;
    }
    plan->row = load;
    return 0;
}

static int read_columns(struct csv *csv, struct problem *why)
{
    scoped_free struct plan *plan = calloc(1, sizeof *plan);
    int more;
    if (!plan)
        return problem_memory(why);
    if (make_plan(csv, plan, why))
        return -1;
    while ((more = next_line(csv, why)) > 0)
        if (take_row(csv, plan, why))
            return -1;
    return more;
}

/* --- a line for each sample, as this program writes it --- */

#define COLUMNS(X) \
    X(SECONDS)     \
    X(ELAPSED)     \
    X(LOAD)        \
    X(PHASE)       \
    X(RUN)         \
    X(LEG)         \
    X(OPS)         \
    X(BYTES)       \
    X(ERRORS)      \
    X(AT)          \
    X(LANE)        \
    X(CPU)         \
    X(SWITCHES)    \
    X(P50)         \
    X(P99)         \
    X(MAX)
enum column {
#define X(name) name,
    COLUMNS(X)
#undef X
        COLUMN_COUNT
};

static const struct {
    const char *name;
    enum column column;
} names[] = {
    { "seconds", SECONDS },   { "elapsed", SECONDS }, { "elapsed_ns", ELAPSED },
    { "load", LOAD },         { "n", LOAD },          { "phase", PHASE },
    { "series", PHASE },      { "run", RUN },         { "leg", LEG },
    { "ops", OPS },           { "bytes", BYTES },     { "errors", ERRORS },
    { "at_ns", AT },          { "lane", LANE },       { "cpu_ns", CPU },
    { "switches", SWITCHES }, { "p50_ns", P50 },      { "p99_ns", P99 },
    { "max_ns", MAX },
};

struct table {
    int place[COLUMN_COUNT]; /* -1: not there */
    const char *unit;
};

static int find_columns(const struct csv *csv, struct table *table, struct problem *why)
{
    char shown[NAME_TEXT];
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        table->place[i] = -1;
    for (size_t i = 0; i < csv->n; i++) {
        size_t k = 0;
        while (k < COUNT_OF(names) && strcmp(names[k].name, csv->field[i]) != 0)
            k++;
        if (k < COUNT_OF(names) && table->place[names[k].column] >= 0)
            return problem_at(why, "", csv->line, i + 1, "%s is the second column of its kind",
                              heading(csv, i, shown));
        if (k < COUNT_OF(names))
            table->place[names[k].column] = (int)i;
    }
    if (table->place[SECONDS] < 0 && table->place[ELAPSED] < 0)
        return problem_at(why, "", csv->line, 1,
                          "one column must be seconds or elapsed_ns, the time of a batch");
    if (table->place[LOAD] < 0 && !(csv->how->batch > 0))
        return problem_at(why, "", csv->line, 1,
                          "there is no column load or n, so batch must say how many a line has");
    table->unit = csv->how->unit ? csv->how->unit : "operations";
    return 0;
}

/* 1: there; 0: no such column, or an empty cell. */
static int table_count(const struct csv *csv, const struct table *table, enum column column,
                       uint64_t most, uint64_t *ret, struct problem *why)
{
    uint64_t value = 0;
    if (table->place[column] < 0)
        return 0;
    size_t place = (size_t)table->place[column];
    int got = count(csv, place, &value, why);
    if (got > 0 && value > most)
        return refuse(csv, place, why, "a smaller number");
    if (got > 0)
        *ret = value;
    return got;
}

static struct import_phase *table_phase(struct csv *csv, const struct table *table,
                                        struct problem *why)
{
    uint64_t run = 1, leg = 1;
    size_t place = table->place[PHASE] < 0 ? 0 : (size_t)table->place[PHASE];
    const char *name = table->place[PHASE] < 0 ? "series" : place < csv->n ? csv->field[place] : "";
    if (table_count(csv, table, RUN, INT32_MAX, &run, why) < 0 ||
        table_count(csv, table, LEG, INT32_MAX, &leg, why) < 0)
        return NULL;
    size_t room = sizeof(struct phase_total){ 0 }.name;
    if (!*name || strlen(name) >= room || !text_is_plain(name) || strpbrk(name, "\"\\")) {
        refuse(csv, place, why, "a phase's name of up to 31 bytes");
        return NULL;
    }
    struct import_phase *phase = import_phase(csv->to, name, run ? (unsigned)run : 1,
                                              leg ? (unsigned)leg : 1, table->unit, why);
    if (phase && phase->n == 0)
        phase->total.at_load = is_at_load(csv->how, name);
    return phase;
}

/* 1: the seconds; 0: a gap. */
static int table_elapsed(const struct csv *csv, const struct table *table, nsec *ret,
                         struct problem *why)
{
    double seconds = 0;
    uint64_t ns = 0;
    int got;
    if (table->place[ELAPSED] >= 0) {
        got = table_count(csv, table, ELAPSED, (uint64_t)(IMPORT_SECONDS_MOST * 1e9), &ns, why);
        *ret = (nsec)ns;
    } else {
        got = number(csv, (size_t)table->place[SECONDS], IMPORT_SECONDS_MOST, &seconds, why);
        *ret = (nsec)llround(seconds * 1e9);
    }
    return got;
}

static int table_sample(const struct csv *csv, const struct table *table,
                        const struct import_phase *phase, nsec elapsed, struct sample *ret,
                        struct problem *why)
{
    uint64_t before = phase->n ? phase->load : (uint64_t)csv->how->start;
    uint64_t at = (uint64_t)(phase->total.last_done + elapsed), cpu = (uint64_t)elapsed, lane = 0,
             switches = 0, p50 = 0, p99 = 0, max = 0;
    struct sample s = { .elapsed = elapsed, .load = before + (uint64_t)csv->how->batch };
    int loads = table_count(csv, table, LOAD, UINT64_MAX, &s.load, why);
    int timed = table_count(csv, table, AT, INT64_MAX, &at, why);
    if (loads == 0 && table->place[LOAD] >= 0)
        return refuse(csv, (size_t)table->place[LOAD], why, "the load");
    if (loads > 0 && timed == 0 && s.load < before)
        return falls(csv, (size_t)table->place[LOAD], (double)before, why);
    s.ops = phase->total.at_load ? 1 : s.load > before ? s.load - before : 0;
    if (loads < 0 || timed < 0 || table_count(csv, table, OPS, UINT64_MAX, &s.ops, why) < 0 ||
        table_count(csv, table, BYTES, UINT64_MAX, &s.bytes, why) < 0 ||
        table_count(csv, table, ERRORS, UINT64_MAX, &s.errors, why) < 0 ||
        table_count(csv, table, LANE, 65535, &lane, why) < 0 ||
        table_count(csv, table, CPU, INT64_MAX, &cpu, why) < 0 ||
        table_count(csv, table, SWITCHES, UINT32_MAX, &switches, why) < 0 ||
        table_count(csv, table, P50, INT64_MAX, &p50, why) < 0 ||
        table_count(csv, table, P99, INT64_MAX, &p99, why) < 0 ||
        table_count(csv, table, MAX, INT64_MAX, &max, why) < 0)
        return -1;
    s.at = (nsec)at;
    s.cpu = (nsec)cpu;
    s.lane = (uint32_t)lane;
    s.switches = (uint32_t)switches;
    s.p50 = (nsec)p50;
    s.p99 = (nsec)p99;
    s.max = (nsec)max;
    *ret = s;
    return 0;
}

static int read_table(struct csv *csv, struct problem *why)
{
    struct table table = { 0 };
    int more;
    if (find_columns(csv, &table, why))
        return -1;
    while ((more = next_line(csv, why)) > 0) {
        struct sample sample;
        nsec elapsed = 0;
        struct import_phase *phase = table_phase(csv, &table, why);
        int got = phase ? table_elapsed(csv, &table, &elapsed, why) : -1;
        if (got < 0 || (got && (table_sample(csv, &table, phase, elapsed, &sample, why) ||
                                import_sample(csv->to, phase, &sample, why))))
            return -1;
        if (got == 0 && table.place[LOAD] < 0)
            phase->load += (uint64_t)csv->how->batch;
    }
    return more;
}

int import_csv(FILE *file, const struct import_csv *how, struct import *to, struct problem *why)
{
    scoped_free struct csv *csv = calloc(1, sizeof *csv);
    if (!csv)
        return problem_memory(why);
    csv->file = file;
    csv->how = how;
    csv->to = to;
    int more = next_line(csv, why);
    if (more < 0)
        return -1;
    if (more == 0)
        return problem_at(why, "", 1, 1, "the first line must name the columns");
    if (how->y.n ? read_columns(csv, why) : read_table(csv, why))
        return -1;
    for (size_t i = 0; i < to->n; i++)
        if (to->phase[i]->n)
            return check_at_load(csv, why);
    return problem_at(why, "", csv->line + 1, 1, "there is no line of data");
}
