#include "api/listing.h"

#include "engine/base/field_json.h"

const struct field listing_query[] = {
    FIELD_COUNT(struct listing_query, limit, "How many at most.", .min = 1, .max = 500,
                .preset = 50),
    FIELD_TEXT(struct listing_query, cursor, "next_cursor of the page before.", .min = 1,
               .max = 64),
    FIELD_END,
};

static const char *name_at(const json_t *items, size_t i)
{
    return json_string_value(json_object_get(json_array_get(items, i), "name"));
}

int reply_listing(struct reply *out, const struct request *in, json_t *items, struct problem *why)
{
    const struct listing_query *query = in->query;
    scoped_json json_t *all = items, *page = json_array();
    size_t first = 0, n = json_array_size(all);
    while (query->cursor && first < n && strcmp(name_at(all, first), query->cursor) != 0)
        first++;
    if (query->cursor && first++ == n)
        return problem_field(why, "/?cursor",
                             "cursor must be the next_cursor of an earlier answer");
    size_t last = first + query->limit < n ? first + query->limit : n;
    for (size_t i = first; i < last; i++)
        json_array_append(page, json_array_get(all, i));
    const char *next = last < n ? name_at(all, last - 1) : NULL;
    if (next && reply_header(out, why, "Link", "</%s/%s/%s?limit=%llu&cursor=%s>; rel=\"next\"",
                             in->parts[0], in->parts[1], in->parts[2],
                             (unsigned long long)query->limit, next))
        return -1;
    return reply_json(out, json_pack("{s:O, s:s?}", "items", page, "next_cursor", next), why);
}
