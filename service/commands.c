#include "service/commands.h"

#include "api/app.h"
#include "engine/base/text.h"
#include "service/folders.h"
#include "service/postgres_cluster.h"
#include "service/settings.h"

enum { DONE = 0, FAILED = 1, USAGE = 2 };
#define CODE_LIVES    (10 * 60 * NSEC_PER_SEC)
#define SECRET_PREFIX "plm_"
#define CODE_TOKEN    "one-time-code-" /* and the role: whom a code signs in as */

struct options {
    int role;
    char *targets;
    nsec expires;
};

static const struct field token_options[] = {
    FIELD_CHOICE(struct options, role,
                 "viewer reads; operator also runs and cancels; admin manages.", .choices = roles,
                 .required = true),
    FIELD_TEXT(struct options, targets, "Only these targets, separated by commas.", .max = 511),
    FIELD_SECONDS(struct options, expires, "How long it is valid; 0: for ever.", .unit = "s"),
    FIELD_END,
};
static const struct field code_options[] = {
    FIELD_CHOICE(struct options, role, "Whom the dashboard takes its user for.", .choices = roles,
                 .preset_text = "admin"),
    FIELD_END,
};

static int fail(const char *what, const struct problem *why)
{
    fprintf(stderr, "plimsolld: %s%s%s\n", what, *what ? ": " : "", why->message);
    return why->code == PROBLEM_BAD_FIELD ? USAGE : FAILED;
}

static int usage_on(FILE *out)
{
    fputs("usage: plimsolld [--settings FILE] token add NAME --role ROLE [--targets a,b] "
          "[--expires 90d]\n"
          "       plimsolld [--settings FILE] token list\n"
          "       plimsolld [--settings FILE] token remove NAME\n"
          "       plimsolld [--settings FILE] code [--role ROLE]\n"
          "ROLE is viewer, operator or admin; that of a code is admin unless it is said.\n",
          out);
    return out == stdout ? DONE : USAGE;
}

static int usage(void)
{
    return usage_on(stderr);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* --name value or --name=value, for each of the table's fields; at most one other word. */
static int read_options(const struct field *table, int argc, char **argv, struct options *options,
                        const char **ret_word, struct problem *why)
{
    if (fields_preset(table, options, why) < 0)
        return -1;
    bool role = false;
    for (int i = 1; i < argc; i++) {
        if (!text_starts(argv[i], "--")) {
            if (*ret_word)
                return problem_field(why, "", "what is \"%s\"?", argv[i]);
            *ret_word = argv[i];
            continue;
        }
        char name[32];
        const char *equals = strchr(argv[i], '=');
        int length = equals ? (int)(equals - argv[i] - 2) : (int)strlen(argv[i] + 2);
        const struct field *field = text_fit(name, sizeof name, "%.*s", length, argv[i] + 2) == 0
                                        ? field_named(table, name)
                                        : NULL;
        if (!field)
            return problem_field(why, "", "there is no option %s", argv[i]);
        const char *value = equals ? equals + 1 : argv[++i];
        if (!value)
            return problem_field(why, "", "--%s wants a value", name);
        if (field_parse(field, value, name, options, why) < 0)
            return -1;
        role = role || strcmp(name, "role") == 0;
    }
    if (field_named(table, "role")->required && !role)
        return problem_field(why, "", "--role is missing: viewer, operator or admin");
    return 0;
}

static void options_done(struct options *options)
{
    fields_done(token_options, options);
}
static void store_cell(struct store **store)
{
    store_close(*store);
}

static int open_store(const struct settings *settings, struct store **ret, struct problem *why)
{
    scoped_free char *private = settings_embedded(settings)
                                    ? postgres_cluster_conninfo(settings->runtime)
                                    : text_new("%s", settings->database);
    scoped(store_cell) struct store *store = NULL;
    if (!private)
        return problem_memory(why);
    if (store_open(private, 1, &store, why) < 0)
        return -1;
    if (store_ping(store, why) < 0)
        return settings_embedded(settings)
                   ? problem_during(why, "the daemon's database is not there (is plimsolld running "
                                         "with these settings?): ")
                   : -1;
    if (store_migrate(store, why) < 0)
        return -1;
    *ret = steal(&store);
    return 0;
}

/* ---- token ---- */

/* Not refused: the settings may be about to have them. */
static void warn_of_targets(const struct settings *settings, const char *names)
{
    scoped_free char *copy = strdup(names ? names : "");
    char *rest = NULL;
    for (char *name = copy ? strtok_r(copy, ",", &rest) : NULL; name;
         name = strtok_r(NULL, ",", &rest))
        if (!targets_find(&settings->targets, name))
            fprintf(stderr, "plimsolld: token add: the settings have no target %s\n", name);
}

static int add_token(struct store *store, const char *name, const struct options *options,
                     struct problem *why)
{
    struct principal principal = { .role = options->role };
    char secret[SECRET_TEXT];
    unsigned char hash[SECRET_HASH];
    if (!text_is_plain(name) || !*name ||
        text_fit(principal.name, sizeof principal.name, "%s", name) < 0)
        return problem_field(why, "name", "a name has 1 to %zu bytes and no control characters",
                             sizeof principal.name - 1);
    if (text_fit(principal.targets, sizeof principal.targets, "%s",
                 options->targets ? options->targets : "") < 0)
        return problem_field(why, "targets", "too many targets");
    if (options->expires)
        principal.expires_at = clock_wall() + options->expires;
    secret_new(SECRET_PREFIX, secret);
    secret_hash(secret, hash);
    int64_t id;
    if (store_token_add(store, &principal, hash, &id, why) < 0)
        return -1;
    printf("%s\n", secret);
    return 0;
}

static const char *when(nsec wall, const char *never, char text[CLOCK_TEXT])
{
    return wall ? clock_format(wall, text) : never;
}

static int print_token(void *arg unused, const struct principal *principal, nsec last_used_at,
                       struct problem *why unused)
{
    char expires[CLOCK_TEXT], used[CLOCK_TEXT];
    printf("%-24s %-9s %-28s %-28s %s\n", principal->name, roles[principal->role],
           when(principal->expires_at, "never", expires), when(last_used_at, "never", used),
           principal->targets[0] ? principal->targets : "all");
    return 0;
}

static int list_tokens(struct store *store, struct problem *why)
{
    printf("%-24s %-9s %-28s %-28s %s\n", "NAME", "ROLE", "EXPIRES", "LAST USED", "TARGETS");
    return store_token_list(store, print_token, NULL, why);
}

int command_token(const char *settings_path, int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    bool add = strcmp(verb, "add") == 0, list = strcmp(verb, "list") == 0,
         remove = strcmp(verb, "remove") == 0;
    struct problem why = { 0 };
    scoped(options_done) struct options options = { 0 };
    const char *name = NULL;
    if (asks_for_help(argc, argv))
        return usage_on(stdout);
    if (!add && !list && !remove)
        return usage();
    if (add && read_options(token_options, argc - 1, argv + 1, &options, &name, &why) < 0)
        return fail("token add", &why);
    if (remove && argc == 3)
        name = argv[2];
    if (list ? argc != 2 : !name)
        return usage();
    scoped(settings_done) struct settings settings = { 0 };
    if (settings_load(settings_path, &settings, &why) < 0)
        return fail(strstr(why.message, why.field) ? "" : why.field, &why);
    scoped(store_cell) struct store *store = NULL;
    if (open_store(&settings, &store, &why) < 0)
        return fail("", &why);
    if (add)
        warn_of_targets(&settings, options.targets);
    int done = add    ? add_token(store, name, &options, &why)
               : list ? list_tokens(store, &why)
                      : store_token_remove(store, name, &why);
    return done < 0 ? fail("token", &why) : DONE;
}

/* ---- code ---- */

struct wanted {
    char name[64];
    int64_t id; /* 0: not there */
};

static int find_token(void *arg, const struct principal *principal, nsec last_used_at unused,
                      struct problem *why unused)
{
    struct wanted *wanted = arg;
    if (strcmp(principal->name, wanted->name) == 0)
        wanted->id = principal->token;
    return 0;
}

/* A code signs in as a token of its role, whose own secret nobody has ever seen. */
static int token_for_codes(struct store *store, int role, int64_t *ret, struct problem *why)
{
    struct wanted wanted = { 0 };
    struct principal principal = { .role = role };
    char secret[SECRET_TEXT];
    unsigned char hash[SECRET_HASH];
    snprintf(wanted.name, sizeof wanted.name, CODE_TOKEN "%s", roles[role]);
    snprintf(principal.name, sizeof principal.name, "%s", wanted.name);
    if (store_token_list(store, find_token, &wanted, why) < 0)
        return -1;
    if (wanted.id) {
        *ret = wanted.id;
        return 0;
    }
    secret_new(SECRET_PREFIX, secret);
    secret_hash(secret, hash);
    return store_token_add(store, &principal, hash, ret, why);
}

static int print_code(const struct settings *settings, struct store *store, int role,
                      struct problem *why)
{
    char code[SECRET_TEXT];
    unsigned char hash[SECRET_HASH];
    int64_t token;
    if (token_for_codes(store, role, &token, why) < 0)
        return -1;
    secret_new("", code);
    secret_hash(code, hash);
    if (store_code_add(store, token, hash, clock_wall() + CODE_LIVES, why) < 0)
        return -1;
    printf("%s\n", code);
    unsigned port = folders_port(settings->runtime);
    if (port)
        fprintf(stderr, "valid once, for 10 minutes: %s://127.0.0.1:%u/#code=%s\n",
                settings->certificate ? "https" : "http", port, code);
    return 0;
}

int command_code(const char *settings_path, int argc, char **argv)
{
    struct problem why = { 0 };
    scoped(options_done) struct options options = { 0 };
    const char *word = NULL;
    if (asks_for_help(argc, argv))
        return usage_on(stdout);
    if (read_options(code_options, argc, argv, &options, &word, &why) < 0)
        return fail("code", &why);
    if (word)
        return usage();
    scoped(settings_done) struct settings settings = { 0 };
    if (settings_load(settings_path, &settings, &why) < 0)
        return fail(strstr(why.message, why.field) ? "" : why.field, &why);
    scoped(store_cell) struct store *store = NULL;
    if (open_store(&settings, &store, &why) < 0)
        return fail("", &why);
    return print_code(&settings, store, options.role, &why) < 0 ? fail("code", &why) : DONE;
}
