/* How the time to create a filesystem, and to bring all back, grows with the number already there. */
#include "engine/lane.h"
#include "engine/provision/sharer.h"
#include "engine/slowdown.h"
#include "engine/workload/filesystem_scaling_legs.h"
#include "engine/workload/workload.h"
#include "engine/workspace.h"

#include <errno.h>

struct filesystem_scaling {
    uint64_t filesystems, batch;
    int share; /* 0: none */
    int cycle; /* enum cycle */
    uint64_t cycle_every;
    nsec reboot_within;
    uint64_t operations;
    bool mounted;
    int filesystem; /* enum mkfs_kind */
    uint64_t image_bytes;
    struct texts properties; /* name=value */
    nsec max_seconds;
    double stop_when_slower_than;
};

enum { DO_CREATE = 1, DO_LIST = 2, DO_CYCLE = 4, DO_DESTROY = 8 };

static const char *const shares[] = { "none", "nfs", NULL };
static const char *const cycles[] = { "none", "remount", "import", "reboot", NULL };
static const char *const operations[] = { "create", "list", "cycle", "destroy", NULL };
static const char *const kinds[] = { "ext4", "xfs", NULL };

static const struct field params[] = {
    FIELD_COUNT(struct filesystem_scaling, filesystems,
                "Filesystems to create in all; on a target of kind directory, directories.",
                .min = 1, .max = 9999999, .preset = 1000, .unit = "filesystems"),
    FIELD_COUNT(struct filesystem_scaling, batch, "Filesystems timed together.", .min = 1,
                .max = 1e6, .preset = 100, .unit = "filesystems"),
    FIELD_CHOICE(struct filesystem_scaling, share,
                 "Whether each is shared by NFS once it is there, timed apart, by the means that "
                 "the target allows.",
                 .choices = shares, .preset_text = "none"),
    FIELD_CHOICE(
        struct filesystem_scaling, cycle,
        "How all are taken away and brought back: unmounted and mounted, by export and import "
        "of the pool, or by a restart of the machine.",
        .choices = cycles, .preset_text = "none"),
    FIELD_COUNT(struct filesystem_scaling, cycle_every,
                "After how many batches all are brought back.", .min = 1, .max = 1e6, .preset = 1,
                .unit = "batches"),
    FIELD_SECONDS(struct filesystem_scaling, reboot_within,
                  "With cycle reboot: how long the machine may take to be up again. One that takes "
                  "longer has failed the job.",
                  .min = 60, .max = 86400, .preset = 7200, .unit = "s"),
    FIELD_CHOICES(struct filesystem_scaling, operations,
                  "What is measured, in this order; without destroy, clean-up destroys them.",
                  .choices = operations, .preset_text = "create,list,cycle,destroy"),
    FIELD_BOOL(struct filesystem_scaling, mounted,
               "Whether each has a mount point; no: mountpoint=none on zfs, and images are made "
               "and not mounted.",
               .preset = 1),
    FIELD_CHOICE(struct filesystem_scaling, filesystem,
                 "What is made in an image; for targets of kind mkfs.", .choices = kinds,
                 .preset_text = "ext4"),
    FIELD_BYTES(struct filesystem_scaling, image_bytes,
                "The size of an image, which is sparse; for targets of kind mkfs.", .min = 1 << 20,
                .max = 1e15, .preset = 512 << 20, .unit = "bytes"),
    FIELD_TEXTS(struct filesystem_scaling, properties,
                "Properties of the dataset that holds the filesystems, which inherit them, as "
                "compression=off; those that the target's administrator allows, on kind zfs."),
    FIELD_SECONDS(
        struct filesystem_scaling, max_seconds,
        "How long a phase may take; 0 is no bound. Reaching it is a limit, not a failure.",
        .max = 30 * 86400, .unit = "s"),
    FIELD_SLOWER(struct filesystem_scaling),
    FIELD_END,
};

/* By the name before the equals sign. By hand there is no administrator but whoever asks. */
static bool is_allowed(const struct target *target, const char *property)
{
    size_t n = strcspn(property, "=");
    if (property[n] != '=' || n == 0 || target->kind != TARGET_ZFS)
        return false;
    for (size_t i = 0; i < target->properties.n; i++)
        if (strncmp(target->properties.at[i], property, n) == 0 && target->properties.at[i][n] == 0)
            return true;
    return target->name[0] == 0;
}

static int check_target(const struct filesystem_scaling *with, const struct target *target,
                        struct problem *why)
{
    const struct provisioner *provisioner = provisioner_of(target);
    if (!provisioner)
        return 0; /* workload_fits() tells */
    if (with->cycle != CYCLE_NONE && !(provisioner->cycles & 1u << with->cycle))
        return problem_field(why, "/params/cycle",
                             "a target of kind %s cannot be brought back by %s",
                             target_kinds[target->kind], cycles[with->cycle]);
    if (with->share && sharing_check(target, with->filesystems, why))
        return -1;
    for (size_t i = 0; i < with->properties.n; i++)
        if (!is_allowed(target, with->properties.at[i]))
            return problem_field(why, "/params/properties",
                                 "the target does not allow %s: properties are name=value, on kind "
                                 "zfs, and its setting properties "
                                 "lists what a request may set",
                                 with->properties.at[i]);
    return 0;
}

static int check(const void *params_, const struct target *target, struct problem *why)
{
    const struct filesystem_scaling *with = params_;
    if (!(with->operations & DO_CREATE))
        return problem_field(why, "/params/operations",
                             "operations must have create: the others work on what it made");
    if (with->cycle == CYCLE_REMOUNT && !with->mounted)
        return problem_field(why, "/params/cycle",
                             "what is not mounted cannot be brought back by remount");
    if (with->share && !with->mounted)
        return problem_field(why, "/params/share", "what is not mounted cannot be shared");
    if (with->cycle == CYCLE_REBOOT && with->stop_when_slower_than > 0)
        return problem_field(
            why, "/params/stop_when_slower_than",
            "with cycle reboot nothing is stopped for being slower: a machine that "
            "has just started is no longer what the first batches had");
    if (slowdown_check(with->stop_when_slower_than, why))
        return -1;
    return target ? check_target(with, target, why) : 0;
}

/* --- lanes --- */

struct site {
    const struct filesystem_scaling *with;
    const struct provisioner *provisioner;
    struct pool *pool; /* NULL: nothing is done */
    struct ledger *made;
    struct sharing *sharing; /* NULL: nothing is shared */
    /* of the one lane that works at a time; read after it has ended */
    uint64_t created, mounted, destroyed, stranger; /* stranger: 0, or its number plus 1 */
    uint64_t shared, unshared;
    uint64_t listed;
    struct legs earlier;
    bool reboot_due; /* the leg is to end here */
};

typedef int operation(struct pool *pool, uint64_t number, struct problem *why);

/* What became of one: 0 it is done; 1 a limit of the target ended the phase; -1. */
static int judge(struct lane *lane, int result, uint64_t number, const char *doing,
                 struct problem *why)
{
    char name[FILESYSTEM_NAME];
    struct limit limit;
    filesystem_name(name, 'f', number);
    if (result > 0)
        return lane_refused(lane, result, ATTEMPT_NAME, number, doing, name, why) ? -1 : 1;
    if (result < 0 && provision_limit(why, &limit)) {
        *why = (struct problem){ 0 };
        lane_limit(lane, &limit);
        return 1;
    }
    if (result < 0)
        return problem_during(why, "filesystem %llu: ", (unsigned long long)number);
    return 0;
}

static int work_each(struct lane *lane, struct pool *pool, operation *operate, const char *doing,
                     uint64_t *done, uint64_t *stranger, struct problem *why)
{
    uint64_t number, n;
    while ((n = lane_claim(lane, &number)) > 0)
        for (uint64_t end = number + n; number < end; number++) {
            int result = pool ? operate(pool, number, why) : 0;
            if (result == EEXIST && stranger)
                *stranger = number + 1;
            if ((result = judge(lane, result, number, doing, why)))
                return result < 0 ? -1 : 0;
            (*done)++;
            if (!lane_note(lane, 0))
                return 0;
        }
    return 0;
}

static int create_lane(struct lane *lane, const void *arg, struct problem *why)
{
    struct site *site = *(struct site *const *)arg;
    provision_enter(site->made);
    return work_each(lane, site->pool, site->pool ? site->provisioner->create : NULL, "create",
                     &site->created, &site->stranger, why);
}

static int mount_lane(struct lane *lane, const void *arg, struct problem *why)
{
    struct site *site = *(struct site *const *)arg;
    provision_enter(site->made);
    return work_each(lane, site->pool, site->pool ? site->provisioner->mount : NULL, "mount",
                     &site->mounted, NULL, why);
}

static int share_lane(struct lane *lane, const void *arg, struct problem *why)
{
    struct site *site = *(struct site *const *)arg;
    uint64_t number, n;
    while ((n = lane_claim(lane, &number)) > 0)
        for (uint64_t end = number + n; number < end; number++) {
            int result =
                judge(lane, sharing_share(site->sharing, number, why), number, "share", why);
            if (result)
                return result < 0 ? -1 : 0;
            site->shared++;
            if (!lane_note(lane, 0))
                return 0;
        }
    return 0;
}

static int unshare_lane(struct lane *lane, const void *arg, struct problem *why)
{
    struct site *site = *(struct site *const *)arg;
    uint64_t number, n;
    while ((n = lane_claim(lane, &number)) > 0)
        for (uint64_t end = number + n; number < end; number++) {
            if (sharing_unshare(site->sharing, number, why))
                return problem_during(why, "filesystem %llu: ", (unsigned long long)number);
            site->unshared++;
            if (!lane_note(lane, 0))
                return 0;
        }
    return 0;
}

/* What is not ours any more counts as gone: it is found and told by clean-up. */
static int destroy_one(struct site *site, uint64_t number, struct problem *why)
{
    bool is_shared =
        number >= site->unshared && number < site->shared; /* no time was left for it */
    if (is_shared && sharing_unshare(site->sharing, number, why))
        return -1;
    int foreign = site->provisioner->destroy(site->pool, number, why);
    return foreign < 0 ? -1 : 0;
}

static int destroy_lane(struct lane *lane, const void *arg, struct problem *why)
{
    struct site *site = *(struct site *const *)arg;
    uint64_t number, n;
    while ((n = lane_claim(lane, &number)) > 0)
        for (uint64_t end = number + n; number < end; number++) {
            if (site->pool && destroy_one(site, number, why))
                return problem_during(why, "filesystem %llu: ", (unsigned long long)number);
            site->destroyed++;
            if (!lane_note(lane, 0))
                return 0;
        }
    return 0;
}

/* All are away and back, and shared again where they were. */
static int cycle_all(struct site *site, struct problem *why)
{
    if (site->sharing && sharing_withdraw(site->sharing, site->shared, why))
        return -1;
    if (site->provisioner->cycle(site->pool, site->created, why))
        return -1;
    return site->sharing ? sharing_restore(site->sharing, site->shared, why) : 0;
}

/* One cycle, at the number that is in place. */
static int cycle_lane(struct lane *lane, const void *arg, struct problem *why)
{
    struct site *site = *(struct site *const *)arg;
    uint64_t number;
    lane->load = site->created;
    if (lane_claim(lane, &number) == 0)
        return 0;
    if (site->pool && cycle_all(site, why))
        return -1;
    lane_note(lane, 0);
    return 0;
}

static int list_lane(struct lane *lane, const void *arg, struct problem *why)
{
    struct site *site = *(struct site *const *)arg;
    if (!lane_begin(lane))
        return 0;
    if (site->pool && site->provisioner->list(site->pool, &site->listed, why))
        return -1;
    lane_note_many(lane, site->listed, 0);
    return 0;
}

static int parent_lane(struct lane *lane, const void *arg, struct problem *why)
{
    struct site *site = *(struct site *const *)arg;
    uint64_t number;
    if (lane_claim(lane, &number) == 0)
        return 0;
    if (site->provisioner->make_parent(site->pool, why))
        return -1;
    lane_note(lane, 0);
    return 0;
}

/* --- phases --- */

/* What goes on in turns: each a phase, worked in stretches. */
struct turns {
    struct stage *create, *mount, *share, *cycle;
};

static void turns_done(struct turns *turns)
{
    stage_free(turns->create);
    stage_free(turns->mount);
    stage_free(turns->share);
    stage_free(turns->cycle);
}

static uint64_t batches(const struct filesystem_scaling *with)
{
    return (with->filesystems + with->batch - 1) / with->batch;
}

/* Whether the machine is restarted so that all come back, rather than that each is brought back in turns. */
static bool does_reboot(const struct filesystem_scaling *with)
{
    return with->cycle == CYCLE_REBOOT && with->operations & DO_CYCLE &&
           batches(with) / with->cycle_every > 0;
}

static int open_turns(struct run *run, struct site *const *site, struct turns *turns,
                      struct problem *why)
{
    const struct filesystem_scaling *with = (*site)->with;
    const struct provisioner *provisioner = (*site)->provisioner;
    struct phase phase = { .name = "create",
                           .unit = "filesystems",
                           .lanes = 1,
                           .total = with->filesystems,
                           .batch = with->batch,
                           .duration = with->max_seconds,
                           .slower = with->stop_when_slower_than,
                           .before = (*site)->earlier.created,
                           .worked = (*site)->earlier.create_ns,
                           .cost = { .inodes = 1 },
                           .body = create_lane,
                           .arg = site };
    if (stage_open(run, &phase, &turns->create, why))
        return -1;
    phase.cost = (struct cost){ 0 };
    phase.slower = 0;
    phase.before = (*site)->earlier.mounted;
    phase.worked = (*site)->earlier.mount_ns;
    phase.name = "mount";
    phase.body = mount_lane;
    if (provisioner && provisioner->mounts && with->mounted &&
        ((*site)->pool == NULL || provisioner->make_parent || with->cycle == CYCLE_REMOUNT ||
         strcmp(provisioner->name, "mkfs") == 0) &&
        stage_open(run, &phase, &turns->mount, why))
        return -1;
    phase.before = (*site)->earlier.shared;
    phase.worked = (*site)->earlier.share_ns;
    phase.name = "share";
    phase.body = share_lane;
    if ((*site)->sharing && stage_open(run, &phase, &turns->share, why))
        return -1;
    phase.before = 0;
    phase.worked = 0;
    phase.name = "cycle";
    phase.body = cycle_lane;
    phase.batch = 1;
    phase.total = batches(with) / with->cycle_every;
    phase.at_load = true;
    if (provisioner && provisioner->cycle && with->cycle != CYCLE_NONE && !does_reboot(with) &&
        with->operations & DO_CYCLE && phase.total && stage_open(run, &phase, &turns->cycle, why))
        return -1;
    return 0;
}

/* Only what is told can be known again, so it is told before the next ones are made. */
static int account(struct run *run, struct site *site, uint64_t next, struct problem *why)
{
    if (!site->pool)
        return 0;
    if (site->provisioner->identify && site->provisioner->identify(site->pool, site->created, why))
        return -1;
    if (site->sharing && next && sharing_claim(site->sharing, next, why))
        return -1;
    site->made->claimed = next > site->made->claimed ? next : site->made->claimed;
    return run_made_tell(run, why);
}

/* One stretch: some are created, mounted and shared. 1: no more are to come. */
static int bring(struct run *run, struct site *site, struct turns *turns, uint64_t until,
                 struct problem *why)
{
    if (account(run, site, until, why))
        return -1;
    int over = stage_work(turns->create, until, why);
    if (over < 0)
        return -1;
    if (over && account(run, site, 0, why)) /* how far it came */
        return -1;
    int unmounted = turns->mount ? stage_work(turns->mount, site->created, why) : 0;
    if (unmounted < 0)
        return -1;
    uint64_t there = turns->mount ? site->mounted : site->created;
    int unshared = turns->share ? stage_work(turns->share, there, why) : 0;
    return unshared < 0 ? -1 : over || unmounted || unshared || site->created < until;
}

static int take_turns(struct run *run, struct site *site, struct turns *turns, struct problem *why)
{
    const struct filesystem_scaling *with = site->with;
    uint64_t cycled = 0, stretch = with->batch * with->cycle_every, until = site->created;
    /* What is not told one by one needs no stop after each batch. */
    uint64_t step = site->provisioner && site->provisioner->identify ? with->batch : stretch;
    int over = 0;
    while (!over && !site->reboot_due && until < with->filesystems) {
        until = until + step < with->filesystems ? until + step : with->filesystems;
        over = bring(run, site, turns, until, why);
        site->reboot_due = !over && site->pool && does_reboot(with) && until % stretch == 0;
        if (!over && turns->cycle && until % stretch == 0)
            over = stage_work(turns->cycle, ++cycled, why);
    }
    return over < 0 ? -1 : account(run, site, 0, why);
}

/* Each is ended, whatever became of the others; the first failure is the one that is told. */
static int end_turns(struct turns *turns, struct problem *why)
{
    struct stage *const stages[] = { turns->create, turns->mount, turns->share, turns->cycle };
    int result = 0;
    bool limited;
    for (size_t i = 0; i < COUNT_OF(stages); i++) {
        struct problem own = { 0 };
        if (stages[i] && stage_end(stages[i], &limited, &own)) {
            result = -1;
            if (!why->code || (why->code == PROBLEM_CANCELLED && own.code != PROBLEM_CANCELLED))
                *why = own;
        }
    }
    return result;
}

static int create_all(struct run *run, struct site *site, struct problem *why)
{
    scoped(turns_done) struct turns turns = { 0 };
    struct problem broken = { 0 };
    struct site *const at = site;
    if (open_turns(run, &at, &turns, why))
        return -1;
    int worked = take_turns(run, site, &turns, &broken);
    if (site->stranger) {
        char name[FILESYSTEM_NAME];
        filesystem_name(name, 'f', site->stranger - 1);
        run_foreign(run, name);
    }
    int ended = end_turns(&turns, why);
    site->earlier = (struct legs){ .created = site->created,
                                   .mounted = site->mounted,
                                   .shared = site->shared,
                                   .create_ns = stage_worked(turns.create),
                                   .mount_ns = turns.mount ? stage_worked(turns.mount) : 0,
                                   .share_ns = turns.share ? stage_worked(turns.share) : 0 };
    if (worked && !why->code)
        *why = broken;
    return worked || ended ? -1 : 0;
}

static int run_simple(struct run *run, struct site *site, const char *name, uint64_t total,
                      uint64_t batch, lane_fn *body, struct problem *why)
{
    struct site *const at = site;
    bool limited;
    const struct phase phase = { .name = name,
                                 .unit = "filesystems",
                                 .lanes = 1,
                                 .total = total,
                                 .batch = batch,
                                 .duration = site->with->max_seconds,
                                 .body = body,
                                 .arg = &at };
    return run_phase(run, &phase, &limited, why);
}

static int list_all(struct run *run, struct site *site, struct problem *why)
{
    site->listed = site->created; /* also when its time is over before it began */
    if (run_simple(run, site, "list", site->created, site->created, list_lane, why))
        return -1;
    if (site->listed != site->created)
        return problem_set(why, PROBLEM_IO_FAILED,
                           "phase list: the system shows %llu filesystems where %llu were created",
                           (unsigned long long)site->listed, (unsigned long long)site->created);
    return 0;
}

/* --- legs --- */

/* The machine was restarted: what did not come back with it is brought back, as an administrator's boot would
 * have; then all must be there. */
static int come_back(struct run *run, struct site *site, struct problem *why)
{
    const struct provisioner *provisioner = site->provisioner;
    uint64_t brought_back = 0, there;
    if (legs_read(run_resumed(run)->state, &site->earlier, why))
        return -1;
    site->created = site->earlier.created;
    site->mounted = site->earlier.mounted;
    site->shared = site->earlier.shared;
    if ((provisioner->boot && provisioner->boot(site->pool, site->created, &brought_back, why)) ||
        provisioner->list(site->pool, &there, why))
        return problem_during(why, "after the reboot: ");
    if (there != site->created)
        return problem_set(why, PROBLEM_IO_FAILED,
                           "after the reboot the system shows %llu filesystems where %llu were "
                           "created",
                           (unsigned long long)there, (unsigned long long)site->created);
    if (site->sharing && sharing_restore(site->sharing, site->shared, why))
        return problem_during(why, "after the reboot: ");
    return legs_tell(run, site->created, brought_back, why);
}

static int restart(struct run *run, const struct site *site, struct problem *why)
{
    const struct filesystem_scaling *with = site->with;
    char state[LEGS_TEXT];
    const struct reboot reboot = { .state = state,
                                   .batch = site->created / with->batch,
                                   .within = with->reboot_within };
    return legs_write(&site->earlier, state, why) ? -1 : run_reboot(run, &reboot, why);
}

static int measure(struct run *run, struct site *site, struct problem *why)
{
    uint64_t wanted = site->with->operations;
    if (run_resumed(run)) {
        if (come_back(run, site, why))
            return -1;
    } else if (site->pool && site->provisioner->make_parent &&
               run_simple(run, site, "parent", 1, 1, parent_lane, why)) {
        return -1;
    }
    if (!run_resumed(run) && site->sharing &&
        sharing_begin(site->sharing, site->provisioner, site->pool, why))
        return -1;
    if (site->created < site->with->filesystems && create_all(run, site, why))
        return -1;
    if (site->reboot_due)
        return restart(run, site, why);
    if (site->created && wanted & DO_LIST && list_all(run, site, why))
        return -1;
    if (site->shared && wanted & DO_DESTROY &&
        run_simple(run, site, "unshare", site->shared, site->with->batch, unshare_lane, why))
        return -1;
    if (site->created && wanted & DO_DESTROY)
        return run_simple(run, site, "destroy", site->created, site->with->batch, destroy_lane,
                          why);
    return 0;
}

static struct provision provision_of(struct run *run, const struct filesystem_scaling *with)
{
    struct workspace *workspace = run_workspace(run);
    return (struct provision){ .target = run_target(run),
                               .name = run_name(run),
                               .folder = workspace ? workspace_fd(workspace) : -1,
                               .path = workspace ? workspace_path(workspace) : NULL,
                               .cycle = (enum cycle)with->cycle,
                               .mounted = with->mounted,
                               .filesystem = (enum mkfs_kind)with->filesystem,
                               .image_bytes = with->image_bytes,
                               .properties = &with->properties,
                               .made = run_made(run),
                               .stop = -1 };
}

/* Of a target that has a path. */
static int check_trust(const struct provisioner *provisioner, const struct provision *with,
                       const struct filesystem_scaling *params_, struct problem *why)
{
    bool by_path = provisioner->by_path || params_->share || with->cycle == CYCLE_REMOUNT;
    return by_path && with->target->path && geteuid() == 0
               ? provision_trusts(with->target->path, why)
               : 0;
}

static int run_all(struct run *run, const void *params_, struct problem *why)
{
    const struct filesystem_scaling *with = params_;
    struct site site = { .with = with, .made = run_made(run) };
    if (run_is_null(run))
        return measure(run, &site, why);
    struct provision provision = provision_of(run, with);
    provision.stop = run_cancelled_fd(run);
    provision.resumed = run_resumed(run) != NULL;
    site.provisioner = provisioner_of(provision.target);
    if (check_target(with, provision.target, why) ||
        check_trust(site.provisioner, &provision, with, why) ||
        site.provisioner->open(&provision, &site.pool, why))
        return -1;
    int result = provision_begin(run, provision.folder, why) ||
                         (with->share && sharing_open(&provision, &site.sharing, why))
                     ? -1
                     : measure(run, &site, why);
    sharing_close(site.sharing);
    site.provisioner->close(site.pool);
    return result;
}

/* Nothing is made before the mark is told: without it there is nothing, and no tool is asked. */
static int unmake(struct run *run, const struct filesystem_scaling *with, struct problem *why)
{
    struct provision provision = provision_of(run, with);
    const struct provisioner *provisioner = provisioner_of(provision.target);
    const struct ledger *made = provision.made;
    struct pool *pool = NULL;
    provision.cleaning = true;
    if (!made->mark && !made->claimed && !made->parent[0])
        return 0;
    if (provision.folder >= 0)
        provision_unprobe(provision.folder, made);
    if (sharing_clean(run, &provision, why))
        return -1;
    if (provision.folder < 0 && provision.target->path) /* the run directory is gone */
        return 0;
    if (provisioner->open(&provision, &pool, why))
        return -1;
    int result = provisioner->clean(pool, run, why);
    provisioner->close(pool);
    return result;
}

static int clean(struct run *run, const void *params_, struct problem *why)
{
    struct workspace *workspace = run_workspace(run);
    size_t foreign;
    if (provision_outlived(run_name(run), why) || unmake(run, params_, why))
        return -1;
    if (!workspace)
        return 0;
    int left = workspace_remove(workspace, why);
    run_foreign_names(run, &foreign);
    if (left > 0 && foreign == 0)
        return problem_set(why, PROBLEM_CONFLICT, "something new appeared in the run directory");
    return left < 0 ? -1 : 0;
}

static const char *reboots(const void *params_)
{
    return does_reboot(params_) ? "/params/cycle" : NULL;
}

const struct workload filesystem_scaling = {
    .name = "filesystem-scaling",
    .summary = "How the time to create a filesystem, and to bring all of them back, grows with the "
               "number already there.",
    .params = params,
    .params_size = sizeof(struct filesystem_scaling),
    .targets = 1 << TARGET_DIRECTORY | 1 << TARGET_ZFS | 1 << TARGET_BTRFS | 1 << TARGET_MKFS,
    .reboots = reboots,
    .check = check,
    .run = run_all,
    .clean = clean,
};
