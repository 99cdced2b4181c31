/* POST /imports: what somebody measured elsewhere. The body is in a file by now; a thread makes a journal of
 * it, and of that a job that has ended, in one transaction: all of it or nothing. */
#include "api/imports.h"

#include "api/api.h"
#include "api/auth.h"
#include "api/handlers.h"
#include "api/job_answer.h"
#include "api/jobs.h"
#include "api/task.h"
#include "api/upload.h"
#include "engine/base/field_json.h"
#include "engine/base/text.h"
#include "engine/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <sys/stat.h>

enum { AS_JSON, AS_CSV, AS_JOURNAL };
const char *const imports_takes[] = { "application/json", "text/csv", "application/x-ndjson",
                                      NULL };

const struct field imports_query[] = {
    FIELD_BOOL(struct imports_query, dry_run,
               "Only check; nothing changes, and the answer is the job as it would be."),
    FIELD_TEXT(struct imports_query, workload, "Of CSV: what was measured.", .min = 1,
               .max = IMPORT_NAME_MOST),
    FIELD_TEXT(struct imports_query, name,
               "Of CSV or a journal: what it was measured on, in a few words.", .min = 1,
               .max = IMPORT_NAME_MOST),
    FIELD_MAP(struct imports_query, label, "Of CSV or a journal: the value of the label NAME.",
              .max = IMPORT_LABEL_MOST),
    FIELD_TEXT(struct imports_query, note, "Of CSV or a journal: free text.",
               .max = IMPORT_NOTE_MOST),
    FIELD_TEXT(struct imports_query, external_ref,
               "Of CSV or a journal: what it is called elsewhere.", .max = IMPORT_REF_MOST),
    FIELD_TEXT(struct imports_query, x,
               "Of CSV: the column that holds the load when a batch ended.", .min = 1, .max = 200),
    FIELD_TEXTS(struct imports_query, y,
                "Of CSV: PHASE:COLUMN, the seconds of each batch, one for each phase. Without it, "
                "the columns are those of a job's report in CSV."),
    FIELD_TEXTS(struct imports_query, at_load,
                "Of CSV: the phases of which each value was measured at that load, not for the "
                "batch that ends there."),
    FIELD_COUNT(struct imports_query, batch,
                "Of CSV without a column of the load: each line is a batch of so many.",
                .max = 1e12),
    FIELD_COUNT(struct imports_query, start, "Of CSV: the load before the first line.",
                .max = 1e15),
    FIELD_TEXT(struct imports_query, unit,
               "Of CSV: what the load counts; preset: the name of column x, or by the workload.",
               .min = 1, .max = 31),
    FIELD_END,
};

json_t *imports_schema(void)
{
    json_t *schema = fields_schema(import_head_fields), *phase = fields_schema(import_phase_fields);
    json_t *columns = json_object();
    for (const char *const *name = import_columns; *name; name++)
        json_object_set_new(
            columns, *name,
            json_pack("{s:s, s:{s:[s, s]}}", "type", "array", "items", "type", "number", "null"));
    json_t *group = json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0,
                              "properties", columns);
    json_t *samples = json_pack(
        "{s:s, s:[O, {s:s, s:O}]}", "description",
        "load when each batch ended, and elapsed (seconds) or elapsed_ns, its time; the others may "
        "be missing. One object of columns, or a list of them, one after the other.",
        "anyOf", group, "type", "array", "items", group);
    json_decref(group);
    json_object_set_new(json_object_get(phase, "properties"), "samples", samples);
    json_array_append_new(json_object_get(phase, "required"), json_string("samples"));
    json_t *properties = json_object_get(schema, "properties");
    json_object_set_new(properties, "phases",
                        json_pack("{s:s, s:i, s:i, s:o}", "type", "array", "minItems", 1,
                                  "maxItems", IMPORT_PHASES_MOST, "items", phase));
    static const struct {
        const char *name, *description;
    } objects[] = {
        { "params", "The workload's parameters, as they were; those of compared jobs must agree." },
        { "environment", "What it ran on: kernel, filesystem, device, CPU, ..." },
        { "host", "What the machine did meanwhile, as a report tells it." },
        { "import", "Of a report in JSON: all of the above, and then nothing else is read." },
        { "job", "Of a report; not read." },
    };
    for (size_t i = 0; i < COUNT_OF(objects); i++)
        json_object_set_new(
            properties, objects[i].name,
            json_pack("{s:s, s:s}", "type", "object", "description", objects[i].description));
    json_object_set_new(
        properties, "series",
        json_pack("{s:s, s:s}", "type", "array", "description", "Of a report; not read."));
    json_object_del(schema, "required"); /* a report has them inside */
    return schema;
}

/* ---- the work ---- */

struct work {
    struct api *api;
    const struct imports_query *query; /* these are the request's, which is held meanwhile */
    const struct upload *upload;
    char created_by[sizeof(struct principal){ 0 }.name];
    size_t media;
    struct idempotency key;
    struct import import;          /* of JSON and CSV */
    struct import_journal journal; /* of a journal */
    char *labels;
    char *answer;
    job_id id;
    bool replayed;
};

static void work_done(void *arg)
{
    struct work *work = arg;
    import_done(&work->import);
    import_journal_done(&work->journal);
    free(work->labels);
    free(work->answer);
    free(work);
}

static int copy_text(char **to, const char *text, const char *otherwise, struct problem *why)
{
    free(*to);
    *to = strdup(text ? text : otherwise);
    return *to ? 0 : problem_memory(why);
}

/* What the query says of it, where the body cannot. */
static int take_head(struct work *work, const char *workload, const char *name, struct problem *why)
{
    const struct imports_query *query = work->query;
    struct import_head *head = &work->import.head;
    if (copy_text(&head->workload, workload, "", why) ||
        copy_text(&head->name, query->name, name, why) ||
        copy_text(&head->note, query->note, "", why) ||
        copy_text(&head->external_ref, query->external_ref, "", why))
        return -1;
    return 0;
}

static int read_csv(struct work *work, FILE *file, struct problem *why)
{
    const struct imports_query *query = work->query;
    const struct import_csv how = {
        .x = query->x,
        .y = query->y,
        .at_load = query->at_load,
        .batch = (double)query->batch,
        .start = (double)query->start,
        .unit = query->unit ? query->unit
                : query->x  ? NULL
                            : import_unit(query->workload),
    };
    if (take_head(work, query->workload, "imported", why))
        return -1;
    return import_csv(file, &how, &work->import, why);
}

static int read_body(struct work *work, struct problem *why)
{
    const char *path = upload_path(work->upload);
    if (work->media == AS_JOURNAL) {
        if (import_journal(path, &work->journal, why))
            return -1;
        const char *target = work->journal.target;
        return take_head(work, work->journal.workload, *target ? target : "imported", why);
    }
    scoped_file FILE *file = fopen(path, "re");
    if (!file)
        return problem_errno(why, errno, "cannot read the body again");
    return work->media == AS_JSON ? import_json(file, &work->import, why)
                                  : read_csv(work, file, why);
}

static int render_labels(struct work *work, struct problem *why)
{
    const struct imports_query *query = work->query;
    bool json = work->media == AS_JSON;
    scoped_json json_t *all = json ? fields_render(import_head_fields, &work->import.head)
                                   : fields_render(imports_query, query);
    work->labels = json_dumps(json_object_get(all, json ? "labels" : "label"), JSON_COMPACT);
    return work->labels ? 0 : problem_memory(why);
}

/* The body becomes a journal, unless it is one. */
static int write_journal(struct work *work, struct problem *why)
{
    struct journal *journal = NULL;
    const char *name = strrchr(upload_journal(work->upload), '/') + 1;
    if (work->media == AS_JOURNAL)
        return 0;
    if (journal_create(upload_folder(work->upload), name, &journal, why))
        return -1;
    int result = import_write(&work->import, journal, why) || journal_sync(journal, why) ? -1 : 0;
    journal_close(journal);
    return result;
}

static const char *journal_path(const struct work *work)
{
    const struct upload *upload = work->upload;
    return work->media == AS_JOURNAL ? upload_path(upload) : upload_journal(upload);
}

/* Last before the commit: the journal goes where those of other jobs are. */
static int place(void *arg, job_id id, struct problem *why)
{
    const struct work *work = arg;
    char folder[PATH_MAX], path[PATH_MAX];
    if (text_fit(folder, sizeof folder, "%s/jobs/%lld", work->api->app->state, (long long)id) ||
        text_fit(path, sizeof path, "%s/%s", folder, JOURNAL_FILE))
        return problem_set(why, PROBLEM_INTERNAL, "the path of the state directory is too long");
    if (mkdir(folder, 0750) < 0)
        return errno == EEXIST
                   ? problem_set(why, PROBLEM_CONFLICT,
                                 "%s is there already, of a job that this database does not know",
                                 folder)
                   : problem_errno(why, errno, "cannot make %s", folder);
    if (rename(journal_path(work), path) < 0) {
        problem_errno(why, errno, "cannot put the journal into %s", folder);
        (void)rmdir(folder);
        return -1;
    }
    return 0;
}

static struct import_new new_of(const struct work *work)
{
    const struct import_head *head = &work->import.head;
    const struct import_journal *journal = &work->journal;
    bool as_is = work->media == AS_JOURNAL;
    nsec now = clock_wall();
    return (struct import_new){
        .workload = head->workload,
        .name = head->name,
        .host = work->api->app->host,
        .params = as_is ? journal->params : head->params,
        .labels = work->labels,
        .note = head->note,
        .external_ref = head->external_ref,
        .created_by = work->created_by,
        .environment = as_is ? journal->environment : head->environment,
        .state = as_is ? (int)journal->outcome : JOB_SUCCEEDED,
        .started_at = as_is ? journal->began : 0,
        .finished_at = as_is && journal->ended ? journal->ended : now,
        .problem = &journal->problem,
    };
}

static int store(struct work *work, struct problem *why)
{
    struct journal_reader *reader = NULL;
    const struct import_new new = new_of(work);
    if (journal_reader_open(journal_path(work), 0, &reader, why))
        return -1;
    int result = store_import(work->api->app->store, &new, &work->key, reader, place, job_render,
                              work, &work->api->stopping, &work->id, &work->answer, why);
    journal_reader_close(reader);
    work->replayed = result == 1;
    return result < 0 ? -1 : 0;
}

/* The job as it would be. */
static int preview(struct work *work, struct problem *why)
{
    const struct import_new new = new_of(work);
    scoped_free struct phase_total *phases = calloc(work->import.n + 1, sizeof *phases);
    if (!phases)
        return problem_memory(why);
    for (size_t i = 0; i < work->import.n; i++) {
        phases[i] = work->import.phase[i]->total;
        phases[i].finished = true;
    }
    const struct job job = {
        .workload = (char *)(uintptr_t) new.workload,
        .target = (char *)(uintptr_t) "",
        .host = (char *)(uintptr_t) new.host,
        .params = (char *)(uintptr_t)(new.params ? new.params : "{}"),
        .labels = (char *)(uintptr_t) new.labels,
        .note = (char *)(uintptr_t) new.note,
        .external_ref = (char *)(uintptr_t) new.external_ref,
        .created_by = (char *)(uintptr_t) new.created_by,
        .environment = (char *)(uintptr_t) new.environment,
        .created_at = clock_wall(),
        .started_at = new.started_at,
        .finished_at = new.finished_at,
        .state = new.state,
        .imported = true,
        .name = (char *)(uintptr_t) new.name,
        .phases_n = work->import.n,
        .phases = phases,
    };
    return job_render(NULL, &job, &work->answer, why);
}

static int work_on(void *arg, struct problem *why)
{
    struct work *work = arg;
    const struct imports_query *query = work->query;
    if (read_body(work, why) || render_labels(work, why))
        return -1;
    if (query->dry_run)
        return preview(work, why);
    return write_journal(work, why) || store(work, why) ? -1 : 0;
}

static const struct task_kind work_kind = { work_on, work_done };

/* ---- the request ---- */

/* A parameter that this kind of body has no use for, NULL: none. */
static const char *needless(const struct imports_query *query, size_t media)
{
    const struct {
        const char *name;
        bool given, csv_alone;
    } all[] = {
        { "workload", query->workload, true },
        { "name", query->name, false },
        { "label", query->label.n, false },
        { "note", query->note, false },
        { "external_ref", query->external_ref, false },
        { "x", query->x, true },
        { "y", query->y.n, true },
        { "at_load", query->at_load.n, true },
        { "batch", query->batch, true },
        { "start", query->start, true },
        { "unit", query->unit, true },
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i].given && (media == AS_JSON || (media == AS_JOURNAL && all[i].csv_alone)))
            return all[i].name;
    return NULL;
}

static int check_query(const struct imports_query *query, size_t media, struct problem *why)
{
    const char *name = needless(query, media);
    if (name) {
        char field[64];
        snprintf(field, sizeof field, "/?%s", name);
        return problem_field(why, field, "%s has no use here: %s says it itself", name,
                             media == AS_JSON ? "JSON" : "a journal");
    }
    if (media != AS_CSV)
        return 0;
    if (!query->workload || !import_workload_named(query->workload))
        return problem_field(why, "/?workload",
                             "say what was measured, such as create-scaling: letters, digits, "
                             "'.', '_' and '-'");
    if (query->x && query->batch)
        return problem_field(why, "/?batch",
                             "the load is in column x, or lines are batches: not "
                             "both");
    if (query->y.n && !query->x && !query->batch)
        return problem_field(why, "/?x",
                             "say which column holds the load, or with batch how many a line has");
    if (query->x && !query->y.n)
        return problem_field(why, "/?y", "say which columns hold the seconds: PHASE:COLUMN");
    return 0;
}

static int start(struct api *api, struct request *in, struct problem *why)
{
    struct work *work = calloc(1, sizeof *work);
    unsigned char body[32];
    if (!work)
        return problem_memory(why);
    *work =
        (struct work){ .api = api, .query = in->query, .upload = in->upload, .media = in->media };
    memcpy(work->created_by, in->principal.name, sizeof work->created_by);
    import_init(&work->import, upload_folder(in->upload));
    if (check_query(in->query, in->media, why) || request_key(in, &work->key, why) ||
        upload_end(in->upload, body, why)) {
        work_done(work);
        return -1;
    }
    /* What the address and Content-Type say is part of the request, too. */
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, NULL, 0, sizeof work->key.body_hash);
    crypto_generichash_update(&hash, body, sizeof body);
    crypto_generichash_update(&hash, (const unsigned char *)in->target, strlen(in->target));
    crypto_generichash_update(&hash, (const unsigned char *)imports_takes[in->media],
                              strlen(imports_takes[in->media]));
    crypto_generichash_final(&hash, work->key.body_hash, sizeof work->key.body_hash);
    return task_start(api, &work_kind, work, &in->task, why);
}

int imports_post(struct api *api, struct request *in, struct reply *out, struct problem *why)
{
    const struct imports_query *query = in->query;
    if (auth_target(&in->principal, "", why)) /* a token for some targets is for those alone */
        return -1;
    if (!in->upload && upload_open(api, in, &in->upload, why)) /* there was no body at all */
        return -1;
    if (!in->task && start(api, in, why))
        return -1;
    int result = task_wait(in->task, in, why);
    if (result)
        return result;
    struct work *work = task_arg(in->task);
    reply_bytes(out, "application/json", work->answer, strlen(work->answer));
    work->answer = NULL;
    if (query->dry_run) {
        out->status = 200;
        return 0;
    }
    if (work->replayed && reply_header(out, why, "Idempotency-Replayed", "true"))
        return -1;
    return reply_header(out, why, "Location", "/api/v1/jobs/%lld", (long long)work->id);
}
