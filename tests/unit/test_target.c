#include "engine/mountinfo.h"
#include "engine/target.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/folder.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct targets load(const char *settings)
{
    scoped_free char *path = in_folder("x.conf");
    struct targets targets = { 0 };
    struct problem why = { 0 };
    write_file("x.conf", settings, strlen(settings));
    if (targets_load(path, &targets, &why) < 0)
        fail_msg("%s", why.message);
    return targets;
}

static void reads_targets_in_their_order(void **state)
{
    (void)state;
    struct targets targets = load("[service]\nlisten = whatever\n"
                                  "[target scratch]\nkind = directory\npath = /srv/scratch\n"
                                  "run_as = nobody\nreserve = 10%\ncold = remount, drop-caches\n"
                                  "observe = https://me:secret@[::1]:9100/metrics?x\n"
                                  "[target b]\npath = /b\nconcurrent = yes\n"
                                  "[target c]\npath = /c\nobserve = http://filer\n");
    assert_int_equal(targets.n, 3);
    assert_string_equal(targets_find(&targets, "c")->observe, "http://filer");
    assert_string_equal(targets_find(&targets, "scratch")->observe,
                        "https://me:secret@[::1]:9100/metrics?x");
    assert_null(targets_find(&targets, "b")->observe);
    const struct target *scratch = targets_find(&targets, "scratch");
    const struct target *b = targets_find(&targets, "b");
    assert_ptr_equal(scratch, &targets.at[0]);
    assert_string_equal(scratch->path, "/srv/scratch");
    assert_string_equal(scratch->run_as, "nobody");
    assert_float_equal(scratch->reserve, 0.1, 1e-12);
    assert_int_equal(scratch->cold, 2 | 4);
    assert_false(scratch->concurrent);
    assert_int_equal(b->kind, TARGET_DIRECTORY);
    assert_null(b->run_as);
    assert_float_equal(b->reserve, 0.05, 1e-12);
    assert_true(b->concurrent);
    assert_null(targets_find(&targets, "d"));
    targets_done(&targets);
    assert_int_equal(targets.n, 0);
}

static void refuses_what_cannot_be_a_target(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *message;
    } rows[] = {
        { "[target a]\nkind = directory\n", ":1: path must be given: the folder to be measured" },
        { "[target a]\npath = srv\n", ":1: path must be absolute and without '..', not srv" },
        { "[target a]\npath = /srv/../etc\n",
          ":1: path must be absolute and without '..', not /srv/../etc" },
        { "[target a]\npath = /srv/..\n",
          ":1: path must be absolute and without '..', not /srv/.." },
        { "[target a]\npath = /x\nkind = tape\n",
          ":3: kind must be one of directory, nfs, zfs, btrfs, mkfs, not tape" },
        { "[target a]\npath = /x\nkind = nfs\n",
          ":1: url must be given: the export, as nfs://host/export" },
        { "[target a]\nurl = nfs://h/x\nkind = nfs\npath = /x\n",
          ":1: path does not go with kind nfs, which has url" },
        { "[target a]\nurl = http://h/x\nkind = nfs\n",
          ":1: url must be as nfs://host/export, not http://h/x" },
        { "[target a]\nkind = nfs\nurl = nfs://h/x?version=4\n",
          ":1: url: version must be 3, as libnfs writes no record of 4 KiB or more by NFSv4; "
          "for that mount the export on this host and make it a target of kind directory" },
        { "[target a]\nkind = nfs\nurl = nfs://h/x?nfsport=99999\n",
          ":1: url: nfsport must be a port from 1 to 65535" },
        { "[target a]\nkind = nfs\nurl = nfs://h:2049\n",
          ":1: url: the port must be from 1 to 65535, and the export after it" },
        { "[target a]\nkind = nfs\nurl = nfs:///x\n",
          ":1: url must be as nfs://host/export, not nfs:///x" },
        { "[target a]\nkind = nfs\nurl = nfs://h/x?version=3&soft=1\n",
          ":1: url may end in ?version=3&nfsport=N&mountport=N, not in soft=1" },
        { "[target a]\npath = /x\nobserve = filer:9100\n",
          ":1: observe must be the address of a node exporter, as http://host:9100/metrics or "
          "https://..." },
        { "[target a]\npath = /x\nobserve = file:///etc/passwd\n",
          ":1: observe must be the address of a node exporter, as http://host:9100/metrics or "
          "https://..." },
        { "[target a]\npath = /x\nobserve = http://me:secret@/metrics\n",
          ":1: observe must be the address of a node exporter, as http://host:9100/metrics or "
          "https://..." },
        { "[target a]\npath = /x\nobserve = http://[::1/metrics\n",
          ":1: observe must be the address of a node exporter, as http://host:9100/metrics or "
          "https://..." },
        { "[target a]\npath = /x\nobserve = http://a b/metrics\n",
          ":1: observe must be the address of a node exporter, as http://host:9100/metrics or "
          "https://..." },
        { "[target a]\npath = /x\nobserve = https://me:secret@h:99999/metrics\n",
          ":1: observe: the port must be from 1 to 65535" },
        { "[target a]\npath = /x\nobserve = http://h:/metrics\n",
          ":1: observe: the port must be from 1 to 65535" },
        { "[target a]\nkind = zfs\n",
          ":1: dataset must be given: the dataset under which runs make theirs, as tank/bench" },
        { "[target a]\npath = /x\nreserve = 100%\n",
          ":3: reserve must be a share from 0 % to 99 %, such as 0.05 or 5%, not 100%" },
        { "[target a]\npath = /x\nshare = samba\n",
          ":3: share must be one of none, zfs, exportfs, ganesha, not samba" },
        { "[target a]\npath = /x\nshare = zfs\n",
          ":1: share cannot be zfs for kind directory: sharenfs is a property of datasets" },
        { "[target a]\nkind = nfs\nurl = nfs://h/x\nshare = ganesha\n",
          ":1: share does not go with kind nfs: its server shares what it holds" },
        { "[target a]\npath = /x\nshare = exportfs\nshare_clients = 10.0.0.0/8, -o\n",
          ":1: share_clients must be addresses, networks or names, not -o" },
        { "[target a]\npath = /x\nshare = exportfs\nshare_clients = a(rw)\n",
          ":1: share_clients must be addresses, networks or names, not a(rw)" },
        { "[target a]\npath = /x\nshare = exportfs\nshare_options = rw,fsid=7 x\n",
          ":1: share_options must be as rw, no_root_squash, fsid=7 for share = exportfs, not "
          "fsid=7 "
          "x" },
        { "[target a]\npath = /x\nshare = ganesha\nshare_options = rw\n",
          ":1: share_options must be as Squash=No_Root_Squash, SecType=sys for share = ganesha, "
          "not "
          "rw" },
        { "[target a]\npath = /x\nshare = ganesha\nshare_id_first = 9\nshare_id_last = 8\n",
          ":1: share_id_last must not be below share_id_first, which is 9" },
        { "[target a]\npath = /x\nshare = ganesha\nshare_id_last = 65536\n",
          ":4: share_id_last must be a whole number from 1 to 65535, not 65536" },
        { "[target a]\npath = /x\nshare = ganesha\nshare_pseudo = x/y\n",
          ":1: share_pseudo must be a plain absolute path, as /plimsoll, not x/y" },
        { "[target a]\npath = /x\nshare = ganesha\nshare_pseudo = /x/../y\n",
          ":1: share_pseudo must be a plain absolute path, as /plimsoll, not /x/../y" },
        { "[target a]\npath = /my files\nshare = exportfs\n",
          ":1: path must be without spaces, quotes and any of \\ # : , ; { } to be shared, not /my "
          "files" },
        { "[target a]\npth = /x\n", ":2: there is no field pth; did you mean path?" },
        { "[target a]\npath = /a\n[target b]\n",
          ":3: path must be given: the folder to be measured" },
    };
    scoped_free char *path = in_folder("x.conf");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        scoped_free char *message = text_new("%s%s", path, rows[i].message);
        struct targets targets = { 0 };
        struct problem why = { 0 };
        write_file("x.conf", rows[i].settings, strlen(rows[i].settings));
        assert_int_equal(targets_load(path, &targets, &why), -1);
        assert_string_equal(why.message, message);
        assert_int_equal(targets.n, 0);
    }
}

static void allows_two_dots_within_a_name(void **state)
{
    (void)state;
    struct targets targets = load("[target a]\npath = /srv/..data/x\n");
    assert_int_equal(targets.n, 1);
    targets_done(&targets);
}

static void probes_what_stands_there(void **state)
{
    (void)state;
    struct target target = { .path = folder };
    struct target_facts facts;
    struct problem why = { 0 };
    struct stat st;
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(target_probe(&target, &facts, &why), 0);
    assert_true(facts.usable);
    assert_string_equal(facts.reason, "");
    assert_true(facts.filesystem[0] && facts.mount_point[0] == '/' && facts.mount_options[0]);
    assert_true(facts.space_total >= facts.space_available);
    assert_true(facts.inodes_total >= facts.inodes_available);
    assert_int_equal(facts.device, st.st_dev);
}

static void says_why_a_target_is_not_usable(void **state)
{
    (void)state;
    char nothing[] = "/nonexistent/x", file[] = "/etc/passwd", nobody[] = "no-one";
    struct {
        struct target target;
        const char *reason;
    } rows[] = {
        { { .path = nothing }, "its folder cannot be opened: No such file or directory" },
        { { .path = file }, "its folder cannot be opened: Not a directory" },
        { { .path = folder, .run_as = nobody }, "there is no user no-one to run as" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct target_facts facts;
        struct problem why = { 0 };
        assert_int_equal(target_probe(&rows[i].target, &facts, &why), 0);
        assert_false(facts.usable);
        assert_string_equal(facts.reason, rows[i].reason);
    }
}

static void reads_lines_of_the_mount_table(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t id;
        const char *type, *point, *options, *source, *root;
        unsigned major, minor;
    } rows[] = {
        { "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n", 36,
          "ext3", "/mnt2", "rw,noatime,errors=continue", "/dev/root", "/mnt1", 98, 0 },
        { "99 22 0:44 /@home /home rw,relatime shared:1 propagate_from:2 - btrfs /dev/sda2 "
          "rw,ssd,space_cache=v2,subvolid=257",
          99, "btrfs", "/home", "rw,relatime,ssd,space_cache=v2,subvolid=257", "/dev/sda2",
          "/@home", 0, 44 },
        { "7 1 0:50 / /mnt/a\\040b\\134c ro - nfs4 filer:/export ro,vers=4.2", 7, "nfs4",
          "/mnt/a b\\c", "ro,vers=4.2", "filer:/export", "/", 0, 50 },
        { "25 24 0:23 / /dev/shm rw - tmpfs tmpfs", 25, "tmpfs", "/dev/shm", "rw", "tmpfs", "/", 0,
          23 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct mountinfo mount;
        uint64_t id;
        assert_int_equal(mountinfo_parse(rows[i].line, &id, &mount), 0);
        assert_int_equal(id, rows[i].id);
        assert_string_equal(mount.type, rows[i].type);
        assert_string_equal(mount.point, rows[i].point);
        assert_string_equal(mount.options, rows[i].options);
        assert_string_equal(mount.source, rows[i].source);
        assert_string_equal(mount.root, rows[i].root);
        assert_int_equal(mount.major, rows[i].major);
        assert_int_equal(mount.minor, rows[i].minor);
    }
}

static void refuses_broken_lines_of_the_mount_table(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "", "36", "36 35 98:0", "36 35 98:0 / /mnt rw", "36 35 98:0 / /mnt rw - ext3", "a b c"
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct mountinfo mount;
        uint64_t id;
        if (mountinfo_parse(lines[i], &id, &mount) == 0)
            fail_msg("'%s' was taken", lines[i]);
    }
}

static void finds_the_mount_of_a_folder(void **state)
{
    (void)state;
    scoped_fd int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct mountinfo mount;
    struct problem why = { 0 };
    assert_int_equal(mountinfo_of(proc, &mount, &why), 0);
    assert_string_equal(mount.type, "proc");
    assert_string_equal(mount.point, "/proc");
}

/* In a chroot whose "/" is a plain folder, the mount that it lies on is in no table. */
static void tells_a_folder_of_a_chroot_from_the_filesystem_itself(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t child = fork();
    if (child == 0) {
        scoped_free char *proc = in_folder("proc");
        struct target target = { .path = (char[]){ "/" } };
        struct target_facts facts = { 0 };
        struct problem why = { 0 };
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mkdir(proc, 0755) != 0 || mount("proc", proc, "proc", 0, NULL) != 0 ||
            chroot(folder) != 0 || chdir("/") != 0)
            _exit(77);
        if (target_probe(&target, &facts, &why) != 0 || !facts.usable ||
            strcmp(facts.mount_point, "/") != 0 || strcmp(facts.filesystem, "unknown") == 0 ||
            strncmp(facts.mount_options, "rw", 2) != 0 || facts.space_total == 0) {
            fprintf(stderr, "%s%s: %s at %s, %s\n", why.message, facts.reason, facts.filesystem,
                    facts.mount_point, facts.mount_options);
            _exit(1);
        }
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(reads_targets_in_their_order),
        IN_FOLDER(refuses_what_cannot_be_a_target),
        IN_FOLDER(allows_two_dots_within_a_name),
        IN_FOLDER(probes_what_stands_there),
        IN_FOLDER(says_why_a_target_is_not_usable),
        IN_FOLDER(tells_a_folder_of_a_chroot_from_the_filesystem_itself),
        cmocka_unit_test(reads_lines_of_the_mount_table),
        cmocka_unit_test(refuses_broken_lines_of_the_mount_table),
        cmocka_unit_test(finds_the_mount_of_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
