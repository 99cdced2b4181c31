#include "engine/workload/workload.h"

#include "engine/base/text.h"

extern const struct workload create_scaling, filesystem_scaling, throughput;

static const struct workload *const all[] = { &create_scaling, &filesystem_scaling, &throughput,
                                              NULL };

const struct workload *const *workload_all(void)
{
    return all;
}

const struct workload *workload_find(const char *name)
{
    for (const struct workload *const *w = all; name && *w; w++)
        if (strcmp((*w)->name, name) == 0)
            return *w;
    return NULL;
}

static void kinds_of(const struct workload *workload, struct text *text)
{
    for (unsigned kind = 0; target_kinds[kind]; kind++)
        if (workload->targets & 1u << kind)
            text_addf(text, "%s%s", text->n ? ", " : "", target_kinds[kind]);
}

int workload_fits(const struct workload *workload, const struct target *target, struct problem *why)
{
    struct text kinds = { 0 };
    if (workload->targets & 1u << target->kind)
        return 0;
    kinds_of(workload, &kinds);
    scoped_free char *list = text_take(&kinds);
    return problem_field(why, "/target", "target %s is of kind %s; %s takes %s",
                         target_called(target), target_kinds[target->kind], workload->name,
                         list ? list : "others");
}

static const struct field *table_of(const char *selected, size_t *ret_size)
{
    const struct workload *workload = workload_find(selected);
    if (!workload)
        return NULL;
    *ret_size = workload->params_size;
    return workload->params;
}

static const char *name_of(size_t i)
{
    return i < COUNT_OF(all) - 1 ? all[i]->name : NULL;
}

const struct variant workload_params = { "workload", table_of, name_of };
