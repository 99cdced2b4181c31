/* Series out of a file: a journal (NDJSON), CSV or JSON as they are imported (engine/import). */
#pragma once
#include "engine/finding.h"

enum { SERIES_MOST = 256 };

struct series_file {
    size_t n;
    struct series_kept *at[SERIES_MOST]; /* in order of their first sample */
};

/* For CSV that has no load: batches of `batch`, from `start` on. */
struct series_options {
    double batch, start;
};

/* A problem names line and column. */
must_check int series_read(const char *path, const struct series_options *options,
                           struct series_file *ret, struct problem *why);
void series_file_done(struct series_file *file);
