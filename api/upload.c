#include "api/upload.h"

#include "api/api.h"
#include "engine/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define FOLDER "imports"
enum {
    ROOM_FACTOR =
        4, /* of what is announced: the body, its samples and its journal, and some left */
};
static const uint64_t room_least = UINT64_C(64) << 20;

struct upload {
    struct api *api;
    int folder, fd;
    char *path, *journal;
    uint64_t bytes;
    crypto_generichash_state hash;
    struct problem failed;
};

static int open_folder(const char *state, int *ret, struct problem *why)
{
    char path[PATH_MAX];
    if (text_fit(path, sizeof path, "%s/" FOLDER, state))
        return problem_set(why, PROBLEM_INTERNAL, "the path of the state directory is too long");
    if (mkdir(path, 0750) < 0 && errno != EEXIST)
        return problem_errno(why, errno, "cannot make %s", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return problem_errno(why, errno, "cannot open %s", path);
    *ret = fd;
    return 0;
}

static int check_room(int folder, uint64_t announced, struct problem *why)
{
    struct statvfs fs;
    if (fstatvfs(folder, &fs) < 0)
        return problem_errno(why, errno, "cannot look at the state directory");
    if ((uint64_t)fs.f_bavail * fs.f_frsize / ROOM_FACTOR < announced + room_least / ROOM_FACTOR)
        return problem_set(why, PROBLEM_OVERLOADED,
                           "the state directory has no room for a body of this size");
    return 0;
}

static int make_names(struct upload *upload, const char *state, struct problem *why)
{
    unsigned long long number = atomic_fetch_add(&upload->api->tasks, 1);
    upload->path = text_new("%s/" FOLDER "/%llu.body", state, number);
    upload->journal = text_new("%s/" FOLDER "/%llu.ndjson", state, number);
    return upload->path && upload->journal ? 0 : problem_memory(why);
}

static void too_large(struct upload *upload)
{
    problem_set(&upload->failed, PROBLEM_TOO_LARGE, "the body is larger than %llu MiB",
                (unsigned long long)upload->api->upload_bytes >> 20);
}

int upload_open(struct api *api, const struct request *in, struct upload **ret, struct problem *why)
{
    const char *length = in->header(in->wire, "Content-Length");
    uint64_t announced = length ? strtoull(length, NULL, 10) : 0;
    struct upload *upload = calloc(1, sizeof *upload);
    if (!upload)
        return problem_memory(why);
    upload->api = api;
    upload->folder = upload->fd = -1;
    crypto_generichash_init(&upload->hash, NULL, 0, 32);
    if (atomic_fetch_add(&api->uploads, 1) >= UPLOADS_MOST) {
        problem_set(why, PROBLEM_OVERLOADED, "%d imports are being read already", UPLOADS_MOST);
        goto failed;
    }
    if (announced > api->upload_bytes) {
        too_large(upload); /* nothing of it is kept */
        announced = 0;
    }
    if (open_folder(api->app->state, &upload->folder, why) ||
        check_room(upload->folder, announced, why) || make_names(upload, api->app->state, why))
        goto failed;
    upload->fd = open(upload->path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (upload->fd < 0) {
        problem_errno(why, errno, "cannot make a file for the body");
        goto failed;
    }
    *ret = upload;
    return 0;
failed:
    upload_close(upload);
    return -1;
}

void upload_add(struct upload *upload, const char *bytes, size_t n)
{
    struct problem *why = &upload->failed;
    upload->bytes += n;
    if (upload->bytes > upload->api->upload_bytes)
        too_large(upload);
    if (why->code)
        return;
    crypto_generichash_update(&upload->hash, (const unsigned char *)bytes, n);
    while (n && !why->code) {
        ssize_t put = write(upload->fd, bytes, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && (errno == ENOSPC || errno == EDQUOT))
            problem_set(why, PROBLEM_OVERLOADED, "the state directory has no room for the body");
        else if (put < 0)
            problem_errno(why, errno, "cannot keep the body");
        else {
            bytes += put;
            n -= (size_t)put;
        }
    }
}

struct upload *upload_close(struct upload *upload)
{
    if (!upload)
        return NULL;
    if (upload->fd >= 0)
        (void)unlink(upload->path);
    if (upload->journal)
        (void)unlink(upload->journal);
    close_cell(&upload->fd);
    close_cell(&upload->folder);
    free(upload->path);
    free(upload->journal);
    atomic_fetch_sub(&upload->api->uploads, 1);
    free(upload);
    return NULL;
}

int upload_end(struct upload *upload, unsigned char hash[32], struct problem *why)
{
    crypto_generichash_state state = upload->hash;
    if (upload->failed.code) {
        *why = upload->failed;
        return -1;
    }
    crypto_generichash_final(&state, hash, 32);
    return 0;
}

int upload_folder(const struct upload *upload)
{
    return upload->folder;
}

const char *upload_path(const struct upload *upload)
{
    return upload->path;
}

const char *upload_journal(const struct upload *upload)
{
    return upload->journal;
}

static void close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

void uploads_sweep(const char *state)
{
    struct problem why = { 0 };
    int fd = -1;
    const struct dirent *entry;
    if (open_folder(state, &fd, &why))
        return;
    scoped(close_dir) DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return;
    }
    while ((entry = readdir(dir)))
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            (void)unlinkat(fd, entry->d_name, 0);
}
