#include "engine/target.h"

#include "engine/base/spawn.h"
#include "engine/base/text.h"
#include "engine/io/nfs.h"
#include "engine/io/nfs_wire.h"
#include "engine/mountinfo.h"
#include "engine/provision/sharer.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

const char *const target_kinds[] = { "directory", "nfs", "zfs", "btrfs", "mkfs", NULL };
static const char *const cold_ways[] = { "fadvise", "remount", "drop-caches", NULL };

const struct field target_fields[] = {
    FIELD_CHOICE(struct target, kind, "What stands there, and so which workloads fit.",
                 .choices = target_kinds, .preset_text = "directory"),
    FIELD_TEXT(struct target, path, "The folder in which runs make theirs; absolute.", .min = 1,
               .max = 4000),
    FIELD_TEXT(struct target, url,
               "The export of an NFS server, as nfs://host/export?version=3; kind nfs only.",
               .min = 1, .max = 4000),
    FIELD_TEXT(struct target, dataset,
               "The dataset under which runs make theirs, as tank/bench; kind zfs only.", .min = 1,
               .max = 200),
    FIELD_TEXT(struct target, run_as,
               "The user that the runner becomes before it measures; root uses reserved blocks and "
               "bypasses quotas, so it measures something else.",
               .min = 1, .max = 32),
    FIELD_SHARE(struct target, reserve, "The share of space and of inodes that is left alone.",
                .max = 0.99, .preset = 0.05),
    FIELD_CHOICES(struct target, cold, "The ways in which caches may be emptied.",
                  .choices = cold_ways, .preset_text = "fadvise"),
    FIELD_TEXTS(struct target, properties, "The properties of a dataset that a request may set."),
    FIELD_TEXT(struct target, observe,
               "The server's Prometheus node exporter, as http://host:9100/metrics; what it says "
               "is stored beside the figures of this host.",
               .min = 1, .max = 2000),
    FIELD_CHOICE(
        struct target, share,
        "How a job may share by NFS what it makes: not at all, by the property sharenfs of "
        "datasets, by exportfs and the kernel's server, or by nfs-ganesha, over D-Bus.",
        .choices = share_means, .preset_text = "none"),
    FIELD_TEXTS(struct target, share_clients,
                "To whom it is shared: addresses, networks as 10.0.0.0/8, names of hosts.",
                .preset_text = "127.0.0.1"),
    FIELD_TEXTS(
        struct target, share_options,
        "With which options: as exportfs takes them, rw,no_subtree_check when none is given; for "
        "ganesha those of a CLIENT block, as Squash=No_Root_Squash, beside Access_Type=RW."),
    FIELD_TEXT(struct target, share_pseudo,
               "Under which pseudo path the exports of jobs stand; for ganesha.", .min = 2,
               .max = 200, .preset_text = "/plimsoll"),
    FIELD_COUNT(struct target, share_id_first,
                "The first of the export ids that jobs may use; for ganesha.", .min = 1,
                .max = UINT16_MAX, .preset = 20000),
    FIELD_COUNT(struct target, share_id_last,
                "The last of them. What others export under one of them is left alone.", .min = 1,
                .max = UINT16_MAX, .preset = UINT16_MAX),
    FIELD_BOOL(struct target, allow_reboot,
               "Whether a job that somebody with the role admin asks for may restart this machine: "
               "cycle=reboot of filesystem-scaling. What else runs on it is interrupted."),
    FIELD_BOOL(struct target, concurrent, "Whether jobs may run beside others on its device."),
    FIELD_END,
};

void target_done(struct target *target)
{
    free(target->name);
    target->name = NULL;
    fields_done(target_fields, target);
}

/* A path is used as it stands, so it says where it leads. */
static bool path_is_plain(const char *path)
{
    if (path[0] != '/')
        return false;
    for (const char *p = path; (p = strstr(p, "/..")); p += 3)
        if (!p[3] || p[3] == '/')
            return false;
    return true;
}

/* What says where a target of each kind lies. */
static const struct {
    const char *key, *what;
} places[] = {
    [TARGET_DIRECTORY] = { "path", "the folder to be measured" },
    [TARGET_NFS] = { "url", "the export, as nfs://host/export" },
    [TARGET_ZFS] = { "dataset", "the dataset under which runs make theirs, as tank/bench" },
    [TARGET_BTRFS] = { "path", "a folder on btrfs" },
    [TARGET_MKFS] = { "path", "the folder for the images" },
};

static const char *given(const struct target *target, const char *key)
{
    return strcmp(key, "url") == 0       ? target->url
           : strcmp(key, "dataset") == 0 ? target->dataset
                                         : target->path;
}

const char *target_place(const struct target *target)
{
    return given(target, places[target->kind].key);
}

const char *target_called(const struct target *target)
{
    return target->name[0] ? target->name : target_place(target);
}

/* http(s)://[name:password@]host[:port][/...]. The address may hold a password, so no message shows it. */
static int check_observe(const char *url, struct problem *why)
{
    size_t scheme = text_starts(url, "http://") ? 7 : text_starts(url, "https://") ? 8 : 0;
    const char *authority = url + scheme, *end = authority + strcspn(authority, "/?#");
    const char *at = memrchr(authority, '@', (size_t)(end - authority));
    const char *host = at ? at + 1 : authority;
    const char *host_end = *host == '[' ? strchr(host, ']') : host + strcspn(host, ":/?#");
    const char *port = NULL;
    if (host_end && *host == '[')
        host_end++;
    if (host_end && *host_end == ':')
        port = host_end + 1;
    for (const char *p = url; *p; p++)
        if (*p <= ' ' || *p > '~')
            scheme = 0;
    if (!scheme || !host_end || host_end == host || host_end > end || (!port && host_end != end))
        return problem_field(why, "observe",
                             "observe must be the address of a node exporter, as "
                             "http://host:9100/metrics or https://...");
    char *port_end;
    long number = port && *port >= '0' && *port <= '9' ? strtol(port, &port_end, 10) : 0;
    if (port && (number < 1 || number > 65535 || port_end != end))
        return problem_field(why, "observe", "observe: the port must be from 1 to 65535");
    return 0;
}

static int check(const struct target *target, struct problem *why)
{
    static const char *const keys[] = { "path", "url", "dataset" };
    const char *key = places[target->kind].key;
    if (!given(target, key))
        return problem_field(why, key, "%s must be given: %s", key, places[target->kind].what);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i], key) != 0 && given(target, keys[i]))
            return problem_field(why, keys[i], "%s does not go with kind %s, which has %s", keys[i],
                                 target_kinds[target->kind], key);
    if (target->path && !path_is_plain(target->path))
        return problem_field(why, "path", "path must be absolute and without '..', not %s",
                             target->path);
    if (sharing_check_target(target, why) ||
        (target->observe && check_observe(target->observe, why) < 0))
        return -1;
    struct nfs_address address;
    return target->url ? nfs_address_parse(target->url, &address, why) : 0;
}

int target_by_hand(const char *on, struct target *ret, struct problem *why)
{
    struct target target = { 0 };
    if (fields_preset(target_fields, &target, why))
        return -1;
    for (int kind = TARGET_ZFS; on && target_kinds[kind]; kind++) {
        size_t n = strlen(target_kinds[kind]);
        if (strncmp(on, target_kinds[kind], n) == 0 && on[n] == ':') {
            target.kind = kind;
            on += n + 1;
            break;
        }
    }
    if (on && strncmp(on, "nfs://", 6) == 0)
        target.kind = TARGET_NFS;
    char **place = target.kind == TARGET_NFS   ? &target.url
                   : target.kind == TARGET_ZFS ? &target.dataset
                                               : &target.path;
    target.name = strdup("");
    if (on)
        *place = strdup(on);
    if (!target.name || (on && !*place)) {
        target_done(&target);
        return problem_memory(why);
    }
    *ret = target;
    return 0;
}

int targets_accept(void *arg, const char *name, void *object, const char *where,
                   struct problem *why)
{
    (void)where; /* the reader puts it in front of a problem */
    struct targets *targets = arg;
    struct target *target = object;
    if (check(target, why) < 0)
        return -1;
    struct target *at = reallocarray(targets->at, targets->n + 1, sizeof *at);
    if (!at)
        return problem_memory(why);
    targets->at = at;
    char *copy = strdup(name);
    if (!copy)
        return problem_memory(why);
    at[targets->n] = *target;
    at[targets->n++].name = copy;
    return 0;
}

struct loading {
    struct targets targets; /* first: targets_accept() takes it */
    char *state;
};

static const struct field state_fields[] = { FIELD_STATE(struct loading), FIELD_END };

static int accept_state(void *arg, const char *name unused, void *object, const char *where unused,
                        struct problem *why unused)
{
    struct loading *loading = arg, *section = object;
    loading->state = section->state;
    return 0;
}

int targets_load_with_state(const char *settings_path, struct targets *ret, char **ret_state,
                            struct problem *why)
{
    static const struct ini_kind kinds[] = {
        { .name = "service", /* its other keys are the daemon's alone */
          .table = state_fields,
          .size = sizeof(struct loading),
          .partial = true,
          .accept = accept_state },
        { .name = "target",
          .table = target_fields,
          .size = sizeof(struct target),
          .named = true,
          .accept = targets_accept },
        { 0 },
    };
    struct loading loading = { 0 };
    if (ini_read(settings_path, kinds, &loading, why) < 0) {
        targets_done(&loading.targets);
        free(loading.state);
        return -1;
    }
    *ret = loading.targets;
    *ret_state = loading.state;
    return 0;
}

int targets_load(const char *settings_path, struct targets *ret, struct problem *why)
{
    scoped_free char *state = NULL;
    return targets_load_with_state(settings_path, ret, &state, why);
}

const struct target *targets_find(const struct targets *targets, const char *name)
{
    for (size_t i = 0; i < targets->n; i++)
        if (strcmp(targets->at[i].name, name) == 0)
            return &targets->at[i];
    return NULL;
}

void targets_done(struct targets *targets)
{
    if (!targets)
        return;
    for (size_t i = 0; i < targets->n; i++)
        target_done(&targets->at[i]);
    free(targets->at);
    *targets = (struct targets){ 0 };
}

/* Everybody who may see the target reads the reason; where it lies is the administrator's affair. */
static int printf_like(2, 3) unusable(struct target_facts *facts, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(facts->reason, sizeof facts->reason, fmt, ap);
    va_end(ap);
    return 0;
}

static bool user_exists(const char *name)
{
    struct passwd entry, *found = NULL;
    char room[4096];
    return getpwnam_r(name, &entry, room, sizeof room, &found) == 0 && found;
}

/* Shares of blocks are counted in f_frsize, whatever the block size for I/O is. */
static void fill_space(struct target_facts *facts, const struct statvfs *fs)
{
    facts->space_total = (uint64_t)fs->f_blocks * fs->f_frsize;
    facts->space_available = (uint64_t)fs->f_bavail * fs->f_frsize;
    facts->inodes_total = fs->f_files;
    facts->inodes_available = fs->f_files ? fs->f_favail : 0;
}

#define TOOL_DEADLINE (10 * NSEC_PER_SEC)

/* A pool that hangs must not hang who asks. */
static int probe_dataset(const struct target *target, struct target_facts *facts)
{
    const char *const argv[] = {
        "zfs", "get", "-H", "-p", "-o", "value", "used,available", target->dataset, NULL
    };
    struct problem words = { 0 };
    char output[128];
    unsigned long long used, available;
    if (target->run_as && !user_exists(target->run_as))
        return unusable(facts, "there is no user %s to run as", target->run_as);
    snprintf(facts->filesystem, sizeof facts->filesystem, "zfs");
    /* The daemon's own /dev is without the module's device: only the runner can ask. */
    if (access("/dev/zfs", F_OK) != 0 && access("/sys/module/zfs", F_OK) == 0) {
        facts->usable = true;
        return 0;
    }
    if (spawn_run(argv, TOOL_DEADLINE, output, sizeof output, &words) != 0)
        return unusable(facts, "%s", words.message);
    if (sscanf(output, "%llu %llu", &used, &available) != 2)
        return unusable(facts, "%s", "zfs does not tell its space");
    facts->space_total = used + available;
    facts->space_available = available;
    facts->usable = true;
    return 0;
}

/* What a kind cannot do without. */
static int probe_kind(const struct target *target, struct target_facts *facts)
{
    static const char *const asks[][3] = { { "mkfs.ext4", "-V" }, { "mount", "--version" } };
    struct problem words = { 0 };
    if (target->kind == TARGET_BTRFS && strcmp(facts->filesystem, "btrfs") != 0)
        return unusable(facts, "its folder is on %s, not on btrfs", facts->filesystem);
    for (size_t i = 0; target->kind == TARGET_MKFS && i < COUNT_OF(asks); i++)
        if (spawn_run(asks[i], TOOL_DEADLINE, NULL, 0, &words) != 0)
            return unusable(facts, "%s", words.message);
    /* The daemon's own /dev may be without it. */
    if (target->kind == TARGET_MKFS && access("/dev/loop-control", F_OK) != 0 &&
        access("/sys/devices/virtual/misc/loop-control", F_OK) != 0)
        return unusable(facts, "%s",
                        "this machine has no loop devices: is the module loop loaded?");
    facts->usable = true;
    return 0;
}

static int probe(const struct target *target, struct target_facts *facts, struct problem *why)
{
    struct stat st;
    struct statvfs fs;
    struct mountinfo mount;
    if (target->kind == TARGET_NFS) {
        nfs_probe(target, facts);
        return 0;
    }
    if (target->kind == TARGET_ZFS)
        return probe_dataset(target, facts);
    if (!target->path)
        return unusable(facts, "no workload of this version works there");
    scoped_fd int fd = open(target->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return unusable(facts, "its folder cannot be opened: %s", strerrordesc_np(errno));
    if (fstat(fd, &st) < 0 || fstatvfs(fd, &fs) < 0)
        return unusable(facts, "its folder cannot be looked at: %s", strerrordesc_np(errno));
    if (mountinfo_of_host(fd, &mount, why) < 0)
        return -1;
    fill_space(facts, &fs);
    facts->device = st.st_dev;
    text_shown(mount.type, facts->filesystem, sizeof facts->filesystem);
    text_shown(mount.point, facts->mount_point, sizeof facts->mount_point);
    text_shown(mount.options, facts->mount_options, sizeof facts->mount_options);
    text_shown(mount.source, facts->source, sizeof facts->source);
    if (mountinfo_has(&mount, "ro"))
        return unusable(facts, "it is mounted read-only");
    if (target->run_as && !user_exists(target->run_as))
        return unusable(facts, "there is no user %s to run as", target->run_as);
    return probe_kind(target, facts);
}

int target_probe(const struct target *target, struct target_facts *ret, struct problem *why)
{
    struct target_facts facts = { 0 };
    if (probe(target, &facts, why) < 0)
        return -1;
    capabilities_probe(target, &facts);
    *ret = facts;
    return 0;
}
