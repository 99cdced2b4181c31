/* A journal line: how it is sealed, checked and read, and the columns of `samples`. Only for
 * journal_*.c. */
#pragma once
#include "engine/base/problem.h"
#include "engine/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;
struct journal_record;

enum {
    LINE_MOST = 4 << 20, /* longer than any line of ours: an environment is some 10 KiB */
    SEAL = 20,           /* ,"crc":"01234567"}\n and its end */
    COLUMN_DIGITS = 21,  /* of a 64-bit number, its sign, and a comma */
};

/* The columns of a `samples` record, in the order in which they are written. */
#define SAMPLE_COLUMNS(X) \
    X(lane)               \
    X(load)               \
    X(at)                 \
    X(elapsed)            \
    X(ops)                \
    X(bytes)              \
    X(errors)             \
    X(cpu)                \
    X(switches)           \
    X(p50)                \
    X(p99)                \
    X(max)

struct sample_column {
    const char *name;
    size_t offset, size; /* 4 or 8 bytes in struct sample */
};
enum { SAMPLE_COLUMN_COUNT = 12 };
extern const struct sample_column sample_columns[SAMPLE_COLUMN_COUNT];

static inline uint64_t sample_column_get(const struct sample *sample,
                                         const struct sample_column *column)
{
    const void *at = (const char *)sample + column->offset;
    return column->size == sizeof(uint32_t) ? *(const uint32_t *)at : *(const uint64_t *)at;
}
static inline void sample_column_set(struct sample *sample, const struct sample_column *column,
                                     uint64_t value)
{
    void *at = (char *)sample + column->offset;
    if (column->size == sizeof(uint32_t))
        *(uint32_t *)at = (uint32_t)value;
    else
        *(uint64_t *)at = value;
}

/* Puts the decimal number at `to`, which has room for COLUMN_DIGITS; returns its end. */
char *line_number(char *to, uint64_t value);

/* Completes the line, whose `n` bytes end before its last brace, with crc, brace and newline; there
 * must be room for SEAL more. Returns its length. */
size_t line_seal(char *line, size_t n);
/* Whether a line of `n` bytes, without its newline, is complete and its CRC is right. */
bool line_valid(const char *line, size_t n);

/* What a `samples` line says. `phase` points into the line. */
struct samples_line {
    uint64_t seq, run, leg;
    const char *phase;
    size_t phase_n;
    size_t n;
};
/* Reads a valid `samples` line of plain numbers quickly. False: it is another record, or something
 * in it wants the whole JSON parser (nothing is known of *ret and samples then). */
bool line_read_samples(const char *line, size_t n, struct samples_line *ret,
                       struct sample samples[SAMPLE_GROUP]);

/* ---- journal_file.c ---- */
/* The problem as others may read it: see journal_hide(). */
struct problem journal_public(const struct journal *journal, const struct problem *problem);

/* ---- journal_record.c ---- */
/* Reads a valid line into *record, which held another before, or nothing: all zero. */
must_check int journal_record_read(const char *line, size_t n, struct journal_record *record,
                                   struct problem *why);
