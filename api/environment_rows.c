#include "api/environment_rows.h"

#include "api/difference.h"
#include "engine/base/field_json.h"
#include "engine/base/text.h"
#include "engine/words.h"

/* What is of the hardware; all else is software, whatever it may be of an imported job. */
static const char *const hardware[] = { "/cpu", "/memory_total", "/device", "/network", "/clock" };
/* Of no use to a reader, or of the machine's inside. */
static const char *const hidden[] = { "/system/boot_id", "/filesystem/mount_point", NULL };

/* How a figure is shown, by the end of its name. */
static const struct {
    const char *end;
    char *(*words)(double value, char text[WORDS]);
    const char *unit;
} figures[] = {
    { "size", words_bytes, "" },         { "space_total", words_bytes, "" },
    { "space_used", words_bytes, "" },   { "space_available", words_bytes, "" },
    { "memory_total", words_bytes, "" }, { "memory_available", words_bytes, "" },
    { "dirty", words_bytes, "" },        { "_hz", words_digits, " Hz" },
    { "_ns", words_digits, " ns" },      { "speed_bits", words_count, " bit/s" },
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void show_number(const char *pointer, const json_t *value, char *text, size_t size)
{
    char number[WORDS];
    for (size_t i = 0; i < COUNT_OF(figures); i++)
        if (ends_with(pointer, figures[i].end)) {
            snprintf(text, size, "%s%s", figures[i].words(json_number_value(value), number),
                     figures[i].unit);
            return;
        }
    snprintf(text, size, "%s",
             json_is_integer(value) ? words_count(json_number_value(value), number)
                                    : words_digits(json_number_value(value), number));
}

static void show_value(const char *pointer, const json_t *value, char *text, size_t size)
{
    if (json_is_string(value))
        text_shown(json_string_value(value), text, size);
    else if (json_is_number(value))
        show_number(pointer, value, text, size);
    else
        snprintf(text, size, "%s", json_is_true(value) ? "yes" : "no");
}

/* "/filesystem/mount_options" as "Filesystem: mount options". */
static void show_label(const char *pointer, char *text, size_t size)
{
    size_t n = 0;
    bool first = true;
    for (const char *c = pointer + 1; *c && n + 3 < size; c++) {
        if (*c == '/') {
            if (first)
                text[n++] = ':';
            first = false;
        }
        text[n++] = (char)(*c == '/' || *c == '_' ? ' ' : *c);
    }
    text[n] = '\0';
    if (text[0] >= 'a' && text[0] <= 'z')
        text[0] = (char)(text[0] - 'a' + 'A');
    if (text_starts(text, "Cpu"))
        memcpy(text, "CPU", 3);
}

static bool is_hardware(const char *pointer)
{
    for (size_t i = 0; i < COUNT_OF(hardware); i++) {
        size_t n = strlen(hardware[i]);
        if (text_starts(pointer, hardware[i]) && (pointer[n] == '/' || pointer[n] == '\0'))
            return true;
    }
    return false;
}

int environment_rows(const char *environment, struct environment_row **ret, size_t *ret_n)
{
    scoped_json json_t *facts = json_loads(environment ? environment : "{}", 0, NULL);
    scoped_json json_t *nothing = json_object();
    scoped_json json_t *leaves = nothing ? differences(facts, nothing, hidden) : NULL;
    size_t n = json_array_size(leaves), i;
    struct environment_row *rows = calloc(n ? n : 1, sizeof *rows);
    json_t *leaf;
    if (!leaves || !rows) {
        free(rows);
        return -1;
    }
    json_array_foreach(leaves, i, leaf)
    {
        const char *pointer = json_string_value(json_object_get(leaf, "pointer"));
        rows[i].hardware = is_hardware(pointer);
        show_label(pointer, rows[i].label, sizeof rows[i].label);
        show_value(pointer, json_object_get(leaf, "a"), rows[i].value, sizeof rows[i].value);
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}
