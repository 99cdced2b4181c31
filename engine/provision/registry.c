#include "engine/provision/provisioner.h"

#include "engine/base/text.h"
#include "engine/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

extern const struct provisioner provision_directory, provision_btrfs, provision_mkfs, provision_zfs;

static const struct provisioner *const by_kind[] = {
    [TARGET_DIRECTORY] = &provision_directory,
    [TARGET_ZFS] = &provision_zfs,
    [TARGET_BTRFS] = &provision_btrfs,
    [TARGET_MKFS] = &provision_mkfs,
};

const struct provisioner *provisioner_of(const struct target *target)
{
    return (size_t)target->kind < COUNT_OF(by_kind) ? by_kind[target->kind] : NULL;
}

bool provision_limit(const struct problem *words, struct limit *ret)
{
    static const struct {
        const char *words;
        int reason, error;
    } known[] = {
        { "uota", LIMIT_QUOTA, EDQUOT }, /* before space: "out of space: quota exceeded" */
        { "out of space", LIMIT_SPACE, ENOSPC },
        { "No space left", LIMIT_SPACE, ENOSPC },
        { "Too many links", LIMIT_LINKS, EMLINK },
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strstr(words->message, known[i].words)) {
            *ret = (struct limit){ .reached = true,
                                   .reason = known[i].reason,
                                   .error = known[i].error };
            snprintf(ret->detail, sizeof ret->detail, "%.250s", words->message);
            return true;
        }
    return false;
}

int provision_place(const struct provision *with, char of_names, char root[SHARE_ROOT],
                    char *prefix, struct problem *why)
{
    if (text_fit(root, SHARE_ROOT, "%s", with->path) < 0)
        return problem_set(why, PROBLEM_UNSUPPORTED, "the path of the run directory is too long");
    *prefix = of_names;
    return 0;
}

static void closedir_cell(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

int provision_count(int folder, char prefix, uint64_t below, uint64_t *ret, struct problem *why)
{
    const struct made kind = { .prefix = prefix, .digits = FILESYSTEM_DIGITS, .below = below };
    uint64_t n = 0;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped(closedir_cell) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return problem_errno(why, errno, "cannot list the run directory");
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += name_is_made(&kind, entry->d_name);
    *ret = n;
    return 0;
}
