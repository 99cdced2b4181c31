/* Whatever is imported: it is refused with a place, or every sample that was counted is there. The first
 * byte says what it is: j JSON, t CSV as this program writes it, another CSV with a column for each phase. */
#include "engine/base/text.h"
#include "engine/import/import.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count(void *arg, const struct sample *samples, size_t n, struct problem *why)
{
    (void)why;
    size_t *seen = arg;
    for (size_t i = 0; i < n; i++)
        if (samples[i].elapsed < 0 || samples[i].load > (uint64_t)IMPORT_LOAD_MOST)
            abort();
    *seen += n;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *y[] = { (char[]){ "p:a \"b\"" }, (char[]){ "q:c" } };
    char *at_load[] = { (char[]){ "q" } };
    const struct import_csv table = { .batch = 10 }, columns = { .x = "filesystems",
                                                                 .y = { 2, y },
                                                                 .at_load = { 1, at_load } };
    struct problem why = { 0 };
    struct import import;
    if (size < 2)
        return 0;
    scoped_fd int folder = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    scoped_file FILE *file = fmemopen((void *)(uintptr_t)(data + 1), size - 1, "r");
    if (!file || folder < 0)
        abort();
    import_init(&import, folder);
    int result = data[0] == 'j'   ? import_json(file, &import, &why)
                 : data[0] == 't' ? import_csv(file, &table, &import, &why)
                                  : import_csv(file, &columns, &import, &why);
    if (result < 0 && (why.code != PROBLEM_BAD_FIELD || (!why.line && !why.field[0])))
        abort();
    for (size_t i = 0; result == 0 && i < import.n; i++) {
        size_t seen = 0;
        if (import_each(&import, import.phase[i], count, &seen, &why) || seen != import.phase[i]->n)
            abort();
    }
    import_done(&import);
    return 0;
}
