#include "engine/workload/workload.h"

extern const struct workload create_scaling;

static const struct workload *const all[] = { &create_scaling, NULL };

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
