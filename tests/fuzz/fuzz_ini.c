/* Whatever stands in a settings file: it is refused with a plain sentence that names the line, or
 * every section is handed over once. */
#include "engine/base/ini.h"
#include "engine/base/text.h"
#include "tests/unit/field_sample.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int accept(void *arg, const char *name, void *object, const char *where, struct problem *why)
{
    (void)arg;
    (void)why;
    char text[2000];
    if (!where[0] || (name && !text_is_plain(name)))
        abort();
    for (const struct field *f = everything_fields; f->type != FT_END; f++)
        (void)field_format(f, object, text, sizeof text);
    fields_done(everything_fields, object);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ini_kind kinds[] = {
        { "service", everything_fields, sizeof(struct everything), false, accept },
        { "target", everything_fields, sizeof(struct everything), true, accept },
        { .name = "other" },
        { 0 },
    };
    scoped_fd int fd = memfd_create("settings", MFD_CLOEXEC);
    char path[64];
    struct problem why = { 0 };
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (ini_read(path, kinds, NULL, &why) < 0 &&
        (!text_starts(why.message, path) || !text_is_plain(why.message)))
        abort();
    return 0;
}
