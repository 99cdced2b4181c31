/* Lists that are at hand as a whole, answered page by page like those from the store. */
#pragma once
#include "api/api.h"

struct listing_query {
    uint64_t limit;
    char *cursor; /* the name of the last item of the page before */
};
extern const struct field listing_query[];

/* Takes the items, objects with a "name"; answers with the page that the query asks for. */
must_check int reply_listing(struct reply *out, const struct request *in, json_t *items,
                             struct problem *why);
extern const struct field workload_answer[], workloads_answer[], target_answer[], targets_answer[];
