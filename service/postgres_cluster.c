#include "service/postgres_cluster.h"

#include "engine/base/clock.h"
#include "engine/base/spawn.h"
#include "engine/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <sys/stat.h>

enum {
    ARGS_MOST = 80,
    LOG_MOST = 16 << 20, /* a longer log is put aside at the next start */
};
#define SOCKET_FOLDER   "/postgres" /* below the runtime folder */
#define BINARIES        "/usr/lib/postgresql/"
#define INITDB_DEADLINE (120 * NSEC_PER_SEC) /* a slow disk; usually 1 to 3 s */

static const char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
                                           "HOME=/", NULL };

/* Modest: the database must not compete with what is measured. The journal is the truth until a
 * checkpoint, there are no replicas, and nobody but the daemon connects. */
static const char *const parameters[] = {
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "shared_buffers=128MB",
    "max_connections=40",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_wal_size=1GB",
    "jit=off",
    "logging_collector=off",
    "log_timezone=UTC",
    "timezone=UTC",
    "log_line_prefix=%m %p ",
    NULL,
};

struct args {
    size_t n;
    const char *at[ARGS_MOST];
};

static void add(struct args *args, const char *arg)
{
    if (args->n < ARGS_MOST - 1)
        args->at[args->n++] = arg;
}

/* What makes a command run as the cluster's user. */
static void add_user(struct args *args, const struct postgres_cluster *cluster)
{
    if (!cluster->other_user)
        return;
    add(args, "setpriv");
    add(args, "--reuid=" POSTGRES_USER);
    add(args, "--regid=" POSTGRES_USER);
    add(args, "--init-groups");
    add(args, "--inh-caps=-all");
    add(args, "--");
}

/* ---- binaries ---- */

static unsigned made_by(const char *data)
{
    char path[PATH_MAX], text[16] = "";
    if (text_fit(path, sizeof path, "%s/PG_VERSION", data) < 0)
        return 0;
    scoped_file FILE *f = fopen(path, "re");
    if (!f || !fgets(text, sizeof text, f))
        return 0;
    return (unsigned)strtoul(text, NULL, 10);
}

static void globfree_cell(glob_t *found)
{
    globfree(found);
}

/* The installed version `wanted`, or with 0 the newest; ret_newest also when that one is missing. */
static unsigned installed(unsigned wanted, unsigned *ret_newest)
{
    scoped(globfree_cell) glob_t found = { 0 };
    unsigned best = 0;
    *ret_newest = 0;
    if (glob(BINARIES "*/bin/postgres", 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        unsigned major = (unsigned)strtoul(found.gl_pathv[i] + strlen(BINARIES), NULL, 10);
        if (major > *ret_newest)
            *ret_newest = major;
        if (wanted ? major == wanted : major > best)
            best = major;
    }
    return best;
}

static int find_binaries(struct postgres_cluster *cluster, struct problem *why)
{
    unsigned newest, made = made_by(cluster->data);
    cluster->major = installed(made, &newest);
    if (!newest)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "there is no PostgreSQL server below %s; install the package "
                           "postgresql, or set database to a connection string",
                           BINARIES);
    if (!cluster->major)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "the database in %s was made by PostgreSQL %u, and the newest installed "
                           "here is %u; install postgresql-%u again, or move the data with "
                           "pg_upgrade",
                           cluster->data, made, newest, made);
    return text_fit(cluster->bin, sizeof cluster->bin, BINARIES "%u/bin", cluster->major);
}

/* ---- the user ---- */

static int find_user(struct postgres_cluster *cluster, struct problem *why)
{
    cluster->uid = geteuid();
    cluster->gid = getegid();
    if (cluster->uid != 0)
        return 0;
    struct passwd entry, *found = NULL;
    char room[4096];
    if (getpwnam_r(POSTGRES_USER, &entry, room, sizeof room, &found) != 0 || !found)
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "PostgreSQL does not run as root and there is no user " POSTGRES_USER
                           "; make it with: useradd --system --user-group --no-create-home "
                           "--shell /usr/sbin/nologin " POSTGRES_USER);
    cluster->other_user = true;
    cluster->uid = found->pw_uid;
    cluster->gid = found->pw_gid;
    return 0;
}

static bool may_enter(const struct postgres_cluster *cluster, const struct stat *st)
{
    if (st->st_uid == cluster->uid)
        return st->st_mode & S_IXUSR;
    if (st->st_gid == cluster->gid)
        return st->st_mode & S_IXGRP;
    return st->st_mode & S_IXOTH;
}

/* Told here, by name: PostgreSQL itself would only say that it was denied. */
static int check_way(const struct postgres_cluster *cluster, const char *folder,
                     struct problem *why)
{
    char path[PATH_MAX];
    if (!cluster->other_user)
        return 0;
    size_t length = strlen(folder);
    for (size_t i = 1; i <= length; i++) {
        if (folder[i] != '/' && folder[i] != '\0')
            continue;
        struct stat st;
        if (text_fit(path, sizeof path, "%.*s", (int)i, folder) < 0 || stat(path, &st) < 0)
            return problem_errno(why, errno, "cannot look at %s", folder);
        if (!may_enter(cluster, &st))
            return problem_set(why, PROBLEM_UNSUPPORTED,
                               "PostgreSQL runs as " POSTGRES_USER " here, who may not enter %s; "
                               "chmod o+x %s, or take another folder as state",
                               path, path);
    }
    return 0;
}

/* ---- the files ---- */

static int own_folder(const struct postgres_cluster *cluster, const char *path, struct problem *why)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return problem_errno(why, errno, "cannot make %s", path);
    scoped_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return problem_errno(why, errno, "cannot open %s", path);
    if (cluster->other_user && fchown(fd, cluster->uid, cluster->gid) < 0)
        return problem_errno(why, errno, "cannot give %s to " POSTGRES_USER, path);
    if (fchmod(fd, 0700) < 0)
        return problem_errno(why, errno, "cannot close %s to others", path);
    return 0;
}

int postgres_cluster_open(const char *state, const char *runtime, struct postgres_cluster *ret,
                          struct problem *why)
{
    struct postgres_cluster cluster = { 0 };
    if (text_fit(cluster.state, sizeof cluster.state, "%s", state) < 0 ||
        text_fit(cluster.data, sizeof cluster.data, "%s/postgres", state) < 0 ||
        text_fit(cluster.log, sizeof cluster.log, "%s/postgres.log", state) < 0)
        return problem_field(why, "state", "the path is too long");
    /* "/.s.PGSQL.5432" fits behind it in the 107 bytes of a socket's path. */
    if (text_fit(cluster.socket, 93, "%s" SOCKET_FOLDER, runtime) < 0)
        return problem_field(why, "runtime",
                             "%s is too long for sockets; set runtime to a folder with a path of "
                             "at most 80 bytes",
                             runtime);
    if (find_user(&cluster, why) < 0 || find_binaries(&cluster, why) < 0 ||
        check_way(&cluster, state, why) < 0 || check_way(&cluster, runtime, why) < 0 ||
        own_folder(&cluster, cluster.socket, why) < 0)
        return -1;
    *ret = cluster;
    return 0;
}

static int run_initdb(const struct postgres_cluster *cluster, const char *data, struct problem *why)
{
    char program[PATH_MAX + 16], output[512];
    if (text_fit(program, sizeof program, "%s/initdb", cluster->bin) < 0)
        return problem_set(why, PROBLEM_INTERNAL, "the path of initdb is too long");
    struct args args = { 0 };
    add_user(&args, cluster);
    /* Not synced file by file: one syncfs at the end does the same sooner. */
    static const char *const options[] = {
        ("--username=" POSTGRES_USER),
        "--auth-local=trust",
        "--auth-host=reject",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--data-checksums",
        "--no-sync",
        "--no-instructions",
        "-D",
    };
    add(&args, program);
    for (size_t i = 0; i < COUNT_OF(options); i++)
        add(&args, options[i]);
    add(&args, data);
    if (spawn_run(args.at, INITDB_DEADLINE, output, sizeof output, why) < 0)
        return problem_during(why, "making the database: ");
    scoped_fd int fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || syncfs(fd) < 0)
        return problem_errno(why, errno, "cannot sync %s", data);
    return 0;
}

int postgres_cluster_make(const struct postgres_cluster *cluster, struct problem *why)
{
    struct stat st;
    if (stat(cluster->data, &st) == 0) {
        if (made_by(cluster->data))
            return 0;
        return problem_set(why, PROBLEM_UNSUPPORTED,
                           "%s is there but is not a PostgreSQL database; move it away",
                           cluster->data);
    }
    /* Made beside and renamed: a daemon that dies meanwhile leaves no half of a cluster. */
    char beside[PATH_MAX], output[512];
    if (text_fit(beside, sizeof beside, "%s.new", cluster->data) < 0)
        return problem_field(why, "state", "the path is too long");
    const char *const wipe[] = { "rm", "-rf", "--", beside, NULL };
    if (spawn_run(wipe, INITDB_DEADLINE, output, sizeof output, why) < 0 ||
        own_folder(cluster, beside, why) < 0 || run_initdb(cluster, beside, why) < 0)
        return -1;
    if (rename(beside, cluster->data) < 0)
        return problem_errno(why, errno, "cannot rename %s", beside);
    scoped_fd int fd = open(cluster->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return problem_errno(why, errno, "cannot sync %s", cluster->state);
    return 0;
}

/* ---- the server ---- */

/* Whether these binaries were built with lz4: an unknown method would keep the server from starting. */
static bool has_lz4(const struct postgres_cluster *cluster)
{
    char program[PATH_MAX + 16], output[8192];
    struct problem ignored = { 0 };
    if (cluster->major < 15 || text_fit(program, sizeof program, "%s/pg_config", cluster->bin) < 0)
        return false;
    const char *const argv[] = { program, "--configure", NULL };
    return spawn_run(argv, 10 * NSEC_PER_SEC, output, sizeof output, &ignored) == 0 &&
           strstr(output, "--with-lz4");
}

static int open_log(const char *path, struct problem *why)
{
    struct stat st;
    char old[PATH_MAX];
    if (stat(path, &st) == 0 && st.st_size > LOG_MOST &&
        text_fit(old, sizeof old, "%s.old", path) == 0)
        (void)rename(path, old);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0)
        return problem_errno(why, errno, "cannot open %s", path);
    return fd;
}

/* Lines of postmaster.pid: 1 the pid, 5 the socket's folder, 8 the status. */
struct pid_file {
    pid_t pid;
    char line[9][PATH_MAX];
};

static bool read_pid_file(const struct postgres_cluster *cluster, struct pid_file *ret)
{
    char path[PATH_MAX + 16];
    if (text_fit(path, sizeof path, "%s/postmaster.pid", cluster->data) < 0)
        return false;
    scoped_file FILE *f = fopen(path, "re");
    if (!f)
        return false;
    *ret = (struct pid_file){ 0 };
    for (size_t i = 1; i < COUNT_OF(ret->line) && fgets(ret->line[i], PATH_MAX, f); i++)
        ret->line[i][strcspn(ret->line[i], " \n")] = '\0';
    ret->pid = (pid_t)strtol(ret->line[1], NULL, 10);
    return ret->pid > 0;
}

static bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

/* A server stands in its data folder; nobody else would call itself postgres there. */
static bool is_server(const struct postgres_cluster *cluster, pid_t pid)
{
    char link[64], exe[PATH_MAX];
    if (text_fit(link, sizeof link, "/proc/%d/exe", (int)pid) < 0)
        return false;
    ssize_t n = readlink(link, exe, sizeof exe - 1);
    if (n < 0)
        return false;
    exe[n] = '\0';
    const char *name = strrchr(exe, '/');
    return name && text_starts(name, "/postgres") &&
           text_fit(link, sizeof link, "/proc/%d/cwd", (int)pid) == 0 &&
           same_file(link, cluster->data);
}

int postgres_cluster_running(const struct postgres_cluster *cluster, struct process *ret,
                             struct problem *why)
{
    struct process process;
    scoped_free struct pid_file *file = malloc(sizeof *file);
    if (!file)
        return problem_memory(why);
    if (!read_pid_file(cluster, file))
        return 0;
    int found = process_open(file->pid, &process, why);
    if (found <= 0)
        return found;
    if (process_ended(&process) || !is_server(cluster, file->pid)) {
        process_leave(&process);
        return 0;
    }
    *ret = process;
    return file->line[5][0] && strcmp(file->line[5], cluster->socket) != 0 ? 2 : 1;
}

/* A pid that went to another process after a crash would keep the server from starting. */
static void drop_stale_pid_file(const struct postgres_cluster *cluster)
{
    char path[PATH_MAX + 16];
    scoped_free struct pid_file *file = malloc(sizeof *file);
    if (file && read_pid_file(cluster, file) && !is_server(cluster, file->pid) &&
        text_fit(path, sizeof path, "%s/postmaster.pid", cluster->data) == 0)
        (void)unlink(path);
}

int postgres_cluster_start(const struct postgres_cluster *cluster, struct process *ret,
                           struct problem *why)
{
    char program[PATH_MAX + 16], socket[160];
    if (text_fit(program, sizeof program, "%s/postgres", cluster->bin) < 0 ||
        text_fit(socket, sizeof socket, "unix_socket_directories=\"%s\"", cluster->socket) < 0)
        return problem_set(why, PROBLEM_INTERNAL, "a path of PostgreSQL is too long");
    scoped_fd int log = open_log(cluster->log, why);
    if (log < 0)
        return -1;
    drop_stale_pid_file(cluster);
    struct args args = { 0 };
    add_user(&args, cluster);
    add(&args, program);
    add(&args, "-D");
    add(&args, cluster->data);
    add(&args, "-c");
    add(&args, socket);
    for (size_t i = 0; parameters[i]; i++) {
        add(&args, "-c");
        add(&args, parameters[i]);
    }
    if (has_lz4(cluster)) {
        add(&args, "-c");
        add(&args, "wal_compression=lz4");
    }
    /* A session of its own: Ctrl-C at our terminal stops us first, and we stop it. */
    struct spawn spawn = {
        .argv = args.at, .env = environment, .out = log, .err = log, .own_session = true
    };
    pid_t pid;
    if (spawn_start(&spawn, &pid, why) < 0)
        return problem_during(why, "starting PostgreSQL: ");
    return process_of_child(pid, ret, why);
}

bool postgres_cluster_ready(const struct postgres_cluster *cluster, pid_t pid)
{
    scoped_free struct pid_file *file = malloc(sizeof *file);
    return file && read_pid_file(cluster, file) && file->pid == pid &&
           strcmp(file->line[5], cluster->socket) == 0 && strcmp(file->line[8], "ready") == 0;
}

char *postgres_cluster_conninfo(const char *runtime)
{
    struct text text = { 0 };
    text_addf(&text, "user=" POSTGRES_USER " dbname=postgres host='");
    for (const char *p = runtime; *p; p++) {
        if (*p == '\'' || *p == '\\')
            text_add(&text, "\\", 1);
        text_add(&text, p, 1);
    }
    text_addf(&text, SOCKET_FOLDER "'");
    return text_take(&text);
}
