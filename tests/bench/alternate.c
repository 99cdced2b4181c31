/* Metadata: create-scaling and the bare calls of bare.h by turns, block by block (alternation/alternation.h says how,
 * and what is printed).
 *
 *     alternate DIR [--block BATCHES] [--first bare] [--direct] [name=value ...]     as plimsoll-runner run create-scaling
 *
 * Its doors here are lane_claim and lane_begin, by which a lane takes its next batch. Names are made
 * within the clock on both sides, for the engine counts them up in place, between two calls, where nothing can be
 * left out. */
#include "engine/workload/create_scaling.h"
#include "tests/bench/alternation/alternation.h"
#include "tests/bench/bare.h"

#include <dirent.h>
#include <errno.h>

enum {
    BLOCK_MOST = 1000, /* batches */
    BLOCK_USUAL = 20,  /* 2,000 files: 1.5 to 40 ms */
    LIST_BLOCK = 4,    /* a batch is one call of 2,048 files there */
};

struct place {
    uint64_t made; /* files in this lane's own folder of the twin */
    int folder;    /* of the twin */
    char (*names)[BARE_NAME];
    char *entries;
};

struct metadata {
    struct alternation a; /* first */
    struct create_scaling with;
    char twin[4096];
    struct place places[LANES_MOST];

    /* of this phase */
    const struct bare *calls;
    bare_fn *visit; /* NULL: list */
    uint64_t batches;
};

/* --- the bare side --- */

/* Names are made a batch at a time, as by the raw loop in a process of its own. */
static uint64_t bare(struct alternation *a, unsigned lane, unsigned n)
{
    struct metadata *m = (struct metadata *)a;
    struct place *place = &m->places[lane];
    uint64_t ops = 0, batch = m->with.batch, before = n * m->batches;
    bool own = m->with.layout == LAYOUT_PRIVATE;
    if (m->visit && (before + m->batches) * batch > m->with.files)
        return 0;
    for (uint64_t i;
         (i = atomic_fetch_add_explicit(&a->taken, 1, memory_order_relaxed)) < m->batches;)
        if (!m->visit) {
            ops += m->calls->list(place->folder, place->entries);
        } else {
            bare_names(place->names, own ? place->made + ops : (before + i) * batch, batch);
            m->visit(place->folder, place->names, batch);
            ops += batch;
        }
    place->made += ops;
    return ops;
}

/* --- ours: between two batches of a lane --- */

/* A lane has ended a batch and holds the next one, or there is none. */
static void between_batches(struct lane *lane, bool more)
{
    struct metadata *m = (struct metadata *)alternation;
    if (!m->a.judged)
        return;
    if (!alternation_begun(lane))
        more ? alternation_begin(lane) : alternation_leave(lane);
    else if (!more)
        alternation_end(lane);
    /* A block takes as many batches as are held when it begins and then claimed in it. */
    else if (atomic_fetch_add_explicit(&m->a.taken, 1, memory_order_relaxed) + m->with.threads >=
             m->batches)
        alternation_turn(lane);
}

uint64_t __real_lane_claim(struct lane *lane, uint64_t *ret_first);
uint64_t __wrap_lane_claim(struct lane *lane, uint64_t *ret_first);
uint64_t __wrap_lane_claim(struct lane *lane, uint64_t *ret_first)
{
    uint64_t n = __real_lane_claim(lane, ret_first);
    between_batches(lane, n > 0);
    return n;
}

bool __real_lane_begin(struct lane *lane);
bool __wrap_lane_begin(struct lane *lane);
bool __wrap_lane_begin(struct lane *lane)
{
    bool more = __real_lane_begin(lane);
    between_batches(lane, more);
    return more;
}

/* --- phases --- */

/* The loop that stands beside a phase; NULL: the list's, or none. */
static bare_fn *loop_beside(const struct bare *calls, const char *phase)
{
    return strcmp(phase, "create") == 0   ? calls->create
           : strcmp(phase, "stat") == 0   ? calls->stat
           : strcmp(phase, "remove") == 0 ? calls->remove
                                          : NULL;
}

static bool judges(struct alternation *a, const struct phase *phase)
{
    struct metadata *m = (struct metadata *)a;
    m->calls = a->direct ? &bare_direct : &bare_library;
    m->visit = loop_beside(m->calls, phase->name);
    if (!m->visit && strcmp(phase->name, "list") != 0)
        return false;
    /* Only creations need no more of a lane than its turn. */
    if (phase->lanes > 1 && m->visit != m->calls->create)
        return false;
    m->batches = m->visit ? a->block : LIST_BLOCK;
    for (unsigned lane = 0; lane < phase->lanes; lane++) {
        m->places[lane].made = 0;
        if (!m->visit && lseek(m->places[lane].folder, 0, SEEK_SET) < 0)
            err(1, "cannot rewind the twin");
    }
    return true;
}

/* --- the twin --- */

static void twin_make(struct alternation *a, const char *where)
{
    struct metadata *m = (struct metadata *)a;
    snprintf(m->twin, sizeof m->twin, "%s/bare-XXXXXX", where);
    if (!mkdtemp(m->twin))
        err(1, "cannot make %s", m->twin);
    for (unsigned i = 0; i < m->with.threads; i++) {
        struct place *place = &m->places[i];
        char lane[FOLDER_NAME] = ".";
        if (m->with.layout == LAYOUT_PRIVATE)
            folder_name(lane, i);
        place->folder = alternation_folder(m->twin, lane);
        place->names = malloc(m->with.batch * sizeof *place->names);
        place->entries = malloc(BARE_LIST_BYTES);
        if (!place->names || !place->entries)
            err(1, "cannot name the files");
    }
}

static void empty(int folder)
{
    DIR *listing = fdopendir(dup(folder));
    if (!listing)
        err(1, "cannot list the twin");
    rewinddir(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (entry->d_name[0] == PREFIX_MADE && unlinkat(folder, entry->d_name, 0) < 0)
            err(1, "cannot remove %s", entry->d_name);
    closedir(listing);
}

static void twin_remove(struct alternation *a)
{
    struct metadata *m = (struct metadata *)a;
    for (unsigned i = 0; i < m->with.threads; i++) {
        char path[sizeof m->twin + FOLDER_NAME], lane[FOLDER_NAME];
        empty(m->places[i].folder);
        close(m->places[i].folder);
        free(m->places[i].names);
        free(m->places[i].entries);
        folder_name(lane, i);
        snprintf(path, sizeof path, "%s/%s", m->twin, lane);
        if (m->with.layout == LAYOUT_PRIVATE && rmdir(path) < 0)
            err(1, "cannot remove %s", path);
    }
    if (rmdir(m->twin) < 0)
        err(1, "cannot remove %s", m->twin);
}

/* --- the whole --- */

static int check(struct alternation *a, struct problem *why)
{
    const struct create_scaling *with = &((struct metadata *)a)->with;
    uint64_t files = a->block * with->batch;
    if (a->block <= with->threads || a->block > BLOCK_MOST)
        return problem_set(why, PROBLEM_BAD_FIELD, "--block must be more than threads, at most %u",
                           BLOCK_MOST);
    if (with->threads > LANES_MOST || with->files % (2 * files) != 0 ||
        with->files / files > BLOCKS_MOST)
        return problem_set(
            why, PROBLEM_BAD_FIELD,
            "threads must be at most %u, and files a multiple of two blocks, %llu, and "
            "at most %u of them",
            LANES_MOST, (unsigned long long)(2 * files), BLOCKS_MOST / 2);
    if (with->layout == LAYOUT_FANOUT || with->create_call != CREATE_BY_OPEN || with->file_bytes ||
        with->sync || with->name_length != NAME_LEAST || with->order != ORDER_CREATED)
        return problem_set(why, PROBLEM_BAD_FIELD, "the bare loop makes empty files, one way only");
    return 0;
}

int main(int argc, char **argv)
{
    static struct metadata m = {
        .a = { .workload = "create-scaling",
               .block_is = "BATCHES",
               .with = &m.with,
               .block = BLOCK_USUAL,
               .check = check,
               .twin_make = twin_make,
               .twin_remove = twin_remove,
               .judges = judges,
               .bare = bare },
    };
    return alternation_main(&m.a, argc, argv);
}
