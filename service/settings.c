#include "service/settings.h"

#include "engine/base/text.h"
#include "service/cpus.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>

#define RUNTIME_PRESET "/run/plimsoll"

static const char *const launcher_kinds[] = { "auto", "spawn", "systemd", NULL };

const struct field settings_fields[] = {
    FIELD_STATE(struct settings),
    FIELD_TEXTS(struct settings, listen,
                "Where HTTP is served: ADDRESS:PORT or unix:PATH, several separated by commas; "
                "port 0 takes a free one.",
                .preset_text = "127.0.0.1:7117"),
    FIELD_TEXT(struct settings, certificate,
               "PEM file of the certificate chain; with key, every TCP address speaks TLS."),
    FIELD_TEXT(struct settings, key, "PEM file of the certificate's private key."),
    FIELD_TEXT(struct settings, database,
               "embedded: a private PostgreSQL run by the daemon; otherwise a libpq connection "
               "string.",
               .preset_text = "embedded"),
    FIELD_TEXT(struct settings, cpus,
               "CPUs where everything but the lanes runs, such as 0 or 0-1,4; the lanes get the "
               "others."),
    FIELD_TEXT(struct settings, web,
               "Folder of the dashboard's files; preset: PREFIX/share/plimsoll/web."),
    FIELD_TEXT(struct settings, runner,
               "The runner's program; preset: PREFIX/bin/plimsoll-runner, where plimsolld is in "
               "PREFIX/sbin "
               "or PREFIX/bin."),
    FIELD_CHOICE(struct settings, launcher,
                 "How runners are started: as units of systemd, or by the daemon itself; auto is "
                 "systemd where it runs the daemon with the preset settings file.",
                 .choices = launcher_kinds, .preset_text = "auto"),
    FIELD_TEXT(struct settings, runtime,
               "Folder of sockets, with a short path; preset: " RUNTIME_PRESET
               " with the preset state, otherwise STATE/run."),
    FIELD_TEXT(struct settings, host,
               "The name under which this machine claims its jobs; preset: the hostname.",
               .max = 255),
    FIELD_BYTES(struct settings, imports,
                "The largest import that is taken in; while it is read it is a file in the state "
                "directory.",
                .min = 1 << 20, .max = 1e12, .preset = 1 << 30),
    FIELD_END,
};

static int accept_service(void *arg, const char *name unused, void *object,
                          const char *where unused, struct problem *why unused)
{
    struct settings *settings = arg;
    struct targets targets = settings->targets;
    fields_done(settings_fields, settings);
    *settings = *(struct settings *)object;
    settings->targets = targets;
    return 0;
}

static int accept_target(void *arg, const char *name, void *object, const char *where,
                         struct problem *why)
{
    struct settings *settings = arg;
    return targets_accept(&settings->targets, name, object, where, why);
}

static int preset(char **member, char *value, struct problem *why)
{
    if (*member) {
        free(value);
        return 0;
    }
    *member = value;
    return value ? 0 : problem_memory(why);
}

/* `name` below the folder above this program's own: what is installed finds itself under any prefix. */
static int below_prefix(const char *name, char **ret, struct problem *why)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n < 0)
        return problem_errno(why, errno, "cannot read /proc/self/exe");
    exe[n] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(exe, '/');
        if (slash)
            *slash = '\0';
    }
    return preset(ret, text_new("%s/%s", exe, name), why);
}

static int fill_in(struct settings *settings, struct problem *why)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    if (preset(&settings->host, text_new("%s", host), why) < 0 ||
        below_prefix("bin/plimsoll-runner", &settings->runner, why) < 0 ||
        below_prefix("share/plimsoll/web", &settings->web, why) < 0)
        return -1;
    /* systemd names the folder that it made for this service. */
    const char *given = getenv("RUNTIME_DIRECTORY");
    if (given && given[0] == '/' && !strchr(given, ':'))
        return preset(&settings->runtime, text_new("%s", given), why);
    if (strcmp(settings->state, STATE_PRESET) == 0 &&
        (geteuid() == 0 || access(RUNTIME_PRESET, X_OK) == 0))
        return preset(&settings->runtime, text_new(RUNTIME_PRESET), why);
    return preset(&settings->runtime, text_new("%s/run", settings->state), why);
}

static int check_listen(const char *text, struct problem *why)
{
    if (text_starts(text, "unix:")) {
        if (text[5] != '/')
            return problem_field(why, "listen", "\"%s\": unix: is followed by an absolute path",
                                 text);
        if (strlen(text + 5) >= sizeof((struct sockaddr_un *)0)->sun_path)
            return problem_field(why, "listen", "\"%s\": the path of a socket is at most %zu bytes",
                                 text, sizeof((struct sockaddr_un *)0)->sun_path - 1);
        return 0;
    }
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    long port = -1;
    if (colon && colon != text && colon[1] >= '0' && colon[1] <= '9')
        port = strtol(colon + 1, &end, 10);
    if (!end || *end || port < 0 || port > 65535)
        return problem_field(why, "listen",
                             "\"%s\" is neither ADDRESS:PORT, [ADDRESS]:PORT nor unix:PATH", text);
    return 0;
}

/* The state may not exist yet: its nearest existing ancestor tells the filesystem. */
static int check_local(const char *state, struct problem *why)
{
    char path[PATH_MAX];
    if (text_fit(path, sizeof path, "%s", state) < 0)
        return problem_field(why, "state", "the path is too long");
    struct statfs fs;
    while (statfs(path, &fs) < 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || !slash)
            return problem_field(why, "state", "cannot look at %s: %s", path, strerror(errno));
        if (slash == path)
            slash++;
        *slash = '\0';
    }
    if ((unsigned long)fs.f_type == NFS_SUPER_MAGIC)
        return problem_field(why, "state",
                             "%s is on NFS; the journals need a local filesystem, where locks are "
                             "the kernel's own",
                             state);
    return 0;
}

static int check_absolute(const char *key, const char *path, struct problem *why)
{
    if (path && path[0] != '/')
        return problem_field(why, key, "%s must be an absolute path, not %s", key, path);
    return 0;
}

static int check(const struct settings *settings, struct problem *why)
{
    if (check_absolute("state", settings->state, why) < 0 ||
        check_absolute("certificate", settings->certificate, why) < 0 ||
        check_absolute("key", settings->key, why) < 0 ||
        check_absolute("web", settings->web, why) < 0 ||
        check_absolute("runner", settings->runner, why) < 0 ||
        check_absolute("runtime", settings->runtime, why) < 0)
        return -1;
    if (!settings->listen.n)
        return problem_field(why, "listen", "name at least one address");
    for (size_t i = 0; i < settings->listen.n; i++)
        if (check_listen(settings->listen.at[i], why) < 0)
            return -1;
    if (!settings->certificate != !settings->key)
        return problem_field(why, settings->key ? "certificate" : "key",
                             "certificate and key are given together");
    if (!settings_embedded(settings) && !strchr(settings->database, '=') &&
        !text_starts(settings->database, "postgres://") &&
        !text_starts(settings->database, "postgresql://"))
        return problem_field(why, "database",
                             "\"%s\" is neither embedded nor a connection string such as "
                             "\"host=/run/postgresql dbname=plimsoll\"",
                             settings->database);
    cpu_set_t cpus;
    if (settings->cpus && cpus_parse(settings->cpus, &cpus, why) < 0)
        return -1;
    return check_local(settings->state, why);
}

int settings_load(const char *path, struct settings *ret, struct problem *why)
{
    struct settings settings = { 0 };
    const struct ini_kind kinds[] = {
        { .name = "service",
          .table = settings_fields,
          .size = sizeof(struct settings),
          .accept = accept_service },
        { .name = "target",
          .table = target_fields,
          .size = sizeof(struct target),
          .named = true,
          .accept = accept_target },
        { 0 },
    };
    if (fields_preset(settings_fields, &settings, why) < 0 ||
        ini_read(path, kinds, &settings, why) < 0 || fill_in(&settings, why) < 0 ||
        check(&settings, why) < 0) {
        settings_done(&settings);
        return -1;
    }
    *ret = settings;
    return 0;
}

void settings_done(struct settings *settings)
{
    fields_done(settings_fields, settings);
    targets_done(&settings->targets);
}

bool settings_embedded(const struct settings *settings)
{
    return strcmp(settings->database, "embedded") == 0;
}

const char *settings_restart(const struct settings *old, const struct settings *new)
{
    for (const struct field *f = settings_fields; f->type != FT_END; f++) {
        char before[1024], after[1024];
        if (field_format(f, old, before, sizeof before) < 0 ||
            field_format(f, new, after, sizeof after) < 0)
            continue;
        if (strcmp(before, after) != 0)
            return f->name;
    }
    return NULL;
}
