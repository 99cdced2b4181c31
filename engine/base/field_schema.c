/* JSON Schema 2020-12 from field tables: what OpenAPI shows and the web form is drawn from. */
#include "engine/base/field_json.h"

#include "engine/base/field_value.h"
#include "engine/base/matrix.h"

#include <math.h>

enum side { REQUEST, ANSWER };

static json_t *table_schema(const struct field *table, enum side side);

#define BYTES_PATTERN "^[0-9]+([.][0-9]+)? *(B|[kK]B|[MGTP]B|[KMGTP]iB)?$"
#define PART          "[0-9]+([.][0-9]+)? *"
#define SECONDS_PATTERN                                                              \
    "^(" PART "|(" PART "d *)?(" PART "h *)?(" PART "m(in)? *)?(" PART "s *)?(" PART \
    "ms *)?(" PART "us *)?(" PART "ns)?)$"
#define SHARE_PATTERN "^[0-9]+([.][0-9]+)?( *%)?$"

static void set(json_t *schema, const char *name, json_t *value)
{
    json_object_set_new(schema, name, value);
}

static json_t *number_json(double value)
{
    return value == floor(value) && fabs(value) <= EXACT_MOST ? json_integer((json_int_t)value)
                                                              : json_real(value);
}

/* `type`, or in a request also a text with a unit. */
static void add_number(json_t *schema, const struct field *f, enum side side, const char *type,
                       const char *pattern, const char *unit)
{
    if (pattern && side == REQUEST) {
        set(schema, "type", json_pack("[s,s]", type, "string"));
        set(schema, "pattern", json_string(pattern));
    } else {
        set(schema, "type", json_string(type));
    }
    if (f->unit || unit)
        set(schema, "x-unit", json_string(f->unit ? f->unit : unit));
    if (side == ANSWER)
        return;
    bool free_range =
        (f->type == FT_SIGNED || f->type == FT_NUMBER) && f->max <= f->min && f->min == 0;
    if (!free_range)
        set(schema, "minimum", number_json(f->min));
    if (f->max > f->min)
        set(schema, "maximum", number_json(f->max));
    else if (f->type == FT_SHARE)
        set(schema, "maximum", json_integer(1));
    if (!f->required && isfinite(f->preset))
        set(schema, "default", number_json(f->preset));
}

static void add_lengths(json_t *schema, const struct field *f, enum side side)
{
    set(schema, "type", json_string("string"));
    if (side == ANSWER)
        return;
    if (f->min > 0)
        set(schema, "minLength", number_json(f->min));
    set(schema, "maxLength", number_json(f->max > f->min ? f->max : TEXT_MOST));
}

static json_t *names_json(const struct field *f)
{
    json_t *names = json_array();
    for (int i = 0; f->choices[i]; i++)
        json_array_append_new(names, json_string(f->choices[i]));
    return names;
}

/* The preset as it would be written in a request, found by presetting a field of our own. */
static json_t *preset_json(const struct field *f)
{
    union {
        uint64_t bits;
        int choice;
        struct list list;
        struct texts texts;
        char *text;
    } value = { 0 };
    struct field one[] = { *f, FIELD_END };
    struct problem why = { 0 };
    one[0].offset = 0;
    if (fields_preset(one, &value, &why) < 0)
        return NULL;
    scoped_json json_t *object = fields_render(one, &value);
    fields_done(one, &value);
    return json_incref(json_object_get(object, f->name));
}

static void add_preset(json_t *schema, const struct field *f, enum side side)
{
    if (side == REQUEST && !f->required && (f->preset_text || f->type == FT_CHOICE))
        set(schema, "default", preset_json(f));
}

static void add_array(json_t *schema, json_t *items, enum side side, size_t least, size_t most)
{
    set(schema, "type", json_string("array"));
    set(schema, "items", items);
    if (side == REQUEST && least)
        set(schema, "minItems", json_integer((json_int_t)least));
    if (side == REQUEST)
        set(schema, "maxItems", json_integer((json_int_t)most));
}

static void add_list(json_t *schema, const struct field *f, enum side side)
{
    json_t *item = json_pack("{s:s}", "type", "integer");
    if (side == REQUEST)
        set(item, "minimum", number_json(f->min));
    if (side == REQUEST && f->max > f->min)
        set(item, "maximum", number_json(f->max));
    add_array(schema, item, side, 1, LIST_MOST);
    if (f->unit)
        set(schema, "x-unit", json_string(f->unit));
    if (side == REQUEST && !f->required && f->preset != 0 && !f->preset_text)
        set(schema, "default", json_pack("[o]", number_json(f->preset)));
}

static void add_texts(json_t *schema, const struct field *f, enum side side)
{
    json_t *item = json_object();
    add_lengths(item, f, side);
    add_array(schema, item, side, 0, TEXTS_MOST);
}

static void add_map(json_t *schema, const struct field *f, enum side side)
{
    json_t *value = json_object();
    add_lengths(value, f, side);
    set(schema, "type", json_string("object"));
    set(schema, "additionalProperties", value);
    if (side == REQUEST)
        set(schema, "maxProperties", json_integer(MAP_MOST));
}

static void add_choices(json_t *schema, const struct field *f, enum side side)
{
    json_t *names = names_json(f);
    size_t n = json_array_size(names);
    add_array(schema, json_pack("{s:s,s:o}", "type", "string", "enum", names), side, 1, n);
    set(schema, "uniqueItems", json_true());
}

static void add_object(json_t *schema, const struct field *f, enum side side)
{
    scoped_json json_t *object = table_schema(f->of, side);
    json_object_update_missing(schema, object);
}

/* What the values may be stands with the table that the sibling selects. */
static void add_matrix(json_t *schema, enum side side)
{
    json_t *values = json_object();
    add_array(values, json_object(), side, 1, AXIS_MOST);
    set(schema, "type", json_string("object"));
    set(schema, "additionalProperties", values);
    if (side == REQUEST)
        set(schema, "maxProperties", json_integer(AXES_MOST));
}

/* Null is one more type, or one more value of an enum. */
static void allow_null(json_t *schema)
{
    json_t *type = json_object_get(schema, "type"), *names = json_object_get(schema, "enum");
    if (json_is_string(type))
        set(schema, "type", json_pack("[O,s]", type, "null"));
    if (names)
        json_array_append_new(names, json_null());
}

static bool may_be_null(const struct field *f)
{
    switch (f->type) {
    case FT_TIME:
    case FT_TEXT:
    case FT_NUMBER:
    case FT_OBJECT:
    case FT_VARIANT:
        return !f->required;
    default:
        return f->nullable;
    }
}

static void add_type(json_t *schema, const struct field *f, enum side side)
{
    switch (f->type) {
    case FT_BOOL:
        set(schema, "type", json_string("boolean"));
        if (side == REQUEST && !f->required)
            set(schema, "default", json_boolean(f->preset != 0));
        break;
    case FT_COUNT:
    case FT_SIGNED:
        add_number(schema, f, side, "integer", NULL, NULL);
        break;
    case FT_BYTES:
        add_number(schema, f, side, "integer", BYTES_PATTERN, "bytes");
        break;
    case FT_SECONDS:
        add_number(schema, f, side, "number", SECONDS_PATTERN, "s");
        break;
    case FT_SHARE:
        add_number(schema, f, side, "number", SHARE_PATTERN, "share");
        break;
    case FT_NUMBER:
        add_number(schema, f, side, "number", NULL, NULL);
        break;
    case FT_TIME:
        set(schema, "type", json_string("string"));
        set(schema, "format", json_string("date-time"));
        break;
    case FT_TEXT:
        add_lengths(schema, f, side);
        break;
    case FT_TEXTS:
        add_texts(schema, f, side);
        break;
    case FT_MAP:
        add_map(schema, f, side);
        break;
    case FT_CHOICE:
        set(schema, "type", json_string("string"));
        set(schema, "enum", names_json(f));
        break;
    case FT_CHOICES:
        add_choices(schema, f, side);
        break;
    case FT_LIST:
        add_list(schema, f, side);
        break;
    case FT_VARIANT: /* its tables are in the object's oneOf */
        set(schema, "type", json_string("object"));
        break;
    case FT_MATRIX:
        add_matrix(schema, side);
        break;
    case FT_OBJECT:
        add_object(schema, f, side);
        break;
    case FT_ARRAY:
        add_array(schema, table_schema(f->of, side), side, (size_t)f->min,
                  f->max > f->min ? (size_t)f->max : ARRAY_MOST);
        break;
    case FT_JSON: /* anything */
    case FT_END:
        break;
    }
}

static json_t *field_schema(const struct field *f, enum side side)
{
    json_t *schema = json_object();
    if (f->doc)
        set(schema, "description", json_string(f->doc));
    add_type(schema, f, side);
    add_preset(schema, f, side);
    if (side == ANSWER && may_be_null(f))
        allow_null(schema);
    return schema;
}

/* One alternative for each value of the selector, which tells them apart. */
static json_t *alternatives(const struct field *f, enum side side)
{
    json_t *all = json_array();
    const char *name;
    size_t size;
    for (size_t i = 0; (name = f->variant->name(i)); i++)
        json_array_append_new(all, json_pack("{s:s,s:{s:{s:s},s:o}}", "title", name, "properties",
                                             f->variant->selector, "const", name, f->name,
                                             table_schema(f->variant->table(name, &size), side)));
    return all;
}

static json_t *table_schema(const struct field *table, enum side side)
{
    json_t *schema = json_pack("{s:s}", "type", "object"), *properties = json_object();
    scoped_json json_t *required = json_array();
    for (const struct field *f = table; f->type != FT_END; f++) {
        if (f->type == FT_JSON && side == REQUEST)
            continue;
        set(properties, f->name, field_schema(f, side));
        if (f->required && side == REQUEST)
            json_array_append_new(required, json_string(f->name));
        if (f->type == FT_VARIANT)
            set(schema, "oneOf", alternatives(f, side));
    }
    set(schema, "properties", properties);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    if (side == REQUEST)
        set(schema, "additionalProperties", json_false());
    return schema;
}

json_t *fields_schema(const struct field *table)
{
    return table_schema(table, REQUEST);
}

json_t *fields_schema_answer(const struct field *table)
{
    return table_schema(table, ANSWER);
}
