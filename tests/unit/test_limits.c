#include "engine/limits.h"
#include "tests/unit/place.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/vfs.h>

enum { INODES = 1000, MIB = 8 };

/* A filesystem of our own, small, in a mount namespace of our own; NULL: not allowed here. */
static int mount_small(void **state)
{
    static char path[] = "/tmp/plimsoll-limits.XXXXXX";
    char options[64];
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return 0;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || !mkdtemp(path))
        return 0;
    snprintf(options, sizeof options, "size=%dm,nr_inodes=%d", MIB, INODES);
    if (mount("small", path, "tmpfs", 0, options) == 0)
        *state = path;
    return 0;
}

static int unmount_small(void **state)
{
    if (*state) {
        umount2(*state, MNT_DETACH);
        rmdir(*state);
    }
    return 0;
}

static int open_small(void **state)
{
    if (!*state)
        skip();
    int folder = open(*state, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    assert_true(folder >= 0);
    return folder;
}

/* Does what it is allowed to do, in batches, with files of so many bytes. How many were made. */
static uint64_t fill(int folder, struct limits *limits, uint64_t batch, uint64_t bytes,
                     struct limit *ret)
{
    static const char zeros[65536];
    uint64_t made = 0;
    for (nsec now = 0;; now += 1000) {
        struct problem why = { 0 };
        int refused = limits_admit(limits, batch, now, ret, &why);
        if (refused) {
            assert_int_equal(refused, 1);
            return made;
        }
        for (uint64_t i = 0; i < batch; i++, made++) {
            char name[32];
            snprintf(name, sizeof name, "f%llu", (unsigned long long)made);
            scoped_fd int fd = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
            assert_true(fd >= 0);
            assert_int_equal(write(fd, zeros, bytes), bytes);
        }
    }
}

static void unfill(int folder, uint64_t made)
{
    for (uint64_t i = 0; i < made; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%llu", (unsigned long long)i);
        unlinkat(folder, name, 0);
    }
}

static void stays_above_the_floor_and_comes_within_one_batch_per_lane(void **state)
{
    static const struct {
        double reserve;
        unsigned lanes;
        uint64_t batch, bytes;
        enum limit_reason reason;
    } cases[] = {
        { 0.05, 1, 10, 0, LIMIT_INODES },    { 0.5, 1, 7, 0, LIMIT_INODES },
        { 0.05, 2, 10, 0, LIMIT_INODES },    { 0.05, 4, 100, 0, LIMIT_INODES },
        { 0.05, 1, 10, 65536, LIMIT_SPACE }, { 0.3, 2, 5, 20000, LIMIT_SPACE },
        { 0.99, 1, 100, 0, LIMIT_INODES },
    };
    scoped_fd int folder = open_small(state);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct limits limits = { .folder = folder, .reserve = cases[i].reserve };
        struct limit limit;
        struct statfs now;
        must(limits_init(&limits, (struct cost){ .inodes = 1, .bytes = cases[i].bytes },
                         cases[i].lanes, cases[i].batch, &unmet));
        uint64_t made = fill(folder, &limits, cases[i].batch, cases[i].bytes, &limit);
        assert_int_equal(fstatfs(folder, &now), 0);
        uint64_t most = cases[i].lanes * cases[i].batch;
        double left = (double)now.f_ffree - INODES * cases[i].reserve;
        if (cases[i].reason == LIMIT_SPACE) {
            left = (double)now.f_bavail * (double)now.f_bsize - (MIB << 20) * cases[i].reserve;
            most *= (cases[i].bytes + 4095) / 4096 * 4096;
        }
        assert_int_equal(limit.reason, cases[i].reason);
        assert_int_equal(limit.error, 0);
        assert_non_null(strstr(limit.detail, "reserve"));
        if (left < 0 || left > (double)most)
            fail_msg("case %zu: %g left above the floor, %llu allowed", i, left,
                     (unsigned long long)most);
        limits_done(&limits);
        unfill(folder, made);
    }
}

static void nothing_reserved_means_no_floor(void **state)
{
    scoped_fd int folder = open_small(state);
    struct limits limits = { .folder = folder };
    struct limit limit;
    must(limits_init(&limits, (struct cost){ .inodes = 1 }, 1, 1000000, &unmet));
    for (int i = 0; i < 100; i++)
        must(limits_admit(&limits, 1000000, 0, &limit, &unmet));
    limits_done(&limits);
}

static void somebody_elses_use_is_seen_within_a_second(void **state)
{
    scoped_fd int folder = open_small(state);
    struct limits limits = { .folder = folder, .reserve = 0.5 };
    struct limits none = { .folder = folder, .reserve = 0.1 };
    struct limit limit;
    struct problem why = { 0 };
    must(limits_init(&limits, (struct cost){ .inodes = 1 }, 1, 1, &unmet));
    assert_int_equal(limits_admit(&limits, 1, 0, &limit, &why), 0);
    must(limits_init(&none, (struct cost){ .inodes = 1 }, 1, 10, &unmet));
    uint64_t made = fill(folder, &none, 10, 0, &limit);
    assert_int_equal(limits_admit(&limits, 1, NSEC_PER_SEC / 2, &limit, &why), 0);
    assert_int_equal(limits_admit(&limits, 1, NSEC_PER_SEC + 1, &limit, &why), 1);
    limits_done(&none);
    limits_done(&limits);
    unfill(folder, made);
}

static void errnos_are_told_by_their_cause(void **state)
{
    static const struct {
        int error;
        bool is_limit;
        enum limit_reason reason;
    } cases[] = {
        { ENOSPC, true, LIMIT_SPACE },
        { EDQUOT, true, LIMIT_QUOTA },
        { EMLINK, true, LIMIT_LINKS },
        { ENAMETOOLONG, true, LIMIT_NAME },
        { EIO, false, 0 },
        { EACCES, false, 0 },
        { EROFS, false, 0 },
        { EEXIST, false, 0 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct limits nowhere = { .folder = -1 };
        struct limit limit = { 0 };
        assert_int_equal(limits_explain(&nowhere, cases[i].error, true, &limit), cases[i].is_limit);
        assert_int_equal(limit.reached, cases[i].is_limit);
        if (cases[i].is_limit)
            assert_true(limit.reason == (int)cases[i].reason && limit.error == cases[i].error);
    }
}

static void no_inodes_left_is_not_no_space(void **state)
{
    scoped_fd int folder = open_small(state);
    struct limits limits = { .folder = folder };
    struct limit limit = { 0 };
    uint64_t made = 0;
    for (; made < 2 * INODES; made++) {
        char name[32];
        snprintf(name, sizeof name, "f%llu", (unsigned long long)made);
        scoped_fd int fd = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0)
            break;
    }
    assert_int_equal(errno, ENOSPC);
    assert_true(limits_explain(&limits, ENOSPC, true, &limit));
    assert_int_equal(limit.reason, LIMIT_INODES);
    unfill(folder, made);
    assert_true(limits_explain(&limits, ENOSPC, true, &limit));
    assert_int_equal(limit.reason, LIMIT_SPACE);
}

/* A server, as far as it tells what it has. */
struct server {
    struct room has;
    unsigned asked;
    bool silent;
};

static int tell_room(void *arg, struct room *ret, struct problem *why)
{
    struct server *server = arg;
    server->asked++;
    if (server->silent)
        return problem_set(why, PROBLEM_IO_FAILED, "the server is silent");
    *ret = server->has;
    return 0;
}

static void a_target_without_a_folder_is_asked_for_its_room(void **state)
{
    static const struct {
        struct room has;
        struct cost cost;
        double reserve;
        uint64_t most; /* operations one at a time, before the floor */
        enum limit_reason reason;
    } cases[] = {
        { { 1 << 30, 1 << 30, 1000, 100 }, { .inodes = 1 }, 0.05, 50, LIMIT_INODES },
        { { 1 << 20, 1 << 20, 0, 0 }, { .bytes = 1 }, 0.5, 128, LIMIT_SPACE },
        { { 1 << 20, 600 << 10, 1000, 1000 }, { .bytes = 8192 }, 0.5, 11, LIMIT_SPACE },
        { { 1 << 20, 1000, 0, 0 }, { .inodes = 1, .bytes = 1 }, 0.5, 0, LIMIT_SPACE },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct server server = { .has = cases[i].has };
        struct limits limits = {
            .folder = -1, .ask = tell_room, .ask_arg = &server, .reserve = cases[i].reserve
        };
        struct limit limit;
        uint64_t done = 0;
        must(limits_init(&limits, cases[i].cost, 1, 1, &unmet));
        for (int refused = 0; !refused && done <= cases[i].most; done += !refused) {
            struct problem why = { 0 };
            refused = limits_admit(&limits, 1, 0, &limit, &why);
            if (refused)
                break;
            server.has.inodes_available -= cases[i].cost.inodes;
            server.has.space_available -= (cases[i].cost.bytes + 4095) / 4096 * 4096;
        }
        if (done != cases[i].most)
            fail_msg("case %zu: %llu operations, not %llu", i, (unsigned long long)done,
                     (unsigned long long)cases[i].most);
        assert_int_equal(limit.reason, cases[i].reason);
        assert_true(server.asked < 20); /* checks are spaced by the room there is */
        limits_done(&limits);
    }
}

static void what_a_full_server_lacks_is_asked_of_it(void **state)
{
    static const struct {
        struct server server;
        enum limit_reason reason;
        const char *word;
    } cases[] = {
        { { .has = { 1 << 20, 500, 10, 0 } }, LIMIT_INODES, "all 10 inodes" },
        { { .has = { 1 << 20, 500, 10, 5 } }, LIMIT_SPACE, "500 bytes available" },
        { { .has = { 1 << 20, 500, 0, 0 } }, LIMIT_SPACE, "500 bytes available" },
        { { .silent = true }, LIMIT_SPACE, "no space left" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct server server = cases[i].server;
        struct limits limits = { .folder = -1, .ask = tell_room, .ask_arg = &server };
        struct limit limit = { 0 };
        must(limits_init(&limits, (struct cost){ .inodes = 1 }, 1, 1, &unmet));
        assert_int_equal(server.asked, 0); /* nothing is reserved */
        assert_true(limits_explain(&limits, ENOSPC, true, &limit));
        assert_int_equal(limit.reason, cases[i].reason);
        assert_non_null(strstr(limit.detail, cases[i].word));
        limits_done(&limits);
    }
}

static void a_target_that_does_not_tell_its_room_admits_nothing(void **state)
{
    struct server server = { .silent = true };
    struct limits limits = { .folder = -1, .ask = tell_room, .ask_arg = &server, .reserve = 0.1 };
    struct problem why = { 0 };
    struct limit limit;
    (void)state;
    assert_int_equal(limits_init(&limits, (struct cost){ .inodes = 1 }, 1, 1, &why), -1);
    limits_done(&limits);
    server.silent = false;
    server.has = (struct room){ 1 << 20, 1 << 20, 100, 100 };
    limits = (struct limits){ .folder = -1, .ask = tell_room, .ask_arg = &server, .reserve = 0.1 };
    must(limits_init(&limits, (struct cost){ .inodes = 1 }, 1, 1, &unmet));
    server.silent = true;
    why = (struct problem){ 0 };
    assert_int_equal(limits_admit(&limits, 1, 0, &limit, &why), -1);
    assert_string_equal(why.message, "the server is silent");
    limits_done(&limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stays_above_the_floor_and_comes_within_one_batch_per_lane),
        cmocka_unit_test(nothing_reserved_means_no_floor),
        cmocka_unit_test(somebody_elses_use_is_seen_within_a_second),
        cmocka_unit_test(errnos_are_told_by_their_cause),
        cmocka_unit_test(no_inodes_left_is_not_no_space),
        cmocka_unit_test(a_target_without_a_folder_is_asked_for_its_room),
        cmocka_unit_test(what_a_full_server_lacks_is_asked_of_it),
        cmocka_unit_test(a_target_that_does_not_tell_its_room_admits_nothing),
    };
    return cmocka_run_group_tests(tests, mount_small, unmount_small);
}
