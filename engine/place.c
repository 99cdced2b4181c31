#include "engine/place.h"

#include "engine/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

void place_done(struct place *place)
{
    if (place->folder >= 0)
        close(place->folder);
    free(place->state);
    free(place->spec);
    targets_done(&place->targets);
    *place = (struct place){ .folder = -1 };
}

static void place_cell(struct place *place)
{
    place_done(place);
}

/* The result's members are given away. */
static void give(struct place *place, struct place *ret)
{
    *ret = *place;
    *place = (struct place){ .folder = -1 };
}

/* ---- named by its spec ---- */

int place_of_spec(const char *spec, const char *settings, struct place *ret, struct problem *why)
{
    scoped(place_cell) struct place place = { .folder = -1 };
    /* dirname and basename write into what they are given */
    scoped_free char *for_folder = strdup(spec), *for_name = strdup(spec);
    if (!for_folder || !for_name)
        return problem_memory(why);
    const char *folder = dirname(for_folder);
    place.spec = strdup(basename(for_name));
    place.state = text_new("%s/../..", folder);
    if (!place.spec || !place.state)
        return problem_memory(why);
    place.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place.folder < 0)
        return problem_errno(why, errno, "cannot open %s", folder);
    if (targets_load(settings, &place.targets, why) < 0)
        return -1;
    give(&place, ret);
    return 0;
}

/* ---- found by its number ---- */

/* Whoever may change what root acts upon is root. */
static int check_roots(const char *path, struct problem *why)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return problem_errno(why, errno, "cannot look at %s", path);
    if (st.st_uid != 0 || (st.st_mode & OTHERS_WRITE))
        return problem_set(why, PROBLEM_FORBIDDEN,
                           "%s tells root what to do, so it must be root's, and nobody else may "
                           "write to it",
                           path);
    return 0;
}

static int check_settings(const char *settings, struct problem *why)
{
    scoped_free char *copy = strdup(settings);
    if (!copy)
        return problem_memory(why);
    if (geteuid() != 0)
        return 0;
    const char *folder = dirname(copy);
    scoped_free char *sibling = text_new("%s/conf.d", folder), *own = text_new("%s.d", settings);
    if (!sibling || !own)
        return problem_memory(why);
    if (check_roots(settings, why) < 0 || check_roots(folder, why) < 0 ||
        (access(sibling, F_OK) == 0 && check_roots(sibling, why) < 0) ||
        (access(own, F_OK) == 0 && check_roots(own, why) < 0))
        return -1;
    return 0;
}

/* Opens what is below the folder `from`, following nothing. */
static int open_below(int from, const char *path, int flags, struct stat *st, struct problem *why)
{
    struct open_how how = { .flags = (unsigned)(flags | O_RDONLY | O_NONBLOCK | O_CLOEXEC),
                            .resolve =
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    scoped_fd int fd = (int)syscall(SYS_openat2, from, path, &how, sizeof how);
    if (fd < 0 && errno == ELOOP)
        return problem_set(why, PROBLEM_FORBIDDEN, "%s is, or leads over, a symbolic link", path);
    if (fd < 0 || fstat(fd, st) < 0)
        return problem_errno(why, errno, "cannot open %s", path);
    return steal_fd(&fd);
}

static int check_owner(const char *path, const struct stat *st, uid_t owner, struct problem *why)
{
    if (st->st_uid != owner)
        return problem_set(why, PROBLEM_FORBIDDEN,
                           "%s belongs to user %u, but the state folder to user %u", path,
                           (unsigned)st->st_uid, (unsigned)owner);
    if (st->st_mode & OTHERS_WRITE)
        return problem_set(why, PROBLEM_FORBIDDEN, "others may write to %s", path);
    return 0;
}

/* The owner of the state folder is the service: root made that folder for it. */
static int open_state(const char *state, struct stat *st, struct problem *why)
{
    scoped_fd int fd = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, st) < 0)
        return problem_errno(why, errno, "cannot open the state folder %s", state);
    if (check_owner(state, st, st->st_uid, why) < 0)
        return -1;
    return steal_fd(&fd);
}

int place_of_job(job_id job, const char *settings, struct place *ret, struct problem *why)
{
    scoped(place_cell) struct place place = { .folder = -1, .job = job };
    struct stat service, st;
    char path[64];
    if (check_settings(settings, why) < 0 ||
        targets_load_with_state(settings, &place.targets, &place.state, why) < 0)
        return -1;
    place.spec = strdup(SPEC_FILE);
    if (!place.spec)
        return problem_memory(why);
    scoped_fd int state = open_state(place.state, &service, why);
    if (state < 0 || text_fit(path, sizeof path, "jobs/%lld", (long long)job) < 0)
        return -1;
    place.folder = open_below(state, path, O_DIRECTORY, &st, why);
    if (place.folder < 0 || check_owner(path, &st, service.st_uid, why) < 0)
        return -1;
    place.readers = service.st_gid;
    give(&place, ret);
    return 0;
}

/* ---- the spec ---- */

static int check_spec(const struct place *place, const struct stat *st, struct problem *why)
{
    struct stat folder;
    if (fstat(place->folder, &folder) < 0)
        return problem_errno(why, errno, "cannot look at the job's folder");
    /* A second name would make another's file readable through our complaints about it. */
    if (!S_ISREG(st->st_mode) || st->st_nlink != 1)
        return problem_set(why, PROBLEM_FORBIDDEN, "%s is not a file of one name", place->spec);
    return check_owner(place->spec, st, folder.st_uid, why);
}

int place_spec(const struct place *place, struct spec *ret, struct problem *why)
{
    struct stat st;
    scoped_fd int fd = open_below(place->folder, place->spec, 0, &st, why);
    struct spec spec = { 0 };
    if (fd < 0 || (place->job && check_spec(place, &st, why) < 0) ||
        spec_read_open(fd, place->spec, &spec, why) < 0)
        return -1;
    if (place->job && spec.job != (uint64_t)place->job) {
        uint64_t other = spec.job;
        spec_done(&spec);
        return problem_field(why, "/job",
                             "this is the folder of job %lld, but the spec is of job %llu",
                             (long long)place->job, (unsigned long long)other);
    }
    *ret = spec;
    return 0;
}
