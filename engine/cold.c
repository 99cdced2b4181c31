#include "engine/cold.h"

#include "engine/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

enum { TRIES = 5 }; /* what is in use just now stays for a round */

/* Directory entries that are cached without being in use; -1: it is not told. */
static long long entries_kept(void)
{
    char text[256];
    long long all, unused_;
    if (procfs_line(AT_FDCWD, "/proc/sys/fs/dentry-state", text, sizeof text) < 0 ||
        sscanf(text, "%lld %lld", &all, &unused_) != 2)
        return -1;
    return unused_;
}

int cold_drop(struct problem *why)
{
    static const char all[] = "3"; /* pages, entries and inodes */
    scoped_fd int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, all, sizeof all - 1) < 0)
        return problem_set(
            why, PROBLEM_UNSUPPORTED,
            "cache cannot be cold: this runner may not drop the caches (%s); it takes "
            "root, and a target without run_as",
            strerrordesc_np(errno));
    return 0;
}

int cold_drop_caches(int folder, uint64_t files, struct problem *why)
{
    struct statfs facts;
    if (fstatfs(folder, &facts) != 0)
        return problem_errno(why, errno, "cannot ask what filesystem the target is");
    if (facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "cache cannot be cold: this filesystem lives in memory");
    /* Others fill the caches meanwhile; as many entries as the run's own must not be left of theirs. */
    long long kept = 0, most = (long long)(files / 10) + 10000;
    for (int i = 0; i < TRIES; i++) {
        if (cold_drop(why))
            return -1;
        kept = entries_kept();
        if (kept < most)
            return 0;
    }
    return problem_set(
        why, PROBLEM_UNSUPPORTED,
        "cache is not cold: %lld entries stay in memory after dropping them %d times", kept, TRIES);
}
