#include "engine/provision/provisioner.h"

#include <errno.h>

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

int provision_destroy_all(const struct provisioner *with, struct pool *pool,
                          const struct ledger *made, char prefix, struct run *run,
                          struct problem *why)
{
    char name[FILESYSTEM_NAME];
    for (uint64_t i = 0; i < made->claimed; i++) {
        filesystem_name(name, prefix, i);
        if (run_spares(run, name))
            continue;
        int foreign = with->destroy(pool, i, why);
        if (foreign < 0)
            return -1;
        if (foreign)
            run_foreign(run, name);
        if (run_removed(run, !foreign, why))
            return -1;
    }
    return 0;
}
