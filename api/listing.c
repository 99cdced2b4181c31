#include "api/listing.h"

#include "engine/base/field_json.h"
#include "engine/base/text.h"

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

int listing_cursor(const char *cursor, int64_t *ret, struct problem *why)
{
    char *end = NULL;
    long long id = cursor ? strtoll(cursor, &end, 10) : 0;
    if (cursor && (*end || id <= 0 || id > (1LL << 53)))
        return problem_field(why, "/?cursor",
                             "cursor must be the next_cursor of an earlier answer");
    *ret = id;
    return 0;
}

int listing_link(const struct request *in, struct reply *out, int64_t cursor, struct problem *why)
{
    struct text query = { 0 };
    size_t path = strcspn(in->target, "?");
    for (const char *at = in->target + path + (in->target[path] == '?'); *at;) {
        size_t n = strcspn(at, "&");
        if (n && strncmp(at, "cursor=", 7) != 0)
            text_addf(&query, "%.*s&", (int)n, at);
        at += n + (at[n] == '&');
    }
    scoped_free char *text = text_take(&query);
    if (!text)
        return problem_memory(why);
    return reply_header(out, why, "Link", "<%.*s?%scursor=%lld>; rel=\"next\"", (int)path,
                        in->target, text, (long long)cursor);
}

int listing_add(struct listing_page *page, int64_t id, json_t *json, struct problem *why)
{
    if (json_array_size(page->items) == page->limit) {
        json_decref(json);
        page->more = true;
        return 0;
    }
    page->last = id;
    return json_array_append_new(page->items, json) ? problem_memory(why) : 0;
}

int listing_answer(const struct request *in, struct reply *out, const struct listing_page *page,
                   struct problem *why)
{
    if (page->more && listing_link(in, out, page->last, why))
        return -1;
    json_t *next = page->more ? json_sprintf("%lld", (long long)page->last) : json_null();
    return reply_json(out, json_pack("{s:O, s:o}", "items", page->items, "next_cursor", next), why);
}
