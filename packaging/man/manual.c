/* Makes a manual page of a template, in which a line "@service@",
 * "@target@" or "@workloads@" stands for what the program's own tables say, and "@VERSION@" anywhere
 * for the version. */
#include "engine/base/field_value.h"
#include "engine/base/text.h"
#include "engine/workload/workload.h"
#include "service/settings.h"

#include <ctype.h>

/* As roff takes it literally. */
static void print_plain(const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\\')
            fputs("\\e", stdout);
        else if (*p == '-')
            fputs("\\-", stdout);
        else if (p == text && (*p == '.' || *p == '\''))
            printf("\\&%c", *p);
        else
            putchar(*p);
    }
}

static void print_choices(const struct field *f)
{
    fputs("\nOne of", stdout);
    if (f->type == FT_CHOICES)
        fputs(" or several of", stdout);
    for (size_t i = 0; f->choices[i]; i++) {
        fputs(i ? ", " : " ", stdout);
        print_plain(f->choices[i]);
    }
    putchar('.');
}

static void print_range(const struct field *f, const void *presets)
{
    char text[512], allowed[ALLOWED_TEXT];
    /* Of a text they are its length, which is nobody's concern. */
    if (f->type == FT_BYTES || f->type == FT_SECONDS || f->type == FT_SHARE) {
        field_allowed(f, allowed);
        printf("\n%c", toupper(allowed[0]));
        print_plain(allowed + 1);
        putchar('.');
    } else if (f->type != FT_TEXT && f->type != FT_TEXTS && f->max > f->min)
        printf("\nFrom %.10g to %.10g%s%s.", f->min, f->max, f->unit ? " " : "",
               f->unit ? f->unit : "");
    if (field_format(f, presets, text, sizeof text) == 0 && *text) {
        fputs("\nPreset: ", stdout);
        print_plain(text);
        putchar('.');
    }
}

static int print_table(const struct field *table, size_t size)
{
    struct problem why = { 0 };
    scoped_free void *presets = calloc(1, size);
    if (!presets || fields_preset(table, presets, &why) < 0)
        return -1;
    for (const struct field *f = table; f->type != FT_END; f++) {
        fputs(".TP\n.B ", stdout);
        print_plain(f->name);
        putchar('\n');
        print_plain(f->doc);
        if (f->choices)
            print_choices(f);
        print_range(f, presets);
        putchar('\n');
    }
    fields_done(table, presets);
    return 0;
}

static int print_workloads(void)
{
    for (const struct workload *const *w = workload_all(); *w; w++) {
        fputs(".SS ", stdout);
        print_plain((*w)->name);
        putchar('\n');
        print_plain((*w)->summary);
        putchar('\n');
        if (print_table((*w)->params, (*w)->params_size) < 0)
            return -1;
    }
    return 0;
}

static int print_line(const char *line)
{
    static const char version[] = "@VERSION@";
    if (strcmp(line, "@service@\n") == 0)
        return print_table(settings_fields, sizeof(struct settings));
    if (strcmp(line, "@target@\n") == 0)
        return print_table(target_fields, sizeof(struct target));
    if (strcmp(line, "@workloads@\n") == 0)
        return print_workloads();
    const char *at = strstr(line, version);
    if (at)
        printf("%.*s" PLIMSOLL_VERSION "%s", (int)(at - line), line, at + strlen(version));
    else
        fputs(line, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    char line[1024];
    scoped_file FILE *file = argc == 3 ? fopen(argv[1], "re") : NULL;
    if (!file || !freopen(argv[2], "we", stdout)) {
        fputs("usage: manual TEMPLATE PAGE\n", stderr);
        return 2;
    }
    while (fgets(line, sizeof line, file))
        if (print_line(line) < 0)
            return 1;
    return ferror(file) || fflush(stdout) != 0;
}
