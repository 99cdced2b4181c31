/* A table with a field of every type, for the tests of what tables do. */
#pragma once
#include "engine/base/field.h"

struct part {
    char *label;
    uint64_t weight;
};
struct everything {
    bool keep;
    uint64_t files;
    int64_t offset;
    uint64_t file_bytes;
    nsec max_seconds;
    double reserve;
    double effect;
    nsec since;
    char *note;
    struct texts tags;
    struct map labels;
    int layout;
    uint64_t operations;
    struct list threads;
    void *part;
    struct array parts;
    char *extra;
};

static const char *const layouts[] = { "shared", "private", NULL };
static const char *const operations[] = { "create", "list", "stat", "remove", NULL };

static const struct field part_fields[] = {
    FIELD_TEXT(struct part, label, "Its name.", .required = true, .min = 1, .max = 8),
    FIELD_COUNT(struct part, weight, "Its weight.", .preset = 3),
    FIELD_END,
};

static const struct field everything_fields[] = {
    FIELD_BOOL(struct everything, keep, "Whether.", .preset = 1),
    FIELD_COUNT(struct everything, files, "How many.", .min = 1, .max = 1e9, .preset = 1000,
                .unit = "files"),
    FIELD_SIGNED(struct everything, offset, "Where from.", .min = -10, .max = 10),
    FIELD_BYTES(struct everything, file_bytes, "How large.", .max = 1073741824, .preset = 8192),
    FIELD_SECONDS(struct everything, max_seconds, "How long.", .max = 172800, .preset = 5400),
    FIELD_SHARE(struct everything, reserve, "How much is left.", .max = 0.5, .preset = 0.05),
    FIELD_NUMBER(struct everything, effect, "How strong.", .preset = 1.5),
    FIELD_TIME(struct everything, since, "Since when."),
    FIELD_TEXT(struct everything, note, "What for.", .max = 20, .preset_text = "none"),
    FIELD_TEXTS(struct everything, tags, "Words.", .preset_text = "a, b"),
    FIELD_MAP(struct everything, labels, "Names with texts.", .max = 10),
    FIELD_CHOICE(struct everything, layout, "Where.", .choices = layouts, .preset_text = "private"),
    FIELD_CHOICES(struct everything, operations, "What.", .choices = operations,
                  .preset_text = "create,stat"),
    FIELD_LIST(struct everything, threads, "With how many.", .min = 1, .max = 64, .preset = 2),
    FIELD_OBJECT(struct everything, part, "A part.", .of = part_fields,
                 .of_size = sizeof(struct part)),
    FIELD_ARRAY(struct everything, parts, "Parts.", .max = 3, .of = part_fields,
                .of_size = sizeof(struct part)),
    FIELD_JSON(struct everything, extra, "More."),
    FIELD_END,
};
