#include "engine/spec.h"

#include "engine/base/field_json.h"
#include "engine/base/text.h"
#include "engine/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>

enum { SPEC_MOST = 1 << 20 }; /* bytes; what the service writes is a few hundred */

const struct field spec_fields[] = {
    FIELD_COUNT(struct spec, job, "The job.", .required = true, .min = 1),
    FIELD_TEXT(struct spec, nonce, "8 to 32 hex digits, new for every job.", .required = true,
               .min = 8, .max = 32),
    FIELD_TEXT(struct spec, workload, "The kind of benchmark.", .required = true, .min = 1,
               .max = 64),
    FIELD_TEXT(struct spec, target, "The target's name.", .required = true, .min = 1, .max = 64),
    FIELD_VARIANT(struct spec, params, "The workload's parameters.", .variant = &workload_params),
    FIELD_MATRIX(struct spec, matrix, "Values of those that the runs vary.",
                 .variant = &workload_params),
    FIELD_COUNT(struct spec, repeat, "How often each point of the matrix is measured.", .min = 1,
                .max = REPEAT_MOST, .preset = 1),
    FIELD_COUNT(struct spec, seed, "What fixes the order of the runs.", .max = SEED_MOST),
    FIELD_END,
};

static int load(int fd, const char *path, json_t **ret, struct problem *why)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return problem_errno(why, errno, "cannot read %s", path);
    if (!S_ISREG(st.st_mode) || st.st_size > SPEC_MOST)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "%s is not a file of at most %d bytes", path,
                           SPEC_MOST);
    json_error_t error;
    json_t *json = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "%s, line %d: %s", path, error.line,
                           error.text);
    *ret = json;
    return 0;
}

static int bind(const json_t *json, struct spec *ret, struct problem *why)
{
    struct spec spec = { 0 };
    if (fields_bind(spec_fields, json, "", &spec, why) < 0)
        return -1;
    if (spec.nonce[strspn(spec.nonce, "0123456789abcdef")]) {
        spec_done(&spec);
        return problem_field(why, "/nonce", "nonce must be 8 to 32 hex digits");
    }
    *ret = spec;
    return 0;
}

int spec_of_job(const struct spec_held *held, struct spec *ret, struct problem *why)
{
    json_error_t error;
    scoped_json json_t *params = json_loads(held->params, JSON_REJECT_DUPLICATES, &error);
    scoped_json json_t *matrix =
        params ? json_loads(held->matrix, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (!params || !matrix)
        return problem_set(why, PROBLEM_BAD_SYNTAX, "the %s of job %lld: %s",
                           params ? "matrix" : "parameters", (long long)held->job, error.text);
    scoped_json json_t *json = json_pack(
        "{s:I, s:s, s:s, s:s, s:O, s:O, s:I, s:I}", "job", (json_int_t)held->job, "nonce",
        held->nonce, "workload", held->workload, "target", held->target, "params", params, "matrix",
        matrix, "repeat", (json_int_t)held->repeat, "seed", (json_int_t)held->seed);
    if (!json)
        return problem_memory(why);
    return bind(json, ret, why);
}

int spec_read_open(int fd, const char *path, struct spec *ret, struct problem *why)
{
    scoped_json json_t *json = NULL;
    if (load(fd, path, &json, why) < 0)
        return -1;
    return bind(json, ret, why);
}

int spec_read(const char *path, struct spec *ret, struct problem *why)
{
    scoped_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return problem_errno(why, errno, "cannot read %s", path);
    return spec_read_open(fd, path, ret, why);
}

static int write_file(int folder, const char *name, const char *bytes, size_t n,
                      struct problem *why)
{
    scoped_fd int fd =
        openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (fd < 0)
        return problem_errno(why, errno, "cannot create %s", name);
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return problem_errno(why, errno, "cannot write %s", name);
        bytes += written;
        n -= (size_t)written;
    }
    return fsync(fd) < 0 ? problem_errno(why, errno, "cannot write %s", name) : 0;
}

int spec_write(const char *path, const struct spec *spec, struct problem *why)
{
    scoped_json json_t *json = fields_render(spec_fields, spec);
    scoped_free char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
    /* dirname and basename write into what they are given */
    scoped_free char *for_folder = strdup(path), *for_name = strdup(path);
    if (!text || !for_folder || !for_name)
        return problem_memory(why);
    const char *name = basename(for_name);
    scoped_free char *beside = text_new("%s.new", name);
    if (!beside)
        return problem_memory(why);
    scoped_fd int folder = open(dirname(for_folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return problem_errno(why, errno, "cannot open the folder of %s", path);
    if (write_file(folder, beside, text, strlen(text), why) < 0)
        return -1;
    if (renameat(folder, beside, folder, name) < 0 || fsync(folder) < 0)
        return problem_errno(why, errno, "cannot put %s in its place", path);
    return 0;
}

void spec_done(struct spec *spec)
{
    if (spec)
        fields_done(spec_fields, spec);
}
