/* Sections are held until every file is read, because a later file may add to them; then each is
 * checked and handed over. inih knows keys, values and comments; headings are noted here, since it
 * tells neither empty sections nor line numbers and cuts long names. */
#include "engine/base/ini.h"

#include "engine/base/field_value.h"
#include "engine/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>

enum { LINE_MOST = 4096, WHERE_TEXT = 280 };

/* A key that was given: where, to tell of a second time in the same file. */
struct key {
    unsigned file, line;
};

struct section {
    const struct ini_kind *kind;
    char *name; /* NULL: a kind without names */
    char where[WHERE_TEXT];
    unsigned file, line; /* of its latest heading */
    void *object;        /* presets and what was given; NULL: another program's */
    struct key *keys;    /* one for each row of the table */
    struct section *next;
};

struct reading {
    const struct ini_kind *kinds;
    struct section *first, **last; /* in the order of the files */
    struct section *current;
    const char *path;
    FILE *stream;
    char *line; /* getline's */
    size_t room;
    unsigned file, number; /* of files and lines, from 1 */
    struct problem *why;
};

static void section_free(struct section *section)
{
    if (section->object)
        fields_done(section->kind->table, section->object);
    free(section->object);
    free(section->keys);
    free(section->name);
    free(section);
}

static void reading_done(struct reading *r)
{
    while (r->first) {
        struct section *section = r->first;
        r->first = section->next;
        section_free(section);
    }
    free(r->line);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "FILE:LINE", the path shortened to its name where the path is too long for a problem. */
static char *where_is(const struct reading *r, char where[WHERE_TEXT])
{
    const char *path = strlen(r->path) + 12 < sizeof r->why->field ? r->path : base_name(r->path);
    snprintf(where, WHERE_TEXT, "%.255s:%u", path, r->number);
    return where;
}

/* The sentence names the place too: it is often shown alone. */
static int printf_like(2, 3) complain(struct reading *r, const char *fmt, ...)
{
    char where[WHERE_TEXT], sentence[sizeof r->why->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    where_is(r, where);
    return problem_field(r->why, where, "%s: %s", where, sentence);
}

/* --- headings --- */

static bool is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
    return n > 0 && n <= NAME_MOST && !name[n];
}

static const struct ini_kind *kind_named(const struct ini_kind *kinds, const char *name)
{
    for (; kinds->name; kinds++)
        if (strcmp(kinds->name, name) == 0)
            return kinds;
    return NULL;
}

static int unknown_section(struct reading *r, const char *name)
{
    struct field names[16] = { 0 }; /* a table of the kinds, to look for a close name */
    char shown[64];
    for (size_t i = 0; i + 1 < COUNT_OF(names) && r->kinds[i].name; i++)
        names[i] = (struct field){ .name = r->kinds[i].name, .type = FT_BOOL };
    const char *close = field_suggest(names, name);
    text_shown(name, shown, sizeof shown);
    if (close)
        return complain(r, "there is no section [%s]; did you mean [%s]?", shown, close);
    return complain(r, "there is no section [%s]", shown);
}

static size_t table_rows(const struct field *table)
{
    size_t n = 0;
    while (table && table[n].type != FT_END)
        n++;
    return n;
}

static int section_add(struct reading *r, const struct ini_kind *kind, const char *name)
{
    struct section *section = calloc(1, sizeof *section);
    if (!section)
        return problem_memory(r->why);
    *r->last = section;
    r->last = &section->next;
    section->kind = kind;
    section->file = r->file;
    section->line = r->number;
    where_is(r, section->where);
    r->current = section;
    if (!kind->table)
        return 0;
    if (kind->named && !(section->name = strdup(name)))
        return problem_memory(r->why);
    section->keys = calloc(table_rows(kind->table) + 1, sizeof *section->keys);
    section->object = calloc(1, kind->size);
    if (!section->keys || !section->object)
        return problem_memory(r->why);
    return fields_preset(kind->table, section->object, r->why);
}

static struct section *section_find(struct reading *r, const struct ini_kind *kind,
                                    const char *name)
{
    for (struct section *s = r->first; s; s = s->next)
        if (s->kind == kind && (!s->name || strcmp(s->name, name) == 0))
            return s;
    return NULL;
}

static int section_enter(struct reading *r, const char *kind_name, const char *name)
{
    char shown[NAME_MOST + 8];
    const struct ini_kind *kind = kind_named(r->kinds, kind_name);
    if (!kind)
        return unknown_section(r, kind_name);
    if (kind->table && kind->named && !*name)
        return complain(r, "[%s] needs a name, as in [%s NAME]", kind->name, kind->name);
    if (kind->table && !kind->named && *name)
        return complain(r, "[%s] takes no name", kind->name);
    if (kind->table && kind->named && !is_name(name))
        return complain(r,
                        "the name %s may only have 1 to %d of the characters a-z, 0-9, '-', '_' "
                        "and '.'",
                        text_shown(name, shown, sizeof shown), NAME_MOST);
    struct section *section = section_find(r, kind, name);
    if (!section)
        return section_add(r, kind, name);
    if (kind->table && section->file == r->file)
        return complain(r, "this section stands twice in this file, first on line %u",
                        section->line);
    section->file = r->file;
    section->line = r->number;
    r->current = section;
    return 0;
}

/* "[kind name]" and perhaps a comment; the text is taken apart. */
static int heading(struct reading *r, char *text)
{
    char *end = strchr(text, ']');
    if (!end)
        return complain(r, "a ']' is missing");
    const char *rest = end + 1 + strspn(end + 1, " \t");
    if (*rest && *rest != ';' && *rest != '#')
        return complain(r, "there is more after the section's ']'");
    do
        *end-- = '\0';
    while (end > text && strchr(" \t", *end));
    char *kind = text + 1 + strspn(text + 1, " \t");
    char *name = kind + strcspn(kind, " \t");
    if (*name)
        *name++ = '\0';
    return section_enter(r, kind, name + strspn(name, " \t"));
}

/* --- keys --- */

static int key(struct reading *r, const char *name, const char *value)
{
    struct problem cause = { 0 };
    struct section *section = r->current;
    if (!section)
        return complain(r, "a [section] must come before the first key");
    if (!section->kind->table)
        return 0;
    const struct field *f = field_named(section->kind->table, name);
    if (!f && section->kind->partial)
        return 0;
    if (!f) {
        field_unknown(section->kind->table, name, "", &cause);
        return complain(r, "%s", cause.message);
    }
    struct key *given = &section->keys[f - section->kind->table];
    if (given->file == r->file)
        return complain(r, "%s is given twice, first on line %u", name, given->line);
    *given = (struct key){ r->file, r->number };
    if (field_parse(f, value, name, section->object, &cause) < 0)
        return complain(r, "%s", cause.message);
    return 0;
}

static int on_key(void *user, const char *section, const char *name, const char *value)
{
    (void)section;
    return key(user, name, value) == 0;
}

/* --- lines and files --- */

/* One line without the blanks before it (inih would take it as the value's next line) and without
 * headings; NULL at the end or after a problem. */
static char *next_line(char *buffer, int size, void *stream)
{
    static const char mark[] = "\xef\xbb\xbf"; /* that some editors begin a file with */
    struct reading *r = stream;
    ssize_t n = r->why->code ? -1 : getline(&r->line, &r->room, r->stream);
    if (n < 0)
        return NULL;
    r->number++;
    char *text = r->line;
    bool cut = strlen(text) != (size_t)n;
    if (r->number == 1 && text_starts(text, mark))
        text += sizeof mark - 1;
    text += strspn(text, " \t");
    text[strcspn(text, "\r\n")] = '\0';
    bool comment = !*text || *text == ';' || *text == '#';
    if (cut)
        complain(r, "the line holds a zero byte");
    else if (!comment && strlen(text) > (size_t)size - 3)
        complain(r, "the line is longer than %d bytes", size - 3);
    else if (*text == '[')
        heading(r, text);
    else if (!comment && !strpbrk(text, "=:"))
        complain(r, "this is neither a [section], nor key = value, nor a comment");
    else if (!comment)
        return text_fit(buffer, (size_t)size, "%s\n", text) < 0 ? NULL : buffer;
    if (r->why->code)
        return NULL;
    buffer[0] = '\n';
    buffer[1] = '\0';
    return buffer;
}

static int read_file(struct reading *r, const char *path)
{
    scoped_file FILE *file = fopen(path, "re");
    if (!file)
        return problem_errno(r->why, errno, "cannot read the settings %s", path);
    r->path = path;
    r->stream = file;
    r->current = NULL;
    r->number = 0;
    r->file++;
    ini_max_line = LINE_MOST; /* the library's own is 200: too short for a connection string */
    if (ini_parse_stream(next_line, r, on_key, r) != 0 && !r->why->code)
        complain(r, "the file cannot be understood");
    if (ferror(file))
        return problem_errno(r->why, errno, "cannot read the settings %s", path);
    return r->why->code ? -1 : 0;
}

static int is_conf(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 5, ".conf") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* 1: read, 0: there is no such folder, -1: why */
static int read_folder(struct reading *r, const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_conf, by_bytes);
    if (n < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (n < 0)
        return problem_errno(r->why, errno, "cannot read the folder %s", folder);
    int outcome = 1;
    for (int i = 0; i < n; i++) {
        scoped_free char *path = text_new("%s/%s", folder, entries[i]->d_name);
        if (outcome > 0 && (path ? read_file(r, path) : problem_memory(r->why)) < 0)
            outcome = -1;
        free(entries[i]);
    }
    free(entries);
    return outcome;
}

static int read_files(struct reading *r, const char *path)
{
    scoped_free char *own = text_new("%s.d", path);
    scoped_free char *sibling = text_new("%.*sconf.d", (int)(base_name(path) - path), path);
    if (!own || !sibling)
        return problem_memory(r->why);
    if (read_file(r, path) < 0)
        return -1;
    int found = read_folder(r, own);
    if (found == 0)
        found = read_folder(r, sibling);
    return found < 0 ? -1 : 0;
}

/* --- the end --- */

/* A section that nobody wrote still has its presets. */
static int add_absent(struct reading *r, const char *path)
{
    r->path = path;
    r->number = 1;
    for (const struct ini_kind *kind = r->kinds; kind->name; kind++)
        if (kind->table && !kind->named && !section_find(r, kind, "") &&
            section_add(r, kind, "") < 0)
            return -1;
    return 0;
}

static int hand_over(struct section *section, void *arg, struct problem *why)
{
    const struct field *table = section->kind->table;
    struct problem cause = { 0 };
    for (const struct field *f = table; f->type != FT_END; f++)
        if (f->required && !section->keys[f - table].file) {
            field_missing(f, "", &cause);
            return problem_field(why, section->where, "%s: %s", section->where, cause.message);
        }
    if (section->kind->accept(arg, section->name, section->object, section->where, &cause) < 0) {
        if (text_starts(cause.message, section->where))
            return problem_field(why, section->where, "%s", cause.message);
        return problem_field(why, section->where, "%s: %s", section->where, cause.message);
    }
    free(section->object); /* its contents are theirs now */
    section->object = NULL;
    return 0;
}

int ini_read(const char *path, const struct ini_kind *kinds, void *arg, struct problem *why)
{
    /* A reason of its own: a cause that *why already holds must not stop the reading of lines. */
    struct problem found = { 0 };
    scoped(reading_done) struct reading r = { .kinds = kinds, .why = &found };
    r.last = &r.first;
    int outcome = read_files(&r, path);
    if (outcome == 0)
        outcome = add_absent(&r, path);
    for (struct section *section = r.first; section && outcome == 0; section = section->next)
        if (section->kind->table)
            outcome = hand_over(section, arg, &found);
    if (outcome < 0 && !why->code)
        *why = found;
    return outcome;
}
