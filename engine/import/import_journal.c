/* A runner's journal is taken as it is, after a look at every line: a service that follows a journal waits
 * for the rest of a broken line, here none will come. */
#include "engine/base/field_json.h"
#include "engine/base/text.h"
#include "engine/import/import.h"
#include "engine/journal_line.h"

#include <errno.h>
#include <sys/stat.h>

void import_journal_done(struct import_journal *journal)
{
    free(journal->workload);
    free(journal->target);
    free(journal->params);
    free(journal->environment);
    *journal = (struct import_journal){ 0 };
}

struct looking {
    struct import_journal found;
    uint64_t seq;
    off_t end; /* after the last good line */
    bool began, ended;
    size_t phases;
};

/* --- where it is wrong --- */

/* Which line the byte is in, and that line without its newline. */
static int line_at(const char *path, off_t offset, uint64_t *ret_number, char **ret_line,
                   size_t *ret_n, struct problem *why)
{
    scoped_file FILE *file = fopen(path, "re");
    scoped_free char *line = malloc(LINE_MOST);
    uint64_t number = 1;
    if (!line)
        return problem_memory(why);
    if (!file)
        return problem_errno(why, errno, "cannot read the journal again");
    for (off_t i = 0; i < offset; i++)
        number += getc_unlocked(file) == '\n';
    size_t n = fread(line, 1, LINE_MOST, file);
    const char *newline = memchr(line, '\n', n);
    *ret_number = number;
    *ret_n = newline ? (size_t)(newline - line) : n;
    *ret_line = steal(&line);
    return 0;
}

static int refuse(const char *path, off_t offset, const char *cause, struct problem *why)
{
    scoped_free char *line = NULL;
    uint64_t number = 0;
    json_error_t error;
    size_t n = 0;
    if (line_at(path, offset, &number, &line, &n, why))
        return -1;
    scoped_json json_t *json = n ? json_loadb(line, n, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (!json)
        return problem_at(why, "", number, n && error.column > 0 ? (uint64_t)error.column : 1, "%s",
                          n ? error.text : cause);
    if (!line_valid(line, n))
        return problem_at(why, "", number, n > SEAL ? n - SEAL + 2 : 1,
                          "the line has changed since it was written: its crc does not fit");
    return problem_at(why, "", number, 1, "%s", cause);
}

/* --- records --- */

static int keep_text(const json_t *json, const char *name, char **ret, struct problem *why)
{
    const json_t *value = json_object_get(json, name);
    *ret = json_is_object(value) ? json_dumps(value, JSON_COMPACT)
                                 : strdup(json_is_string(value) ? json_string_value(value) : "");
    return *ret ? 0 : problem_memory(why);
}

static int take_begin(struct looking *look, const struct journal_record *record,
                      struct problem *why)
{
    struct import_journal *found = &look->found;
    if (look->began)
        return 0; /* a further run or leg */
    look->began = true;
    found->began = record->wall;
    if (keep_text(record->json, "workload", &found->workload, why) ||
        keep_text(record->json, "target", &found->target, why) ||
        keep_text(record->json, "params", &found->params, why) ||
        keep_text(record->json, "environment", &found->environment, why))
        return -1;
    if (!import_workload_named(found->workload) || strlen(found->workload) > IMPORT_NAME_MOST)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "it has no workload of a name that is known");
    return 0;
}

static int take(struct looking *look, const struct journal_record *record, struct problem *why)
{
    if (record->seq != look->seq + 1)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "record %llu is missing",
                           (unsigned long long)look->seq + 1);
    if (!look->began && record->kind != RECORD_BEGIN)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "a journal starts with a record begin");
    if (record->kind == RECORD_BEGIN && take_begin(look, record, why))
        return -1;
    if (record->kind == RECORD_PHASE && ++look->phases > 64 * IMPORT_PHASES_MOST)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "it has more than %d phases",
                           64 * IMPORT_PHASES_MOST);
    if (record->kind == RECORD_END) {
        look->ended = true;
        look->found.ended = record->wall;
        look->found.outcome = record->outcome;
        look->found.problem = record->problem;
    }
    look->seq = record->seq;
    look->end = record->end;
    return 0;
}

static int read_all(const char *path, struct looking *look, struct problem *why)
{
    struct journal_reader *reader = NULL;
    const struct journal_record *record;
    struct problem cause = { 0 };
    struct stat st;
    if (journal_reader_open(path, 0, &reader, why))
        return -1;
    int more;
    while ((more = journal_next(reader, &record, &cause)) > 0)
        if (take(look, record, &cause)) {
            more = -1;
            break;
        }
    if (more == 0 && fstat(journal_reader_fd(reader), &st) < 0)
        more = problem_errno(&cause, errno, "cannot look at the journal");
    journal_reader_close(reader);
    if (more < 0 && cause.code != PROBLEM_BAD_SYNTAX && cause.code != PROBLEM_UNSUPPORTED) {
        *why = cause;
        return -1;
    }
    if (more < 0)
        return refuse(path, look->end, cause.message, why);
    if (st.st_size > look->end)
        return refuse(path, look->end, "the line is not whole", why);
    if (!look->ended)
        return refuse(path, look->end,
                      "there is no record end: the run goes on, or its end is lost", why);
    return 0;
}

int import_journal(const char *path, struct import_journal *ret, struct problem *why)
{
    struct looking look = { 0 };
    if (read_all(path, &look, why)) {
        import_journal_done(&look.found);
        return -1;
    }
    *ret = look.found;
    return 0;
}
