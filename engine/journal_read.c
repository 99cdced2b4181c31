/* The journal's reader: follows a file that somebody still appends to. A line counts when it is whole
 * and its CRC is right; what lies beyond the last such line is left for the next call. */
#include "engine/journal.h"
#include "engine/journal_line.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

enum { CHUNK = 256 << 10 }; /* read at once; a line of 512 samples is some 40 KiB */

struct journal_reader {
    int fd;
    off_t offset;    /* of buffer[start] in the file */
    size_t start, n; /* the unread bytes of the buffer */
    size_t room;
    char *buffer;
    uint64_t seq; /* of the last record; 0: none yet */
    struct journal_record record;
};

int journal_reader_open(const char *path, off_t offset, struct journal_reader **ret,
                        struct problem *why)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return problem_errno(why, errno, "cannot open the journal %s", path);
    struct journal_reader *reader = calloc(1, sizeof *reader);
    if (!reader || !(reader->buffer = malloc(CHUNK))) {
        free(reader);
        return problem_memory(why);
    }
    reader->fd = steal_fd(&fd);
    reader->room = CHUNK;
    reader->offset = offset;
    *ret = reader;
    return 0;
}

struct journal_reader *journal_reader_close(struct journal_reader *reader)
{
    if (!reader)
        return NULL;
    json_decref(reader->record.json);
    free(reader->buffer);
    close(reader->fd);
    free(reader);
    return NULL;
}

int journal_reader_fd(const struct journal_reader *reader)
{
    return reader->fd;
}

int journal_writer_lives(const char *path, struct problem *why)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return problem_errno(why, errno, "cannot open the journal %s", path);
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return 1;
    return problem_errno(why, errno, "cannot ask for the journal's lock");
}

/* --- lines --- */

/* Reads on. 1: more bytes; 0: the end of the file for now. */
static int fill(struct journal_reader *reader, struct problem *why)
{
    if (reader->start) {
        memmove(reader->buffer, reader->buffer + reader->start, reader->n);
        reader->start = 0;
    }
    if (reader->n == reader->room) {
        if (reader->room >= LINE_MOST)
            return problem_set(why, PROBLEM_BAD_SYNTAX,
                               "the journal has a line of more than %d MiB at byte %lld",
                               LINE_MOST >> 20, (long long)reader->offset);
        char *larger = realloc(reader->buffer, reader->room * 2);
        if (!larger)
            return problem_memory(why);
        reader->buffer = larger;
        reader->room *= 2;
    }
    ssize_t got;
    do
        got = pread(reader->fd, reader->buffer + reader->n, reader->room - reader->n,
                    reader->offset + (off_t)reader->n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return problem_errno(why, errno, "cannot read the journal");
    reader->n += (size_t)got;
    return got > 0;
}

/* The next whole line, without its newline; it stays in the buffer until skip(). 0: none yet. */
static int peek_line(struct journal_reader *reader, char **ret, size_t *ret_n, struct problem *why)
{
    size_t seen = 0;
    for (;;) {
        char *start = reader->buffer + reader->start;
        char *newline = memchr(start + seen, '\n', reader->n - seen);
        if (newline) {
            *ret = start;
            *ret_n = (size_t)(newline - start);
            return 1;
        }
        seen = reader->n;
        int more = fill(reader, why);
        if (more <= 0)
            return more;
    }
}

static void skip(struct journal_reader *reader, size_t line)
{
    reader->start += line + 1;
    reader->n -= line + 1;
    reader->offset += (off_t)line + 1;
}

/* Forgets what was read ahead: a new writer may cut it off and put something else there. */
static void forget(struct journal_reader *reader, off_t offset)
{
    reader->offset = offset;
    reader->start = reader->n = 0;
}

/* A broken line: the torn tail of a dead writer, unless valid lines follow it. */
static int broken_line(struct journal_reader *reader, struct problem *why)
{
    off_t broken = reader->offset;
    char *line;
    size_t n;
    int got;
    while ((got = peek_line(reader, &line, &n, why)) > 0) {
        if (line_valid(line, n)) {
            got = problem_set(why, PROBLEM_BAD_SYNTAX,
                              "the journal is damaged at byte %lld, after record %llu",
                              (long long)broken, (unsigned long long)reader->seq);
            break;
        }
        skip(reader, n);
    }
    forget(reader, broken);
    return got < 0 ? -1 : 0;
}

int journal_next(struct journal_reader *reader, const struct journal_record **ret,
                 struct problem *why)
{
    char *line;
    size_t n;
    struct journal_record *record = &reader->record;
    int got = peek_line(reader, &line, &n, why);
    if (got < 0)
        return -1;
    if (got == 0) {
        forget(reader, reader->offset);
        return 0;
    }
    if (!line_valid(line, n))
        return broken_line(reader, why);
    if (journal_record_read(line, n, record, why))
        return problem_during(why, "journal record at byte %lld: ", (long long)reader->offset);
    if (reader->seq && record->seq != reader->seq + 1)
        return problem_set(why, PROBLEM_BAD_SYNTAX,
                           "the journal is damaged: record %llu comes after %llu",
                           (unsigned long long)record->seq, (unsigned long long)reader->seq);
    skip(reader, n);
    reader->seq = record->seq;
    record->end = reader->offset;
    *ret = record;
    return 1;
}
