/* What POST /imports takes in. */
#pragma once
#include "api/reply.h"

#include <jansson.h>

struct imports_query {
    bool dry_run;
    char *workload, *name, *note, *external_ref, *x, *unit;
    struct map label;
    struct texts y, at_load;
    uint64_t batch, start;
};
extern const struct field imports_query[];
extern const char *const imports_takes[];
/* JSON Schema of its JSON. */
json_t *imports_schema(void);
