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

/* Lists from the store, whose cursor is the number of the last item of the page before; 0: from the start. */
must_check int listing_cursor(const char *cursor, int64_t *ret, struct problem *why);
/* The same question with another cursor, as a Link header. */
must_check int listing_link(const struct request *in, struct reply *out, int64_t cursor,
                            struct problem *why);
/* A page as it is made: one more than asked for is read, which only says that there is a next page. */
struct listing_page {
    json_t *items; /* borrowed */
    uint64_t limit;
    int64_t last; /* number of the last on this page */
    bool more;
};
/* Steals json (NULL: no memory). */
must_check int listing_add(struct listing_page *page, int64_t id, json_t *json,
                           struct problem *why);
must_check int listing_answer(const struct request *in, struct reply *out,
                              const struct listing_page *page, struct problem *why);

extern const struct field workload_answer[], workloads_answer[], target_answer[], targets_answer[];
