/* The text format of Prometheus, version 0.0.4: one metric a line. The reader is strict: whatever is
 * not as the format says is refused, and so is a text that ends within a line. */
#pragma once
#include "engine/base/problem.h"

#include <stddef.h>

enum { METRIC_LABELS = 16 }; /* kept of one line; further ones are read and left out */

struct metric {
    const char *name;
    size_t labels_n;
    struct metric_label {
        const char *name, *value;
    } labels[METRIC_LABELS];
    double value; /* may be NAN or infinite */
};

struct exposition {
    char *at, *end; /* what is not read yet; taken apart in place */
    size_t line;
};

/* 1: a metric, whose texts are NUL-terminated and stand in the exposition; 0: the end. */
must_check int exposition_next(struct exposition *exposition, struct metric *ret,
                               struct problem *why);
/* NULL: it has no such label. */
const char *metric_label(const struct metric *metric, const char *name);
