#include "engine/cli/analyse.h"

#include "engine/analysis/history.h"
#include "engine/analysis/phase.h"
#include "engine/base/field_json.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/cli/series_file.h"
#include "engine/comparison.h"
#include "engine/words.h"

#include <errno.h>
#include <math.h>

enum { PATHS_MOST = 2 };

struct arguments {
    bool json;
    struct series_options series;
    const char *path[PATHS_MOST];
    size_t paths;
};

static int take_number(char ***argv, double *ret, struct problem *why)
{
    const char *name = (*argv)[0], *text = (*argv)[1];
    char *end;
    double value = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end || !isfinite(value) || value < 0)
        return problem_field(why, name, "%s wants a number from 0 up", name);
    *ret = value;
    ++*argv;
    return 0;
}

static int read_arguments(char **argv, size_t paths, struct arguments *ret, struct problem *why)
{
    for (; *argv; argv++) {
        if (strcmp(*argv, "--json") == 0)
            ret->json = true;
        else if (strcmp(*argv, "--batch") == 0 || strcmp(*argv, "--start") == 0) {
            bool batch = strcmp(*argv, "--batch") == 0;
            if (take_number(&argv, batch ? &ret->series.batch : &ret->series.start, why))
                return -1;
        } else if (**argv == '-')
            return problem_field(why, *argv, "there is no option %s", *argv);
        else if (ret->paths < paths)
            ret->path[ret->paths++] = *argv;
        else
            return problem_field(why, *argv, "%s is one file too many", *argv);
    }
    if (ret->paths < paths)
        return problem_set(why, PROBLEM_BAD_FIELD, "%zu file%s wanted", paths,
                           paths == 1 ? " is" : "s are");
    return 0;
}

static enum runner_exit refused(const char *what, const struct problem *why)
{
    log_problem(LOG_ERROR, what, why);
    return why->code == PROBLEM_BAD_FIELD && !why->line ? EXIT_USAGE : EXIT_FAILED;
}

static int print(json_t *json, struct problem *why)
{
    int result = json ? json_dumpf(json, stdout, JSON_INDENT(2)) : -1;
    json_decref(json);
    return result || putchar('\n') == EOF ? problem_memory(why) : 0;
}

/* --- analyse --- */

static json_t *finding_json(const struct finding *finding)
{
    return json_pack("{s:s, s:i, s:s, s:s, s:b, s:o}", "kind", finding_kinds[finding->kind], "run",
                     (int)finding->run, "phase", finding->phase, "sentence", finding->sentence,
                     "low_confidence", finding->low_confidence, "data",
                     fields_render(finding->data.table, finding->data.object));
}

static int show_findings(const struct findings *findings, bool json, struct problem *why)
{
    const char *phase = "";
    json_t *items = json ? json_array() : NULL;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->at[i];
        if (json) {
            json_array_append_new(items, finding_json(finding));
            continue;
        }
        if (strcmp(phase, finding->phase) != 0)
            printf("%s%s\n", i ? "\n" : "", phase = finding->phase);
        printf("  %-10s %s\n", finding_kinds[finding->kind], finding->sentence);
    }
    if (!json)
        return 0;
    return print(json_pack("{s:i, s:o}", "analysis", ANALYSIS_VERSION, "items", items), why);
}

enum runner_exit analyse_file(char **argv)
{
    struct problem why = { 0 };
    struct arguments with = { 0 };
    scoped(series_file_done) struct series_file file = { 0 };
    scoped(findings_done) struct findings findings = { 0 };
    if (read_arguments(argv, 1, &with, &why) ||
        series_read(with.path[0], &with.series, &file, &why))
        return refused("analyse", &why);
    for (size_t i = 0; i < file.n; i++)
        if (findings_of_phase(file.at[i], &findings, &why))
            return refused("analyse", &why);
    return show_findings(&findings, with.json, &why) ? refused("analyse", &why) : EXIT_DONE;
}

/* --- compare --- */

/* As text; into the list, if there is one. */
static void tell_comparison(const struct phase_total *phase, const struct comparison *c,
                            json_t *items)
{
    char sentence[COMPARISON_SENTENCE];
    say_comparison(phase, "A", "B", c, NULL, sentence);
    const struct comparison_view view = comparison_view(phase, c, sentence, NULL, NULL);
    if (items)
        json_array_append_new(items, fields_render(comparison_fields, &view));
    else
        puts(sentence);
}

static struct series_kept *phase_of(const struct series_file *file, const char *name, unsigned run)
{
    for (size_t i = 0; i < file->n; i++)
        if (strcmp(series_kept_phase(file->at[i])->name, name) == 0 &&
            series_kept_phase(file->at[i])->run == run)
            return file->at[i];
    return NULL;
}

static struct parts parts_of(const struct series_file *file, unsigned run)
{
    struct parts parts = { 0 };
    for (size_t i = 0; comparison_parts[i]; i++)
        parts.at[i] = phase_of(file, comparison_parts[i], run);
    return parts;
}

/* How many were told: the phases that both have, and those that bring into use together where one has more. */
static int compare_all(const struct series_file *a, const struct series_file *b, json_t *items,
                       size_t *ret, struct problem *why)
{
    for (size_t i = 0; i < a->n; i++) {
        struct phase_total phase = *series_kept_phase(a->at[i]);
        const struct series_kept *other = phase_of(b, phase.name, phase.run);
        struct comparison c;
        if (!other)
            continue;
        if (comparison_of(a->at[i], other, &c, why))
            return -1;
        tell_comparison(&phase, &c, items);
        (*ret)++;
        const struct parts x = parts_of(a, phase.run), y = parts_of(b, phase.run);
        if (x.at[0] != a->at[i] || !parts_differ(&x, &y))
            continue;
        if (comparison_of_parts(&x, &y, &c, &phase, why))
            return -1;
        tell_comparison(&phase, &c, items);
    }
    return 0;
}

enum runner_exit compare_files(char **argv)
{
    struct problem why = { 0 };
    struct arguments with = { 0 };
    scoped(series_file_done) struct series_file a = { 0 }, b = { 0 };
    if (read_arguments(argv, 2, &with, &why) || series_read(with.path[0], &with.series, &a, &why) ||
        series_read(with.path[1], &with.series, &b, &why))
        return refused("compare", &why);
    scoped_json json_t *items = with.json ? json_array() : NULL;
    size_t both = 0;
    if (compare_all(&a, &b, items, &both, &why))
        return refused("compare", &why);
    if (both == 0)
        problem_set(&why, PROBLEM_UNSUPPORTED, "the files have no phase in common");
    else if (with.json && print(json_pack("{s:O}", "items", items), &why))
        both = 0;
    return both ? EXIT_DONE : refused("compare", &why);
}

/* --- history --- */

static int read_values(const char *path, double *values, size_t *ret, struct problem *why)
{
    scoped_file FILE *f = fopen(path, "re");
    scoped_free char *line = NULL;
    size_t room = 0, n = 0, number = 0;
    if (!f)
        return problem_errno(why, errno, "cannot read %s", path);
    while (getline(&line, &room, f) > 0) {
        char *end, shown[64];
        double value = strtod(line, &end);
        number++;
        line[strcspn(line, "\r\n")] = 0;
        if (!*line || (number == 1 && end == line))
            continue; /* an empty line, or a heading */
        if (end == line || *end || !isfinite(value) || value <= 0)
            return problem_set(why, PROBLEM_BAD_SYNTAX,
                               "%s, line %zu: one number above 0 is wanted, not %s", path, number,
                               text_shown(line, shown, sizeof shown));
        if (n == HISTORY_MOST)
            return problem_set(why, PROBLEM_TOO_LARGE, "%s has more than %d values", path,
                               HISTORY_MOST);
        values[n++] = value;
    }
    *ret = n;
    return 0;
}

enum runner_exit history_file(char **argv)
{
    struct problem why = { 0 };
    struct arguments with = { 0 };
    struct change changes[CHANGES_MOST];
    scoped_free double *values = calloc(HISTORY_MOST, sizeof *values);
    size_t n = 0;
    if (!values || read_arguments(argv, 1, &with, &why) ||
        read_values(with.path[0], values, &n, &why)) {
        if (!values)
            problem_memory(&why);
        return refused("history", &why);
    }
    size_t found = history_changes(values, n, changes);
    json_t *items = with.json ? json_array() : NULL;
    for (size_t i = 0; i < found; i++) {
        const struct change *change = &changes[i];
        char by[WORDS];
        if (with.json)
            json_array_append_new(items, json_pack("{s:i, s:f, s:f}", "at", (int)change->at,
                                                   "effect", change->effect, "p", change->p));
        else
            printf("From value %zu on it is %s %s than before (p %.2g).\n", change->at + 1,
                   words_percent(fabs(change->effect), by), change->effect < 0 ? "less" : "more",
                   change->p);
    }
    if (!with.json && found == 0)
        printf("No change in %zu values.\n", n);
    if (with.json && print(json_pack("{s:o}", "changes", items), &why))
        return refused("history", &why);
    return EXIT_DONE;
}
