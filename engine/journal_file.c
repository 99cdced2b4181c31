/* The file that a journal is written to. A line is one write(2) to a file opened for appending, so
 * that whatever ends the process leaves whole lines and at most one torn one, which the next writer
 * cuts. */
#include "engine/journal.h"
#include "engine/journal_line.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

enum {
    SAMPLES_LINE = SAMPLE_GROUP * SAMPLE_COLUMN_COUNT * COLUMN_DIGITS + 512,
    LOCK_TRIES = 1000,
};

struct journal {
    int fd;
    uint64_t seq;         /* of the last line */
    off_t end;            /* after the last whole line */
    char *hidden, *shown; /* a path, and what it is called in problems; NULL: none */
    char line[SAMPLES_LINE];
};

/* Takes the writer's lock. A look at it by journal_writer_lives() is a shared lock for an instant:
 * while a shared one can be had, no writer lives, and trying again is bounded by others' looks. */
static int lock(int fd, struct problem *why)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return problem_errno(why, errno, "cannot lock the journal");
        if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            break;
    }
    return problem_set(why, PROBLEM_CONFLICT, "the journal has a living writer");
}

int journal_create(int folder, const char *name, struct journal **ret, struct problem *why)
{
    scoped_fd int fd =
        openat(folder, name, O_CREAT | O_EXCL | O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (fd < 0)
        return errno == EEXIST
                   ? problem_set(why, PROBLEM_CONFLICT,
                                 "the journal %s is there already; it must be a new file", name)
                   : problem_errno(why, errno, "cannot create the journal %s", name);
    if (lock(fd, why))
        return -1;
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return problem_memory(why);
    journal->fd = steal_fd(&fd);
    *ret = journal;
    return 0;
}

struct journal *journal_close(struct journal *journal)
{
    if (!journal)
        return NULL;
    close(journal->fd);
    free(journal->hidden);
    free(journal->shown);
    free(journal);
    return NULL;
}

int journal_share(struct journal *journal, gid_t readers, struct problem *why)
{
    if (fchown(journal->fd, (uid_t)-1, readers) != 0 || fchmod(journal->fd, 0640) != 0)
        return problem_errno(why, errno, "cannot let the service read the journal");
    return 0;
}

/* Whoever may put files into the folder could have put one there that we would cut or fill. */
static int check_ours(int fd, const char *name, struct problem *why)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return problem_errno(why, errno, "cannot look at the journal %s", name);
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != geteuid())
        return problem_set(why, PROBLEM_FORBIDDEN,
                           "the journal %s is not what a runner of this user made", name);
    return 0;
}

/* Finds the last valid line, wherever broken ones stand before it. */
static int find_end(int fd, off_t *ret_end, uint64_t *ret_seq, struct problem *why)
{
    scoped_fd int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    scoped_file FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (!file)
        return problem_errno(why, errno, "cannot read the journal");
    steal_fd(&copy);
    scoped_free char *line = NULL;
    size_t room = 0;
    off_t at = 0, end = 0;
    uint64_t seq = 0;
    for (ssize_t n; (n = getline(&line, &room, file)) > 0; at += n) {
        unsigned long long number;
        if (line[n - 1] != '\n' || !line_valid(line, (size_t)n - 1) ||
            sscanf(line, "{\"seq\":%llu,", &number) != 1)
            continue;
        end = at + n;
        seq = number;
    }
    if (ferror(file))
        return problem_errno(why, errno, "cannot read the journal");
    *ret_end = end;
    *ret_seq = seq;
    return 0;
}

int journal_reopen(int folder, const char *name, struct journal **ret, struct problem *why)
{
    scoped_fd int fd =
        openat(folder, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return problem_errno(why, errno, "cannot open the journal %s", name);
    off_t end = 0;
    uint64_t seq = 0;
    if (check_ours(fd, name, why) || lock(fd, why) || find_end(fd, &end, &seq, why))
        return -1;
    if (ftruncate(fd, end) != 0)
        return problem_errno(why, errno, "cannot cut the journal's torn tail");
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return problem_memory(why);
    journal->fd = steal_fd(&fd);
    journal->seq = seq;
    journal->end = end;
    *ret = journal;
    return 0;
}

int journal_sync(struct journal *journal, struct problem *why)
{
    if (fsync(journal->fd) != 0)
        return problem_errno(why, errno, "cannot write the journal to stable storage");
    return 0;
}

/* A line that could not be written whole is taken back: the file never has a torn one inside. */
static int put(struct journal *journal, const char *line, size_t n, struct problem *why)
{
    for (size_t done = 0; done < n;) {
        ssize_t w = write(journal->fd, line + done, n - done);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0) {
            int error = errno;
            if (done && ftruncate(journal->fd, journal->end) != 0)
                error = errno;
            return problem_errno(why, error, "cannot write the journal");
        }
        done += (size_t)w;
    }
    journal->end += (off_t)n;
    journal->seq++;
    return 0;
}

static char *word(char *to, const char *text)
{
    size_t n = strlen(text);
    memcpy(to, text, n);
    return to + n;
}

static char *column(char *to, const struct sample_column *column, const struct sample *samples,
                    size_t n)
{
    to = word(to, ",\"");
    to = word(to, column->name);
    to = word(to, "\":");
    for (size_t i = 0; i < n; i++) {
        *to++ = i ? ',' : '[';
        to = line_number(to, sample_column_get(&samples[i], column));
    }
    *to++ = ']';
    return to;
}

int journal_samples(struct journal *journal, unsigned run, unsigned leg, const char *phase,
                    const struct sample *samples, size_t n, struct problem *why)
{
    if (n == 0)
        return 0;
    if (n > SAMPLE_GROUP || strlen(phase) > 64 || strpbrk(phase, "\"\\"))
        return problem_set(why, PROBLEM_INTERNAL, "%zu samples of phase %s in one line", n, phase);
    char *p = journal->line;
    p = line_number(word(p, "{\"seq\":"), journal->seq + 1);
    p = line_number(word(p, ",\"record\":\"samples\",\"run\":"), run);
    p = line_number(word(p, ",\"leg\":"), leg);
    p = word(word(word(p, ",\"phase\":\""), phase), "\"");
    for (size_t i = 0; i < SAMPLE_COLUMN_COUNT; i++)
        p = column(p, &sample_columns[i], samples, n);
    return put(journal, journal->line, line_seal(journal->line, (size_t)(p - journal->line)), why);
}

int journal_append(struct journal *journal, json_t *record, struct problem *why)
{
    scoped_free char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;
    json_decref(record);
    size_t n = text ? strlen(text) : 0;
    if (n <= 2)
        return problem_memory(why);
    if (n > LINE_MOST - 2 * SEAL - 32)
        return problem_set(why, PROBLEM_TOO_LARGE, "a journal record of %zu bytes", n);
    scoped_free char *line = malloc(n + 2 * SEAL + 32);
    if (!line)
        return problem_memory(why);
    char *p = line_number(word(line, "{\"seq\":"), journal->seq + 1);
    *p++ = ',';
    memcpy(p, text + 1, n - 2); /* its members, without the braces */
    p += n - 2;
    return put(journal, line, line_seal(line, (size_t)(p - line)), why);
}

int journal_hide(struct journal *journal, const char *path, const char *instead,
                 struct problem *why)
{
    scoped_free char *hidden = strdup(path), *shown = strdup(instead);
    if (!hidden || !shown)
        return problem_memory(why);
    free(journal->hidden);
    free(journal->shown);
    journal->hidden = steal(&hidden);
    journal->shown = steal(&shown);
    return 0;
}

struct problem journal_public(const struct journal *journal, const struct problem *problem)
{
    struct problem told = *problem;
    if (journal->hidden)
        problem_hide(&told, journal->hidden, journal->shown);
    return told;
}
