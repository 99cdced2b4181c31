#include "engine/workspace.h"

#include "engine/base/text.h"
#include "engine/run.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum { LISTING = 64 << 10 };

struct workspace {
    int base, fd;
    char name[WORKSPACE_NAME];
    char *path;
};

int workspace_name(char name[WORKSPACE_NAME], job_id job, unsigned run, const char *nonce,
                   struct problem *why)
{
    if (text_fit(name, WORKSPACE_NAME, "plimsoll-%lld-%u-%s", (long long)job, run, nonce))
        return problem_set(why, PROBLEM_INTERNAL, "the nonce %s is too long", nonce);
    return 0;
}

static int open_below(int folder, const char *name)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    return (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
}

int workspace_open_folder(int folder, const char *name, struct problem *why)
{
    int fd = open_below(folder, name);
    if (fd < 0)
        return problem_errno(why, errno, "cannot open the folder %s", name);
    return fd;
}

/* Nobody who may write to a folder on the way can lead it elsewhere. */
static int open_target(const char *where)
{
    struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                            .resolve = RESOLVE_NO_SYMLINKS };
    return (int)syscall(SYS_openat2, AT_FDCWD, where, &how, sizeof how);
}

static int open_base(const char *where, const char *name, struct workspace **ret,
                     struct problem *why)
{
    struct workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace)
        return problem_memory(why);
    workspace->fd = -1;
    workspace->base = open_target(where);
    if (workspace->base < 0) {
        int error = errno;
        free(workspace);
        if (error == ELOOP)
            return problem_set(why, PROBLEM_FORBIDDEN,
                               "the target %s is reached over a symbolic link, which others could "
                               "turn elsewhere; name the folder by its real path",
                               where);
        return problem_errno(why, error, "cannot open the target %s", where);
    }
    snprintf(workspace->name, sizeof workspace->name, "%s", name);
    workspace->path = text_new("%s/%s", where, name);
    if (!workspace->path) {
        workspace_close(workspace);
        return problem_memory(why);
    }
    *ret = workspace;
    return 0;
}

static void workspace_cell(struct workspace **workspace)
{
    *workspace = workspace_close(*workspace);
}

int workspace_make(const char *where, const char *name, struct workspace **ret, struct problem *why)
{
    scoped(workspace_cell) struct workspace *workspace = NULL;
    if (open_base(where, name, &workspace, why))
        return -1;
    if (mkdirat(workspace->base, name, 0700) != 0) {
        if (errno == EEXIST)
            return problem_set(why, PROBLEM_CONFLICT, "there is a %s/%s already", where, name);
        return problem_errno(why, errno, "cannot make %s/%s", where, name);
    }
    workspace->fd = workspace_open_folder(workspace->base, name, why);
    if (workspace->fd < 0) {
        unlinkat(workspace->base, name, AT_REMOVEDIR);
        return -1;
    }
    *ret = steal(&workspace);
    return 0;
}

/* The number of the device would do as well, but another one may have it after a reboot. */
int workspace_place(const struct workspace *workspace, char place[WORKSPACE_PLACE],
                    struct problem *why)
{
    struct statfs fs;
    struct stat facts;
    uint64_t id;
    if (fstatfs(workspace->base, &fs) != 0 || fstat(workspace->base, &facts) != 0)
        return problem_errno(why, errno, "cannot look at the target");
    _Static_assert(sizeof id == sizeof fs.f_fsid, "an id of 64 bits");
    memcpy(&id, &fs.f_fsid, sizeof id);
    if (text_fit(place, WORKSPACE_PLACE, "%016llx:%llu", (unsigned long long)id,
                 (unsigned long long)facts.st_ino))
        return problem_set(why, PROBLEM_INTERNAL, "the target's place is too long");
    return 0;
}

/* Nothing of that name there is good news only where the run worked: not beside a filesystem that is not
 * mounted, nor after the settings have moved the target. */
static int check_place(const struct workspace *workspace, const char *where, const char *place,
                       struct problem *why)
{
    char here[WORKSPACE_PLACE];
    if (!*place)
        return 0;
    if (workspace_place(workspace, here, why))
        return -1;
    if (strcmp(here, place) != 0)
        return problem_set(why, PROBLEM_CONFLICT,
                           "%s is not the folder in which the run worked: its filesystem may not "
                           "be mounted, or the target was moved; %s is to be removed there",
                           where, workspace->name);
    return 0;
}

int workspace_find(const char *where, const char *name, const char *place, struct workspace **ret,
                   struct problem *why)
{
    scoped(workspace_cell) struct workspace *workspace = NULL;
    struct stat facts;
    if (open_base(where, name, &workspace, why))
        return -1;
    if (fstatat(workspace->base, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return check_place(workspace, where, place, why);
        return problem_errno(why, errno, "cannot look at %s/%s", where, name);
    }
    workspace->fd = workspace_open_folder(workspace->base, name, why);
    if (workspace->fd < 0)
        return -1;
    if (fstat(workspace->fd, &facts) != 0 || facts.st_uid != geteuid())
        return problem_set(why, PROBLEM_CONFLICT, "%s/%s belongs to another user", where, name);
    *ret = steal(&workspace);
    return 1;
}

struct workspace *workspace_close(struct workspace *workspace)
{
    if (!workspace)
        return NULL;
    if (workspace->fd >= 0)
        close(workspace->fd);
    if (workspace->base >= 0)
        close(workspace->base);
    free(workspace->path);
    free(workspace);
    return NULL;
}

int workspace_fd(const struct workspace *workspace)
{
    return workspace->fd;
}

const char *workspace_path(const struct workspace *workspace)
{
    return workspace->path;
}

/* Whether its name still is its own: 1; 0 when nothing has that name. */
static int has_its_name(const struct workspace *workspace, struct problem *why)
{
    struct stat own, named;
    if (fstatat(workspace->base, workspace->name, &named, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0
                               : problem_errno(why, errno, "cannot look at %s", workspace->path);
    if (fstat(workspace->fd, &own) != 0)
        return problem_errno(why, errno, "cannot look at the run directory");
    if (own.st_ino != named.st_ino || own.st_dev != named.st_dev)
        return problem_set(why, PROBLEM_CONFLICT,
                           "something else stands at %s, in the place of the run directory",
                           workspace->path);
    return 1;
}

int workspace_remove(struct workspace *workspace, struct problem *why)
{
    int named = has_its_name(workspace, why);
    if (named <= 0)
        return named;
    if (unlinkat(workspace->base, workspace->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST)
        return 1;
    return problem_errno(why, errno, "cannot remove %s", workspace->path);
}

/* --- sweeping --- */

struct sweep {
    struct run *run;
    int folder;
    const struct made *made;
    const char *prefix; /* of names told as foreign: "" or "d0001/" */
    uint64_t removed;   /* in this pass */
};

bool name_is_made(const struct made *made, const char *name)
{
    uint64_t number = 0;
    unsigned i;
    if (name[0] != made->prefix)
        return false;
    for (i = 1; isdigit((unsigned char)name[i]) && i <= made->digits; i++)
        number = number * 10 + (uint64_t)(name[i] - '0');
    if (i != made->digits + 1 || number >= made->below)
        return false;
    while (i < made->length && name[i] == PADDING)
        i++;
    return i >= made->length && name[i] == 0;
}

/* By name, kind, owner, group and size; never followed. Gone meanwhile counts as not ours: NULL. */
static const struct made *find_made(const struct sweep *sweep, const char *name)
{
    const struct made *made = sweep->made;
    struct stat facts;
    while (made && !name_is_made(made, name))
        made = made->or ;
    if (!made || fstatat(sweep->folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        facts.st_uid != geteuid() || (made->group && facts.st_gid != made->group))
        return NULL;
    bool fits = made->inside
                    ? S_ISDIR(facts.st_mode)
                    : S_ISREG(facts.st_mode) && (uint64_t)facts.st_size <= made->bytes_most;
    return fits ? made : NULL;
}

static int sweep_folder(struct sweep *sweep, struct problem *why);

/* What refuses to go but does not keep the others: something is mounted on it, it is immutable, or
 * another kind has taken its place meanwhile. */
static bool is_stubborn(int error)
{
    switch (error) {
    case EBUSY:
    case EPERM:
    case EXDEV:
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
        return true;
    default:
        return false;
    }
}

static int leave(struct sweep *sweep, const char *shown)
{
    run_foreign(sweep->run, shown);
    return 0;
}

/* 1: it cannot be entered, and is left. */
static int sweep_inside(struct sweep *sweep, const struct made *inside, const char *name,
                        struct problem *why)
{
    char prefix[300];
    scoped_fd int folder = open_below(sweep->folder, name);
    if (folder < 0 && is_stubborn(errno))
        return 1;
    if (folder < 0)
        return problem_errno(why, errno, "cannot open the folder %s", name);
    if (text_fit(prefix, sizeof prefix, "%s%s/", sweep->prefix, name))
        return problem_set(why, PROBLEM_INTERNAL, "%s is too long", name);
    struct sweep inner = { .run = sweep->run, .folder = folder, .made = inside, .prefix = prefix };
    return sweep_folder(&inner, why);
}

static int sweep_entry(struct sweep *sweep, const char *name, struct problem *why)
{
    char shown[600];
    snprintf(shown, sizeof shown, "%s%s", sweep->prefix, name);
    const struct made *made = run_spares(sweep->run, shown) ? NULL : find_made(sweep, name);
    if (!made)
        return leave(sweep, shown);
    bool folder = made->inside != NULL;
    int inside = folder ? sweep_inside(sweep, made->inside, name, why) : 0;
    if (inside < 0)
        return -1;
    if (inside > 0)
        return leave(sweep, shown);
    if (unlinkat(sweep->folder, name, folder ? AT_REMOVEDIR : 0) == 0)
        sweep->removed++;
    else if (is_stubborn(errno))
        return leave(sweep, shown);
    else if (errno != ENOENT && !(folder && (errno == ENOTEMPTY || errno == EEXIST)))
        return problem_errno(why, errno, "cannot remove %s", shown);
    return 0;
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

/* One pass over the folder. */
static int sweep_pass(struct sweep *sweep, char *buffer, struct problem *why)
{
    sweep->removed = 0;
    if (lseek(sweep->folder, 0, SEEK_SET) < 0)
        return problem_errno(why, errno, "cannot rewind the run directory");
    for (;;) {
        long got = syscall(SYS_getdents64, sweep->folder, buffer, LISTING);
        uint64_t before = sweep->removed;
        if (got == 0 || (got < 0 && errno == ENOENT)) /* the end, or the folder is gone */
            return 0;
        if (got < 0)
            return problem_errno(why, errno, "cannot list the run directory");
        for (long at = 0; at < got;) {
            const struct directory_entry *entry = (const void *)(buffer + at);
            if (!is_dots(entry->name) && sweep_entry(sweep, entry->name, why))
                return -1;
            at += entry->length;
        }
        if (run_removed(sweep->run, sweep->removed - before, why))
            return -1;
    }
}

/* A listing may skip entries while others are removed: passes go on until one removes nothing. */
static int sweep_folder(struct sweep *sweep, struct problem *why)
{
    scoped_free char *buffer = malloc(LISTING);
    if (!buffer)
        return problem_memory(why);
    do
        if (sweep_pass(sweep, buffer, why))
            return -1;
    while (sweep->removed);
    return 0;
}

int workspace_sweep(struct run *run, int folder, const struct made *made, struct problem *why)
{
    struct sweep sweep = { .run = run, .folder = folder, .made = made, .prefix = "" };
    return sweep_folder(&sweep, why);
}
