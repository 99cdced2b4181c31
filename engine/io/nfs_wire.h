/* One connection to an NFS server's export by version 3 of the protocol, without a mount and so without any
 * cache of this host. Used by one thread. Every wait ends by `patience` or when `stopped` says so; after that,
 * and when the server hangs up, the connection is of no use any more: it is not made again, so that no call that
 * was not answered is ever sent twice, and an EEXIST or ENOENT is never the answer to one that was done before.
 * Answers of "try again later" (NFS3ERR_JUKEBOX) are none to the caller: the call goes out again after a while,
 * as long as patience allows. A server that forgot what it was given to write ends the connection, too. */
#pragma once
#include "engine/base/clock.h"
#include "engine/base/problem.h"
#include "engine/limits.h"

#include <stdbool.h>
#include <stdint.h>

enum { NFS_NAME = 256, NFS_HANDLE = 64 };

/* nfs://host[:port]/export[?version=3&nfsport=N&mountport=N], an IPv6 address in []; ports 0: as the server's
 * rpcbind says. */
struct nfs_address {
    char host[NFS_NAME], export[1024];
    unsigned port, mount_port;
};
/* BAD_FIELD at "url" with what would be right. */
must_check int nfs_address_parse(const char *text, struct nfs_address *ret, struct problem *why);

int nfs_errno(int status); /* of an nfsstat3; EIO where none says it better */

struct nfs_handle {
    unsigned n;
    char at[NFS_HANDLE];
};

enum nfs_kind { NFS_FILE = 1, NFS_FOLDER = 2 }; /* others are none of ours */

struct nfs_facts {
    bool known; /* an answer need not have them */
    int kind;
    uint32_t uid;
    uint64_t size, inode;
};

struct wire;
struct wire_options {
    const char *url;
    nsec patience;              /* silence of the server that is a failure */
    bool (*stopped)(void *arg); /* looked at four times a second; NULL: never */
    void *arg;
};

must_check int wire_open(const struct wire_options *options, struct wire **ret,
                         struct problem *why);
/* Answers that are still to come are told to their callbacks as lost. */
struct wire *wire_close(struct wire *wire);
/* Since the server was last asked or heard. */
nsec wire_silence(const struct wire *wire);
const struct nfs_handle *wire_root(const struct wire *wire);
/* The most bytes that one call reads or writes. */
uint32_t wire_read_most(const struct wire *wire);
uint32_t wire_write_most(const struct wire *wire);
/* "vers=3,proto=tcp,rsize=...,wsize=..." */
const char *wire_words(const struct wire *wire);
const char *wire_source(const struct wire *wire); /* "host:/export" */

/* One call and its answer: 0, the errno that the server gave, or -1 when the connection is of no use any
 * more. `ret` may be NULL where it does not matter. */
must_check int wire_look_up(struct wire *wire, const struct nfs_handle *folder, const char *name,
                            struct nfs_handle *ret, struct nfs_facts *facts, struct problem *why);
must_check int wire_look(struct wire *wire, const struct nfs_handle *object, struct nfs_facts *ret,
                         struct problem *why);
must_check int wire_make_folder(struct wire *wire, const struct nfs_handle *folder,
                                const char *name, struct problem *why);
must_check int wire_remove_folder(struct wire *wire, const struct nfs_handle *folder,
                                  const char *name, struct problem *why);
/* Only if the name is not there yet: EEXIST. */
must_check int wire_create(struct wire *wire, const struct nfs_handle *folder, const char *name,
                           struct nfs_handle *ret, struct problem *why);
must_check int wire_remove(struct wire *wire, const struct nfs_handle *folder, const char *name,
                           struct problem *why);
must_check int wire_rename(struct wire *wire, const struct nfs_handle *folder, const char *from,
                           const char *to, struct problem *why);
/* Whether it may be read: EACCES if not. */
must_check int wire_access(struct wire *wire, const struct nfs_handle *object, struct problem *why);
must_check int wire_room(struct wire *wire, struct room *ret, struct problem *why);

/* Entries of a folder, some at a time. `each` is told of every one but . and ..; -1 from it ends the listing. */
struct nfs_listing {
    uint64_t cookie;
    char verifier[8];
    bool over;
    uint64_t entries; /* of the last call */
};
must_check int wire_list(struct wire *wire, const struct nfs_handle *folder,
                         struct nfs_listing *listing,
                         int (*each)(void *arg, const char *name, const struct nfs_facts *facts),
                         void *arg, struct problem *why);

/* The server asked to be asked later. */
struct wire_delay {
    nsec began, length, until; /* began: what is asked for */
};

/* For calls in flight: one is sent, its end is told by `ended` from within wire_turn(). */
struct wire_transfer {
    void (*ended)(struct wire_transfer *transfer);
    char *buffer;
    uint32_t length, moved;
    uint64_t offset;
    struct nfs_handle file;
    bool write, stable; /* stable: each part is on stable storage when it is answered */
    struct wire *wire;  /* the wire's, as all below */
    int error;          /* 0, or an errno: of the server, or EIO when the answer is lost */
    bool commit;
    struct wire_delay delay;
    struct wire_transfer *later; /* of those that wait for their time */
};
/* Reads or writes it all, as far as the file goes. -1: it was not sent. */
must_check int wire_transfer(struct wire *wire, struct wire_transfer *transfer,
                             struct problem *why);
/* What was written to the file is on the server's stable storage when it ends. */
must_check int wire_commit(struct wire *wire, struct wire_transfer *transfer, struct problem *why);
/* Waits for the server until then, a quarter of a second at most, and takes what it sent. -1: of no use any more. */
must_check int wire_turn(struct wire *wire, nsec until, struct problem *why);
