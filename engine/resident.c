#include "engine/resident.h"

#include "engine/cold.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define WINDOW (UINT64_C(1) << 30) /* mapped at once */
enum { TRIES = 5 };                /* what is in use just now stays for a round */

static int resident_within(int file, uint64_t offset, size_t bytes, uint64_t *ret,
                           struct problem *why)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
    scoped_free unsigned char *in = malloc(pages);
    void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, (off_t)offset);
    if (!in || at == MAP_FAILED) {
        if (at != MAP_FAILED)
            munmap(at, bytes);
        return in ? problem_errno(why, errno, "cannot map a file to see what of it is in memory")
                  : problem_memory(why);
    }
    int result = mincore(at, bytes, in) != 0 ? -1 : 0;
    int error = errno;
    munmap(at, bytes);
    if (result)
        return problem_errno(why, error, "cannot ask what of a file is in memory");
    for (size_t i = 0; i < pages; i++)
        if (in[i] & 1)
            *ret += i + 1 < pages ? page : bytes - i * page;
    return 0;
}

int resident_bytes(int file, uint64_t *ret, struct problem *why)
{
    struct stat facts;
    uint64_t bytes = 0;
    if (fstat(file, &facts) != 0)
        return problem_errno(why, errno, "cannot ask for the size of a file");
    for (uint64_t offset = 0, size = (uint64_t)facts.st_size; offset < size; offset += WINDOW)
        if (resident_within(file, offset, size - offset < WINDOW ? size - offset : WINDOW, &bytes,
                            why))
            return -1;
    *ret = bytes;
    return 0;
}

static int drop(int file, enum cold_way way, struct problem *why)
{
    if (way == COLD_DROP_CACHES)
        return cold_drop(why);
    if (fdatasync(file) != 0) /* what is not yet written stays */
        return problem_errno(why, errno, "cannot write a file out");
    int error = posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    return error ? problem_errno(why, error, "cannot ask for a file to leave memory") : 0;
}

int resident_evict(int file, uint64_t ways, const char **ret_way, struct problem *why)
{
    static const struct {
        enum cold_way way;
        const char *name;
    } order[] = { { COLD_FADVISE, "fadvise" }, { COLD_DROP_CACHES, "drop-caches" } };
    struct statfs facts;
    uint64_t left = 0;
    if (fstatfs(file, &facts) != 0)
        return problem_errno(why, errno, "cannot ask what filesystem the target is");
    if (facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "cache cannot be cold: this filesystem lives in memory");
    for (size_t i = 0; i < COUNT_OF(order); i++)
        for (int n = 0; ways & order[i].way && n < TRIES; n++) {
            struct problem refused = { 0 };
            if (drop(file, order[i].way, &refused)) {
                if (order[i].way == COLD_FADVISE || !(ways & COLD_FADVISE)) {
                    *why = refused;
                    return -1;
                }
                break; /* not allowed here: fadvise alone did not do */
            }
            if (resident_bytes(file, &left, why))
                return -1;
            if (left == 0) {
                *ret_way = order[i].name;
                return 0;
            }
        }
    return problem_set(why, PROBLEM_UNSUPPORTED,
                       "cache is not cold: %llu bytes of a file stay in memory after %s",
                       (unsigned long long)left,
                       ways & COLD_DROP_CACHES ? "dropping the caches" : "posix_fadvise");
}
