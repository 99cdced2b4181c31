/* Whatever JSON comes: it is refused with a plain sentence, or bound, and what is rendered from it
 * binds again to the same. */
#include "engine/base/field_json.h"
#include "engine/base/text.h"
#include "tests/unit/field_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *round_trip(const json_t *json, bool must_bind)
{
    struct everything object = { 0 };
    struct problem why = { 0 };
    if (fields_bind(everything_fields, json, "", &object, &why) < 0) {
        if (must_bind || !why.code || !why.message[0] || !text_is_plain(why.message) ||
            !text_is_plain(why.field))
            abort();
        return NULL;
    }
    json_t *rendered = fields_render(everything_fields, &object);
    fields_done(everything_fields, &object);
    if (!rendered)
        abort();
    return rendered;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_error_t error;
    scoped_json json_t *json =
        json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    scoped_json json_t *once = json ? round_trip(json, false) : NULL;
    scoped_json json_t *twice = once ? round_trip(once, true) : NULL;
    if (once && !json_equal(once, twice))
        abort();
    return 0;
}
