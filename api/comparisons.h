/* Jobs beside each other. */
#pragma once
#include "api/reply.h"
#include "engine/comparison.h"

struct comparisons_query {
    struct list jobs, a, b;
    bool force;
    int format;
};
extern const struct field comparisons_query[], comparisons_answer[];
extern const char *const comparisons_types[];

/* The answer as text to paste into a ticket, from its JSON. NULL without memory. */
char *comparisons_markdown(const json_t *answer);
