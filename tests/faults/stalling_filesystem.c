/* stalling-filesystem FOLDER MOUNTPOINT: a filesystem that shows FOLDER and can be told to answer nothing
 * more (SIGUSR1) and to go on (SIGUSR2), as a server does that has gone away: whoever waits for it waits in
 * the kernel. Ends when it is unmounted. After a minute it goes on by itself, so that a test that dies
 * leaves nobody hanging. */
#define FUSE_USE_VERSION 34
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 60 }; /* seconds */

static int root;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool stalls; /* lock */

/* Every operation begins here: it is as far as it comes while the filesystem stalls. Gives the path
 * relative to the folder. */
static const char *turn(const char *path)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    pthread_mutex_lock(&lock);
    while (stalls && pthread_cond_timedwait(&changed, &lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&lock);
    while (*path == '/')
        path++;
    return *path ? path : ".";
}

static void *listen_to_signals(void *set)
{
    for (int signal; sigwait(set, &signal) == 0;) {
        pthread_mutex_lock(&lock);
        stalls = signal == SIGUSR1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static int answer(int result)
{
    return result < 0 ? -errno : 0;
}

static int get_attributes(const char *path, struct stat *ret, struct fuse_file_info *file)
{
    (void)file;
    return answer(fstatat(root, turn(path), ret, AT_SYMLINK_NOFOLLOW));
}

static int make_folder(const char *path, mode_t mode)
{
    return answer(mkdirat(root, turn(path), mode));
}

static int remove_folder(const char *path)
{
    return answer(unlinkat(root, turn(path), AT_REMOVEDIR));
}

static int remove_file(const char *path)
{
    return answer(unlinkat(root, turn(path), 0));
}

static int move(const char *from, const char *to, unsigned flags)
{
    const char *old = turn(from);
    return answer(renameat2(root, old, root, turn(to), flags));
}

static int keep_open(int fd, struct fuse_file_info *file)
{
    if (fd < 0)
        return -errno;
    file->fh = (uint64_t)fd;
    return 0;
}

static int create_file(const char *path, mode_t mode, struct fuse_file_info *file)
{
    return keep_open(openat(root, turn(path), file->flags | O_CREAT | O_CLOEXEC, mode), file);
}

static int open_file(const char *path, struct fuse_file_info *file)
{
    return keep_open(openat(root, turn(path), file->flags | O_CLOEXEC), file);
}

static int read_file(const char *path, char *to, size_t n, off_t at, struct fuse_file_info *file)
{
    (void)turn(path);
    ssize_t got = pread((int)file->fh, to, n, at);
    return got < 0 ? -errno : (int)got;
}

static int write_file(const char *path, const char *from, size_t n, off_t at,
                      struct fuse_file_info *file)
{
    (void)turn(path);
    ssize_t wrote = pwrite((int)file->fh, from, n, at);
    return wrote < 0 ? -errno : (int)wrote;
}

static int close_file(const char *path, struct fuse_file_info *file)
{
    (void)turn(path);
    return answer(close((int)file->fh));
}

static int sync_file(const char *path, int data_only, struct fuse_file_info *file)
{
    (void)turn(path), (void)data_only;
    return answer(fsync((int)file->fh));
}

static int list_folder(const char *path, void *room, fuse_fill_dir_t fill, off_t at,
                       struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
    (void)at, (void)file, (void)flags;
    int fd = openat(root, turn(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder)
        return -errno;
    for (struct dirent *entry; (entry = readdir(folder));)
        fill(room, entry->d_name, NULL, 0, 0);
    closedir(folder);
    return 0;
}

static int tell_space(const char *path, struct statvfs *ret)
{
    (void)turn(path);
    return answer(fstatvfs(root, ret));
}

static void *begin(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = 1;
    config->attr_timeout = config->entry_timeout = 0; /* ask, always */
    return NULL;
}

static const struct fuse_operations operations = {
    .init = begin,
    .getattr = get_attributes,
    .mkdir = make_folder,
    .rmdir = remove_folder,
    .unlink = remove_file,
    .rename = move,
    .create = create_file,
    .open = open_file,
    .read = read_file,
    .write = write_file,
    .release = close_file,
    .fsync = sync_file,
    .readdir = list_folder,
    .statfs = tell_space,
};

int main(int argc, char **argv)
{
    static sigset_t set;
    pthread_t thread;
    if (argc != 3) {
        fputs("usage: stalling-filesystem FOLDER MOUNTPOINT\n", stderr);
        return 2;
    }
    root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        perror(argv[1]);
        return 1;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, listen_to_signals, &set) != 0)
        return 1;
    char foreground[] = "-f", option[] = "-o",
         options[] = "allow_other,default_permissions,max_threads=16";
    char *words[] = { argv[0], argv[2], foreground, option, options, NULL };
    return fuse_main(5, words, &operations, NULL);
}
