/* Targets: the places an administrator allows to be measured, read from the settings by both
 * programs. A request names one; it never carries a path. */
#pragma once
#include "engine/base/field.h"
#include "engine/base/ini.h"
#include "engine/base/problem.h"

enum target_kind { TARGET_DIRECTORY, TARGET_NFS, TARGET_ZFS, TARGET_BTRFS, TARGET_MKFS };

enum cold_way { COLD_FADVISE = 1, COLD_REMOUNT = 2, COLD_DROP_CACHES = 4 }; /* bits of `cold` */

struct target {
    char *name;
    int kind;
    char *path;              /* directory, btrfs, mkfs: absolute */
    char *url;               /* nfs: nfs://host/export?version=3 */
    char *dataset;           /* zfs: pool/name */
    char *run_as;            /* the user the runner becomes; NULL: as it was started */
    double reserve;          /* share of space and inodes left alone */
    uint64_t cold;           /* bits: how caches may be emptied */
    struct texts properties; /* zfs: what a request may set */
    char *observe;           /* the server's node exporter; NULL: none */
    int share;               /* enum share_means: how jobs may share what they make */
    struct texts share_clients, share_options;
    char *share_pseudo;                     /* ganesha: under which its exports stand */
    uint64_t share_id_first, share_id_last; /* ganesha: the export ids that jobs may use */
    bool allow_reboot, concurrent;
};

struct targets {
    size_t n;
    struct target *at; /* in the order of the settings */
};

extern const char *const target_kinds[];   /* by enum target_kind; NULL-terminated */
extern const struct field target_fields[]; /* of struct target, without its name */

/* What both programs read of [service]. */
#define STATE_PRESET "/var/lib/plimsoll"
#define FIELD_STATE(T)                                                                           \
    FIELD_TEXT(T, state,                                                                         \
               "Folder of the database, the job specifications and the journals; never on NFS.", \
               .min = 1, .preset_text = STATE_PRESET)

/* Reads only the [target NAME] sections. */
must_check int targets_load(const char *settings_path, struct targets *ret, struct problem *why);
/* The same, and the state folder, which is the caller's to free. */
must_check int targets_load_with_state(const char *settings_path, struct targets *ret,
                                       char **ret_state, struct problem *why);
/* The ini_kind.accept for [target NAME]; arg is a struct targets. */
int targets_accept(void *arg, const char *name, void *object, const char *where,
                   struct problem *why);
/* What a person names on the command line: a folder, nfs://host/export, or KIND:PLACE as in
 * zfs:tank/bench. Its name is empty. NULL: a target that is nowhere. */
must_check int target_by_hand(const char *on, struct target *ret, struct problem *why);
void target_done(struct target *target);
/* Where it lies, in the words of its kind: its path, url or dataset. */
const char *target_place(const struct target *target);
/* Its name; by hand it has none and is called by its place. */
const char *target_called(const struct target *target);
const struct target *targets_find(const struct targets *targets, const char *name);
void targets_done(struct targets *targets);

/* What a job there may ask of filesystem-scaling: that its parameter has this value. */
struct capability {
    const char *parameter, *value;
    const char *by; /* of several means, that of the target; NULL: there is one */
    bool usable;
    char reason[256]; /* why not */
};
enum { CAPABILITIES_MOST = 4 };

/* What stands at the target now. Asks the filesystem: may hang with it, so never call it from a
 * thread that must answer. */
struct target_facts {
    char filesystem[32]; /* "ext4", from the mount table */
    char mount_point[256], mount_options[256], source[256];
    uint64_t space_total, space_available;   /* bytes, for unprivileged users */
    uint64_t inodes_total, inodes_available; /* 0 total: this filesystem does not count them */
    uint64_t device;                         /* st_dev */
    bool usable;
    char reason[256]; /* why not */
    size_t capabilities_n;
    struct capability capabilities[CAPABILITIES_MOST];
};
must_check int target_probe(const struct target *target, struct target_facts *ret,
                            struct problem *why);
