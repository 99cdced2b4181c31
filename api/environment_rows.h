/* What a job ran on, as rows for people: software first, then hardware. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

struct environment_row {
    bool hardware;
    char label[96], value[256];
};
/* As many rows as there are facts, in the order of the environment; the caller frees *ret. -1: no
 * memory. */
int environment_rows(const char *environment, struct environment_row **ret, size_t *ret_n);
